"""One process holds several turns: none waits for another, and each ends for reasons of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from patience import PATIENCE_S, eventually
from turn_world import World, finish

from core.leases import Leases
from core.values import ThreadKey
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel
from workers.service import jobs
from workers.service.backoff import ALONE_AFTER, Backoff
from workers.service.context import WorkerContext
from workers.service.turn_process import ALONE, CUT_OFF, DONE, LAST, MESSAGE_BYTES, Signs, TurnThreads
from workers.turn.waiting import Waiting

QUICK, SLOW = "how much was sold?", "a slow one: why?"


class Gate:
    """Answers at once, but a question with "slow" only after `opened`, or when nobody waits for it any more."""

    name = "gate"
    native_tools = True
    sees = False

    def __init__(self) -> None:
        self.opened = threading.Event()
        self._model = ScriptedModel([finish("Nothing was sold.")])

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        if "slow" in str(request.messages[-1]["content"]) and request.purpose == "act":
            while request.wanted() and not self.opened.wait(0.001):
                pass
        return self._model.complete(request, on_delta)


class Together:
    """Answers when two ask at the same time."""

    name = "together"
    native_tools = True
    sees = False

    def __init__(self) -> None:
        self._both = threading.Barrier(2)
        self._model = ScriptedModel([finish("Nothing was sold.")])

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        if request.purpose == "act":
            self._both.wait(PATIENCE_S)
        return self._model.complete(request, on_delta)


class _EndedError(Exception):
    """In place of the end of the process."""


class Process:
    """The process of turns, as its worker sees it. Here it is a thread."""

    def __init__(self, world: World, **changes: object) -> None:
        self.signs = Signs()
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.settimeout(PATIENCE_S)
        worker = world.worker()
        context = replace(worker.context, waiting=Waiting(self.signs.wait))
        self.worker: WorkerContext = replace(worker, context=context, is_shared=True, **changes)
        self.ended_with: int | None = None
        self._theirs = theirs
        self._threads = TurnThreads(self.worker, theirs, self.signs, end=self._end)  # type: ignore[arg-type]
        self._serving = threading.Thread(target=self._serve, daemon=True)
        self._serving.start()

    def _serve(self) -> None:
        with suppress(_EndedError):
            self._threads.serve()

    def _end(self, code: int) -> None:
        self.ended_with = code
        raise _EndedError

    def begin(self, key: ThreadKey) -> None:
        self.channel.send(key.id.encode())

    def said(self) -> bytes:
        return self.channel.recv(MESSAGE_BYTES)

    def is_over(self) -> bool:
        return not self._serving.is_alive()

    def close(self) -> None:
        self.channel.close()
        self._serving.join(PATIENCE_S)
        assert self.is_over()
        self._theirs.close()


Begin = Callable[..., Process]


@pytest.fixture
def process(world: World) -> Iterator[Begin]:
    made: list[Process] = []

    def begin(**changes: object) -> Process:
        made.append(Process(world, **changes))
        return made[-1]

    yield begin
    if isinstance(world.model, Gate):
        world.model.opened.set()
    for each in made:
        each.close()


@pytest.fixture
def gate(world: World) -> Gate:
    made = world.model = Gate()
    return made


def done(key: ThreadKey) -> bytes:
    return DONE + key.id.encode()


def asks_the_model(process: Process) -> None:
    eventually(lambda: process.signs.waiting == 1, "the call of the model")


def test_two_turns_are_at_work_at_the_same_time(world: World, process: Begin) -> None:
    world.model = Together()
    keys = [world.say(QUICK), world.say(QUICK)]
    one = process()
    for key in keys:
        one.begin(key)
    assert {one.said(), one.said()} == {done(key) for key in keys}
    assert [world.statuses(key) for key in keys] == [["done"], ["done"]]


def test_a_turn_that_is_stuck_keeps_no_other_one_waiting(world: World, process: Begin, gate: Gate) -> None:
    stuck, quick = world.say(SLOW), world.say(QUICK)
    one = process()
    one.begin(stuck)
    asks_the_model(one)
    one.begin(quick)
    assert one.said() == done(quick)
    assert (world.statuses(stuck), world.statuses(quick)) == (["running"], ["done"])


def test_a_turn_that_loses_its_lease_ends_alone(world: World, process: Begin, gate: Gate) -> None:
    lost, other = world.say(SLOW), world.say(SLOW)
    one = process(leases=Leases(world._redis, world.store, ttl_s=0.3))
    for key in (lost, other):
        one.begin(key)
    eventually(lambda: one.signs.waiting == 2, "both calls of the model")
    world._redis.set(f"threadbook:lease:{lost.id}", "another worker")
    assert one.said() == done(lost)
    assert world.statuses(lost) == ["running"], "whoever has the lease goes on with it"
    gate.opened.set()
    assert one.said() == done(other)
    assert world.statuses(other) == ["done"]


def test_a_turn_that_fails_leaves_the_others_at_work(
    world: World, process: Begin, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, failing = world.say(SLOW), world.say(QUICK)
    run = jobs.run

    def fails(worker: WorkerContext, thread_id: str) -> None:
        if thread_id == failing.id:
            raise MemoryError
        run(worker, thread_id)

    monkeypatch.setattr(jobs, "run", fails)
    one = process()
    one.begin(slow)
    asks_the_model(one)
    one.begin(failing)
    assert one.said() == done(failing)
    gate.opened.set()
    assert one.said() == done(slow)
    assert world.statuses(slow) == ["done"]


@pytest.mark.parametrize("hangs_up", [False, True])
def test_the_last_turn_ends_before_the_process(world: World, process: Begin, gate: Gate, hangs_up: bool) -> None:
    key = world.say(SLOW)
    one = process()
    one.begin(key)
    asks_the_model(one)
    if hangs_up:
        one.channel.shutdown(socket.SHUT_WR)
    else:
        one.channel.send(LAST)
    eventually(lambda: one._threads._is_last, "the word")
    assert not one.is_over()
    gate.opened.set()
    assert one.said() == done(key)
    eventually(one.is_over, "the end")
    assert world.statuses(key) == ["done"]


def test_a_process_that_is_told_by_somebody_else_tells_its_worker(world: World, process: Begin) -> None:
    one = process()
    one._threads.take_no_more()
    assert one.said() == LAST
    eventually(one.is_over, "the end")


def test_a_turn_that_is_cut_off_goes_on_at_once_and_counts_as_no_crash(
    world: World, process: Begin, gate: Gate
) -> None:
    key = world.say(SLOW)
    one = process(leases=Leases(world._redis, world.store, 10, holder="me:"))
    one.begin(key)
    asks_the_model(one)
    step = world.store.thread_state(key.id).progress
    one.channel.send(CUT_OFF)
    eventually(one.is_over, "the end")
    assert one.ended_with == 0
    assert not one.worker.leases.is_held(key.id)
    assert Backoff(world._redis).begin(step).crashes == 0
    Backoff(world._redis).withdraw(step)
    gate.opened.set()
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.text(key).count("Nothing was sold.") == 1


def test_a_suspect_is_given_back(world: World, process: Begin, gate: Gate) -> None:
    key = world.say(QUICK)
    for _ in range(ALONE_AFTER):
        Backoff(world._redis).begin(world.store.thread_state(key.id).progress)
    one = process()
    one.begin(key)
    assert one.said() == ALONE + key.id.encode()
    assert world.statuses(key) == []


def test_a_process_beats_while_its_turns_wait(world: World, process: Begin, gate: Gate) -> None:
    one = process()
    one.begin(world.say(SLOW))
    asks_the_model(one)
    before = one.signs.beats
    eventually(lambda: one.signs.beats > before, "a beat")


def test_a_thread_that_is_named_twice_is_advanced_once(world: World, process: Begin, gate: Gate) -> None:
    key = world.say(SLOW)
    one = process()
    one.begin(key)
    asks_the_model(one)
    one.begin(key)
    assert one.said() == done(key), "the second finds the lease taken"
    gate.opened.set()
    assert one.said() == done(key)
    assert world.statuses(key) == ["done"]
