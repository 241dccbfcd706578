"""The bot asks `may` before it keeps a message: what is refused gets a sentence, and nothing of it is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import fakeredis
import pytest

import bot.background
from bot.intake import EventContext, addressed, read_message
from bot.message_handler import MessageHandler
from core.errors import SlackUnreachable
from core.queue import Wakes
from core.settings import load_settings
from core.slack.fake import FakeSlack
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.values import IncomingMessage

ANA, BEN = "U0ANA00001", "U0BEN00001"
CHANNEL = "C0SALES001"


class Now(Executor):
    """Does at once what is submitted."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:  # type: ignore[override]
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


class Bot:
    """A bot on an in-memory Slack."""

    def __init__(self, folder: Path, team: str = "", lookups: Executor | None = None) -> None:
        (folder / "threadbook.toml").write_text(team, encoding="utf-8")
        self.slack = FakeSlack()
        self.store = Store(f"sqlite:///{folder}/store.db")
        self.store.migrate()
        self.redis = fakeredis.FakeRedis(server=fakeredis.FakeServer())
        self.looked_behind: list[tuple[str, str]] = []
        self.handler = MessageHandler(
            settings=load_settings({"THREADBOOK_HOME": str(folder)}, folder),
            store=self.store,
            wakes=Wakes(self.redis, self.store),
            slack=SlackWriter(self.slack.client(), self.store),
            later=Now(),
            lookups=lookups or Now(),
            look_behind=lambda thread, ts: self.looked_behind.append((thread.id, ts)),
        )

    def say(self, text: str, *, user: str = BEN, thread_ts: str = "", **event: Any) -> IncomingMessage:
        posted = self.slack.say(text, user=user, thread_ts=thread_ts)
        raw = {**posted, "type": "app_mention", "channel": CHANNEL, **event}
        context = self.context()
        message = addressed(read_message(raw, context), context)
        assert isinstance(message, IncomingMessage)
        self.handler.take(message, context)
        return message

    def context(self) -> EventContext:
        return self.handler.event_context(self.slack.team, "U0FAKEBOT1")

    def said(self, message: IncomingMessage) -> list[str]:
        return [each["text"] for each in self.slack.thread(message.root_ts) if each.get("bot_id")]

    def kept(self, message: IncomingMessage) -> list[str]:
        return [each.text for each in self.store.unread(message.thread.id)]


@pytest.fixture
def new_bot(tmp_path: Path) -> Iterator[Callable[..., Bot]]:
    made: list[Bot] = []

    def make(**options: Any) -> Bot:
        made.append(Bot(tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.store.close()
        one.redis.close()


@pytest.fixture
def threadbook(new_bot: Callable[..., Bot]) -> Bot:
    return new_bot()


def test_a_member_is_taken_in_with_what_is_known_of_them(threadbook: Bot) -> None:
    message = threadbook.say("what sold best?")
    (kept,) = threadbook.store.unread(message.thread.id)
    assert kept.standing == "member"
    assert threadbook.said(message) == []


@pytest.mark.parametrize(
    ("flags", "event", "says"),
    [
        ({"is_restricted": True}, {}, "guests of this workspace"),
        ({"is_ultra_restricted": True}, {}, "guests of this workspace"),
        ({"team_id": "T0OTHER001"}, {}, "people of this workspace"),
        ({"is_stranger": True}, {}, "people of this workspace"),
        ({}, {"user_team": "T0OTHER001"}, "people of this workspace"),
    ],
)
def test_a_stranger_or_a_guest_gets_a_sentence_and_nothing_is_kept(
    threadbook: Bot, flags: dict[str, Any], event: dict[str, Any], says: str
) -> None:
    threadbook.slack.flags[BEN] = flags
    message = threadbook.say("what is the secret plan?", **event)
    assert threadbook.kept(message) == []
    (said,) = threadbook.said(message)
    assert says in said
    assert not threadbook.store.knows_thread(message.thread)
    assert threadbook.redis.keys("rq:job:*") == []
    (line,) = threadbook.store.audit_lines()
    assert (line.actor, line.action, line.outcome) == (BEN, "ask", "refused")


def test_a_workspace_of_our_own_has_no_strangers(new_bot: Callable[..., Bot]) -> None:
    threadbook = new_bot(team='[access]\nown_teams = ["T0OTHER001"]\n')
    threadbook.slack.flags[BEN] = {"team_id": "T0OTHER001"}
    message = threadbook.say("what sold best?", user_team="T0OTHER001")
    assert threadbook.kept(message) == ["what sold best?"]


def test_the_sentence_comes_once_however_often_somebody_tries(threadbook: Bot) -> None:
    threadbook.slack.flags[BEN] = {"is_restricted": True}
    message = threadbook.say("one")
    threadbook.say("two", thread_ts=message.root_ts)
    assert len(threadbook.said(message)) == 1


def test_a_look_up_that_nobody_waits_for_any_more_is_not_begun(new_bot: Callable[..., Bot]) -> None:
    told, begun = Event(), Event()
    with ThreadPoolExecutor(1) as lookups:
        lookups.submit(told.wait)
        try:
            assert not new_bot(lookups=lookups).handler.background.in_time(begun.set, 0.0)
        finally:
            told.set()
    assert not begun.is_set()


def test_a_refused_command_says_nothing_else(threadbook: Bot) -> None:
    threadbook.slack.flags[BEN] = {"is_restricted": True}
    message = threadbook.say("hi")
    threadbook.handler.take(message.model_copy(update={"kind": "help", "ts": "1.000002"}), threadbook.context())
    assert len(threadbook.said(message)) == 1


def test_what_slack_does_not_tell_in_time_is_left_to_the_worker(
    new_bot: Callable[..., Bot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot.background, "LOOKUP_WAIT_S", 0.0)
    told = Event()
    with ThreadPoolExecutor(1) as lookups:
        lookups.submit(told.wait)  # the look-ups wait behind this
        try:
            threadbook = new_bot(lookups=lookups)
            threadbook.slack.flags[BEN] = {"is_restricted": True}
            message = threadbook.say("what sold best?")
        finally:
            told.set()
    (kept,) = threadbook.store.unread(message.thread.id)
    assert kept.standing == ""


def test_nobody_sends_the_bot_away_before_slack_says_who_they_are(threadbook: Bot) -> None:
    """The bot leaves by itself: no worker asks again."""
    asked = threadbook.say("what sold best?")
    guest = asked.model_copy(update={"user": "U0GUEST001", "ts": "1.000002", "text": "leave", "kind": "leave"})
    threadbook.slack.fault("users.info", "drop_call", times=3)
    with pytest.raises(SlackUnreachable):
        threadbook.handler.take(guest, threadbook.context())
    assert not threadbook.store.has_left(asked.thread)
    threadbook.slack.flags["U0GUEST001"] = {"is_restricted": True}
    threadbook.handler.take(guest, threadbook.context())
    assert not threadbook.store.has_left(asked.thread)
    threadbook.handler.take(guest.model_copy(update={"user": BEN, "ts": "1.000003"}), threadbook.context())
    assert threadbook.store.has_left(asked.thread)


def test_a_slack_that_refuses_to_look_people_up_has_members_only(threadbook: Bot) -> None:
    threadbook.slack.fault("users.info", "error", error="missing_scope", times=9)
    assert threadbook.kept(threadbook.say("what sold best?")) == ["what sold best?"]


def test_somebody_whom_slack_does_not_show_is_a_stranger(threadbook: Bot) -> None:
    message = threadbook.say("what sold best?", user="U0NOBODY01")
    assert threadbook.kept(message) == []
