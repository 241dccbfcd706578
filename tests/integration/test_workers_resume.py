"""A worker may die anywhere: the next one goes on, and the thread reads as if nothing had happened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness import PATIENT_SLACK, Json, session_host, settings_for
from patience import PATIENCE_S

from core.blobs import Blobs
from core.slack import SlackWriter, web_client
from core.slack_files import file_refs
from core.store import Store
from core.values import IncomingMessage, ThreadKey
from playground import running
from tryout.blocks_text import message_text
from tryout.slack_client import LocalSlack
from workers import jobs
from workers.intake import Intake
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.patience import MOST_CRASHES
from workers.wiring import Tools, opened

pytestmark = pytest.mark.integration

WRITES = (
    "open_turn",
    "set_turn_status",
    "take_mail",
    "append_step",
    "add_thread_file",
    "save_report",
    "outbox_begin",
    "outbox_note",
    "outbox_done",
    "set_thread_host",
)


class Killed(BaseException):
    """What kill -9 looks like from inside: nothing after it runs."""


class Mortal:
    """A Store whose worker dies before or after one of its writes."""

    def __init__(self, store: Store, at: int, before: bool) -> None:
        self._store = store
        self._at = at
        self._before = before
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return self._counted(found) if name in WRITES else found

    def _counted(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def writing(*args: Any, **kwargs: Any) -> Any:
            self.writes += 1
            mine = self.writes == self._at
            if mine and self._before:
                raise Killed
            result = write(*args, **kwargs)
            if mine:
                raise Killed
            return result

        return writing


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('t')"
COUNT = "import pandas as pd\ndf = pd.read_csv('sales.csv')\nruns = globals().get('runs', 0) + 1\nprint('ran', runs)"
SCRIPT = [
    call("run_python", code=COUNT, title="Read"),
    call("run_python", code=CHART, title="Chart"),
    call("finish", report="Together **42** were sold."),
]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[tuple[Tools, LocalSlack]]:
    home = tmp_path_factory.mktemp("resume")
    with ExitStack() as parts:
        parts.enter_context(session_host(home))
        slack = parts.enter_context(running(options=PATIENT_SLACK))
        people = LocalSlack(parts.enter_context(httpx.Client(base_url=slack.url, timeout=PATIENCE_S, trust_env=False)))
        settings = settings_for(home, slack.url, redis_url)
        opening = parts.enter_context(opened(settings, ScriptedModel(SCRIPT)))
        opening.shop.store.migrate()
        yield opening, people


def dying(tools: Tools, at: int, *, before: bool) -> tuple[Tools, Mortal]:
    """The same tools with a Store that kills at its write number `at`."""
    shop = tools.shop
    mortal: Any = Mortal(shop.store, at, before)
    slack = SlackWriter(web_client(shop.settings), mortal)
    downloader = shop.intake._downloader
    intake = Intake(
        store=mortal, slack=slack, sessions=shop.sessions, blobs=Blobs(shop.settings.files), downloader=downloader
    )
    return replace(tools, shop=replace(shop, store=mortal, slack=slack, intake=intake)), mortal


def post(tools: Tools, people: LocalSlack, folder: Path) -> ThreadKey:
    """A question with a file, in Slack and in the Store."""
    path = folder / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\n")
    key = people.say("#sales", "ana", "@threadbook how much was sold?", [path]).thread
    posted = people.thread(key)[0]
    tools.shop.store.record_message(
        IncomingMessage(
            team=key.team,
            channel=key.channel,
            channel_type="channel",
            ts=key.root_ts,
            root_ts=key.root_ts,
            user=posted["user"],
            text="how much was sold?",
            files=file_refs(posted["files"]),
        )
    )
    return key


def seen(people: LocalSlack, key: ThreadKey) -> list[tuple[str, list[str]]]:
    """The thread as people read it, without the times that the report and the card name."""

    def words(message: Json) -> str:
        return "\n".join(line for line in message_text(message).splitlines() if " cells · " not in line)

    return [(words(message), [file["name"] for file in message.get("files") or ()]) for message in people.thread(key)]


@pytest.mark.timeout(1_800)  # some thirty turns one after the other
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_worker_killed_at_any_write_leaves_a_thread_that_reads_the_same(
    tools: tuple[Tools, LocalSlack], tmp_path: Path, before: bool
) -> None:
    whole, people = tools
    key = post(whole, people, tmp_path)
    counting, mortal = dying(whole, 0, before=before)
    jobs.run(counting, key.id)
    expected = seen(people, key)
    assert len(expected) >= 4
    assert mortal.writes > 20
    for at in range(1, mortal.writes + 1):
        key = post(whole, people, tmp_path)
        killing, _ = dying(whole, at, before=before)
        with pytest.raises(Killed):
            jobs.run(killing, key.id)
        jobs.run(whole, key.id)
        turn = whole.shop.store.turns(key.id)[-1]
        cells = [step for step in whole.shop.store.steps(turn.id) if step["kind"] == "cell"]
        assert turn.status == "done", f"killed {'before' if before else 'after'} write {at}"
        assert [cell["stdout"].strip() for cell in cells] == ["ran 1", ""]
        assert seen(people, key) == expected, f"killed {'before' if before else 'after'} write {at}"


class Interrupting:
    """A scripted model that does something at each call before it answers."""

    native_tools = True
    name = "interrupting"

    def __init__(self, before: Callable[[], None]) -> None:
        self.before = before
        self.model = ScriptedModel(SCRIPT)

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.before()
        return self.model.complete(request, on_delta)


def with_model(tools: Tools, before: Callable[[], None]) -> Tools:
    return replace(tools, shop=replace(tools.shop, model=Interrupting(before)))


def test_a_turn_that_kills_every_worker_is_closed_with_a_sentence(
    tools: tuple[Tools, LocalSlack], tmp_path: Path
) -> None:
    whole, people = tools

    def die() -> None:
        raise Killed

    key = post(whole, people, tmp_path)
    deadly = with_model(whole, die)
    for _ in range(MOST_CRASHES + 1):  # the first opened the turn, the others died at the same step of it
        with pytest.raises(Killed):
            jobs.run(deadly, key.id)
    jobs.run(deadly, key.id)
    assert whole.shop.store.turns(key.id)[-1].status == "failed"
    assert not jobs.has_work(whole, key.id)
    assert sum("it has been logged" in text for text, _ in seen(people, key)) == 1


def test_a_worker_that_lost_its_lease_writes_and_posts_nothing_more(
    tools: tuple[Tools, LocalSlack], tmp_path: Path
) -> None:
    whole, people = tools
    key = post(whole, people, tmp_path)

    def lose_the_lease() -> None:
        whole.shop.store.raise_fence(key.id)

    jobs.run(with_model(whole, lose_the_lease), key.id)
    turn = whole.shop.store.turns(key.id)[-1]
    assert turn.status == "running"
    assert not any(step["kind"] == "replied" for step in whole.shop.store.steps(turn.id))
    jobs.run(whole, key.id)
    assert whole.shop.store.turns(key.id)[-1].status == "done"
    assert sum("42" in text for text, _ in seen(people, key)) == 1


def test_two_jobs_for_one_thread_give_one_answer(tools: tuple[Tools, LocalSlack], tmp_path: Path) -> None:
    whole, people = tools
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
    assert [turn.status for turn in whole.shop.store.turns(key.id)] == ["done"]
    assert sum("42" in text for text, _ in seen(people, key)) == 1


def test_a_slack_that_is_away_for_a_while_delays_the_answer_and_loses_nothing(
    tools: tuple[Tools, LocalSlack], tmp_path: Path
) -> None:
    whole, people = tools
    key = post(whole, people, tmp_path)
    fault = {"method": "chat.postMessage", "kind": "drop_call", "times": 6}
    people.http.post("/control/faults", json=fault).raise_for_status()
    jobs.run(whole, key.id)
    assert whole.shop.store.turns(key.id)[-1].status == "running"
    assert whole.patience.postponed([key.id])
    jobs.run(whole, key.id)
    assert whole.shop.store.turns(key.id)[-1].status == "done"
    assert sum("42" in text for text, _ in seen(people, key)) == 1


def test_a_step_that_nobody_can_read_any_more_ends_the_turn_instead_of_looping(
    tools: tuple[Tools, LocalSlack], tmp_path: Path
) -> None:
    whole, people = tools
    key = post(whole, people, tmp_path)
    with whole.leases.hold(key.id) as held:
        assert held is not None
        turn = whole.shop.store.open_turn(held.lease, "en", "scripted")
        whole.shop.store.append_step(held.lease, turn.id, {"kind": "of another version"})
    for _ in range(MOST_CRASHES + 1):
        jobs.run(whole, key.id)
    assert whole.shop.store.turns(key.id)[-1].status == "failed"
    assert not jobs.has_work(whole, key.id)
    whole.shop.store.record_message(
        IncomingMessage(
            team=key.team,
            channel=key.channel,
            channel_type="channel",
            ts="2000000000.000001",
            root_ts=key.root_ts,
            user="U0ANA00001",
            text="and now?",
        )
    )
    jobs.run(whole, key.id)
    turns = whole.shop.store.turns(key.id)
    assert len(turns) == 2
    assert [step["stdout"] for step in whole.shop.store.steps(turns[-1].id) if step["kind"] == "cell"]
