"""Work that the Store refused is done when it is back, in order, and once; also by the process that comes after."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from no_room import no_room_for
from patience import PATIENCE_S, eventually

import bot.connection.retry_buffer
from bot.connection.retry_buffer import RetryBuffer
from core.spool import Spool, Spooled
from core.store import StoreUnreachable


def event(ts: str, text: str = "") -> Spooled:
    return Spooled({"type": "message", "channel": "C1", "ts": ts, "text": text or ts}, "T1", "U0BOT")


class Taker:
    """Takes events, and refuses the first `refusals` of them."""

    def __init__(self, refusals: int = 0) -> None:
        self.taken: list[str] = []
        self.tries = 0
        self.tried = threading.Event()
        self._refusals = refusals

    def __call__(self, spooled: Spooled) -> None:
        self.tries += 1
        self.tried.set()
        if self.tries <= self._refusals:
            raise StoreUnreachable("away")
        if spooled.event["text"] == "broken":
            raise RuntimeError("ours")
        self.taken.append(spooled.event["text"])


def test_events_are_taken_in_order_once_the_store_is_back(tmp_path: Path) -> None:
    take, spool = Taker(4), Spool(tmp_path)
    buffer = RetryBuffer(take, spool, every_s=0.001)
    buffer.add(event("100.000001"))
    buffer.add(event("100.000002"))
    eventually(lambda: len(take.taken) == 2)
    assert take.taken == ["100.000001", "100.000002"]
    eventually(lambda: not spool.kept(), "an empty spool")


def test_an_event_for_whose_thread_there_was_no_room_is_taken_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Taker()
    no_room_for(monkeypatch, "retry")
    buffer = RetryBuffer(take, Spool(tmp_path), every_s=0.001)
    for ts in ("100.000001", "100.000002"):
        buffer.add(event(ts))
    eventually(lambda: take.taken == ["100.000001", "100.000002"])


def test_an_event_that_cannot_be_taken_for_another_reason_does_not_block_the_next(tmp_path: Path) -> None:
    take = Taker()
    buffer = RetryBuffer(take, Spool(tmp_path), every_s=0.001)
    buffer.add(event("100.000001", "broken"))
    buffer.add(event("100.000002"))
    eventually(lambda: take.taken == ["100.000002"])
    eventually(lambda: not Spool(tmp_path).kept())


def test_events_of_a_process_that_died_are_taken_by_the_next_one(tmp_path: Path) -> None:
    first = Taker(10**9)
    dying = RetryBuffer(first, Spool(tmp_path), every_s=PATIENCE_S)
    for ts in ("100.000002", "99.000001"):
        dying.add(event(ts))
    assert first.tried.wait(PATIENCE_S)
    dying.close()
    take = Taker()
    buffer = RetryBuffer(take, Spool(tmp_path), every_s=0.001)
    buffer.resume()
    eventually(lambda: take.taken == ["99.000001", "100.000002"], "the order in which people wrote")
    eventually(lambda: not Spool(tmp_path).kept())


def test_an_event_in_the_spool_is_tried_however_long_the_store_is_away(tmp_path: Path) -> None:
    take = Taker(50)
    bot.connection.retry_buffer.GIVE_UP_S, before = 0.0, bot.connection.retry_buffer.GIVE_UP_S
    try:
        RetryBuffer(take, Spool(tmp_path), every_s=0.001).add(event("100.000001"))
        eventually(lambda: take.taken == ["100.000001"])
    finally:
        bot.connection.retry_buffer.GIVE_UP_S = before


def test_an_event_that_the_disk_refuses_too_is_tried_for_a_while_and_then_left_to_slack(tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    take = Taker(3)
    RetryBuffer(take, Spool(no_folder), every_s=0.001).add(event("100.000001"))
    eventually(lambda: take.taken == ["100.000001"])
    hopeless = Taker(10**9)
    bot.connection.retry_buffer.GIVE_UP_S, before = 0.0, bot.connection.retry_buffer.GIVE_UP_S
    try:
        RetryBuffer(hopeless, Spool(no_folder), every_s=0.001).add(event("100.000001"))
        eventually(lambda: hopeless.tries == 1)
    finally:
        bot.connection.retry_buffer.GIVE_UP_S = before


def test_an_event_that_slack_sends_again_waits_once(tmp_path: Path) -> None:
    take = Taker(1)
    buffer = RetryBuffer(take, Spool(tmp_path), every_s=0.2)
    for _ in range(3):
        buffer.add(event("100.000001"))
    eventually(lambda: not Spool(tmp_path).kept())
    assert take.taken == ["100.000001"]


def test_a_message_that_people_delete_while_it_waits_is_never_taken_in(tmp_path: Path) -> None:
    take, spool = Taker(10**9), Spool(tmp_path)
    buffer = RetryBuffer(take, spool, every_s=0.001)
    buffer.add(event("100.000001"))
    buffer.add(event("100.000002"))
    assert buffer.drop(("T1", "C1", "100.000002"))
    assert [path.name.partition("-")[0] for path in spool.kept()] == ["100.000001"], "its words leave the disk at once"
    assert buffer.is_dropped(event("100.000002")), "Slack sends again what got no ack"
    take._refusals = 0
    eventually(lambda: not spool.kept())
    assert take.taken == ["100.000001"]


def test_a_deleted_message_that_never_waited_is_nothing_to_the_buffer(tmp_path: Path) -> None:
    buffer = RetryBuffer(Taker(), Spool(tmp_path))
    assert not buffer.drop(("T1", "C1", "100.000002"))
    assert not buffer.is_dropped(event("100.000002"))


def test_an_event_whose_file_was_purged_is_not_taken_in(tmp_path: Path) -> None:
    tried, purged, taken = threading.Event(), threading.Event(), list[str]()

    def take(spooled: Spooled) -> None:
        if not purged.is_set():
            tried.set()
            purged.wait(PATIENCE_S)
            raise StoreUnreachable("away")
        taken.append(spooled.event["text"])

    spool = Spool(tmp_path)
    buffer = RetryBuffer(take, spool, every_s=0.001)
    buffer.add(event("100.000001"))
    buffer.add(event("100.000002"))
    assert tried.wait(PATIENCE_S)
    assert spool.purge(thread_id="T1:C1:100.000001") == 1
    purged.set()
    eventually(lambda: taken == ["100.000002"])


def test_an_event_that_is_being_taken_while_the_bot_stops_is_left_to_the_next_bot(tmp_path: Path) -> None:
    """The bot's executors take no more work by then."""
    began, stopped = threading.Event(), threading.Event()
    lookups, others = ThreadPoolExecutor(1), set(threading.enumerate())

    def take(spooled: Spooled) -> None:
        began.set()
        stopped.wait(PATIENCE_S)
        lookups.submit(str)

    spool = Spool(tmp_path)
    dying = RetryBuffer(take, spool, every_s=0.001)
    dying.add(event("100.000001"))
    assert began.wait(PATIENCE_S)
    dying.close()
    lookups.shutdown()
    stopped.set()
    eventually(lambda: set(threading.enumerate()) <= others)
    assert len(spool.kept()) == 1
