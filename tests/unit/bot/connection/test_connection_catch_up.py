"""Words said while no bot listened: each is taken in once, and nothing that is known is taken again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import fakeredis
import pytest
from patience import PATIENCE_S, eventually

import bot.connection.catch_up
from bot.connection.catch_up import CatchUp
from core.errors import SlackBusy
from core.slack.fake import BOT_USER, FakeSlack
from core.slack.rates import Rates
from core.slack.reading.reader import SlackReader
from core.store import Store, StoreUnreachable
from core.values import IncomingMessage, ThreadKey

CHANNEL = "C0SALES001"


class Bot:
    """A bot that starts now, on the Store, the Slack and the Redis of the ones before it."""

    def __init__(self, slack: FakeSlack, store: Store, redis: fakeredis.FakeRedis) -> None:
        self.slack = slack
        self.store = store
        self.redis = redis
        self.taken: list[str] = []
        self.client = slack.client()
        self.catch_up = CatchUp(
            store=store, slack_of=lambda team: SlackReader(self.client), redis=redis, take=self.take
        )

    def take(self, event: Mapping[str, Any], team: str, bot_user_id: str) -> None:
        assert (team, bot_user_id, event["channel"]) == (self.slack.team, BOT_USER, CHANNEL)
        self.taken.append(event["text"])
        record(self.store, self.slack.team, event)

    def look_up_all(self) -> None:
        while self.catch_up.look_up_one():
            pass


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path}/store.db")) as opened:
        opened.migrate()
        yield opened


@pytest.fixture
def bot_(store: Store) -> Iterator[Bot]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis:
        yield Bot(FakeSlack(), store, redis)


def record(store: Store, team: str, event: Mapping[str, Any]) -> None:
    root = event.get("thread_ts") or event["ts"]
    key = ThreadKey(team, CHANNEL, root)
    store.record_message(
        IncomingMessage(**key._asdict(), channel_type="channel", ts=event["ts"], user="U1", text=event["text"])
    )


def known(bot_: Bot, text: str, thread: ThreadKey | None = None) -> ThreadKey:
    """Somebody writes while a bot listens."""
    posted = bot_.slack.say(text, thread_ts=thread.root_ts if thread else "")
    record(bot_.store, bot_.slack.team, posted)
    return thread or ThreadKey(bot_.slack.team, CHANNEL, posted["ts"])


def unreachable(*arguments: object, **keywords: object) -> None:
    raise StoreUnreachable("away")


def long_gap(bot_: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has listened for 10,000 s, and "only 2023" was written meanwhile."""
    monkeypatch.setattr(bot.connection.catch_up, "TICK_S", 0.001)
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    bot_.redis.set("threadbook:bot:listened", f"{float(key.root_ts):.6f}")
    monkeypatch.setattr(time, "time", lambda: float(key.root_ts) + 10_000)


def missed(bot_: Bot, text: str, thread: ThreadKey) -> None:
    """Somebody writes while none does."""
    bot_.slack.say(text, thread_ts=thread.root_ts)


def test_words_that_nobody_heard_are_taken_in_order_and_once(bot_: Bot) -> None:
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    missed(bot_, "and net, please", key)
    for _ in range(2):
        bot_.catch_up.note_start()
        bot_.look_up_all()
    assert bot_.taken == ["only 2023", "and net, please"]


def test_what_was_heard_meanwhile_is_not_taken_again(bot_: Bot) -> None:
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    bot_.catch_up.note_start()
    known(bot_, "said once the bot listens", key)
    bot_.look_up_all()
    assert bot_.taken == ["only 2023"], "also what was missed before it is found"


def test_several_threads_are_looked_up_the_latest_first(bot_: Bot) -> None:
    keys = [known(bot_, f"question {number}") for number in range(3)]
    for number, key in enumerate(keys):
        missed(bot_, f"more {number}", key)
    bot_.catch_up.note_start()
    bot_.look_up_all()
    assert bot_.taken == ["more 2", "more 1", "more 0"]


def test_a_gap_looks_up_few_threads(bot_: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot.connection.catch_up, "GAP_THREADS", 2)
    for number in range(4):
        key = known(bot_, f"question {number}")
        missed(bot_, f"more {number}", key)
    bot_.catch_up.note_gap()
    bot_.look_up_all()
    assert bot_.taken == ["more 3", "more 2"]


