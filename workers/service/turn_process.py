"""A process that holds many turns at once, each in a thread of its own. The worker that forked it tells it which.

    the worker says    a thread's id         advance this thread
                       LAST                  no more will come: end when all turns rest; so it is when it hangs up
                       CUT_OFF               end now: what is at work goes on later, from the Store
    this process says  DONE and an id        the thread rests, or is somebody else's
                       ALONE and an id       the same, and the thread is to be advanced in a process of its own
                       LAST                  send no more: somebody told this process to end

It also beats: a number in memory that both share rises as long as its first thread gets the interpreter. A turn that
keeps the interpreter for itself is noticed by that, and the process is killed.
"""

from __future__ import annotations

import mmap
import os
import resource
import select
import signal
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from redis import RedisError

from core.telemetry import bind_fields, get_logger
from workers.delivery.card import finish_late_cards
from workers.service import jobs
from workers.service.context import WorkerContext, opened
from workers.service.sweeping.tempdir import job_tempdir
from workers.turn.waiting import Waiting

log = get_logger(__name__)

LAST, CUT_OFF, DONE, ALONE = b".", b"!", b"-", b"+"
MESSAGE_BYTES = 1_024
"""More than any message has."""
BEAT_S, LOOK_S = 0.5, 0.05
HAND_OVER_S = 10.0
"""How often the process adds its counts to those of its node."""
FILES_PER_TURN, FILES_BESIDE = 16, 256
"""Descriptors: a turn has a few connections and files open at once."""


class Signs:
    """What both processes see: the beats of the one, and how many of its turns only wait. Made before the fork.

    Each number has one writer at a time and is eight bytes that lie in one word, so nobody reads half of it.
    """

    _NUMBER = struct.Struct("q")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._count = 0

    def beat(self) -> None:
        """This process works."""
        self._count += 1
        self._NUMBER.pack_into(self._memory, 0, self._count)

    def wait(self, turns: int) -> None:
        """So many turns of this process only wait."""
        self._NUMBER.pack_into(self._memory, 8, turns)

    @property
    def beats(self) -> int:
        """How often the process has beaten."""
        return int(self._NUMBER.unpack_from(self._memory, 0)[0])

    @property
    def waiting(self) -> int:
        """How many turns of the process only wait."""
        return int(self._NUMBER.unpack_from(self._memory, 8)[0])


class TurnThreads:
    """The turns of this process: a thread each. Serves its worker until it hangs up."""

    def __init__(
        self, worker: WorkerContext, channel: socket.socket, signs: Signs, *, end: Callable[[int], NoReturn] = os._exit
    ) -> None:
        """`end` ends the process at once."""
        self._worker = worker
        self._channel = channel
        self._signs = signs
        self._end = end
        self._at_work: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._is_last = self._is_deserted = False

    def take_no_more(self) -> None:
        """End when all turns rest. The worker learns it too."""
        self._is_last = True
        with suppress(OSError):
            self._channel.send(LAST)

    def serve(self) -> None:
        """Begin the turns that the worker names. Returns when no more will come and all of them rest."""
        poller = select.poll()
        poller.register(self._channel, select.POLLIN)
        handed_over_at = time.monotonic()
        while not self._is_last or self._at_work:
            self._signs.beat()
            if self._is_deserted:
                time.sleep(LOOK_S)
            elif poller.poll((LOOK_S if self._is_last else BEAT_S) * 1_000):
                self._hear()
            if time.monotonic() - handed_over_at >= HAND_OVER_S:
                handed_over_at = time.monotonic()
                self._worker.hand_over()

    def _hear(self) -> None:
        try:
            message = self._channel.recv(MESSAGE_BYTES)
        except OSError:
            message = b""
        if not message:
            self._is_last = self._is_deserted = True
        elif message == LAST:
            self._is_last = True
        elif message == CUT_OFF:
            self._cut_off()
        else:
            thread_id = message.decode()
            with self._lock:
                self._at_work[thread_id] += 1
            threading.Thread(target=self._advance, args=(thread_id,), name=f"turn {thread_id}", daemon=True).start()

    def _advance(self, thread_id: str) -> None:
        says = DONE
        try:
            with bind_fields(thread=thread_id):
                jobs.run(self._worker, thread_id)
        except jobs.NeedsOwnProcess:
            says = ALONE
        except Exception:
            log.exception("job_failed", thread=thread_id)
        finally:
            with self._lock:
                self._at_work[thread_id] -= 1
                self._at_work += Counter()  # without those that are zero
            with suppress(OSError):  # the worker is gone: it needs no word
                self._channel.send(says + thread_id.encode())

    def _cut_off(self) -> None:
        """End at once, in such a way that nobody has to wait for a lease or takes this for a crash."""
        with self._lock:
            log.warning("turns_cut_off", threads=sorted(self._at_work))
        with suppress(RedisError):
            self._worker.backoff.withdraw_all()
            self._worker.leases.release_all()
        self._worker.hand_over()
        self._end(0)


def run(channel: socket.socket, signs: Signs, *, turns: int, holder: str, is_shared: bool) -> None:
    """Hold up to `turns` turns until no more will come and all of them rest. For a fork that does only this."""
    _allow_files(turns * FILES_PER_TURN + FILES_BESIDE)
    settings, store = jobs.prepared()
    waiting = Waiting(signs.wait)
    with (
        job_tempdir(settings),
        opened(settings, store=store, holder=holder, waiting=waiting, is_shared=is_shared) as worker,
    ):
        threads = TurnThreads(worker, channel, signs)
        # Whoever manages the node may send SIGTERM to all its processes. It is the worker that cuts off.
        signal.signal(signal.SIGTERM, lambda *_: threads.take_no_more())
        threads.serve()
        late = threading.Thread(target=finish_late_cards, name="late cards", daemon=True)
        late.start()
        while late.is_alive():
            signs.beat()
            late.join(BEAT_S)


def _allow_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
