"""One RQ worker of the node: it takes the wakes from the queues, and its processes hold the turns."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from types import FrameType

from redis import Redis, RedisError
from redis.client import Pipeline
from rq import Queue, Worker
from rq.job import Job
from rq.worker import DequeueStrategy

from core.metrics import handing_over
from core.queue import SERIALIZER, Wakes, connect_redis, queues_of, signatures_of
from core.settings import Settings
from core.store import Store
from core.telemetry import get_logger
from workers.service import jobs
from workers.service.processes.forked import DRAIN_S
from workers.service.turn_pool import TurnPool
from workers.service.wake_job import signed_jobs

log = get_logger(__name__)

WORKER_TTL_S = 18
"""RQ waits for a job for 15 s less than this. After 10 s more without an answer it counts Redis as gone, and the
worker ends and is started again. RQ's own value is seven minutes: a Redis that never answers would stop the node."""
CUT_OFF_S = 1.0
"""The last part of `DRAIN_S`: turns that are still at work are cut off."""
LOST_S = 20.0
"""How long a worker that lost Redis waits for its turns: without Redis their leases run out before."""
LOOK_S = 0.02
HEARTBEAT_S = 10.0


class NodeWorker(Worker):
    """An RQ worker that gives its jobs to a pool, and ends soon after it was told to, also without a supervisor."""

    turns: TurnPool
    take: Callable[[], str | None]
    """Takes the next wake that waits."""
    take_over: Callable[[Job], str | None]
    """Takes the wake that RQ has found."""
    hand_over: Callable[[], None] = staticmethod(lambda: None)
    """Adds what this process counted to the counts of its node."""
    is_told = False
    """Whether it was told to stop."""
    _is_busy = False
    _told: tuple[int, FrameType | None] | None = None

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """Take no more turns. After `DRAIN_S` those at work are cut off; their threads go on from the Store."""
        if not self.is_told:
            self.is_told = True
            again = threading.Timer(DRAIN_S, os.kill, (os.getpid(), signal.SIGTERM))
            again.daemon = True
            again.start()
        if self._is_busy:
            self._told = signum, frame
            return
        # RQ does not document `request_stop`, its handler of the first SIGTERM. It ends the wait for a job with an
        # exception, and installs another handler for the second signal, which kills the horses: our processes.
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]  # RQ has no types

    @contextmanager
    def _uninterrupted(self) -> Iterator[None]:
        """Inside the block a signal to stop is only noted: a process that was forked must be known."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
            if self._told is not None:
                told, self._told = self._told, None
                self.request_stop(*told)

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Give the thread of the job to a process, and then those of all wakes that wait, while there is room."""
        with self._uninterrupted():
            thread_id = self.take_over(job)
            while thread_id is not None:
                self.turns.start(thread_id)
                thread_id = self._next()
            while not self._has_room_now() and not self.is_told:
                self._await_room()

    def _next(self) -> str | None:
        if not self._has_room_now():
            return None
        with suppress(RedisError):  # the wait for the next job will notice
            return self.take()
        return None

    def _has_room_now(self) -> bool:
        self.turns.look()
        return not self.is_told and self.turns.has_room()

    def _await_room(self) -> None:
        until = time.monotonic() + HEARTBEAT_S
        while not self._has_room_now() and not self.is_told and time.monotonic() < until:
            self.turns.wait(LOOK_S)
        with suppress(RedisError):
            super().heartbeat()

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Note in Redis that the worker lives. RQ does not document it; it is called every few seconds."""
        with self._uninterrupted():
            self.turns.look()
            self.hand_over()
        super().heartbeat(timeout, pipeline)

    def drain(self) -> None:
        """Let the turns come to their end, now that it takes no more."""
        self._is_busy = True
        self.turns.drain(DRAIN_S - CUT_OFF_S if self.is_told else LOST_S, cut_off=self.is_told)

    @property
    def horse_pid(self) -> int:
        """RQ's word for the process of a job. It asks whether there is one to kill."""
        return next(iter(self.turns.pids), 0)

    def kill_horse(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """Kill all processes with turns: it was told to stop, and the time to drain is over."""
        self.turns.kill()

    def wait_for_horse(self) -> tuple[int | None, int | None, None]:
        """Wait until they are gone."""
        self.turns.drain(1.0, cut_off=False)
        return None, None, None


def run(settings: Settings) -> None:
    """Work until told to stop, or until Redis is lost: then the supervisor starts another worker."""
    try:
        _work(settings)
    except RedisError as error:
        log.warning("worker_lost_redis", error=error)
        raise SystemExit(1) from None


def _work(settings: Settings) -> None:
    """Takes turns between the node's queue and the shared one: neither starves the other."""
    _, store = jobs.prepared()
    with closing(connect_redis(settings.redis_url)) as redis:
        turns = TurnPool(redis, settings.workers.turns)
        worker = node_worker(settings, redis, store or Store(settings.database_url), turns)
        # A collection in a fork would touch, and so copy, every object that its parent had: they are left out of it.
        gc.collect()
        gc.freeze()
        with handing_over(redis, settings.node_id) as worker.hand_over:
            try:
                worker.work(logging_level="WARNING", dequeue_strategy=DequeueStrategy.ROUND_ROBIN)
            finally:
                worker.drain()


def node_worker(settings: Settings, redis: Redis, store: Store, turns: TurnPool) -> NodeWorker:
    """The RQ worker of a node that gives its jobs to this pool."""
    # RQ makes a pool of connections of its own for a worker, with longer time-outs.
    signatures = signatures_of(partial(_wake_key, store))
    signatures.read()
    kind = signed_jobs(signatures)  # of the queues too: RQ looks at their jobs when it tidies up
    named = queues_of(settings.node_id)
    queues = [Queue(name, connection=redis, serializer=SERIALIZER, job_class=kind) for name in named]
    name = f"{settings.node_id}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    worker = NodeWorker(
        queues, name=name, connection=redis, serializer=SERIALIZER, job_class=kind, worker_ttl=WORKER_TTL_S
    )
    wakes = Wakes(redis, store, signatures)
    worker.turns, worker.take, worker.take_over = turns, lambda: wakes.take(settings.node_id), wakes.take_over
    return worker


def _wake_key(store: Store) -> bytes:
    """The key of wakes. A process of turns is forked from this one: no connection may stay open."""
    try:
        return store.wake_key()
    finally:
        store.close()
