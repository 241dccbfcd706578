"""Wakes: "thread T has mail", as one RQ job on the queue of the node that holds T's session. The truth is in the Store.

A wake that is lost (Redis was emptied, a node is gone) is made again by the janitor, who asks the Store.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from redis import Redis
from redis.client import Pipeline
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from core import scripts, signatures
from core.release import UNTOLD
from core.rows import Recorded
from core.signatures import Signatures
from core.store import Store
from core.telemetry import get_logger

ADVANCE = "workers.service.jobs.advance"
"""The job's function by name: `core/` does not import `workers/`."""

SHARED_QUEUE = "threads"
SERIALIZER = JSONSerializer
"""Jobs hold ids only. RQ's own default is pickle, which would run what it reads."""

JOB_TTL_S = 3_600
JOB_TIMEOUT_S = 6 * 3_600
FAILURE_TTL_S = 3_600
NODE_TTL_S = 9
"""How long a dead node still counts as alive. Its threads wait meanwhile."""
ANSWER_S = 5.0
"""A Redis that connects or answers later than this is unavailable. Redis itself never takes so long."""

_JOB_PREFIX = Job.key_for("")
_ID_LIMIT = 500

log = get_logger(__name__)


def connect_redis(url: str, timeout_s: float | None = None) -> Redis:
    """A connection pool to Redis; connects on first use. A call raises redis.TimeoutError after `timeout_s` seconds.

    None means `ANSWER_S`. RQ's worker makes the limit of its own pool longer than it waits for a job.
    """
    answer_s = ANSWER_S if timeout_s is None else timeout_s
    return Redis.from_url(url, health_check_interval=30, socket_connect_timeout=answer_s, socket_timeout=answer_s)


def node_queue(node_id: str) -> str:
    """The queue that only this node's workers listen to."""
    # It was `host:<id>` in earlier versions. Nobody reads a job that is left there: the janitor wakes its thread again.
    return f"node:{node_id}"


def queues_of(node_id: str) -> list[str]:
    """The queues that a node's workers listen to, its own first."""
    return [node_queue(node_id), SHARED_QUEUE]


class Seen(NamedTuple):
    """What Redis and the Store know of the worker services: live nodes, jobs by queue, and threads that have work."""

    nodes: list[NodeSeen]
    queues: dict[str, int]
    waiting: int


