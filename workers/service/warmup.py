"""Does the first-time work of a turn once, before a worker forks.

The processes of turns are forked again and again. Each inherits its parent's memory (parsed prompts and phrases,
compiled schemas, the templates of what every turn says) at no cost. To make these itself would take a quarter of a
second. The template of another phrase is made when it is first said: all of them take 2 s.
"""

from __future__ import annotations

from typing import get_args

from core.commands.registry import commands
from core.rows import ExportedRow, NewReport, Sent, Spent
from core.settings import Settings
from core.slack.connections import tls
from core.steps import Asked, Briefed, CellRan, FileAbstract, Finished, Replied, Step
from core.store import Store, start_of_day
from core.store.turns import new_turn
from core.values import IncomingMessage, Language, Lease, StoredFile
from workers.agent.decide import decide
from workers.agent.turn import AgentLimits, Turn
from workers.delivery.progress import progress_blocks, progress_of
from workers.delivery.reports import render_report, report_input
from workers.service.context import environment
from workers.service.model_choice import opened_model
from workers.turn.commands import handler_of
from workers.turn.prompts import load_prompts

_STEPS: tuple[Step, ...] = (
    Asked(user="U", author="Somebody", text="How much was sold?", ts="1.000001"),
    Briefed(files=(FileAbstract(path="sales.csv", format="csv", size=1, sha256="0" * 64),)),
    Replied(purpose="act", text="```python\n1\n```"),
    CellRan(call_id="1", cell_id="c1", title="Read", code="1", status="ok", stdout="1", files_read=("sales.csv",)),
)

_FILE = StoredFile(name="sales.csv", mimetype="text/csv", size=1, sha256="0" * 64)
_MESSAGE = IncomingMessage(
    team="warm-up", channel="warm-up", channel_type="channel", ts="1.000001", root_ts="1.000001", user="U", text="?"
)


def warm_up_store(store: Store) -> None:
    """Make every call to the Store that a turn makes: its statements are compiled to SQL. Nothing of it is kept.

    The Store is closed afterwards. Raises StoreUnreachable.
    """
    thread, key = _MESSAGE.thread.id, "warm-up:card"
    with store.rolled_back():
        store.record_message(_MESSAGE)
        lease = Lease(thread_id=thread, token=store.raise_fence(thread), owner="warm-up")
        store.wait_queue()
        store.thread_state(thread)
        token, state = store.take_thread(thread)
        lease = lease.model_copy(update={"token": token})
        turn = new_turn(thread, 1, "en", "warm-up")
        mail = [message.id for message in state.mail]
        store.take_mail(lease, turn.id, mail, [_STEPS[0]], opens=turn, node_id="warm-up")
        store.take_mail(lease, turn.id, mail, [_STEPS[0]])
        store.turns(thread)
        store.unread(thread)
        store.thread_node(thread)
        store.set_thread_node(lease, "warm-up")
        for follow_up in range(3):
            store.append_step(lease, turn.id, _STEPS[2], then=_STEPS[:follow_up], spent=Spent(), user="U")
        store.append_step(lease, turn.id, _STEPS[3])
        store.append_step(lease, turn.id, _STEPS[1])
        store.steps(turn.id)
        store.stop_asked(thread)
        store.stops_asked([thread])
        store.fences([thread])
        store.check(lease)
        store.add_thread_file(lease, _FILE)
        store.thread_files(thread)
        store.spent(thread_id=thread)
        for user in ("U", None):
            store.spent(user=user, since=start_of_day())
        store.begin_cell(lease, "warm-up 1")
        store.begun_cell(thread)
        store.set_exported_session(lease, ExportedRow(_FILE.sha256, bytes=1))
        store.exported_session(thread)
        store.exported_bytes(thread)
        store.outbox_begin(lease, key, "chat.postMessage", {})
        store.outbox_note(lease, key, {})
        store.outbox_unsent(lease, key, "")
        store.outbox_begin(lease, key, "chat.postMessage", {})
        store.outbox_done(lease, key, "1.000002", {})
        sent, report = [Sent(key, "1.000002", {})], NewReport(turn.id, "", [_FILE])
        for number, new in enumerate((None, report)):
            store.outbox_begin(lease, f"{key}:{number}", "chat.postMessage", {}, report=new)
            store.outbox_begin(lease, f"{key}:sent {number}", "chat.postMessage", {}, sent=sent, report=new)
        store.outbox_dropped(lease, key)
        store.outbox_get(key)
        store.outbox_known(thread)
        store.outbox_unshown(thread)
        store.save_report(lease, turn.id, "", [_FILE])
        store.report(turn.id)
        store.set_turn_status(lease, turn.id, "done")
    store.close()


def warm_up(settings: Settings) -> None:
    """Go through a turn without Slack, Store, session or network. Raises at the start what a real turn would raise."""
    with opened_model(settings):
        pass
    tls()
    for command in commands().values():
        if command.reaches_worker:
            handler_of(command.name)
    languages: tuple[Language, ...] = get_args(Language)
    for language in languages:
        steps = (*_STEPS, Finished(report="# Report\n\n| a |\n| - |\n| 1 |"))
        progress_blocks(progress_of(steps, language))
        render_report(report_input(steps, language))
        for done in range(1, len(_STEPS) + 1):
            decide(
                Turn(
                    id="warm-up",
                    language=language,
                    steps=_STEPS[:done],
                    limits=AgentLimits(),
                    environment=environment(settings),
                    prompts=load_prompts(),
                )
            )
