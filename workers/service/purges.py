"""What a node deletes for good: sessions of purged threads, and threads that `[retention]` keeps no longer."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta

from redis import Redis

from core.blobs import Blobs
from core.errors import BlobsUnreachable
from core.purging import delete_contents, delete_packs, purge_thread
from core.settings import Settings
from core.spool import Spool
from core.store import Store
from core.team_folder.folder import NotWritten
from core.telemetry import get_logger
from core.values import ThreadKey
from executor.client import HostUnavailable, RequestError, SessionClient
from workers.agent.thread_states import last_state
from workers.memory.team import memory_of
from workers.turn.building import folder_of

log = get_logger(__name__)

RETENTION_EVERY_S = 3_600
_RETENTION = "threadbook:retention"


def carry_out_orders(settings: Settings, store: Store, sessions: SessionClient, blobs: Blobs | None) -> int:
    """Delete sessions, spooled events, builds and undecided drafts of functions of purged threads on this node.

    Also what the file store has of a session, if a purge was cut off or a worker was just writing it. Without `blobs`
    the orders stay, for somebody who has the file store open.

    Returns how many orders were carried out.

    A thread that lives here again began again (`workers/turn/arrival.py`). What cannot be done now stays for later.
    """
    node_id, spool = settings.node_id, Spool(settings.spool)
    done = 0
    for order in store.purge_orders(node_id):
        try:
            lives_at = store.thread_node(order.thread_id)
            if lives_at != node_id:
                sessions.purge(order.thread_id)
                spool.purge(thread_id=order.thread_id, until=order.created_at)
                shutil.rmtree(folder_of(settings.home, order.thread_id), ignore_errors=True)
                own = settings.for_workspace(ThreadKey.parse(order.thread_id).team)
                memory_of(own).functions.drop_drafts_of(order.thread_id)
            if blobs is not None and lives_at is None and store.exported_session(order.thread_id) is None:
                delete_packs(blobs, order.thread_id)
        except (HostUnavailable, RequestError, NotWritten, BlobsUnreachable) as error:
            log.warning("purge_postponed", thread=order.thread_id, error=error)
            return done
        if blobs is not None:
            store.purge_order_done(node_id, order)
            done += 1
    return done


def keep_retention(settings: Settings, store: Store, blobs: Blobs, redis: Redis) -> int:
    """Purge what is older than the team keeps; returns the number of threads. One node does it, once an hour."""
    if not redis.set(_RETENTION, settings.node_id, nx=True, ex=RETENTION_EVERY_S):
        return 0
    purged = 0
    if settings.retention.days:
        older_than = datetime.now(UTC) - timedelta(days=settings.retention.days)
        for thread_id in store.purgeable(older_than=older_than):
            state = last_state(store.timed_steps(thread_id))
            rows = purge_thread(store, blobs, redis, thread_id, state, older_than=older_than)
            if rows is None:  # somebody came back to it since it was found
                continue
            store.audit("retention", "purge", thread_id, "done", details={"rows": rows})
            purged += 1
    delete_contents(store, blobs)
    return purged