class Wakes:
    """Wakes threads. Any number of wakes before the job reads the mail become one job."""

    def __init__(self, redis: Redis, store: Store, signatures: Signatures | None = None) -> None:
        """`signatures` are the process's own where it takes jobs."""
        self._redis = redis
        self._store = store
        self._signatures = signatures or signatures_of(store.wake_key)

    def wake(self, thread_id: str, *, first: bool = False, recorded: Recorded | None = None) -> bool:
        """See that a job for this thread waits in the right queue; True when a new job was needed.

        With `first` the job goes to the front of the queue: the thread waited before. `recorded` is what became of the
        message that wakes it, if it is one: it tells the node, which the Store is asked for otherwise.

        A key per thread holds the job and its queue. A new job is made when that job has left the queue (its worker may
        have died after it took the job), or when it waits for a node that is gone. A job too many does no harm: it
        finds nothing to do. A script looks and writes, so a wake is one command.

        Raises redis.RedisError when Redis is unavailable. The message is in the Store: the janitor wakes the thread
        later.
        """
        node = self._store.thread_node(thread_id) if recorded is None else recorded.node_id
        of_node, shared = self._queue("" if node is None else node_queue(node)), self._queue(SHARED_QUEUE)
        job = shared.create_job(
            ADVANCE,
            args=(thread_id,),
            timeout=JOB_TIMEOUT_S,
            ttl=JOB_TTL_S,
            result_ttl=0,
            failure_ttl=FAILURE_TTL_S,
            description=f"advance {thread_id}",
        )
        job.enqueued_at = datetime.now(UTC)
        keys = [
            _wake_key(thread_id),
            Job.key_for(job.id),
            of_node.key,
            shared.key,
            _node_key(node or ""),
            Queue.redis_queues_keys,
        ]
        made = job.to_dict()
        made[signatures.FIELD] = self._signatures.sign(job.id, made)
        fields = [part for field_and_value in made.items() for part in field_and_value]
        push = "LPUSH" if first else "RPUSH"
        about: list[str | int] = [job.id, _JOB_PREFIX, of_node.name, shared.name, JOB_TTL_S, push]
        return bool(scripts.run(self._redis, scripts.WAKE, keys, *about, *fields))

    def take(self, node_id: str) -> str | None:
        """Take the next job out of a node's queues; returns its thread, or None when no job waits.

        The order of the two queues is drawn each time, so that a full queue does not starve the other. When the caller
        dies before it has the thread's lease, the thread is woken again, as after the death of any worker.
        """
        names = queues_of(node_id)
        random.shuffle(names)
        keys = [self._queue(name).key for name in names]
        while (found := scripts.run(self._redis, scripts.TAKE, keys, _JOB_PREFIX)) is not None:
            job = Job(_text(found[0]), connection=self._redis, serializer=SERIALIZER)
            fields = dict(zip(found[1][::2], found[1][1::2], strict=True))
            if not self._signatures.of_ours(job.id, fields):
                continue
            restore(job, fields)
            if (thread_id := self._thread_of(job)) is not None:
                return thread_id
        return None

    def take_over(self, job: Job) -> str | None:
        """Delete a signed job that was taken out of its queue; returns its thread, or None for a job that is not ours.

        Anybody who can write to Redis can name any function in a job. So nothing of it is used but the id
        of a thread.
        """
        self._redis.delete(Job.key_for(job.id))  # all that there is of it: our jobs have no results and no dependents
        return self._thread_of(job)

    def _thread_of(self, job: Job) -> str | None:
        return thread_of(job) if self._signatures.take(job.id) else None

    def unnotified(self, thread_ids: Sequence[str]) -> list[str]:
        """The threads among these, in their order, that nobody has woken since their last job began."""
        marks = self._redis.mget([_wake_key(each) for each in thread_ids]) if thread_ids else []
        return [each for each, mark in zip(thread_ids, marks, strict=True) if mark is None]

    def lost(self, thread_ids: Sequence[str]) -> list[str]:
        """The threads among these, in their order, for which no job waits in the right queue.

        This takes a few commands and one query, for any number of threads. Another wake between this call and a `wake`
        does no harm.
        """
        if not thread_ids:
            return []
        nodes_of = self._store.thread_nodes(thread_ids)
        distinct = sorted(set(nodes_of.values()))
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.mget([_wake_key(each) for each in thread_ids])
            for node in distinct:
                pipe.exists(_node_key(node))
            marks, *alive = pipe.execute()
        live = {node for node, lives in zip(distinct, alive, strict=True) if lives}
        names = [node_queue(nodes_of[each]) if nodes_of.get(each) in live else SHARED_QUEUE for each in thread_ids]
        queued = self._queued_jobs(sorted(set(names)))
        wanted = [(_text(mark), name) for mark, name in zip(marks, names, strict=True)]
        return [
            each
            for each, (mark, name) in zip(thread_ids, wanted, strict=True)
            if mark is None or mark not in queued or not mark.endswith(f" {name}")
        ]

    def _queued_jobs(self, names: Sequence[str]) -> set[str | None]:
        """The marks of the jobs that wait in these queues and have not expired."""
        with self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.lrange(Queue(name, connection=self._redis, serializer=SERIALIZER).key, 0, -1)
            found = pipe.execute()
        jobs = [(str(_text(job)), name) for name, ids in zip(names, found, strict=True) for job in ids]
        keys = [Job.key_for(job) for job, _ in jobs]
        marks = [f"{job} {name}" for job, name in jobs]
        if not keys or self._redis.exists(*keys) == len(keys):
            return set(marks)
        with self._redis.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.exists(key)
            return {mark for mark, exists in zip(marks, pipe.execute(), strict=True) if exists}

    def claimed(self, thread_id: str) -> None:
        """The job for this thread has begun and reads the mail next: a later wake needs a job of its own."""
        self._redis.delete(_wake_key(thread_id))

    def announce_node(
        self,
        node_id: str,
        ttl_s: int = NODE_TTL_S,
        about: Mapping[str, str | int | float] | None = None,
        *,
        instance: str = "",
    ) -> bool:
        """Announce that a node's workers and its session host are alive. Repeat this well within `ttl_s` seconds.

        `about` is what `threadbook status` shows of the node. `instance` tells services of one name apart. False,
        without an announcement, while another instance holds the name.
        """
        key = _node_key(node_id)
        announced = json.dumps({**(about or {}), "ttl_s": ttl_s, "instance": instance})

        def announce(pipe: Pipeline) -> None:
            taken = bool(instance) and _instance_in(pipe.get(key)) not in ("", instance)
            pipe.multi()
            if not taken:
                pipe.set(key, announced, ex=ttl_s)

        return bool(self._redis.transaction(announce, key))

    def retire_node(self, node_id: str, *, instance: str = "") -> None:
        """Say that a node stops: its threads go to the shared queue from now on.

        With `instance`, another one of the same name is left announced.
        """
        key = _node_key(node_id)

        def retire(pipe: Pipeline) -> None:
            taken = bool(instance) and _instance_in(pipe.get(key)) not in ("", instance)
            pipe.multi()
            if not taken:
                pipe.delete(key)

        self._redis.transaction(retire, key)

    def seen(self) -> Seen:
        """The live nodes, the lengths of the queues, how many threads have work. Raises redis.RedisError."""
        return Seen(nodes(self._redis), queue_lengths(self._redis), len(self._store.wait_queue()))

    def node_is_live(self, node_id: str) -> bool:
        """Whether a node announced itself within its `ttl_s`."""
        return bool(self._redis.exists(_node_key(node_id)))

    def is_elsewhere(self, node: str | None, here: str) -> bool:
        """Whether a session that `node` holds is at another node that is alive."""
        return node is not None and node != here and self.node_is_live(node)

    def _queue(self, name: str) -> Queue:
        return Queue(name, connection=self._redis, serializer=SERIALIZER)


