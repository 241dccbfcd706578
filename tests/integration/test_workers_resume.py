"""A worker may die anywhere: the next one goes on, and the thread reads as if nothing had happened."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
from harness import PATIENT_SLACK, Json, session_host, settings_for
from patience import PATIENCE_S
from timeless import timeless

from core.blobs import Blobs
from core.commands.registry import command_in
from core.slack.client import web_client
from core.slack.reading.files import file_refs
from core.slack.writing.writer import SlackWriter
from core.steps import CellRan, UnknownStep
from core.store import Store
from core.values import IncomingMessage, ThreadKey
from playground import running
from tryout.stack.blocks_text import message_text
from tryout.stack.slack_client import LocalSlack
from workers.models.base import ModelRefused, ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.service import jobs
from workers.service.backoff import MOST_CRASHES
from workers.service.context import WorkerContext, opened
from workers.turn.context import TurnContext
from workers.turn.files import ThreadFiles
from workers.turn.transfer.session_transfer import SessionTransfer
from workers.turn.transfer.unexported import Unexported

pytestmark = [pytest.mark.integration, pytest.mark.early]


class Killed(BaseException):
    """What kill -9 looks like from inside: nothing after it runs."""


class Mortal:
    """A Store whose worker dies before or after one of its writes, with all its threads."""

    def __init__(self, store: Store, at: int, before: bool) -> None:
        self._store = store
        self._at = at
        self._before = before
        self.writes: list[str] = []
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return self._counted(name, found) if name in Store.WRITES else found

    def _counted(self, name: str, write: Callable[..., Any]) -> Callable[..., Any]:
        def writing(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                self._die()
            self.writes.append(name)
            mine = len(self.writes) == self._at
            if mine and self._before:
                self._die()
            result = write(*args, **kwargs)
            if mine:
                self._die()
            return result

        return writing

    def _die(self) -> NoReturn:
        self.dead = True
        # The thread that draws the card writes as well. It ends without a word; the next write of the job ends the job.
        raise Killed if threading.current_thread() is threading.main_thread() else SystemExit


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('t')"
COUNT = "import pandas as pd\ndf = pd.read_csv('sales.csv')\nruns = globals().get('runs', 0) + 1\nprint('ran', runs)"
SCRIPT = [
    call("run_python", code=COUNT, title="Read"),
    call("run_python", code=CHART, title="Chart"),
    call("finish", report="Together **7** were sold."),
]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[tuple[WorkerContext, LocalSlack]]:
    home = tmp_path_factory.mktemp("resume")
    with ExitStack() as parts:
        parts.enter_context(session_host(home))
        slack = parts.enter_context(running(options=PATIENT_SLACK))
        people = LocalSlack(parts.enter_context(httpx.Client(base_url=slack.url, timeout=PATIENCE_S, trust_env=False)))
        settings = settings_for(home, slack.url, redis_url)
        opening = parts.enter_context(opened(settings, ScriptedModel(SCRIPT)))
        opening.context.store.migrate()
        context = opening.context
        yield replace(opening, context=replace(context, transfer=exporting(context, context.store))), people


def exporting(context: TurnContext, store: Store) -> SessionTransfer:
    """A session transfer as where several nodes share the Store: it writes after every cell."""
    settings = context.settings
    return SessionTransfer(
        store,
        context.blobs,
        context.sessions,
        node_id=settings.node_id,
        enabled=True,
        unexported=Unexported(settings.home),
        limits=settings.storage,
    )


def dying(worker: WorkerContext, at: int, *, before: bool) -> tuple[WorkerContext, Mortal]:
    """The same worker with a Store that kills at its write number `at`."""
    context = worker.context
    mortal: Any = Mortal(context.store, at, before)
    slack = SlackWriter(web_client(context.settings), mortal)
    downloader = context.files._downloader
    files = ThreadFiles(
        store=mortal, slack=slack, sessions=context.sessions, blobs=Blobs(context.settings.files), downloader=downloader
    )
    mortal_context = replace(context, store=mortal, slack=slack, files=files, transfer=exporting(context, mortal))
    return replace(worker, context=mortal_context), mortal


def post(worker: WorkerContext, people: LocalSlack, folder: Path) -> ThreadKey:
    """A question with a file, in Slack and in the Store."""
    path = folder / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\n")
    key = people.say("#sales", "ana", "@threadbook how much was sold?", [path]).thread
    record(worker, key, "how much was sold?", key.root_ts, people.thread(key)[0])
    return key


def record(worker: WorkerContext, key: ThreadKey, text: str, ts: str, posted: Json | None = None) -> None:
    """Store a message of the thread as the bot does; `posted` is it in Slack, with its author and files."""
    command = command_in(text)
    worker.context.store.record_message(
        IncomingMessage(
            team=key.team,
            channel=key.channel,
            channel_type="channel",
            ts=ts,
            root_ts=key.root_ts,
            user=posted["user"] if posted else "U0ANA00001",
            text=text,
            kind=command.name if command else "text",
            files=file_refs(posted["files"]) if posted else (),
        )
    )


def seen(people: LocalSlack, key: ThreadKey) -> list[tuple[str, list[str]]]:
    """The thread as people read it, without the times that the report and the card name."""

    def words(message: Json) -> str:
        return timeless(message_text(message))

    return [(words(message), [file["name"] for file in message.get("files") or ()]) for message in people.thread(key)]


class Interrupting:
    """A scripted model that does something at each call before it answers."""

    native_tools = True
    sees = False
    name = "interrupting"

    def __init__(self, before: Callable[[], None]) -> None:
        self.before = before
        self.model = ScriptedModel(SCRIPT)

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.before()
        return self.model.complete(request, on_delta)


def with_model(worker: WorkerContext, before: Callable[[], None]) -> WorkerContext:
    return replace(worker, context=replace(worker.context, model=Interrupting(before)))


def continued(worker: WorkerContext, people: LocalSlack, folder: Path) -> ThreadKey:
    """A question whose turn gave up because the model refused, and then the word "continue"."""

    def refuse() -> None:
        raise ModelRefused("no quota")

    key = post(worker, people, folder)
    jobs.run(with_model(worker, refuse), key.id)
    assert worker.context.store.turns(key.id)[-1].status == "stopped"
    record(worker, key, "continue", people.say("#sales", "ana", "continue", [], thread_ts=key.root_ts).ts)
    return key


Prepare = Callable[[WorkerContext, LocalSlack, Path], ThreadKey]
OUTSIDE = {
    *("record_message", "change_message", "delete_message", "note_thread"),  # the bot's, when a message comes
    *("purge_thread", "purge_order_done", "contents_deleted", "audit"),  # an administrator's or the janitor's
    *("raise_fence", "take_thread"),  # a lease is taken before its turn goes on
    "take_talk",  # these threads are no talks of people: tests/unit/workers/turn/mail/test_mail_talk.py
    "note_left_call",  # nobody stops a model's call: tests/unit/workers/turn/test_turn_stopping.py
    *("drop_messages", "redact", "forget_contents"),  # nobody is refused, and nothing is deleted or reset
    *("outbox_unsent", "outbox_dropped"),  # Slack takes and shows everything
    "outbox_take_up",  # the bot's, when somebody presses
    *("save_vote", "save_reason", "mark_example", "unmark_example"),  # the bot's, when somebody votes
    *("save_preferences", "forget_preferences"),  # the bot's, when somebody chooses, and a purge's
    *("pin_for", "unpin_for"),  # the bot's, when somebody pins a thread in the app's home
    *("claim_clean_room", "end_clean_room", "free_clean_rooms"),  # those of the process with the clean room
    *("pin_thread", "unpin_thread", "describe_thread"),  # nobody pins or describes a thread
    *("add_schedule", "set_schedule_state"),  # nothing is scheduled
    "import_thread",  # an operator's: tests/unit/tryout/commands/test_commands_imports.py
    *("fork_thread", "note_source"),  # nobody forks or loads a thread: tests/unit/workers/turn/test_turn_fork.py
    "begin_heir",  # nothing is answered in a direct message: tests/unit/workers/turn/test_turn_sources.py
    "give_up_contents",  # no thread is purged meanwhile: tests/unit/workers/turn/test_turn_lost_lease.py
    # those of scheduled runs: test_service_schedules.py
    *("begin_run", "move_schedule", "claim_run", "end_run", "free_runs", "postpone_run"),
    *("save_installation", "forget_installation", "note_org_team"),  # the bot's: test_bot_oauth.py
    *("claim_refresh", "replace_secret", "issue_state", "use_state"),  # there is one workspace
    "wake_key",  # read before a job begins: test_core_signatures.py
    *("begin_vectors", "keep_vectors", "drop_orphaned_vectors"),  # those of the process that embeds threads
    *("begin_search", "answer_search", "end_search", "drop_old_searches"),  # a search's: test_service_vectors.py
    *("save_report", "begin_clean_room", "complete_report"),  # a clean room before the report: test_turn_clean_room.py
}
"""Writes that no turn here does."""


@pytest.mark.timeout(1_800)  # some forty turns one after the other
@pytest.mark.parametrize(
    ("prepare", "not_reached"),
    [
        (post, {"reopen_turn", "set_thread_node", "outbox_note", "open_turn"}),
        (continued, {"open_turn", "take_mail", "add_thread_file", "set_thread_node"}),
    ],
    ids=["new", "continued"],
)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_worker_killed_at_any_write_leaves_a_thread_that_reads_the_same(
    worker: tuple[WorkerContext, LocalSlack],
    tmp_path: Path,
    before: bool,
    prepare: Prepare,
    not_reached: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Only the last state of the card is drawn: how many frames come before it depends on how busy the machine is.
    monkeypatch.setattr("workers.delivery.card.FIRST_AFTER_S", PATIENCE_S)
    whole, people = worker
    key = prepare(whole, people, tmp_path)
    counting, mortal = dying(whole, 0, before=before)
    jobs.run(counting, key.id)
    expected = seen(people, key)
    assert len(expected) >= 4
    assert set(mortal.writes) == Store.WRITES - OUTSIDE - not_reached
    for at, write in enumerate(mortal.writes, start=1):
        key = prepare(whole, people, tmp_path)
        killing, killed = dying(whole, at, before=before)
        with suppress(Killed):
            jobs.run(killing, key.id)
        assert killed.dead
        jobs.run(whole, key.id)
        turn = whole.context.store.turns(key.id)[-1]
        cells = [step for step in whole.context.store.steps(turn.id) if isinstance(step, CellRan)]
        where = f"killed {'before' if before else 'after'} write {at}, {write}"
        assert turn.status == "done", where
        assert [cell.stdout.strip() for cell in cells] == ["ran 1", ""], where
        assert seen(people, key) == expected, where


def test_a_turn_that_kills_every_worker_is_closed_with_a_sentence(
    worker: tuple[WorkerContext, LocalSlack], tmp_path: Path
) -> None:
    whole, people = worker

    def die() -> None:
        raise Killed

    key = post(whole, people, tmp_path)
    deadly = with_model(whole, die)
    for _ in range(MOST_CRASHES + 1):  # the first opened the turn, the others died at the same step of it
        with pytest.raises(Killed):
            jobs.run(deadly, key.id)
    jobs.run(deadly, key.id)
    assert whole.context.store.turns(key.id)[-1].status == "failed"
    assert not whole.context.store.unread(key.id)
    assert sum("It is in the log" in text for text, _ in seen(people, key)) == 1


def test_a_worker_that_lost_its_lease_writes_and_posts_nothing_more(
    worker: tuple[WorkerContext, LocalSlack], tmp_path: Path
) -> None:
    whole, people = worker
    key = post(whole, people, tmp_path)

    def lose_the_lease() -> None:
        whole.context.store.raise_fence(key.id)

    jobs.run(with_model(whole, lose_the_lease), key.id)
    turn = whole.context.store.turns(key.id)[-1]
    assert turn.status == "running"
    assert not any(step.kind == "replied" for step in whole.context.store.steps(turn.id))
    jobs.run(whole, key.id)
    assert whole.context.store.turns(key.id)[-1].status == "done"
    assert sum("were sold" in text for text, _ in seen(people, key)) == 1


def test_two_jobs_for_one_thread_give_one_answer(worker: tuple[WorkerContext, LocalSlack], tmp_path: Path) -> None:
    whole, people = worker
    key = post(whole, people, tmp_path)
    both = threading.Barrier(2)

    def job() -> None:
        both.wait()
        jobs.run(whole, key.id)

    workers = [threading.Thread(target=job) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [turn.status for turn in whole.context.store.turns(key.id)] == ["done"]
    assert sum("were sold" in text for text, _ in seen(people, key)) == 1


def test_a_slack_that_is_away_for_a_while_delays_the_answer_and_loses_nothing(
    worker: tuple[WorkerContext, LocalSlack], tmp_path: Path
) -> None:
    whole, people = worker
    key = post(whole, people, tmp_path)
    fault = {"method": "chat.postMessage", "kind": "drop_call", "times": 6}
    people.http.post("/control/faults", json=fault).raise_for_status()
    jobs.run(whole, key.id)
    assert whole.context.store.turns(key.id)[-1].status == "running"
    assert whole.backoff.postponed([key.id])
    jobs.run(whole, key.id)
    assert whole.context.store.turns(key.id)[-1].status == "done"
    assert sum("were sold" in text for text, _ in seen(people, key)) == 1


def test_a_turn_goes_on_past_a_step_that_only_a_newer_version_can_read(
    worker: tuple[WorkerContext, LocalSlack], tmp_path: Path
) -> None:
    whole, people = worker
    store = whole.context.store
    key = post(whole, people, tmp_path)
    unknown = UnknownStep(body={"kind": "of a newer version", "plan": ["read", "add up"]})
    with whole.leases.hold(key.id) as held:
        assert held is not None
        turn = store.open_turn(held.lease, "en", "scripted")
        store.append_step(held.lease, turn.id, unknown)
    jobs.run(whole, key.id)
    assert [turn.status for turn in store.turns(key.id)] == ["done"]
    assert store.steps(turn.id)[0] == unknown
    assert sum("were sold" in text for text, _ in seen(people, key)) == 1


def test_a_thread_remembers_an_earlier_turn_with_an_unknown_step(
    worker: tuple[WorkerContext, LocalSlack], tmp_path: Path
) -> None:
    whole, people = worker
    store = whole.context.store
    key = post(whole, people, tmp_path)
    jobs.run(whole, key.id)
    (earlier,) = store.turns(key.id)
    with whole.leases.hold(key.id) as held:
        assert held is not None
        store.append_step(held.lease, earlier.id, UnknownStep(body={"kind": "of a newer version"}))
    model = Remembering()
    record(whole, key, "and now?", "2000000000.000001")
    jobs.run(replace(whole, context=replace(whole.context, model=model)), key.id)
    assert [turn.status for turn in store.turns(key.id)] == ["done", "done"]
    assert "how much was sold?" in model.prompts[0]
    assert "Together **7** were sold." in model.prompts[0]
    assert "of a newer version" not in model.prompts[0]


class Remembering(ScriptedModel):
    """A scripted model that keeps what it was asked."""

    def __init__(self) -> None:
        again = call("run_python", code="print(runs)", title="Again")
        super().__init__([*SCRIPT, again, call("finish", report="Still.")])
        self.prompts: list[str] = []

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.prompts.append(json.dumps(request.messages, ensure_ascii=False))
        return super().complete(request, on_delta)
