"""The Store: one class that has the methods of all its parts, and one Database below them.

Every write for a turn carries the thread's lease. Its token is checked in the same transaction, so a worker that lost
the lease without noticing cannot write.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

from core.store.audit import Audit
from core.store.changes import Changes
from core.store.clean_rooms import CleanRooms
from core.store.database import Database, StoreUnreachable
from core.store.fences import Fences
from core.store.files import Files
from core.store.installations import Installations
from core.store.lineage import Lineage
from core.store.messages import Messages
from core.store.nodes import Nodes
from core.store.outbox import Outbox
from core.store.overview import Overviews
from core.store.participation import Participation
from core.store.preferences import Preferences
from core.store.purge import Purges
from core.store.reports import Reports
from core.store.schedules import Schedules
from core.store.search import Search
from core.store.service_keys import ServiceKeys
from core.store.spending import Spending
from core.store.thread_state import ThreadStates
from core.store.turns import Turns
from core.store.vectors import Vectors
from core.store.votes import Votes
from core.telemetry import get_logger

log = get_logger(__name__)

_RETRY_S = 0.5


class Store(
    Messages,
    Participation,
    Turns,
    ThreadStates,
    Spending,
    Files,
    Reports,
    Outbox,
    Nodes,
    Fences,
    Audit,
    Purges,
    Changes,
    Votes,
    CleanRooms,
    Preferences,
    ServiceKeys,
    Overviews,
    Search,
    Schedules,
    Lineage,
    Installations,
    Vectors,
):
    """Safe to share between threads of one process. A fork may use it if it was closed before the fork.

    Every method raises StoreUnreachable when the database is unavailable.
    """

    def __init__(self, url: str) -> None:
        """`url` is an SQLAlchemy URL of SQLite (a file; its folder is made) or Postgres."""
        super().__init__(Database(url))

    def rolled_back(self) -> AbstractContextManager[None]:
        """`with store.rolled_back():` undoes at its end all that was written inside. For one thread alone."""
        return self._database.rolled_back()

    def migrate(self, wait_s: float = 0.0) -> None:
        """Bring the database to this version's schema. Several processes may do it at the same time.

        A database that is unavailable, as after a restart of the machine, is tried again for `wait_s` seconds. Raises
        StoreTooNew when a newer version has changed the schema so that this version cannot work with it.
        """
        deadline = time.monotonic() + wait_s
        while True:
            try:
                self._database.migrate()
            except StoreUnreachable as error:
                why = str(error).partition("\n")[0]
                if time.monotonic() >= deadline:
                    what = f"the database does not answer ({why}). {error.advice}"
                    raise StoreUnreachable(what, error.advice) from error
                log.info("waiting_for_database", error=why)
                time.sleep(_RETRY_S)
            else:
                return

    def check_writes(self) -> None:
        """Check that the database takes writes; nothing is changed. Raises StoreUnreachable."""
        self._database.check_writes()

    def check_schema(self) -> None:
        """Raise StoreTooNew when this version cannot work with the schema that is there."""
        self._database.check_schema()

    def is_new(self) -> bool:
        """Whether no bot and no worker has run with this database yet. Raises StoreUnreachable."""
        return self._database.is_new()

    def scrub(self) -> None:
        """Remove what deleted rows may have left in files of the database, as far as the database lets us."""
        self._database.scrub()

    def close(self) -> None:
        """Close the connections. The next call opens one again."""
        self._database.close()
