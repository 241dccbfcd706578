"""Work that is stopped ends; work that is not goes on as if nobody had looked."""

from __future__ import annotations

import threading
from collections.abc import Collection

import pytest
from patience import PATIENCE_S

from workers.models.base import ModelReply, ModelRequest, ModelUnavailable, OnDelta
from workers.turn.stop_check import StopBoard, complete_unless_stopped, stopped_by

REQUEST = ModelRequest(())


class Model:
    """Says a word, waits for the test, says another."""

    name = "test"
    native_tools = True
    sees = False

    def __init__(self, error: BaseException | None = None) -> None:
        self.begun, self.go, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.error = error
        self.wanted: list[bool] = []

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        on_delta("one ")
        self.begun.set()
        try:
            assert self.go.wait(PATIENCE_S)
            self.wanted.append(request.wanted())
            on_delta("two")
            if self.error:
                raise self.error
            return ModelReply(text="one two")
        finally:
            self.ended.set()


def test_a_reply_that_nobody_stops_comes_whole() -> None:
    model, heard = Model(), list[str]()
    model.go.set()
    reply = complete_unless_stopped(model, REQUEST, heard.append, lambda: False)
    assert reply == ModelReply(text="one two")
    assert heard == ["one ", "two"]
    assert model.wanted == [True]


def test_a_model_that_is_left_is_told_so_and_heard_no_more() -> None:
    model, heard = Model(), list[str]()
    assert complete_unless_stopped(model, REQUEST, heard.append, model.begun.is_set) is None
    model.go.set()
    assert model.ended.wait(PATIENCE_S)
    assert model.wanted == [False]
    assert heard == ["one "]


@pytest.mark.parametrize("error", [ModelUnavailable("down"), TimeoutError("mine"), KeyboardInterrupt()], ids=repr)
def test_what_a_model_raises_reaches_the_caller(error: BaseException) -> None:
    model = Model(error)
    model.go.set()
    with pytest.raises(type(error)):
        complete_unless_stopped(model, REQUEST, lambda text: None, lambda: False)


def test_what_a_listener_raises_ends_the_call() -> None:
    def refuse(text: str) -> None:
        raise ValueError(text)

    with pytest.raises(ValueError, match="one"):
        complete_unless_stopped(Model(), REQUEST, refuse, lambda: False)


def test_a_stop_is_asked_for_again_until_the_work_ends() -> None:
    """The first call may come before the cell has begun, or find the host away."""
    stopped = threading.Event()
    calls: list[int] = []

    def stop() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise ConnectionError("the host restarts")
        if len(calls) == 3:
            stopped.set()

    with stopped_by(lambda: True, stop):
        assert stopped.wait(PATIENCE_S)
    assert len(calls) >= 3


def test_work_that_nobody_stops_is_left_alone() -> None:
    calls: list[int] = []
    looked = threading.Event()

    def asked() -> bool:
        looked.set()
        return False

    with stopped_by(asked, lambda: calls.append(1)):
        assert looked.wait(PATIENCE_S)
    assert calls == []


def test_many_turns_that_wait_are_looked_up_in_one_read() -> None:
    reads: list[set[str]] = []
    now = 100.0

    def stops_asked(threads: Collection[str]) -> set[str]:
        reads.append(set(threads))
        return {"t2"} & set(threads)

    board = StopBoard(stops_asked, fresh_s=0.4, clock=lambda: now)
    assert [board.asked(f"t{number}") for number in range(4)] == [False, False, True, False]
    reads.clear()
    now += 0.4
    assert [board.asked(f"t{number}") for number in range(4)] == [False, False, True, False]
    assert reads == [{"t0", "t1", "t2", "t3"}]


def test_a_thread_that_asks_no_more_is_looked_up_no_more() -> None:
    reads: list[set[str]] = []
    now = 100.0
    board = StopBoard(lambda threads: reads.append(set(threads)) or set(), fresh_s=0.4, clock=lambda: now)
    board.asked("t1")
    now += 60.0
    board.asked("t2")
    assert reads == [{"t1"}, {"t2"}]


def test_a_store_that_is_away_fails_all_that_wait_with_one_read() -> None:
    reads: list[set[str]] = []

    def away(threads: Collection[str]) -> set[str]:
        reads.append(set(threads))
        raise ConnectionError

    now = 100.0
    board = StopBoard(away, fresh_s=0.4, clock=lambda: now)
    for _ in range(3):
        with pytest.raises(ConnectionError):
            board.asked("t1")
    assert len(reads) == 1
