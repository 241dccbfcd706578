"""The right to advance a thread: a key in Redis that expires, and a fencing token from the Store that only rises.

Redis decides who works; the Store decides whose writes count. The Store refuses the writes of a worker that was paused
past its lease (`core/store/fences.py`), so nothing here has to be exact in time.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from redis import Redis, RedisError

from core import scripts
from core.store import Store
from core.store.thread_state import ThreadState
from core.telemetry import get_logger
from core.values import Lease

log = get_logger(__name__)

Read = TypeVar("Read")

KEY_PREFIX = "threadbook:lease:"
"""What the key of a thread's lease begins with."""
WAITS = "threadbook:waits"
"""The mark that a thread had to wait for a place. The process that gives a thread back then looks who may go
on."""
MARK_S = 86_400
"""How long such marks are kept. A mark that is lost costs a wait for the janitor's next sweep."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease that is renewed until the block of `Leases.hold` ends."""

    lease: Lease
    _lost: threading.Event = field(default_factory=threading.Event, repr=False)
    _unwanted: threading.Event = field(default_factory=threading.Event, repr=False)
    _left_alone: threading.Event = field(default_factory=threading.Event, repr=False)

    def is_lost(self) -> bool:
        """Whether the thread may belong to another worker by now. From then on, work for it is wasted: stop.

        Costs nothing, so that it can be asked often. It may be late: only the Store knows for sure (`Store.check`).
        """
        return self._lost.is_set()

    def was_wanted(self) -> bool:
        """Whether somebody came for the thread while it was held, or may have. Who came has gone again: the mail is to
        be read once more. Known after the block of `Leases.hold_and_read`."""
        return not self._unwanted.is_set()

    def was_left_alone(self) -> bool:
        """Whether Redis is sure that nobody came for the thread while it was held, and that no other one waits for a
        place. Known after the same block."""
        return self._left_alone.is_set()

    def leave(self, *, alone: bool) -> None:
        """Note that the lease was given back and nobody had come. `alone`: no other thread waits for a place either."""
        self._unwanted.set()
        if alone:
            self._left_alone.set()

    def lose(self) -> None:
        """Note that the lease was not renewed in time, or that another worker took the thread."""
        self._lost.set()


class Leases:
    """Takes, renews and releases leases. A thread has one holder at a time, until `ttl_s` seconds after a renewal.

    Safe to share between the threads of one process: one thread renews all leases that are held here.
    """

    def __init__(self, redis: Redis, store: Store, ttl_s: float = 30, *, holder: str = "") -> None:
        """`holder` names this process in its leases, so that they can be dropped when it is known to be dead."""
        self._redis = redis
        self._store = store
        self._ttl_s = ttl_s
        self._holder = holder
        self._keeper = _Keeper(self.renew_all, ttl_s)

    def take(self, thread_id: str) -> Lease | None:
        """The lease of a thread, or None while another worker has it. Raises KeyError for a thread that is gone."""
        taken = self._take(thread_id, lambda: (self._store.raise_fence(thread_id), None))
        return None if taken is None else taken[0]

    def _take(self, thread_id: str, raise_fence: Callable[[], tuple[int, Read]]) -> tuple[Lease, Read] | None:
        """The lease, and what was read as the fence was raised."""
        owner = f"{self._holder}{uuid.uuid4().hex}"
        keys = [_key(thread_id), _came_key(thread_id)]
        if not scripts.run(self._redis, scripts.TAKE_LEASE, keys, owner, self._ttl_ms, MARK_S):
            return None
        try:
            token, read = raise_fence()
        except BaseException:
            self._drop(thread_id, owner)
            raise
        return Lease(thread_id=thread_id, token=token, owner=owner), read

    def renew(self, lease: Lease) -> bool:
        """Extend the lease by `ttl_s` seconds; False when another worker took the thread.

        When Redis lost the key (it was emptied, or we were late), it is set again if nobody took the thread since.
        """
        return bool(self.renew_all([lease]))

    def renew_all(self, leases: Sequence[Lease]) -> list[Lease]:
        """The same for many leases, with one command of Redis and one read of the Store: those that were extended."""
        if not leases:
            return []
        keys, owners = [_key(lease.thread_id) for lease in leases], [lease.owner for lease in leases]
        marks = scripts.run(self._redis, scripts.RENEW, keys, self._ttl_ms, *owners)
        extended = [lease for lease, mark in zip(leases, marks, strict=True) if mark]
        fences = self._store.fences({lease.thread_id for lease in extended})
        for lease in extended:
            if fences.get(lease.thread_id, 0) != lease.token:
                self._drop(lease.thread_id, lease.owner)
        return [lease for lease in extended if fences.get(lease.thread_id, 0) == lease.token]

    def release(self, lease: Lease) -> None:
        """Give the thread free, if the lease is still the current one."""
        self._drop(lease.thread_id, lease.owner)

    def release_all(self) -> None:
        """Give all threads free whose leases are held here. For a process that ends right after it."""
        self._keeper.stop()
        with_leases = [lease.thread_id for lease in self._keeper.leases()]
        if with_leases and self._holder:
            drop_leases(self._redis, self._holder, with_leases)

    def is_held(self, thread_id: str) -> bool:
        """Whether any worker has the thread's lease now."""
        return bool(self._redis.exists(_key(thread_id)))

    def held(self, thread_ids: Iterable[str]) -> set[str]:
        """The threads among these whose lease any worker holds now."""
        ids = list(thread_ids)
        found = scripts.run(self._redis, scripts.ARE_THERE, [_key(each) for each in ids], self._ttl_ms) if ids else []
        return {each for each, is_there in zip(ids, found, strict=True) if is_there}

    @contextmanager
    def hold(self, thread_id: str) -> Iterator[HeldLease | None]:
        """`with leases.hold(id) as held:` takes the lease, keeps it renewed, and releases it at the end.

        It gives None when another worker has it, and for a thread that was purged.
        """
        try:
            lease = self.take(thread_id)
        except KeyError:
            lease = None
        if lease is None:
            yield None
        else:
            with self._renewed(lease) as held:
                yield held

    @contextmanager
    def hold_and_read(self, thread_id: str) -> Iterator[tuple[HeldLease, ThreadState] | None]:
        """The same with the thread as it stands: one transaction of the Store takes it and reads it."""
        try:
            taken = self._take(thread_id, lambda: self._store.take_thread(thread_id))
        except KeyError:
            taken = None
        if taken is None:
            yield None
        else:
            lease, state = taken
            with self._renewed(lease, self._give_back) as held:
                yield held, state

    @contextmanager
    def _renewed(self, lease: Lease, give_back: Callable[[HeldLease], None] | None = None) -> Iterator[HeldLease]:
        """Renews a lease inside the block, and gives it back at its end."""
        held = HeldLease(lease)
        try:
            self._keeper.add(held)
            yield held
        finally:
            self._keeper.remove(held)
            if give_back is None:
                self.release(lease)
            else:
                give_back(held)

    def _give_back(self, held: HeldLease) -> None:
        """Release the lease, and learn whether anybody came meanwhile. If that is unknown, assume that somebody
        came."""
        thread_id = held.lease.thread_id
        keys = [_key(thread_id), _came_key(thread_id), WAITS]
        try:
            found = scripts.run(self._redis, scripts.GIVE_BACK, keys, held.lease.owner)
            if found != 1:
                held.leave(alone=found == 0)
        except RedisError as error:
            log.warning("lease_not_released", thread=thread_id, error=error)

    def _drop(self, thread_id: str, owner: str) -> None:
        try:
            scripts.run(self._redis, scripts.DROP, [_key(thread_id)], owner)
        except RedisError as error:
            log.warning("lease_not_released", thread=thread_id, error=error)

    @property
    def _ttl_ms(self) -> int:
        return int(self._ttl_s * 1000)


