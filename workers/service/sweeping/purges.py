"""What a node deletes for good: sessions of purged threads, and threads that `[retention]` keeps no longer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from redis import Redis

from core import scripts
from core.blobs import Blobs
from core.errors import BlobsUnreachable, SlackUnreachable
from core.purging import delete_contents, delete_packs, purge_thread
from core.settings import Settings
from core.spool import Spool
from core.store import Store
from core.store.part import CLOCKS_DIFFER
from core.store.purge import PurgeOrder
from core.team_folder.folder import NotWritten
from core.telemetry import get_logger
from core.values import ThreadKey
from executor.client import HostUnavailable, RequestError, SessionClient
from executor.files.home import remove_tree
from workers.agent.thread.states import last_state
from workers.memory.team import memory_of
from workers.turn.building import folder_of

log = get_logger(__name__)

RETENTION_EVERY_S = 3_600
AGAIN_S = 60.0
"""An order that could not be carried out is tried again after so long: the session host may need a minute to fail."""
_RETENTION = "threadbook:retention"


def carry_out_orders(
    settings: Settings,
    store: Store,
    sessions: SessionClient,
    blobs: Blobs | None,
    again_at: dict[int, float] | None = None,
) -> int:
    """Delete sessions, spooled events, builds and undecided drafts of functions of purged threads on this node.

    Also what the file store has of a session, if a purge was cut off or a worker was just writing it. Without `blobs`
    the orders stay, for somebody who has the file store open.

    Returns how many orders were carried out. One that cannot be carried out now holds back no other. `again_at`, which
    the caller keeps from one call to the next, says by order when it is tried again: never, once it was carried out.

    A thread that lives here again began again (`workers/turn/arrival.py`).
    """
    node_id, again_at = settings.node_id, {} if again_at is None else again_at
    done, is_next = 0, blobs is not None
    for order in store.purge_orders(node_id):
        if again_at.get(order.id, 0.0) <= time.monotonic():
            try:
                _carry_out(order, settings, store, sessions, blobs)
            except (HostUnavailable, RequestError, NotWritten, BlobsUnreachable, OSError) as error:
                log.warning("purge_postponed", thread=order.thread_id, error=error)
                if isinstance(error, BlobsUnreachable) or not _answers(sessions):
                    return done
                again_at[order.id] = time.monotonic() + AGAIN_S
            else:
                again_at[order.id] = math.inf
                done += 1
        is_next = is_next and again_at[order.id] == math.inf
        if is_next:  # the node is known to have done all orders up to this one
            store.purge_order_done(node_id, order)
            del again_at[order.id]
    return done


def _carry_out(
    order: PurgeOrder, settings: Settings, store: Store, sessions: SessionClient, blobs: Blobs | None
) -> None:
    lives_at = store.thread_node(order.thread_id)
    if lives_at != settings.node_id:
        sessions.purge(order.thread_id)
        Spool(settings.spool).purge(thread_id=order.thread_id, until=order.created_at)
        remove_tree(folder_of(settings.home, order.thread_id))
        own = settings.for_workspace(ThreadKey.parse(order.thread_id).team)
        memory_of(own).functions.drop_drafts_of(order.thread_id)
    if blobs is not None and lives_at is None and store.exported_session(order.thread_id) is None:
        delete_packs(blobs, order.thread_id)


def _answers(sessions: SessionClient) -> bool:
    try:
        sessions.ping()
    except (HostUnavailable, RequestError):
        return False
    return True


def keep_retention(
    settings: Settings, store: Store, blobs: Blobs, redis: Redis, slacks_time: Callable[[], datetime]
) -> int:
    """Purge what is older than the team keeps; returns the number of threads. One node does it, once an hour.

    A thread is old when it is so by this machine's clock and by Slack's: one that jumps ahead would purge what is
    young. `slacks_time` raises SlackUnreachable. Then nothing is purged until the next hour.
    """
    if not redis.set(_RETENTION, settings.node_id, nx=True, ex=RETENTION_EVERY_S):
        scripts.run(redis, scripts.ARE_THERE, [_RETENTION], RETENTION_EVERY_S * 1_000)
        return 0
    purged = 0
    if settings.retention.days and (now := _time_for_sure(slacks_time)) is not None:
        older_than = now - timedelta(days=settings.retention.days)
        for thread_id in store.purgeable(older_than=older_than):
            state = last_state(store.timed_steps(thread_id))
            rows = purge_thread(store, blobs, redis, thread_id, state, older_than=older_than, by="retention")
            purged += rows is not None  # else somebody came back to it since it was found
    delete_contents(store, blobs)
    return purged


def _time_for_sure(slacks_time: Callable[[], datetime]) -> datetime | None:
    """The earlier one of two clocks, ours and Slack's; None while Slack's is not known."""
    ours = datetime.now(UTC)
    try:
        slacks = slacks_time()
    except SlackUnreachable as error:
        log.warning("retention_postponed", error=error)
        return None
    if ours - slacks > CLOCKS_DIFFER:
        log.error("clock_is_ahead", seconds=round((ours - slacks).total_seconds()))
    return min(ours, slacks)
