"""The signature of a wake. Only a process that can read the Store can make a wake that a worker accepts.

The signature is checked before anything of a job is unpacked. It covers the job's id, its time, and its function with
the arguments. So an old job or a job under another id is refused, and no process takes a job twice.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from core.metrics import FORGED_JOBS
from core.store import StoreUnreachable
from core.telemetry import get_logger

FIELD = "signature"
FRESH_S = 60.0
"""The key is read again after this time, and where a signature does not fit, after `_DOUBT_S`: a restored Store has
another one."""
_DOUBT_S = 5.0
_REMEMBERED = 50_000
_SHOWN = 100

log = get_logger(__name__)


class Signatures:
    """Signs jobs and knows those that were signed. One of a process, for it notes which jobs were taken."""

    def __init__(
        self, read_key: Callable[[], bytes], *, kept_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`read_key` asks the Store. A job older than `kept_s` is none, as Redis would have it deleted."""
        self._read_key = read_key
        self._kept_s = kept_s
        self._clock = clock
        self._key: bytes | None = None
        self._read_at = 0.0
        self._taken: OrderedDict[str, None] = OrderedDict()

    def read(self) -> None:
        """Read the key ahead of the first job, so that a Store that becomes unavailable later stops none. Never
        raises."""
        self._known_key(FRESH_S)

    def sign(self, job_id: str, fields: Mapping[str, str | bytes]) -> str:
        """The signature of a job with these fields. Raises StoreUnreachable when the key was never read."""
        key = self._known_key(FRESH_S)
        if key is None:
            raise StoreUnreachable("the key that wakes are signed with cannot be read")
        return _signature(key, job_id, _bytes(fields["data"]), _bytes(fields["enqueued_at"]))

    def of_ours(self, job_id: str, fields: Mapping[bytes, bytes]) -> bool:
        """Whether a service of this Store made the job, not long ago. If not, the log and a metric say so."""
        signature, made_at = fields.get(FIELD.encode(), b""), fields.get(b"enqueued_at", b"")
        data = fields.get(b"data", b"")
        if self._known_key(FRESH_S) is None:
            # The Store is unavailable and was never reached: the janitor wakes the thread again.
            log.warning("wake_not_checked", job=job_id[:_SHOWN])
            return False
        if not self._fits(signature, job_id, data, made_at):
            return dropped(job_id, "signature")
        if not self._is_recent(made_at):
            return dropped(job_id, "too_old")
        return True

    def take(self, job_id: str) -> bool:
        """Whether this process takes the job for the first time. If not, the log and a metric say so."""
        if job_id in self._taken:
            return dropped(job_id, "taken_before")
        self._taken[job_id] = None
        if len(self._taken) > _REMEMBERED:
            self._taken.popitem(last=False)
        return True

    def _fits(self, signature: bytes, job_id: str, data: bytes, made_at: bytes) -> bool:
        for at_most_s in (FRESH_S, _DOUBT_S):
            key = self._known_key(at_most_s)
            if key is not None and hmac.compare_digest(
                _signature(key, job_id, data, made_at).encode(), signature[: 2 * _SHOWN]
            ):
                return True
        return False

    def _is_recent(self, made_at: bytes) -> bool:
        with suppress(ValueError):
            made = datetime.fromisoformat(made_at.decode().replace("Z", "+00:00"))
            return (datetime.now(UTC) - made.astimezone(UTC)).total_seconds() < self._kept_s
        return False

    def _known_key(self, at_most_s: float) -> bytes | None:
        """The key, read again when that was longer ago. While the Store is unavailable, the one before counts."""
        if self._key is None or self._clock() - self._read_at > at_most_s:
            with suppress(StoreUnreachable):
                self._key = self._read_key()
            self._read_at = self._clock()  # also without success: a Store that hangs is not asked for each job
        return self._key


def dropped(job_id: str, why: str, function: str = "") -> bool:
    """Say loudly that a job was not run; False."""
    log.error("forged_job_dropped", job=job_id[:_SHOWN], why=why, function=function[:_SHOWN])
    FORGED_JOBS.labels(why).inc()
    return False


def _signature(key: bytes, job_id: str, data: bytes, made_at: bytes) -> str:
    signed = b"".join(len(part).to_bytes(8, "big") + part for part in (job_id.encode(), made_at, data))
    return hmac.new(key, signed, hashlib.sha256).hexdigest()


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
