"""Where no worker runs, those who wait are told, once, in their language."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fakeredis
import pytest
from redis import RedisError
from redis.exceptions import OutOfMemoryError, ReadOnlyError

import bot.unattended
from bot.unattended import OUTAGE_S, START_S, Unattended
from core.installations.tokens import NotInstalled
from core.queue import Wakes
from core.slack.fake import FakeSlack
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.values import IncomingMessage, ThreadKey

CHANNEL = "C0SALES001"


class World:
    def __init__(self, store: Store, redis: fakeredis.FakeRedis) -> None:
        self.slack = FakeSlack()
        self.store = store
        self.wakes = Wakes(redis, store)
        self.writer = SlackWriter(self.slack.client(), store)
        self.unattended = Unattended(store=store, slack_of=lambda team: self.writer, redis=redis)

    def asked(self, text: str = "what sold best?") -> ThreadKey:
        posted = self.slack.say(text)
        key = ThreadKey(self.slack.team, CHANNEL, posted["ts"])
        self.store.record_message(
            IncomingMessage(**key._asdict(), channel_type="channel", ts=posted["ts"], user="U1", text=text)
        )
        return key

    def said(self, key: ThreadKey) -> list[str]:
        return [text for each in self.slack.thread(key.root_ts) if "workers" in (text := each["text"])]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(bot.unattended, "datetime", Later)
    with (
        closing(Store(f"sqlite:///{tmp_path}/store.db")) as store,
        fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis,
    ):
        store.migrate()
        yield World(store, redis)


class Later(datetime):
    """A minute has passed since the question."""

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return datetime.now(UTC) + timedelta(minutes=1)


def test_who_waits_is_told_once(world: World) -> None:
    key = world.asked()
    for moment in (0.0, START_S, 2 * START_S):
        world.unattended.look(moment)
    assert len(world.said(key)) == 1
    other = Unattended(store=world.store, slack_of=lambda team: world.writer, redis=world.unattended._redis)
    other.look(0.0)
    other.look(START_S)
    assert len(world.said(key)) == 1, "a bot that was started again says it once more"


def test_nobody_is_told_while_a_worker_runs_or_is_started_again(world: World) -> None:
    key = world.asked()
    world.unattended.look(0.0)
    world.unattended.look(OUTAGE_S - 1)
    world.wakes.announce_node("n1")
    world.unattended.look(OUTAGE_S + 1)
    world.wakes.retire_node("n1")
    world.unattended.look(OUTAGE_S + 2)
    assert not world.said(key)


def test_a_bot_waits_longer_for_the_first_worker_than_for_one_that_is_started_again(world: World) -> None:
    key = world.asked()
    world.unattended.look(0.0)
    world.unattended.look(START_S - 1)
    assert not world.said(key)
    world.wakes.announce_node("n1")
    world.unattended.look(START_S)
    world.wakes.retire_node("n1")
    world.unattended.look(START_S + 1)
    world.unattended.look(START_S + OUTAGE_S)
    assert not world.said(key)
    world.unattended.look(START_S + OUTAGE_S + 1)
    assert len(world.said(key)) == 1


def test_a_workspace_that_uninstalled_the_app_keeps_nobody_else_waiting(world: World) -> None:
    gone, key = world.asked("first"), world.asked("second")

    def slack_of(team: str) -> SlackWriter:
        if not seen:
            seen.append(team)
            raise NotInstalled(team)
        return world.writer

    seen: list[str] = []
    unattended = Unattended(store=world.store, slack_of=slack_of, redis=world.unattended._redis)
    unattended.look(0.0)
    unattended.look(START_S)
    assert (world.said(gone), len(world.said(key))) == ([], 1)


def test_a_redis_that_is_away_ends_no_look(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = world.asked()
    world.unattended.look(0.0)
    with monkeypatch.context() as away:
        away.setattr(bot.unattended, "nodes", _away)
        world.unattended.look(START_S)
    assert not world.said(key)
    world.unattended.look(START_S)
    assert len(world.said(key)) == 1


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "look at the memory of Redis"),
        (ReadOnlyError("You can't write against a read only replica."), "takes no writes now"),
    ],
)
def test_who_waits_is_told_of_a_redis_that_takes_no_writes_and_not_of_missing_workers(
    world: World, monkeypatch: pytest.MonkeyPatch, refusal: RedisError, words: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise refusal

    key = world.asked()
    monkeypatch.setattr(world.unattended._redis, "set", refuse)
    world.unattended.look(0.0)
    world.unattended.look(START_S)
    (said,) = world.said(key)
    assert words in said
    assert "None of my workers" not in said


def _away(redis: object) -> list[object]:
    raise RedisError("away")