def test_what_slack_dropped_is_read_once_it_has_stopped_also_before_a_later_message(
    bot_: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot.connection.catch_up, "TICK_S", 0.001)
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    known(bot_, "and net, please", key)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    bot_.catch_up.note_dropped(bot_.slack.team, float(key.root_ts) - 1)
    bot_.catch_up.note_dropped("T0ANOTHER1", float(key.root_ts) - 1)
    looks: list[bool] = []
    with bot_.catch_up.running(lambda: not looks.append(True)):
        eventually(lambda: len(looks) > 2, "a whole look")
        assert bot_.taken == [], "Slack still drops"
        assert bot_.redis.get("threadbook:bot:listened") is None, "a bot that starts now looks that far back"
        now += bot.connection.catch_up.DROPPED_S
        eventually(lambda: bot_.redis.get("threadbook:bot:listened") is not None, "the end of all look-ups")
    assert bot_.taken == ["only 2023"]


def test_what_slack_drops_while_the_store_is_away_is_read_later(bot_: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot.connection.catch_up, "TICK_S", 0.001)
    monkeypatch.setattr(bot.connection.catch_up, "DROPPED_S", 0.0)
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    asked = threading.Event()

    def away(*_: object) -> None:
        asked.set()
        raise StoreUnreachable("away")

    with bot_.catch_up.running(lambda: True), monkeypatch.context() as patch:
        patch.setattr(bot_.store, "lately_active", away)
        bot_.catch_up.note_dropped(bot_.slack.team, float(key.root_ts) - 1)
        assert asked.wait(PATIENCE_S)
        patch.undo()
        eventually(lambda: bot_.taken == ["only 2023"], "what was dropped")


def test_a_thread_that_is_quiet_costs_one_call(bot_: Bot) -> None:
    for number in range(3):
        known(bot_, f"question {number}")
    bot_.catch_up.note_start()
    bot_.look_up_all()
    assert [method for method, _ in bot_.slack.calls] == ["auth.test", *["conversations.replies"] * 3]


def test_what_was_left_alone_long_before_the_gap_stays_alone(bot_: Bot) -> None:
    """A channel was strict until now: its chatter was not for the bot when it was said."""
    key = known(bot_, "what sold best?")
    missed(bot_, "chatter", key)
    root = float(key.root_ts)
    bot_.redis.set("threadbook:bot:listened", f"{root + 10_000:.6f}")
    bot_.catch_up.note_start()
    bot_.look_up_all()
    assert bot_.taken == []


