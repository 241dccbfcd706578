"""One RQ worker of the node: a process that forks a horse for each job (RQ's word for the child that runs it)."""

from __future__ import annotations

import gc
import os
import signal
import threading
import uuid
from contextlib import closing, suppress
from types import FrameType

from redis import RedisError
from redis.client import Pipeline
from rq import Queue, Worker
from rq.job import Job
from rq.worker import DequeueStrategy

from core.queue import SERIALIZER, connect_redis, queues_of
from core.settings import Settings
from core.telemetry import get_logger
from workers.service import jobs
from workers.service.forked_processes import DRAIN_S
from workers.service.wake_job import WakeJob

log = get_logger(__name__)

WORKER_TTL_S = 18
"""RQ waits for a job for 15 s less than this. After 10 s more without an answer it counts Redis as gone, and the
worker ends and is started again. RQ's own value is seven minutes: a Redis that never answers would stop the node."""


class NodeWorker(Worker):
    """An RQ worker that ends soon after it was told to, even when no supervisor is left to tell it twice.

    A running job can end well without Redis. So a Redis that is away meanwhile does not end the worker.
    """

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """End after the thread at work. After `DRAIN_S` the job is cut off; the thread goes on from the Store."""
        # RQ does not document `horse_pid`: the pid of the process of the running job, 0 between jobs.
        if self.horse_pid:
            with suppress(ProcessLookupError):
                os.kill(self.horse_pid, jobs.STOP_AFTER_THREAD)
        again = threading.Timer(DRAIN_S, os.kill, (os.getpid(), signal.SIGTERM))
        again.daemon = True
        again.start()
        # RQ does not document `request_stop`, its handler of the first SIGTERM. It installs another handler for the
        # second one, which kills the horse. The timer sends that second one.
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]  # RQ has no types

    def maintain_heartbeats(self, job: Job) -> None:
        """Note in Redis that the job runs. RQ does not document it, nor the next one; both are called every 30 s."""
        with suppress(RedisError):
            super().maintain_heartbeats(job)

    def set_current_job_working_time(self, seconds: float, pipeline: Pipeline | None = None) -> None:
        """Note in Redis for how long the job runs."""
        with suppress(RedisError):
            super().set_current_job_working_time(seconds, pipeline)


def run(settings: Settings) -> None:
    """Work until told to stop, or until Redis is lost: then the supervisor starts another worker."""
    try:
        _work(settings)
    except RedisError as error:
        log.warning("worker_lost_redis", error=error)
        raise SystemExit(1) from None


def _work(settings: Settings) -> None:
    """Takes turns between the node's queue and the shared one: neither starves the other."""
    with closing(connect_redis(settings.redis_url)) as redis:
        queues = [Queue(name, connection=redis, serializer=SERIALIZER) for name in queues_of(settings.node_id)]
        name = f"{settings.node_id}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        worker = NodeWorker(
            queues, name=name, connection=redis, serializer=SERIALIZER, job_class=WakeJob, worker_ttl=WORKER_TTL_S
        )
        jobs.block_stop_signal()
        # A collection in a horse would touch, and so copy, every object that its parent had: they are left out of it.
        gc.collect()
        gc.freeze()
        worker.work(logging_level="WARNING", dequeue_strategy=DequeueStrategy.ROUND_ROBIN)
