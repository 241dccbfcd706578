"""The processes of one RQ worker that hold its turns: forked, given threads, replaced, watched and ended.

One process takes new turns. It is replaced when it is old or has grown, and it ends after its last turn. So a turn that
never rests does not keep other turns in an old process. A turn whose processes have died gets its own process.
"""

from __future__ import annotations

import os
import random
import select
import signal
import socket
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from redis import Redis, RedisError

from core.leases import drop_leases
from core.telemetry import get_logger
from executor.watchdog import Watchdog
from workers.service import turn_process
from workers.service.turn_process import ALONE, CUT_OFF, DONE, LAST, MESSAGE_BYTES, Signs

log = get_logger(__name__)

AT_WORK, PACE_S = 6, 0.25
"""When so many turns of a process are at work, and not waiting for a model or a cell, it takes a further one only after
this time. They share one interpreter: the queue is the better place to wait, where another worker may be free."""
OLD_S = 600.0
GROWN_MB = 512
"""More memory than its worker has: a process that takes so much more is replaced."""
IDLE_S = 5.0
"""A process without turns ends after this time, and the next turn gets a new one."""
MOST_OLD = 4
"""Processes that may wait for their last turns. When there are so many, none is replaced."""
ALONE_AT_ONCE = 2
STUCK_IDLE_S, STUCK_BUSY_S = 10.0, 20.0
"""How long a process may be silent before it is killed: an idle process, and a process that uses the processor. Its
leases have run out by then, so its turns go on elsewhere."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class TurnProcess:
    """One process, as its worker sees it."""

    pid: int
    channel: socket.socket
    signs: Signs
    holder: str
    """How the owners of its leases begin."""
    is_alone: bool
    began: float
    watchdog: Watchdog = field(default_factory=lambda: Watchdog(STUCK_IDLE_S, STUCK_BUSY_S))
    threads: Counter[str] = field(default_factory=Counter)
    """What it was given and has not given back."""
    is_last: bool = False
    """Whether it takes no more."""
    was_cut_off: bool = False
    beats: int = 0
    used_at: float = 0.0

    @property
    def at_work(self) -> int:
        """Turns that do not merely wait for a model or a cell."""
        return max(0, self.threads.total() - self.signs.waiting)

    def send(self, message: bytes) -> bool:
        """Say something; False when it does not listen any more."""
        try:
            self.channel.send(message, socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    def end(self) -> None:
        """Let it end with its last turn."""
        self.is_last = True
        self.send(LAST)

    def exit_code(self) -> int | None:
        """How it ended; None while it lives."""
        try:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return 0
        return os.waitstatus_to_exitcode(status) if ended else None

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


Fork = Callable[[bool, Sequence[TurnProcess], int], TurnProcess]
"""Makes a process, for one turn alone or for many. It gets the other processes, and how many turns there may be."""


class TurnPool:
    """Gives threads to processes. One thread of the worker calls it."""

    def __init__(
        self, redis: Redis, turns: int, *, fork: Fork | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._redis = redis
        self._turns = turns
        self._fork = fork or partial(fork_process, redis)
        self._clock = clock
        self._processes: list[TurnProcess] = []
        self._suspects: deque[str] = deque()
        self._started_at = clock() - PACE_S

    @property
    def in_flight(self) -> int:
        """Turns that were begun and do not rest yet."""
        return sum(process.threads.total() for process in self._processes) + len(self._suspects)

    @property
    def pids(self) -> list[int]:
        """The processes that live."""
        return [process.pid for process in self._processes]

    def has_room(self) -> bool:
        """Whether a further turn is to be begun now."""
        if self.in_flight >= self._turns:
            return False
        current = self._current()
        paced = self._clock() - self._started_at >= PACE_S
        return current is None or current.at_work < AT_WORK or paced

    def start(self, thread_id: str) -> None:
        """Advance a thread."""
        process = self._current()
        if process is None or not process.send(thread_id.encode()):
            if process is not None:  # it is stuck, or about to end
                process.end()
            process = self._add(is_alone=False)
            process.send(thread_id.encode())
        self._note(process, thread_id)

    def look(self) -> None:
        """Hear what the processes say, bury the dead, end the old and the idle, kill the stuck."""
        for process in [*self._processes]:
            self._hear(process)
            if not self._is_dead(process):
                self._watch(process)
        while self._suspects and sum(process.is_alone for process in self._processes) < ALONE_AT_ONCE:
            thread_id = self._suspects.popleft()
            process = self._add(is_alone=True)
            self._note(process, thread_id)
            process.send(thread_id.encode())
            process.end()

    def wait(self, seconds: float) -> None:
        """Return when a process has said something, or after this many seconds."""
        poller = select.poll()
        for process in self._processes:
            poller.register(process.channel, select.POLLIN)
        poller.poll(seconds * 1_000)

    def drain(self, seconds: float, *, cut_off: bool) -> None:
        """Begin nothing more, and wait so long for the turns. Those that are left then are cut off, or left alone.

        A process that is left alone ends with its last turn, also when this one has ended.
        """
        self._suspects.clear()
        for process in self._processes:
            process.end()
        self._await_end(seconds)
        if cut_off:
            for process in self._processes:
                process.was_cut_off = True
                process.send(CUT_OFF)
            self._await_end(1.0)

    def kill(self) -> None:
        """Kill them all."""
        for process in self._processes:
            process.kill()

    def _await_end(self, seconds: float) -> None:
        until = self._clock() + seconds
        while self._processes and self._clock() < until:
            self.wait(0.05)
            self.look()

    def _current(self) -> TurnProcess | None:
        """The process that takes new turns."""
        return next((each for each in reversed(self._processes) if not each.is_last and not each.is_alone), None)

    def _add(self, *, is_alone: bool) -> TurnProcess:
        process = self._fork(is_alone, self._processes, 1 if is_alone else self._turns)
        process.began = process.used_at = self._clock()
        self._processes.append(process)
        return process

    def _note(self, process: TurnProcess, thread_id: str) -> None:
        process.threads[thread_id] += 1
        process.used_at = self._started_at = self._clock()

    def _hear(self, process: TurnProcess) -> None:
        with suppress(OSError):  # nothing more was said, or it is gone
            while message := process.channel.recv(MESSAGE_BYTES, socket.MSG_DONTWAIT):
                self._handle(process, message)

    def _handle(self, process: TurnProcess, message: bytes) -> None:
        kind, thread_id = message[:1], message[1:].decode()
        if kind == LAST:
            process.is_last = True
        elif kind in (DONE, ALONE):
            process.threads[thread_id] -= 1
            process.threads += Counter()  # without those that are zero
            process.used_at = self._clock()
            if kind == ALONE and thread_id not in self._suspects:
                log.warning("turn_gets_own_process", thread=thread_id)
                self._suspects.append(thread_id)

    def _is_dead(self, process: TurnProcess) -> bool:
        """Whether it has ended. Its turns go on elsewhere, as soon as a janitor looks."""
        if (code := process.exit_code()) is None:
            return False
        self._hear(process)
        process.channel.close()
        self._processes.remove(process)
        if process.threads and not process.was_cut_off:
            threads = sorted(process.threads)
            log.error("turn_process_died", pid=process.pid, code=code, threads=threads)
            with suppress(RedisError):  # else they run out
                drop_leases(self._redis, process.holder, threads)
        return True

    def _watch(self, process: TurnProcess) -> None:
        beats, now = process.signs.beats, self._clock()
        if beats != process.beats:
            process.beats = beats
            process.watchdog.answered()
        else:
            process.watchdog.asked()
            if process.watchdog.is_stuck(process.pid):
                log.error("turn_process_stuck", pid=process.pid, threads=sorted(process.threads))
                process.kill()
                process.watchdog.answered()
        if not process.is_last and self._is_over(process, now):
            process.end()

    def _is_over(self, process: TurnProcess, now: float) -> bool:
        if not process.threads:
            return now - process.used_at >= IDLE_S
        if sum(each.is_last for each in self._processes) >= MOST_OLD:
            return False
        return now - process.began >= OLD_S or _memory_mb(process.pid) - _memory_mb(os.getpid()) >= GROWN_MB


def fork_process(redis: Redis, is_alone: bool, others: Sequence[TurnProcess], turns: int) -> TurnProcess:
    """A fork of this process for turns. It ends by itself when this one is gone."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    signs, holder = Signs(), f"{uuid.uuid4().hex[:16]}:"
    # A fork would keep them open when this process dies, and Redis would give the next job to a dead worker.
    redis.connection_pool.disconnect(inuse_connections=False)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for channel in (ours, *(other.channel for other in others)):
                channel.close()  # else the others would not see that their worker is gone
            random.seed()
            turn_process.run(theirs, signs, turns=turns, holder=holder, is_shared=not is_alone)
            status = 0
        except BaseException:
            log.exception("turn_process_failed")
        finally:
            os._exit(status)
    theirs.close()
    return TurnProcess(pid, ours, signs, holder, is_alone, time.monotonic())


def _memory_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 1e6
    except (OSError, IndexError):
        return 0.0
