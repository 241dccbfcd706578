"""What a node deletes for good: sessions of purged threads, and threads that `[retention]` keeps no longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from redis import Redis

from core.blobs import Blobs
from core.purging import delete_contents, purge_thread
from core.settings import Settings
from core.spool import Spool
from core.store import Store
from core.telemetry import get_logger
from executor.client import HostUnavailable, RequestError, SessionClient

log = get_logger(__name__)

RETENTION_EVERY_S = 3_600
_RETENTION = "threadbook:retention"


def carry_out_orders(store: Store, sessions: SessionClient, node_id: str, spool: Spool) -> int:
    """Delete sessions and spooled events of purged threads on this node; returns how many orders were carried out.

    A thread that lives here again began anew (`workers/turn/arrival.py`). What cannot be done now stays for later.
    """
    done = 0
    for order in store.purge_orders(node_id):
        try:
            if store.thread_node(order.thread_id) != node_id:
                sessions.purge(order.thread_id)
                spool.purge(thread_id=order.thread_id)
        except (HostUnavailable, RequestError) as error:
            log.warning("purge_postponed", thread=order.thread_id, error=error)
            return done
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
            rows = purge_thread(store, blobs, redis, thread_id)
            store.audit("retention", "purge", thread_id, "done", details={"rows": rows})
            purged += 1
    delete_contents(store, blobs)
    return purged
