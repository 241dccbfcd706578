"""Jobs in Redis as a service of ours writes them, whatever their function: only the signature makes them ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from rq import Queue
from rq.job import Job

from core.queue import ADVANCE, signatures_of
from core.signatures import FIELD, Signatures

KEY = b"k" * 32


def known_signatures() -> Signatures:
    """Those of a service whose key is `KEY`."""
    return signatures_of(lambda: KEY)


def put(
    queue: Queue,
    thread_id: object,
    *,
    function: str = ADVANCE,
    signatures: Signatures | None = None,
    age: timedelta = timedelta(),
    **options: Any,
) -> Job:
    """Put a signed job into the queue."""
    job = queue.create_job(function, args=(thread_id,), **options)
    job.enqueued_at = datetime.now(UTC) - age
    fields = job.to_dict()
    fields[FIELD] = (signatures or known_signatures()).sign(job.id, fields)
    queue.connection.sadd(Queue.redis_queues_keys, queue.key)
    queue.connection.hset(job.key, mapping=fields)
    queue.connection.rpush(queue.key, job.id)
    return job