class _Keeper:
    """Renews the leases of this process, after every third of their time, in a thread that ends with the last one."""

    def __init__(self, renew_all: Callable[[Sequence[Lease]], Sequence[Lease]], ttl_s: float) -> None:
        self._renew_all = renew_all
        self._ttl_s = ttl_s
        self._good_until: dict[str, tuple[HeldLease, float]] = {}
        """The held leases by owner. Two may belong to one thread: a lost lease, and the one that was taken after it."""
        self._changed = threading.Condition()
        self._renewing = threading.Lock()
        self._runs = self._stopped = False

    def add(self, held: HeldLease) -> None:
        """Keep this lease, which was taken a moment ago. Raises RuntimeError when there is no room for a thread."""
        with self._changed:
            if not self._runs:
                threading.Thread(target=self._run, name="leases", daemon=True).start()
                self._runs = True
            self._good_until[held.lease.owner] = (held, time.monotonic() + self._ttl_s)

    def remove(self, held: HeldLease) -> None:
        """Stop renewing this lease. When this returns, a running renewal has ended, so none can undo the release."""
        with self._renewing, self._changed:
            self._good_until.pop(held.lease.owner, None)
            self._changed.notify()

    def stop(self) -> None:
        """Renew nothing from now on."""
        self._stopped = True
        with self._renewing:
            pass

    def leases(self) -> list[Lease]:
        """Those that are kept, without those that are known to be lost."""
        with self._changed:
            return [held.lease for held, _ in self._good_until.values() if not held.is_lost()]

    def _run(self) -> None:
        while True:
            due = time.monotonic() + self._ttl_s / 3
            with self._changed:
                while self._good_until and (left_s := due - time.monotonic()) > 0:
                    self._changed.wait(left_s)
                if not self._good_until:
                    self._runs = False
                    return
            with self._renewing:
                if not self._stopped:
                    self._renew()

    def _renew(self) -> None:
        leases, began = self.leases(), time.monotonic()
        try:
            renewed = {lease.owner for lease in self._renew_all(leases)}
        except Exception as error:
            # Redis or the Store is unavailable for a moment. A lease is good until its time is over.
            log.warning("leases_not_renewed", leases=len(leases), error=error)
            renewed = None
        now = time.monotonic()
        with self._changed:
            for owner in (lease.owner for lease in leases):
                held, good_until = self._good_until[owner]  # nobody removes one meanwhile
                if renewed is not None and owner in renewed:
                    self._good_until[owner] = (held, began + self._ttl_s)
                elif renewed is not None or now >= good_until:
                    held.lose()


def drop_leases(redis: Redis, holder: str, thread_ids: Collection[str]) -> int:
    """Release the threads among these whose leases belong to a process of this name. The process must be dead or end
    now.

    Returns how many there were. Raises redis.RedisError.
    """
    if not thread_ids:
        return 0
    return int(scripts.run(redis, scripts.DROP_OF, [_key(each) for each in thread_ids], holder))


def _came_key(thread_id: str) -> str:
    return f"threadbook:came:{thread_id}"


def _key(thread_id: str) -> str:
    return f"{KEY_PREFIX}{thread_id}"
