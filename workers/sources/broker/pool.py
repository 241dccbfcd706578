"""The connections of one source: a few, kept between statements, each for one statement at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from workers.sources.catalogue import Catalogue
from workers.sources.drivers.base import Driver
from workers.sources.errors import Cancelled, LimitReached, SourceAway, SourceError
from workers.sources.values import Access, ColumnInfo, Limits, Result, Source, TableName, Visible

CATALOGUE_S = 60.0
"""The greatest age of the known tables and rights, in seconds. An unknown name is looked up again."""
IDLE_S = 120.0
"""A connection that nobody used for this long is closed instead of used: something between may have forgotten it."""
_LOOK_S = 0.1


class Connection:
    """A driver that remembers what the catalogue said."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._looked_at = 0.0
        self._access: Access | None = None
        self._visible: Visible | None = None
        self._columns: dict[TableName, tuple[ColumnInfo, ...]] = {}
        self.idle_since = time.monotonic()
        self.was_kept = False
        """Whether it was used before."""

    def forget(self) -> bool:
        """Look everything up again at the next use; False when it was looked up just now."""
        was_old = time.monotonic() - self._looked_at > 1.0
        self._access, self._visible = None, None
        self._columns.clear()
        return was_old

    def access(self) -> Access:
        """As the driver's, at most `CATALOGUE_S` old."""
        if self._access is None or time.monotonic() - self._looked_at > CATALOGUE_S:
            self.forget()
            self._access = self._driver.access()
            self._looked_at = time.monotonic()
        return self._access

    def visible(self) -> Visible:
        """As the driver's, at most `CATALOGUE_S` old."""
        self.access()
        if self._visible is None:
            self._visible = self._driver.visible()
        return self._visible

    def columns(self, table: TableName) -> tuple[ColumnInfo, ...]:
        """As the driver's, at most `CATALOGUE_S` old."""
        self.access()
        if table not in self._columns:
            self._columns[table] = self._driver.columns(table)
        return self._columns[table]

    def catalogue(self) -> Catalogue:
        """As the driver's."""
        return self._driver.catalogue()

    def run(self, sql: str, limits: Limits) -> AbstractContextManager[Result]:
        """As the driver's."""
        return self._driver.run(sql, limits)

    def expected_rows(self, sql: str, limits: Limits) -> int | None:
        """As the driver's."""
        return self._driver.expected_rows(sql, limits)

    def cancel(self) -> None:
        """As the driver's."""
        self._driver.cancel()

    def close(self) -> None:
        """As the driver's."""
        self._driver.close()


class Pool:
    """At most `settings.connections` at once."""

    def __init__(self, source: Source, connect: Callable[[Source], Driver]) -> None:
        self.source = source
        self._connect = connect
        self._free = threading.BoundedSemaphore(source.settings.connections)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []

    @contextmanager
    def connection(self, seconds: float, is_wanted: Callable[[], bool], *, fresh: bool = False) -> Iterator[Connection]:
        """A connection for one use. With `fresh` it is a new one.

        Raises LimitReached when none becomes free within `seconds`, SourceAway, Misconfigured, and Cancelled when it
        is not wanted any more.
        """
        self._wait(seconds, is_wanted)
        try:
            connection = (None if fresh else self._kept()) or Connection(self._connect(self.source))
            try:
                yield connection
            except BaseException as error:
                # After an error that is not the statement's own nobody knows what the connection is good for.
                if isinstance(error, SourceError) and not isinstance(error, SourceAway):
                    self._keep(connection)
                else:
                    connection.close()
                raise
            self._keep(connection)
        finally:
            self._free.release()

    def _wait(self, seconds: float, is_wanted: Callable[[], bool]) -> None:
        deadline = time.monotonic() + seconds
        while not self._free.acquire(timeout=_LOOK_S):
            if not is_wanted():
                raise Cancelled("The query was stopped before it began.")
            if time.monotonic() > deadline:
                raise LimitReached(
                    f"{self.source.name} is busy: {self.source.settings.connections} statements run already. "
                    "Try again in a moment."
                )

    def _kept(self) -> Connection | None:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if time.monotonic() - connection.idle_since < IDLE_S:
                    return connection
                connection.close()
        return None

    def _keep(self, connection: Connection) -> None:
        connection.idle_since, connection.was_kept = time.monotonic(), True
        with self._lock:
            self._idle.append(connection)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()
