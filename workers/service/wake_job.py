"""The only kind of job that a worker runs: it advances a thread, whatever Redis says that it does.

Whoever can write to Redis can name any function in a job and in its callbacks, or an address in its webhooks. RQ would
call them. So nothing of a job is used here but the id of a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rq.job import Job

from core.queue import ADVANCE
from core.telemetry import get_logger
from workers.service import jobs

log = get_logger(__name__)

_SHOWN = 100
_ID_LIMIT = 500


class ForgedJobError(Exception):
    """A job that Threadbook has not made. Its message quotes nothing of it: RQ keeps it in Redis."""


class WakeJob(Job):
    """A job with one function. A job that names another one is dropped, and the log says so."""

    success_callback = failure_callback = stopped_callback = None

    @property
    def func(self) -> Callable[[str], None]:
        """What the worker calls. Raises ForgedJobError."""
        name, args = self.func_name, self.args
        thread_id = args[0] if isinstance(args, list | tuple) and len(args) == 1 else None
        is_ours = name == ADVANCE and not self.kwargs and isinstance(thread_id, str) and len(thread_id) <= _ID_LIMIT
        if not is_ours:
            log.error("forged_job_dropped", job=self.id[:_SHOWN], function=f"{name}"[:_SHOWN])
            raise ForgedJobError("a job that Threadbook has not made was dropped")
        return jobs.advance

    def send_webhooks(self, *_: Any, **__: Any) -> None:
        """Nothing: our jobs have none."""
