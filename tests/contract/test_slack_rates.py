"""Rate budgets against the local Slack: a Retry-After holds for every process, frames are dropped, answers are not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import fakeredis
import httpx
import pytest

from core.errors import SlackBusy, SlackFailed
from core.settings import Settings, load_settings
from core.slack import rates as slack_rates
from core.slack.client import web_client
from core.slack.rates import Budget, Rates
from core.slack.writing import writer
from core.slack.writing.uploads import Upload
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.values import IncomingMessage, Lease, ThreadKey
from playground import Options, running
from tryout.stack.slack_client import LocalSlack


class Team:
    """A thread, and any number of processes that write into it."""

    def __init__(self, settings: Settings, store: Store, people: LocalSlack, server: fakeredis.FakeServer) -> None:
        self.settings = settings
        self.store = store
        self.people = people
        self.server = server
        self.key: ThreadKey = people.say("#sales", "ana", "hello").thread
        message = {"channel_type": "channel", "user": "U1", "text": "hello", "ts": self.key.root_ts}
        store.record_message(IncomingMessage.model_validate({**self.key._asdict(), **message}))
        self.lease = Lease(thread_id=self.key.id, token=store.raise_fence(self.key.id), owner="test")

    def rates(self) -> Rates:
        return Rates(fakeredis.FakeRedis(server=self.server), paced=True)

    def writer(self) -> SlackWriter:
        """The writer of another process."""
        return SlackWriter(web_client(self.settings, fakeredis.FakeRedis(server=self.server)), self.store)

    def texts(self) -> list[str]:
        return [str(message["text"]) for message in self.people.thread(self.key)[1:]]


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    with (
        running(options=Options(share_delay_s=0.0)) as slack,
        httpx.Client(base_url=slack.url, timeout=30, trust_env=False) as http,
    ):
        (tmp_path / "threadbook.toml").write_text('[slack]\nrate_budgets = "always"\n')
        settings = load_settings({"SLACK_API_URL": slack.api_url, "SLACK_BOT_TOKEN": slack.bot_token}, tmp_path)
        with closing(Store(settings.database_url)) as store:
            store.migrate()
            yield Team(settings, store, LocalSlack(http), fakeredis.FakeServer())


def test_a_retry_after_holds_for_all_processes(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    order = {"method": "chat.postMessage", "kind": "ratelimited", "retry_after": 3}
    team.people.http.post("/control/faults", json=order).raise_for_status()
    seen: list[float] = []
    real_pause = Rates.pause

    def pause(self: Rates, method: str, channel: str, seconds: float) -> None:
        real_pause(self, method, channel, seconds)
        seen.append(team.rates().delay(method, channel))
        seen.append(team.rates().delay(method, "C0OTHER"))

    monkeypatch.setattr(Rates, "pause", pause)
    team.writer().post(team.lease, team.key, "k1", "the answer")
    assert seen[0] > 0
    assert seen[1] == 0, "a limit on posts is the channel's own"
    assert team.texts() == ["the answer"]


def test_a_frame_is_dropped_when_the_budget_is_used_up_and_an_answer_is_not(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_rates, "BUDGETS", {"chat.update": Budget(1, 3), "chat.postMessage": Budget(6, 1)})
    monkeypatch.setattr(writer, "SPARED_FRAMES", 1)
    waited: list[float] = []
    monkeypatch.setattr(slack_rates.time, "sleep", waited.append)
    one, two = team.writer(), team.writer()
    ts = one.post(team.lease, team.key, "card", "card")
    one.update(team.lease, team.key, ts, "frame 1", may_wait=False)
    two.update(team.lease, team.key, ts, "frame 2", may_wait=False)
    with pytest.raises(SlackBusy):
        one.update(team.lease, team.key, ts, "frame 3", may_wait=False)
    assert team.texts() == ["frame 2"]
    for number in range(4):
        (one if number % 2 else two).post(team.lease, team.key, f"answer:{number}", f"answer {number}")
    assert team.texts() == ["frame 2", *(f"answer {number}" for number in range(4))]
    assert waited
    before = len(waited)
    two.update(team.lease, team.key, ts, "the last state")
    assert team.texts()[0] == "the last state"
    assert len(waited) == before, "frames leave a slot to the last state"


@pytest.mark.parametrize("limit", ["budget", "429"])
def test_what_is_only_nice_to_have_waits_for_nothing(team: Team, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    waited: list[float] = []
    one = team.writer()
    ts = one.post(team.lease, team.key, "card", "card")
    methods = ("reactions.add", "reactions.remove", "assistant.threads.setStatus", "agents.sessions.setStatus")
    if limit == "budget":
        monkeypatch.setattr(slack_rates, "BUDGETS", dict.fromkeys((*methods, "chat.update"), Budget(1, 1)))
        for method in (*methods, "chat.update"):
            team.rates().wait(method)
    else:
        for method in (*methods, "chat.update"):
            order = {"method": method, "kind": "ratelimited", "retry_after": 30, "times": 9}
            team.people.http.post("/control/faults", json=order).raise_for_status()
    monkeypatch.setattr(time, "sleep", waited.append)
    for _ in range(2):
        one.react(team.key, team.key.root_ts, "eyes", lease=team.lease)
        one.unreact(team.key, team.key.root_ts, "eyes", lease=team.lease)
        one.set_status(team.key, "is thinking…", lease=team.lease)
        one.set_session(team.key, "processing", lease=team.lease)
        with pytest.raises(SlackBusy):
            one.update(team.lease, team.key, ts, "frame", may_wait=False)
    assert waited == []
    if limit == "429":
        calls = team.people.wire(kind="call")
        assert [sum(call["method"] == method for call in calls) for method in methods] == [1, 1, 1, 1]
        assert team.rates().delay("reactions.add") > 0, "the Retry-After holds for all"


def test_what_a_workspace_does_not_offer_is_remembered_by_all_processes(team: Team) -> None:
    for method in ("agents.sessions.setStatus", "files.getUploadURLExternal"):
        order = {"method": method, "kind": "error", "error": "unknown_method", "times": 99}
        team.people.http.post("/control/faults", json=order).raise_for_status()
    elsewhere = ThreadKey("T0ELSEWHERE", team.key.channel, team.key.root_ts)
    for number in range(3):
        process = team.writer()
        process.set_session(team.key, "processing", lease=team.lease)
        with pytest.raises(SlackFailed, match="unknown_method"):
            process.upload(team.lease, team.key, f"files:{number}", [Upload("a.csv", b"a")])
    assert len(team.people.wire(kind="call", method="agents.sessions.setStatus")) == 1
    assert len(team.people.wire(kind="call", method="files.getUploadURLExternal")) == 1
    team.writer().set_session(elsewhere, "processing", lease=team.lease)
    assert len(team.people.wire(kind="call", method="agents.sessions.setStatus")) == 2, "another workspace is asked"


def test_every_page_of_a_list_takes_its_slot(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real_wait = Rates.wait

    def wait(self: Rates, method: str, channel: str = "") -> None:
        asked.append(f"{method} {channel}")
        real_wait(self, method, channel)

    monkeypatch.setattr(Rates, "wait", wait)
    team.people.say("#sales", "ana", "one more", thread_ts=team.key.root_ts)
    team.people.say("#sales", "ana", "and one more", thread_ts=team.key.root_ts)
    found = team.writer()._replies(team.key, limit=1)
    assert [message["text"] for message in found] == ["hello", "one more", "and one more"]
    called = team.people.http.get("/control/wire", params={"kind": "call", "method": "conversations.replies"}).json()
    assert len(called["entries"]) > 1
    assert asked == [f"conversations.replies {team.key.channel}"] * len(called["entries"])
