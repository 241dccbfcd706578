"""The only kind of job that a worker runs: it advances a thread, whatever Redis says that it does.

Whoever can write to Redis can name any function in a job and in its callbacks, or an address in its webhooks. RQ would
call them. So nothing of a job is used here but the id of a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rq.job import Job

from core.queue import thread_of
from workers.service import jobs


class ForgedJobError(Exception):
    """A job that Threadbook has not made. Its message quotes nothing of it: RQ keeps it in Redis."""


class WakeJob(Job):
    """A job with one function. A job that names another one is dropped, and the log says so."""

    success_callback = failure_callback = stopped_callback = None

    @property
    def func(self) -> Callable[[str], None]:
        """What the worker calls. Raises ForgedJobError."""
        if thread_of(self) is None:
            raise ForgedJobError("a job that Threadbook has not made was dropped")
        return jobs.advance

    def send_webhooks(self, *_: Any, **__: Any) -> None:
        """Nothing: our jobs have none."""
