"""What a turn does for the first time, done once before a worker forks: no turn pays for first times.

A horse is a fresh fork for each job. What its parent has in memory (parsed prompts and phrases, compiled templates and
schemas) it gets for nothing; what it would have to make itself costs a quarter of a second per turn.
"""

from __future__ import annotations

from typing import get_args

from core import phrases
from core.rows import Spent
from core.settings import Settings
from core.store import Store, start_of_day
from core.values import IncomingMessage, Language, Lease, StoredFile
from workers.agent.decide import decide
from workers.agent.steps import Asked, Briefed, CellRan, FileAbstract, Finished, Replied, Step, dump_step
from workers.agent.turn import AgentLimits, Turn
from workers.models.choose import opened_model
from workers.progress import progress_blocks, progress_of
from workers.prompts import load_prompts
from workers.reports import render_report, report_input
from workers.wiring import environment

_STEPS: tuple[Step, ...] = (
    Asked(user="U", author="Somebody", text="How much was sold?", ts="1.000001"),
    Briefed(files=(FileAbstract(path="sales.csv", format="csv", size=1, sha256="0" * 64),)),
    Replied(purpose="act", text="```python\n1\n```"),
    CellRan(call_id="1", cell_id="c1", title="Read", code="1", status="ok", stdout="1", files_read=("sales.csv",)),
)

_FILE = StoredFile(name="sales.csv", mimetype="text/csv", size=1, sha256="0" * 64)
_MESSAGE = IncomingMessage(
    team="rehearsal", channel="rehearsal", channel_type="channel", ts="1.000001", root_ts="1.000001", user="U", text="?"
)


def rehearse_store(store: Store) -> None:
    """Say to the Store once what a turn says to it: a statement is put into SQL the first time. Nothing of it stays.

    Raises StoreUnreachable.
    """
    thread, key = _MESSAGE.thread.id, "rehearsal:card"
    with store.undone():
        store.record_message(_MESSAGE)
        lease = Lease(thread_id=thread, token=store.raise_fence(thread), owner="rehearsal")
        store.line()
        store.line(thread)
        turn = store.open_turn(lease, "en", "rehearsal")
        store.turns(thread)
        store.thread_host(thread)
        store.set_thread_host(lease, "rehearsal")
        mail = [message.id for message in store.unread(thread)]
        store.take_mail(lease, turn.id, mail, [dump_step(_STEPS[0])])
        store.append_step(lease, turn.id, dump_step(_STEPS[2]), spent=Spent(), user="U")
        store.steps(turn.id)
        store.stop_asked(thread)
        store.check(lease)
        store.add_thread_file(lease, _FILE)
        store.thread_files(thread)
        store.spent(thread_id=thread)
        for user in ("U", None):
            store.spent(user=user, since=start_of_day())
        store.begin_cell(lease, "rehearsal 1")
        store.begun_cell(thread)
        store.set_packed(lease, _FILE.sha256)
        store.packed(thread)
        store.outbox_begin(lease, key, "chat.postMessage", {})
        store.outbox_note(lease, key, {})
        store.outbox_done(lease, key, "1.000002", {})
        store.outbox_get(key)
        store.save_report(lease, turn.id, "", [])
        store.report(turn.id)
        store.set_turn_status(lease, turn.id, "done")
    store.close()


def rehearse(settings: Settings) -> None:
    """Go through a turn without Slack, Store, session or network. Raises what a real turn would raise: at the start."""
    with opened_model(settings):
        pass
    phrases.prepare()
    languages: tuple[Language, ...] = get_args(Language)
    for language in languages:
        steps = (*_STEPS, Finished(report="# Report\n\n| a |\n| - |\n| 1 |"))
        progress_blocks(progress_of(steps, language))
        render_report(report_input(steps, language))
        for done in range(1, len(_STEPS) + 1):
            decide(
                Turn(
                    id="rehearsal",
                    language=language,
                    steps=_STEPS[:done],
                    limits=AgentLimits(),
                    environment=environment(settings),
                    prompts=load_prompts(),
                )
            )