def signatures_of(read_key: Callable[[], bytes]) -> Signatures:
    """The signatures of a process; `read_key` asks the Store for the key."""
    return Signatures(read_key, kept_s=JOB_TTL_S)


_SIGNED = (b"data", b"enqueued_at")


def restore(job: Job, fields: Mapping[bytes, bytes]) -> None:
    """Fill a job with the signed fields from Redis. The other fields could be from anybody."""
    Job.restore(job, {name: fields[name] for name in _SIGNED if name in fields})


def thread_of(job: Job) -> str | None:
    """The thread of a job of ours. None, and a line in the log, for any other."""
    try:
        name, args, kwargs = job.func_name, job.args, job.kwargs
    except Exception:  # its bytes are no job: whatever the serializer raises
        name, args, kwargs = "", None, None
    thread_id = args[0] if isinstance(args, list | tuple) and len(args) == 1 else None
    if name == ADVANCE and not kwargs and isinstance(thread_id, str) and len(thread_id) <= _ID_LIMIT:
        return thread_id
    signatures.dropped(job.id, "another_function", f"{name}")
    return None


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A node that announced itself `seen_s_ago` seconds ago, and what it said about itself.

    `instance` is the service that did; "" for one of an earlier version.
    """

    id: str
    seen_s_ago: float
    about: dict[str, Any] = field(default_factory=dict)
    instance: str = ""


def nodes(redis: Redis) -> list[NodeSeen]:
    """The nodes that are announced now, by id."""
    found = []
    prefix = _node_key("")
    for key in sorted(_text(key) or "" for key in redis.scan_iter(match=f"{prefix}*", count=500)):
        announced, left_ms = _text(redis.get(key)), int(redis.pttl(key))
        if announced is None or left_ms < 0:
            continue
        about = _about_in(announced)
        ttl_s = float(about.pop("ttl_s", NODE_TTL_S))
        if left_ms > ttl_s * 1_000:  # announced before the clock of Redis was set back, perhaps by a node that is dead
            redis.pexpire(key, int(ttl_s * 1_000))
        ago = ttl_s - left_ms / 1000
        instance = str(about.pop("instance", ""))
        found.append(NodeSeen(key.removeprefix(prefix), round(max(0.0, ago), 1), about, instance))
    return found


def versions(found: Iterable[NodeSeen]) -> dict[str, str]:
    """The version that each of these nodes runs, by its id."""
    return {node.id: str(node.about.get("version", UNTOLD)) for node in found}


def _about_in(announced: str) -> dict[str, Any]:
    about = json.loads(announced)
    return about if isinstance(about, dict) else {}


def _instance_in(announced: bytes | str | None) -> str:
    """The instance that announced itself; "" for none, and for one of an earlier version."""
    text = _text(announced)
    return "" if text is None else str(_about_in(text).get("instance", ""))


def queue_lengths(redis: Redis) -> dict[str, int]:
    """The number of waiting jobs in each of our queues. The shared queue is always included, queues of dead nodes are
    not."""
    dead = {queue.name for queue in _dead_queues(redis)}
    names = {queue.name for queue in Queue.all(connection=redis, serializer=SERIALIZER)} - dead
    ours = sorted(name for name in names if name.startswith(node_queue("")))
    return {name: Queue(name, connection=redis, serializer=SERIALIZER).count for name in (SHARED_QUEUE, *ours)}


def drop_dead_queues(redis: Redis) -> list[str]:
    """Delete the queues of nodes that are gone, with their jobs; returns their names.

    The threads of those jobs are woken elsewhere. If such a node comes back right now, the janitor wakes its threads.
    """
    dead = _dead_queues(redis)
    for queue in dead:
        with redis.pipeline() as pipe:
            pipe.delete(queue.key, *map(Job.key_for, queue.job_ids))
            pipe.srem(Queue.redis_queues_keys, queue.key)
            pipe.execute()
    return [queue.name for queue in dead]


def _dead_queues(redis: Redis) -> list[Queue]:
    """The queues of nodes that are not announced."""
    prefix = node_queue("")
    queues = [queue for queue in Queue.all(connection=redis, serializer=SERIALIZER) if queue.name.startswith(prefix)]
    return [queue for queue in queues if not redis.exists(_node_key(queue.name.removeprefix(prefix)))]


def _text(value: bytes | str | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


def _wake_key(thread_id: str) -> str:
    return f"threadbook:wake:{thread_id}"


def _node_key(node_id: str) -> str:
    return f"threadbook:node:{node_id}"