def test_without_budget_a_look_up_gives_way_and_comes_later(bot_: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    rates = Rates(bot_.redis, paced=True)
    assert bot_.client.repeats is not None
    monkeypatch.setattr(bot_.client.repeats, "rates", rates)
    rates.pause("conversations.replies", CHANNEL, 60)
    bot_.catch_up.note_start()
    assert not bot_.catch_up.look_up_one()
    assert "conversations.replies" not in [method for method, _ in bot_.slack.calls]
    bot_.redis.flushall()
    bot_.look_up_all()
    assert bot_.taken == ["only 2023"]


def test_a_slack_that_is_away_is_tried_again_and_blocks_no_other_thread(bot_: Bot) -> None:
    other, key = known(bot_, "how many?"), known(bot_, "what sold best?")
    missed(bot_, "in 2022", other)
    missed(bot_, "only 2023", key)
    bot_.catch_up.note_start()
    bot_.slack.fault("conversations.replies", "drop_call", times=3)
    assert not bot_.catch_up.look_up_one()
    bot_.look_up_all()
    assert bot_.taken == ["in 2022", "only 2023"]


def test_a_thread_that_cannot_be_read_is_given_up_in_the_end(bot_: Bot) -> None:
    known(bot_, "what sold best?")
    bot_.catch_up.note_start()
    bot_.slack.fault("conversations.replies", "error", error="not_in_channel", times=99)
    for _ in range(bot.connection.catch_up.MAX_TRIES):
        assert not bot_.catch_up.look_up_one()
    assert bot_.catch_up._wanted == {}


def test_a_slack_that_fails_for_half_an_hour_uses_up_no_thread(bot_: Bot) -> None:
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    bot_.catch_up.note_start()
    bot_.slack.fault("conversations.replies", "drop_call", times=9_999)
    waited_s = 0.0
    while waited_s < 1_800:
        assert not bot_.catch_up.look_up_one()
        waited_s += bot_.catch_up.pause_s()
    bot_.slack.heal()
    bot_.look_up_all()
    assert bot_.taken == ["only 2023"]


def test_a_store_that_goes_away_while_words_are_taken_loses_none(bot_: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    bot_.catch_up.note_start()
    with monkeypatch.context() as away:
        away.setattr(Store, "known_messages", unreachable)
        assert not bot_.catch_up.look_up_one()
        away.setattr(Store, "lately_active", unreachable)
        bot_.catch_up.note_gap()
    bot_.look_up_all()
    assert bot_.taken == ["only 2023"]


def test_nothing_is_looked_up_before_the_bot_listens(bot_: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said between the look-up and the first event would be missed."""
    monkeypatch.setattr(bot.connection.catch_up, "TICK_S", 0.001)
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    listens, asked = threading.Event(), threading.Event()

    def is_listening() -> bool:
        asked.set()
        return listens.is_set()

    bot_.catch_up.note_start()
    with bot_.catch_up.running(is_listening):
        eventually(asked.is_set)
        assert bot_.taken == []
        assert bot_.redis.get("threadbook:bot:listened") is None
        listens.set()
        eventually(lambda: bot_.taken == ["only 2023"])
        eventually(lambda: bot_.redis.get("threadbook:bot:listened") is not None)


def test_words_of_a_long_gap_are_taken_also_when_the_store_was_away_as_it_ended(
    bot_: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_gap(bot_, monkeypatch)
    with monkeypatch.context() as away:
        away.setattr(Store, "lately_active", unreachable)
        bot_.catch_up.note_gap()
    with bot_.catch_up.running(lambda: True):
        eventually(lambda: bot_.taken == ["only 2023"])


def test_a_bot_that_ends_before_it_has_looked_up_all_leaves_the_rest_to_the_next(
    bot_: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_gap(bot_, monkeypatch)
    tried = threading.Event()

    def busy(thread: ThreadKey, ts: str) -> list[dict[str, Any]]:
        tried.set()
        raise SlackBusy("no budget")

    with monkeypatch.context() as slow:
        slow.setattr(SlackReader, "messages_since", lambda self, thread, ts: busy(thread, ts))
        bot_.catch_up.note_start()
        with bot_.catch_up.running(lambda: True):
            eventually(tried.is_set)
    following = Bot(bot_.slack, bot_.store, bot_.redis)
    following.catch_up.note_start()
    following.look_up_all()
    assert following.taken == ["only 2023"]


def test_a_store_that_is_away_for_long_uses_up_no_tries(bot_: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    key = known(bot_, "what sold best?")
    missed(bot_, "only 2023", key)
    bot_.catch_up.note_start()
    with monkeypatch.context() as away:
        away.setattr(Store, "known_messages", unreachable)
        for _ in range(2 * bot.connection.catch_up.MAX_TRIES):
            assert not bot_.catch_up.look_up_one()
    bot_.look_up_all()
    assert bot_.taken == ["only 2023"]


def test_a_look_up_that_is_cut_off_as_the_bot_ends_is_done_by_the_next(
    bot_: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bot's executors take no more work by then."""
    long_gap(bot_, monkeypatch)
    began, stopped, others = threading.Event(), threading.Event(), set(threading.enumerate())

    def take(event: Mapping[str, Any], team: str, bot_user_id: str) -> None:
        began.set()
        stopped.wait(PATIENCE_S)
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(bot_.catch_up, "_take", take)
    bot_.catch_up.note_start()
    with bot_.catch_up.running(lambda: True):
        assert began.wait(PATIENCE_S)
    stopped.set()
    eventually(lambda: set(threading.enumerate()) <= others)
    following = Bot(bot_.slack, bot_.store, bot_.redis)
    following.catch_up.note_start()
    following.look_up_all()
    assert following.taken == ["only 2023"]
