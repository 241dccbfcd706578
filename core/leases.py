"""The right to advance a thread: a key in Redis that expires, and a fencing token from the Store that only rises.

Redis decides who works; the Store decides whose writes count. The Store refuses the writes of a worker that was paused
past its lease (`core/store/fences.py`), so nothing here has to be exact in time.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from redis import Redis, RedisError

from core import scripts
from core.store import Store
from core.telemetry import get_logger
from core.values import Lease

log = get_logger(__name__)

KEY_PREFIX = "threadbook:lease:"
"""What the key of a thread's lease begins with."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease that a thread of its own renews until the block of `Leases.hold` ends."""

    lease: Lease
    _lost: threading.Event = field(default_factory=threading.Event, repr=False)

    def is_lost(self) -> bool:
        """Whether the thread may belong to another worker by now. From then on, work for it is wasted: stop.

        Costs nothing, so that it can be asked often. It may be late: only the Store knows for sure (`Store.check`).
        """
        return self._lost.is_set()

    def lose(self) -> None:
        """Note that the lease was not renewed in time, or that another worker took the thread."""
        self._lost.set()


class Leases:
    """Takes, renews and releases leases. A thread has one holder at a time, until `ttl_s` seconds after a renewal."""

    def __init__(self, redis: Redis, store: Store, ttl_s: float = 30) -> None:
        self._redis = redis
        self._store = store
        self._ttl_s = ttl_s

    def take(self, thread_id: str) -> Lease | None:
        """The lease of a thread, or None while another worker has it."""
        owner = uuid.uuid4().hex
        if not self._redis.set(_key(thread_id), owner, nx=True, px=self._ttl_ms):
            return None
        try:
            return Lease(thread_id=thread_id, token=self._store.raise_fence(thread_id), owner=owner)
        except BaseException:
            self._drop(thread_id, owner)
            raise

    def renew(self, lease: Lease) -> bool:
        """Extend the lease by `ttl_s` seconds; False when another worker took the thread.

        When Redis lost the key (it was emptied, or we were late), it is set again if nobody took the thread since.
        """
        key = _key(lease.thread_id)
        if not scripts.run(self._redis, scripts.RENEW, [key], lease.owner, self._ttl_ms):
            return False
        if self._store.fence(lease.thread_id) == lease.token:
            return True
        self._drop(lease.thread_id, lease.owner)
        return False

    def release(self, lease: Lease) -> None:
        """Give the thread free, if the lease is still the current one."""
        self._drop(lease.thread_id, lease.owner)

    def is_held(self, thread_id: str) -> bool:
        """Whether any worker has the thread's lease now."""
        return bool(self._redis.exists(_key(thread_id)))

    def held(self, thread_ids: Iterable[str]) -> set[str]:
        """Those of the threads whose lease any worker has now."""
        ids = list(thread_ids)
        owners = self._redis.mget([_key(each) for each in ids]) if ids else []
        return {each for each, owner in zip(ids, owners, strict=True) if owner is not None}

    @contextmanager
    def hold(self, thread_id: str) -> Iterator[HeldLease | None]:
        """`with leases.hold(id) as held:` takes the lease, renews it in a thread, and releases it at the end.

        It gives None when another worker has it, and for a thread that was purged.
        """
        try:
            lease = self.take(thread_id)
        except KeyError:
            lease = None
        if lease is None:
            yield None
            return
        held, done = HeldLease(lease), threading.Event()
        renewer = threading.Thread(target=self._keep, args=(held, done), name=f"lease {thread_id}", daemon=True)
        renewer.start()
        try:
            yield held
        finally:
            done.set()
            renewer.join()
            self.release(lease)

    def _keep(self, held: HeldLease, done: threading.Event) -> None:
        good_until = time.monotonic() + self._ttl_s
        while not done.wait(self._ttl_s / 3):
            try:
                if not self.renew(held.lease):
                    held.lose()
                    return
                good_until = time.monotonic() + self._ttl_s
            except Exception as error:
                # Redis or the Store is away for a moment. The lease is good until its time is over.
                log.warning("lease_not_renewed", thread=held.lease.thread_id, error=error)
                if time.monotonic() >= good_until:
                    held.lose()
                    return

    def _drop(self, thread_id: str, owner: str) -> None:
        try:
            scripts.run(self._redis, scripts.DROP, [_key(thread_id)], owner)
        except RedisError as error:
            log.warning("lease_not_released", thread=thread_id, error=error)

    @property
    def _ttl_ms(self) -> int:
        return int(self._ttl_s * 1000)


def _key(thread_id: str) -> str:
    return f"{KEY_PREFIX}{thread_id}"
