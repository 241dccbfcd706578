"""A thread that begins late: at its time, once, or never when it was called off."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from functools import partial

import pytest
from no_room import no_room_for
from patience import eventually

from workers.turn import late_threads
from workers.turn.late_threads import LateThread

SOON_S, NEVER_S = 0.001, 1_000.0


def started(run: Callable[[], object], after_s: float) -> LateThread:
    late = LateThread(run, after_s=after_s, name="late")
    late.start()
    return late


def test_a_late_thread_begins_once_with_the_context_of_its_caller() -> None:
    word = contextvars.ContextVar[str]("word")
    word.set("kept")
    ran: list[str] = []
    late = started(lambda: ran.append(word.get()), SOON_S)
    eventually(lambda: ran)
    late.begin()
    late.call_off()
    assert ran == ["kept"]


def test_work_that_ends_before_costs_no_thread() -> None:
    started(lambda: None, NEVER_S).call_off()  # the thread that looks after all of them lives from here on
    before = threading.active_count()
    lates = [started(lambda: None, NEVER_S) for _ in range(50)]
    assert threading.active_count() == before
    for late in lates:
        late.call_off()


def test_a_thread_that_was_called_off_does_not_begin() -> None:
    ran: list[str] = []
    off = started(lambda: ran.append("off"), NEVER_S)
    off.call_off()
    off.begin()
    started(lambda: ran.append("on"), SOON_S)
    eventually(lambda: ran)
    assert ran == ["on"]


def test_calling_off_waits_for_a_thread_that_has_begun() -> None:
    begun, go_on, ran = threading.Event(), threading.Event(), list[str]()

    def run() -> None:
        begun.set()
        go_on.wait()
        ran.append("ended")

    late = started(run, SOON_S)
    begun.wait()
    late.call_off(0.0)
    assert ran == []
    go_on.set()
    late.call_off()
    assert ran == ["ended"]


def test_a_sooner_thread_does_not_wait_for_a_later_one() -> None:
    ran: list[str] = []
    later = started(lambda: ran.append("later"), NEVER_S)
    started(lambda: ran.append("sooner"), SOON_S)
    eventually(lambda: ran)
    later.call_off()
    assert ran == ["sooner"]


def test_many_that_were_called_off_are_forgotten() -> None:
    for _ in range(1_000):
        started(lambda: None, NEVER_S).call_off()
    assert len(late_threads._LIST._waiting) < 200


def test_threads_begin_in_a_fork_too() -> None:
    started(lambda: None, NEVER_S).call_off()
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        begun = threading.Event()
        started(begun.set, SOON_S)
        os.write(writes, b"begun" if begun.wait(30) else b"lost")
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as said:
        assert said.read() == b"begun"
    os.waitpid(pid, 0)


def test_a_watcher_for_which_there_was_no_room_is_called_off_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    no_room_for(monkeypatch, "late")
    late = LateThread(lambda: None, after_s=NEVER_S, name="late")
    with pytest.raises(RuntimeError):
        late.begin()
    late.call_off()


def test_watchers_begin_again_once_there_is_room_for_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_threads, "_LIST", late_threads._List())
    no_room_for(monkeypatch, "late threads")
    ran: list[str] = []
    for word in ("first", "second"):
        started(partial(ran.append, word), SOON_S)
    eventually(lambda: len(ran) == 2)
    assert sorted(ran) == ["first", "second"]
