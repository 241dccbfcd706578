"""Rate budgets against the local Slack: a Retry-After holds for every process, frames are dropped, answers are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import fakeredis
import httpx
import pytest

from core import slack_rates
from core.errors import SlackBusy
from core.settings import Settings, load_settings
from core.slack import SlackWriter, web_client
from core.slack_rates import Budget, Rates
from core.store import Store
from core.values import IncomingMessage, Lease, ThreadKey
from playground import Options, running
from tryout.slack_client import LocalSlack


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


def test_a_retry_after_that_one_process_was_told_keeps_the_others_away(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setattr(slack_rates, "BUDGETS", {"chat.update": Budget(1, 2), "chat.postMessage": Budget(6, 1)})
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
    two.update(team.lease, team.key, ts, "the last state")
    assert team.texts()[0] == "the last state"
