"""The only kind of job that a worker runs: it advances a thread, whatever the job in Redis says.

Anybody who can write to Redis can name any function in a job and in its callbacks, or an address in its
webhooks. RQ would call them. So nothing of a job is used here but the id of a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rq.exceptions import NoSuchJobError
from rq.job import Job

from core.queue import restore, thread_of
from core.signatures import Signatures, dropped
from workers.service import jobs


class ForgedJobError(Exception):
    """A job that Threadbook has not made. Its message quotes nothing of it: RQ keeps it in Redis."""


class WakeJob(Job):
    """A job with one function. A job that names another one, or that no service signed, is dropped and reported."""

    signatures: ClassVar[Signatures | None] = None
    """Without any no job is one of ours; `signed_jobs` has them."""
    success_callback = failure_callback = stopped_callback = None

    def restore(self, raw_data: Mapping[bytes, bytes]) -> None:
        """Read a job from what Redis has of it, if a service of ours signed it. Raises NoSuchJobError: RQ goes on."""
        known = self.signatures
        if not (dropped(self.id, "signature") if known is None else known.of_ours(self.id, raw_data)):
            raise NoSuchJobError
        restore(self, raw_data)

    @property
    def func(self) -> Callable[[str], None]:
        """What the worker calls. Raises ForgedJobError."""
        if thread_of(self) is None:
            raise ForgedJobError("a job that Threadbook has not made was dropped")
        return jobs.advance

    def send_webhooks(self, *_: Any, **__: Any) -> None:
        """Nothing: our jobs have none."""


def signed_jobs(signatures: Signatures) -> type[WakeJob]:
    """The kind of job of a worker that knows these signatures."""
    return type("SignedWakeJob", (WakeJob,), {"signatures": signatures})
