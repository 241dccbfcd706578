"""The sessions that a node has not stored yet when its service stops: they are exported before the node goes."""

from __future__ import annotations

from contextlib import ExitStack, closing

from core.blobs import Blobs
from core.errors import LeaseLost
from core.leases import Leases
from core.queue import connect_redis
from core.retry import wait_until
from core.settings import Settings
from core.store import Store
from core.telemetry import get_logger
from executor.client import SessionClient
from workers.service.context import LEASE_TTL_S, session_transfer
from workers.turn.transfer.unexported import Unexported

log = get_logger(__name__)

LAST_EXPORTS_S = 60.0
"""How long a service that stops waits for a file store that is unavailable."""
AGAIN_S = 1.0
ANSWER_S = 5.0
"""How long Redis may take to answer."""


def export_the_rest(settings: Settings, for_s: float = LAST_EXPORTS_S) -> list[str]:
    """Export the marked sessions of this node, again and again for `for_s` seconds; returns those that are left.

    Call it when no job runs any more and while the session host still does. A thread that another worker has is left
    to it.
    """
    unexported = Unexported(settings.home)
    if not settings.hands_threads_over or not unexported.threads():
        return []

    def try_all() -> bool:
        try:
            with ExitStack() as stack:
                store = stack.enter_context(closing(Store(settings.database_url)))
                redis = stack.enter_context(closing(connect_redis(settings.redis_url, timeout_s=ANSWER_S)))
                sessions = SessionClient(settings.session_socket)
                transfer = session_transfer(settings, store, Blobs(settings.files), sessions)
                leases = Leases(redis, store, LEASE_TTL_S)
                for thread_id in unexported.threads():
                    if store.thread_node(thread_id) != settings.node_id:
                        unexported.remove(thread_id)
                        continue
                    with leases.hold(thread_id) as held:
                        if held is not None:
                            transfer.export_state(held.lease)
        except LeaseLost:
            log.info("export_left_to_another_worker")
        except Exception as error:  # the Store, Redis or the session host is unavailable
            log.warning("last_exports_failed", error=error)
        return not unexported.threads()

    wait_until(try_all, for_s=for_s, every_s=AGAIN_S)
    return unexported.threads()
