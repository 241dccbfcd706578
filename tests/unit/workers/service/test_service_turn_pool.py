"""Which process gets a turn, when it gets none more, and what becomes of the turns of a dead one."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import fakeredis
import pytest
from structlog.testing import capture_logs

from core.leases import KEY_PREFIX
from executor.watchdog import Watchdog
from workers.service import turn_pool
from workers.service.turn_pool import (
    ALONE_AT_ONCE,
    AT_WORK,
    GROWN_MB,
    IDLE_S,
    MOST_OLD,
    OLD_S,
    PACE_S,
    STUCK_BUSY_S,
    TurnPool,
    TurnProcess,
)
from workers.service.turn_process import ALONE, CUT_OFF, DONE, LAST, MESSAGE_BYTES, Signs

TURNS = 10


class FakeProcess(TurnProcess):
    """A process that does what the test says. `theirs` is its end of the channel."""

    code: int | None = None
    theirs: socket.socket

    def exit_code(self) -> int | None:
        return self.code

    def kill(self) -> None:
        self.code = -9

    def heard(self) -> list[str]:
        found = []
        with suppress(BlockingIOError):
            while message := self.theirs.recv(MESSAGE_BYTES, socket.MSG_DONTWAIT):
                found.append(message.decode())
        return found

    def says(self, kind: bytes, thread_id: str) -> None:
        self.theirs.send(kind + thread_id.encode())


@dataclass
class Node:
    """A pool, its processes in the order of their birth, and its clock."""

    redis: fakeredis.FakeRedis
    made: list[FakeProcess] = field(default_factory=list)
    now: float = 1_000.0

    def __post_init__(self) -> None:
        self.pool = TurnPool(self.redis, TURNS, fork=self._fork, clock=lambda: self.now)

    def _fork(self, is_alone: bool, others: Sequence[TurnProcess], turns: int) -> TurnProcess:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        number = len(self.made)
        watchdog = Watchdog(clock=lambda: self.now, busy_s=STUCK_BUSY_S, work_of=lambda _: None)
        made = FakeProcess(-number - 1, ours, Signs(), f"p{number}:", is_alone, self.now, watchdog)
        made.theirs = theirs
        self.made.append(made)
        return made

    def start(self, count: int, prefix: str = "t") -> list[str]:
        threads = [f"{prefix}{number}" for number in range(count)]
        for thread in threads:
            self.pool.start(thread)
        return threads

    def after(self, seconds: float) -> None:
        """Time passes; processes beat."""
        self.now += seconds
        for process in self.made:
            process.signs.beat()
        self.pool.look()


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(turn_pool, "_memory_mb", lambda _: 100.0)
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as redis:
        made = Node(redis)
        yield made
        for process in made.made:
            process.channel.close()
            process.theirs.close()


def test_turns_share_a_process(node: Node) -> None:
    threads = node.start(3)
    assert [process.heard() for process in node.made] == [threads]
    assert node.pool.in_flight == 3


def test_a_full_pool_has_no_room_until_a_turn_rests(node: Node) -> None:
    threads = node.start(TURNS)
    node.made[0].signs.wait(TURNS)
    assert not node.pool.has_room()
    node.made[0].says(DONE, threads[4])
    node.pool.look()
    assert node.pool.has_room()


def test_a_busy_process_gets_further_turns_only_now_and_then(node: Node) -> None:
    node.start(AT_WORK)
    assert not node.pool.has_room()
    node.now += PACE_S
    assert node.pool.has_room(), "those at work may hang: they must not keep the others waiting for ever"
    node.pool.start("one more")
    assert not node.pool.has_room()


def test_turns_that_wait_for_a_model_leave_room(node: Node) -> None:
    node.start(AT_WORK)
    node.made[0].signs.wait(1)
    assert node.pool.has_room()


def test_a_process_without_turns_ends_after_a_while(node: Node) -> None:
    (thread,) = node.start(1)
    node.after(IDLE_S)
    assert node.made[0].heard() == [thread]
    node.made[0].says(DONE, thread)
    node.after(0)
    node.after(IDLE_S)
    assert node.made[0].heard() == [LAST.decode()]


@pytest.mark.parametrize("why", ["old", "grown"])
def test_an_old_process_keeps_its_turns_and_gets_no_more(node: Node, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (stuck,) = node.start(1)
    if why == "grown":
        monkeypatch.setattr(turn_pool, "_memory_mb", lambda pid: 100.0 + (GROWN_MB if pid < 0 else 0))
    node.after(OLD_S if why == "old" else 1)
    node.pool.start("later")
    first, second = node.made
    assert (first.heard(), second.heard()) == ([stuck, LAST.decode()], ["later"])
    assert node.pool.in_flight == 2


def test_only_so_many_processes_wait_for_their_last_turns(node: Node) -> None:
    for number in range(MOST_OLD + 2):
        node.pool.start(f"stuck {number}")
        node.after(OLD_S)
    assert len(node.made) == MOST_OLD + 1


def test_a_process_that_somebody_told_to_end_gets_no_more(node: Node) -> None:
    node.start(1)
    node.made[0].theirs.send(LAST)
    node.pool.look()
    node.pool.start("later")
    assert node.made[1].heard() == ["later"]


def test_a_process_that_does_not_listen_gets_no_more(node: Node) -> None:
    node.start(1)
    node.made[0].theirs.close()
    node.pool.start("later")
    assert node.made[1].heard() == ["later"]


def test_a_suspect_gets_a_process_of_its_own_that_takes_nothing_else(node: Node) -> None:
    node.start(2)
    node.made[0].says(ALONE, "t0")
    node.pool.look()
    shared, alone = node.made
    assert alone.is_alone
    assert alone.heard() == ["t0", LAST.decode()]
    node.pool.start("later")
    assert shared.heard() == ["t0", "t1", "later"]
    assert node.pool.in_flight == 3


def test_suspects_wait_for_each_other(node: Node) -> None:
    threads = node.start(ALONE_AT_ONCE + 1)
    for thread in threads:
        node.made[0].says(ALONE, thread)
    node.pool.look()
    assert len(node.made) == 1 + ALONE_AT_ONCE
    assert node.pool.in_flight == ALONE_AT_ONCE + 1
    node.made[1].says(DONE, threads[0])
    node.pool.look()
    node.made[1].code = 0
    node.pool.look()
    assert node.made[-1].heard() == [threads[-1], LAST.decode()]


def test_a_dead_process_is_told_with_its_threads_and_gives_up_its_own_leases_alone(node: Node) -> None:
    mine, others = node.start(2)
    node.redis.set(f"{KEY_PREFIX}{mine}", "p0:1")
    node.redis.set(f"{KEY_PREFIX}{others}", "another worker's")
    node.made[0].code = -9
    with capture_logs() as logs:
        node.pool.look()
    (died,) = [line for line in logs if line["event"] == "turn_process_died"]
    assert (died["code"], died["threads"]) == (-9, [mine, others])
    assert node.redis.keys() == [f"{KEY_PREFIX}{others}".encode()]
    assert node.pool.in_flight == 0
    node.pool.start("later")
    assert node.made[1].heard() == ["later"]


def test_a_process_that_keeps_the_interpreter_for_itself_is_killed(node: Node) -> None:
    node.start(2)
    node.pool.look()
    node.now += STUCK_BUSY_S
    node.pool.look()
    assert node.made[0].code == -9
    node.pool.look()
    assert node.pool.in_flight == 0


def test_a_process_that_beats_is_left_alone_however_long_its_turns_take(node: Node) -> None:
    node.start(1)
    for _ in range(10):
        node.after(STUCK_BUSY_S)
    assert node.made[0].code is None


def test_turns_have_time_to_end_and_are_cut_off_then(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.start(1)
    heard: list[str] = []

    def time_passes(seconds: float) -> None:
        heard.extend(node.made[0].heard())
        node.now += 1
        if CUT_OFF.decode() in heard:
            node.made[0].code = 0

    monkeypatch.setattr(node.pool, "wait", time_passes)
    with capture_logs() as logs:
        node.pool.drain(5.0, cut_off=True)
    assert heard == ["t0", LAST.decode(), CUT_OFF.decode()]
    assert node.now == 1_000.0 + 6
    assert logs == [], "it is no crash"


def test_a_drain_is_over_with_the_last_turn(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    (thread,) = node.start(1)

    def rests(seconds: float) -> None:
        node.made[0].says(DONE, thread)
        node.made[0].code = 0

    monkeypatch.setattr(node.pool, "wait", rests)
    node.pool.drain(5.0, cut_off=True)
    assert node.made[0].heard() == [thread, LAST.decode()]
