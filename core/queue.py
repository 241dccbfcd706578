"""The doorbell: "thread T has mail", as one RQ job on the queue of the host that holds T's session. Never the truth.

A wake that is lost (Redis emptied, a host gone) is rung again by the janitor, who asks the Store.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redis import Redis
from redis.client import Pipeline
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from core.store import Store

ADVANCE = "workers.jobs.advance"
"""The job's function by name: this room does not import the workers'."""

SHARED_QUEUE = "threads"
SERIALIZER = JSONSerializer
"""Jobs hold ids only. RQ's own default is pickle, which would run what it reads."""

JOB_TTL_S = 3_600
JOB_TIMEOUT_S = 6 * 3_600
FAILURE_TTL_S = 3_600
HOST_TTL_S = 9
"""A host that died is believed alive for so long: its threads wait."""


def connect_redis(url: str, timeout_s: float | None = None) -> Redis:
    """A connection pool to Redis; connects on first use. RQ's workers wait long for jobs: they take no `timeout_s`."""
    return Redis.from_url(url, health_check_interval=30, socket_connect_timeout=timeout_s, socket_timeout=timeout_s)


def host_queue(host_id: str) -> str:
    """The queue that only this host's workers listen to."""
    return f"host:{host_id}"


def queues_of(host_id: str) -> list[str]:
    """The queues that a host's workers listen to, its own first."""
    return [host_queue(host_id), SHARED_QUEUE]


class Wakes:
    """Rings for threads. Any number of wakes before the job looks at the mail collapse into one job."""

    def __init__(self, redis: Redis, store: Store) -> None:
        self._redis = redis
        self._store = store

    def wake(self, thread_id: str, *, first: bool = False) -> bool:
        """See that a job for this thread waits in the right queue; True when a new one was needed.

        `first`: it waited before, so it goes before those that wait now.

        The key that makes wakes collapse holds the queue and the job. When the job waits no more (its worker may have
        died on the way), or waits for a host that is gone, the bell is rung anew: one job too many finds nothing to do.
        Raises redis.RedisError when Redis is away: the message is in the Store, the janitor rings later.
        """
        name = self._queue_for(thread_id)
        queue = Queue(name, connection=self._redis, serializer=SERIALIZER)
        job = queue.create_job(
            ADVANCE,
            args=(thread_id,),
            timeout=JOB_TIMEOUT_S,
            ttl=JOB_TTL_S,
            result_ttl=0,
            failure_ttl=FAILURE_TTL_S,
            description=f"advance {thread_id}",
        )
        key = _wake_key(thread_id)

        def ring(pipe: Pipeline) -> None:
            rings = self._rings(_text(pipe.get(key)), queue)
            pipe.multi()
            if not rings:
                pipe.set(key, f"{job.id} {name}", ex=JOB_TTL_S)
                queue.enqueue_job(job, pipeline=pipe, at_front=first)

        return bool(self._redis.transaction(ring, key))

    def take(self, host_id: str) -> str | None:
        """The thread that waits first in one of a host's queues, if any; its job is taken out, the caller does it.

        Both queues are looked at in an order drawn anew each time: a full one does not starve the other. Who takes a
        thread and dies before its lease is like a worker that died on the way: the bell is rung anew.
        """
        names = queues_of(host_id)
        random.shuffle(names)
        queues = [Queue(name, connection=self._redis, serializer=SERIALIZER) for name in names]
        found = Queue.dequeue_any(queues, None, connection=self._redis, serializer=SERIALIZER)
        if found is None:
            return None
        job, _ = found
        job.delete(remove_from_queue=False)
        return str(job.args[0])

    def silent(self, thread_ids: Sequence[str]) -> list[str]:
        """Those of the threads, in their order, that nobody has rung for since their last job began."""
        marks = self._redis.mget([_wake_key(each) for each in thread_ids]) if thread_ids else []
        return [each for each, mark in zip(thread_ids, marks, strict=True) if mark is None]

    def answered(self, thread_id: str) -> None:
        """The job for this thread has begun and will look at the mail next: a later wake needs a job of its own."""
        self._redis.delete(_wake_key(thread_id))

    def announce_host(
        self, host_id: str, ttl_s: int = HOST_TTL_S, about: Mapping[str, str | int | float] | None = None
    ) -> None:
        """A host says that its workers and its session host are alive; to be repeated well within `ttl_s`.

        `about` is what people may see of it in `threadbook status`.
        """
        self._redis.set(_host_key(host_id), json.dumps({**(about or {}), "ttl_s": ttl_s}), ex=ttl_s)

    def retire_host(self, host_id: str) -> None:
        """A host says that it stops: its threads go to the shared queue from now on."""
        self._redis.delete(_host_key(host_id))

    def host_is_live(self, host_id: str) -> bool:
        """Whether a host announced itself lately."""
        return bool(self._redis.exists(_host_key(host_id)))

    def lives_elsewhere(self, thread_id: str, here: str) -> bool:
        """Whether another host that is alive holds the thread's session."""
        host = self._store.thread_host(thread_id)
        return host is not None and host != here and self.host_is_live(host)

    def _queue_for(self, thread_id: str) -> str:
        host = self._store.thread_host(thread_id)
        return host_queue(host) if host is not None and self.host_is_live(host) else SHARED_QUEUE

    def _rings(self, mark: str | None, queue: Queue) -> bool:
        """Whether the job of this mark still waits in this queue."""
        if mark is None:
            return False
        job_id, _, name = mark.partition(" ")
        waits = name == queue.name and self._redis.lpos(queue.key, job_id) is not None
        return waits and Job.exists(job_id, connection=self._redis)


@dataclass(frozen=True, slots=True)
class HostSeen:
    """A host that announced itself `seen_s_ago` seconds ago, and what it said about itself."""

    id: str
    seen_s_ago: float
    about: dict[str, Any] = field(default_factory=dict)


def hosts(redis: Redis) -> list[HostSeen]:
    """The hosts whose announcement still counts."""
    found = []
    prefix = _host_key("")
    for key in sorted(_text(key) or "" for key in redis.scan_iter(match=f"{prefix}*", count=500)):
        said, left_ms = _text(redis.get(key)), int(redis.pttl(key))
        if said is None or left_ms < 0:
            continue
        about = json.loads(said)
        about = about if isinstance(about, dict) else {}
        ago = float(about.pop("ttl_s", HOST_TTL_S)) - left_ms / 1000
        found.append(HostSeen(key.removeprefix(prefix), round(max(0.0, ago), 1), about))
    return found


def queue_lengths(redis: Redis) -> dict[str, int]:
    """Jobs that wait in each queue of ours; the shared queue is always among them."""
    names = {queue.name for queue in Queue.all(connection=redis, serializer=SERIALIZER)}
    ours = sorted(name for name in names if name.startswith(host_queue("")))
    return {name: Queue(name, connection=redis, serializer=SERIALIZER).count for name in (SHARED_QUEUE, *ours)}


def _text(value: bytes | str | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


def _wake_key(thread_id: str) -> str:
    return f"threadbook:wake:{thread_id}"


def _host_key(host_id: str) -> str:
    return f"threadbook:host:{host_id}"
