"""Wakes threads that have work and no worker, for example after a crash or a lost wake.

Each node has a janitor, and one of them sweeps for all (`SweepLease`). The status lines of waiting threads are set by a
thread of its own, so that a slow Slack keeps nobody waiting. What has to go is deleted in another one: retention may
look at millions of threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial

from core.blobs import Blobs
from core.installations.workspaces import opened_workspaces
from core.leases import Leases
from core.queue import Wakes, connect_redis, drop_dead_queues
from core.settings import Settings
from core.slack.client import web_client
from core.slack.clock import slack_time
from core.store import Store
from core.store.wait_queue import QueuedThread
from core.telemetry import get_logger
from executor.client import HostUnavailable, RequestError, SessionClient
from workers.service.admission import Admission
from workers.service.backoff import Backoff
from workers.service.context import LEASE_TTL_S, session_transfer
from workers.service.processes.registry import sweep_file
from workers.service.queue_status import QueueStatus
from workers.service.schedules.runner import begin_due
from workers.service.sweeping.eviction import Eviction
from workers.service.sweeping.expiry import expire_questions
from workers.service.sweeping.purges import carry_out_orders, keep_retention
from workers.service.sweeping.put_notes import PutNotes
from workers.service.sweeping.sweep_lease import Newest, SweepLease
from workers.service.sweeping.tempdir import sweep_tempdirs
from workers.turn.clean_rooms.room import clear_room

log = get_logger(__name__)

SWEEP_EVERY_S = 2.0
SLACK_ANSWER_S = 5


def waiting(store: Store, leases: Leases, backoff: Backoff) -> list[QueuedThread]:
    """The threads with unread mail or a running turn, that no worker holds and no backoff delays, oldest first."""
    return not_at_work(store.wait_queue(), store, leases, backoff)


def not_at_work(queue: Sequence[QueuedThread], store: Store, leases: Leases, backoff: Backoff) -> list[QueuedThread]:
    """Those threads of the queue that no worker holds and no backoff delays."""
    ids = [queued.thread_id for queued in queue]
    busy = leases.held(ids) | backoff.postponed(ids)
    if busy.issuperset(ids):
        return []
    still_due = set(store.threads_needing_a_wake())  # a turn that ended meanwhile has given its lease back
    return [queued for queued in queue if queued.thread_id not in busy and queued.thread_id in still_due]


def notify(queue: Sequence[QueuedThread], wakes: Wakes, admission: Admission, *, force: bool = False) -> list[str]:
    """Wake the threads of the queue that may run now, oldest first. Returns the threads that were woken.

    A thread that was notified before is left alone. With `force` it is checked again: its wake may have been lost.
    """
    if not queue:
        return []
    fitting = [queued.thread_id for queued in admission.admissible(queue)]
    due = wakes.lost(fitting) if force else wakes.unnotified(fitting)
    # Each wake goes to the front of the queue, so the oldest thread is woken last.
    return [thread_id for thread_id in reversed(due) if wakes.wake(thread_id, first=True)]


def keep_sweeping(
    sweep: Callable[[], Iterable[str]], stop: threading.Event, *, swept: Callable[[], None] = lambda: None
) -> None:
    """Call `sweep` every two seconds until `stop`; it returns the threads that it woke. `swept` follows a good sweep.

    A sweep that fails, because the Store or Redis is unavailable, is logged; the next one tries again.
    """
    while not stop.wait(SWEEP_EVERY_S):
        try:
            for thread_id in sweep():
                log.info("thread_woken", thread=thread_id)
            swept()
        except Exception as error:
            log.warning("sweep_failed", error=error)


def run(settings: Settings) -> None:
    """Sweep until the process ends: wake forgotten threads, show the places in the queue, delete purged data."""
    with closing(Store(settings.database_url)) as store, closing(connect_redis(settings.redis_url)) as redis:
        leases = Leases(redis, store, LEASE_TTL_S)
        wakes = Wakes(redis, store)
        backoff = Backoff(redis)
        admission = Admission(redis, leases, settings.fairness)
        blobs, sessions = Blobs(settings.files), SessionClient(settings.session_socket)
        asking = web_client(settings)  # what time it is, once an hour: any answer will do
        asking.timeout = SLACK_ANSWER_S
        asking.retry_handlers = []
        workspaces = opened_workspaces(settings, store, redis)
        status = QueueStatus(redis, lambda team: workspaces.of(team).slack)
        mine = SweepLease(redis)
        transfer = session_transfer(settings, store, blobs, sessions)
        eviction = Eviction(settings.storage.evict_days, store, leases, transfer, sessions)
        shown = Newest[Sequence[QueuedThread]](
            lambda queue: status.show(queue, admission.held_back(queue)), "queue status"
        )

        def sweep() -> list[str]:
            with mine.taken() as is_mine:
                if not is_mine:
                    return []
                queue = waiting(store, leases, backoff)
                woken = notify(queue, wakes, admission, force=True)
                shown.put(queue)
                if begun := begin_due(store, datetime.now(UTC), settings):
                    log.info("runs_begun", count=begun)
                for name in drop_dead_queues(redis):
                    log.info("dead_queue_dropped", queue=name)
                return woken

        again_at: dict[int, float] = {}
        put_notes = PutNotes(settings, store, blobs)

        def tidy(_: None) -> None:
            sweep_tempdirs(settings)
            carry_out_orders(settings, store, sessions, blobs, again_at)
            put_notes.sweep()
            keep_retention(settings, store, blobs, redis, partial(slack_time, asking))
            eviction.sweep()
            with suppress(HostUnavailable, RequestError):
                clear_room(settings, sessions)

        tidied = Newest(tidy, "tidying")

        def swept() -> None:
            tidied.put(None)
            expire_questions(store, time.time())
            sweep_file(settings).touch()  # last: a disk that refuses it must not keep people waiting

        keep_sweeping(sweep, threading.Event(), swept=swept)
