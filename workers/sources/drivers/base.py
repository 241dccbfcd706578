"""What every driver does, and the caps that are the same for all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from workers.sources.catalogue import Catalogue
from workers.sources.errors import Cancelled, LimitReached
from workers.sources.values import Access, ColumnInfo, Limits, Result, TableName, Visible

MB = 1024 * 1024
AGAIN_S = 0.5
"""A statement that does not end is ended again after this time."""


class Driver(Protocol):
    """A connection to a source. `run` and the looks are called by one thread; `cancel` may be called by any."""

    def access(self) -> Access:
        """What the login may do beside reading. Raises SourceAway or StatementFailed."""

    def visible(self) -> Visible:
        """The tables and views that the login can read. Raises SourceAway or StatementFailed."""

    def columns(self, table: TableName) -> tuple[ColumnInfo, ...]:
        """The columns of a table, in their order; empty for a table that there is not."""

    def catalogue(self) -> Catalogue:
        """All tables that the login can read, with columns, comments, keys and estimates of rows; no table is read.

        Raises SourceAway, StatementFailed or LimitReached.
        """

    def run(self, sql: str, limits: Limits) -> AbstractContextManager[Result]:
        """Run one statement in a read-only transaction and read its rows while the context is open.

        The rows may end with LimitReached, Cancelled, StatementFailed or SourceAway: what was read before is then
        only a part of the result, and must not be given out.
        """

    def expected_rows(self, sql: str, limits: Limits) -> int | None:
        """How many rows the database expects to process for this statement; None if it has no estimate.

        It is explained, not run. Raises what `run` raises.
        """

    def cancel(self) -> None:
        """End the statement that runs now, at the server; does nothing when none runs."""

    def close(self) -> None:
        """Close the connection."""


class Stop:
    """Ends a statement when its time is over or when somebody cancels it, and remembers which it was.

    It is ended again until the block is left: a request that comes before the statement has begun is forgotten. The
    block waits until no request is being sent: one that reaches the server late would stop the next statement of the
    connection.
    """

    def __init__(self, seconds: float, end: Callable[[], None]) -> None:
        self._seconds = seconds
        self._end = end
        self._timer = self._after(seconds)
        self._why: Exception | None = None
        self._lock = threading.Lock()
        """Held while the statement is being ended."""
        self._is_over = False

    def __enter__(self) -> Stop:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_over = True
            self._timer.cancel()

    def cancel(self) -> None:
        """Somebody wants the statement to end."""
        self._stop(Cancelled("The query was stopped at the server. Nothing of its result was kept."))

    def check(self) -> None:
        """Raise what ended the statement, if something did."""
        if self._why is not None:
            raise self._why

    def _out_of_time(self) -> None:
        self._stop(too_slow(self._seconds))

    def _stop(self, why: Exception) -> None:
        with self._lock:
            if self._is_over:
                return
            self._why = self._why or why
            self._timer.cancel()
            self._end()
            self._timer = self._after(AGAIN_S)
            self._timer.start()

    def _after(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self._out_of_time)
        timer.daemon = True
        return timer


def too_slow(seconds: float) -> LimitReached:
    """The sentence for a statement that ran out of time."""
    return LimitReached(
        f"The query took longer than the {seconds:g} seconds that the source allows and was stopped. "
        "Add a filter, read fewer columns, or aggregate in the query."
    )


def capped(batches: Iterator[pa.RecordBatch], limits: Limits) -> Iterator[pa.RecordBatch]:
    """The batches, until they are more than the source allows: then LimitReached instead of a cut result."""
    rows = size = 0
    for batch in batches:
        rows += batch.num_rows
        size += batch.nbytes
        if rows > limits.rows:
            raise LimitReached(
                f"The result has more than the {limits.rows:,} rows that the source allows. "
                "Aggregate in the query, add a filter, or write a limit."
            )
        if size > limits.bytes:
            raise LimitReached(
                f"The result is larger than the {limits.bytes / MB:,.0f} MB that the source allows. "
                "Read fewer columns, aggregate in the query, or write a limit."
            )
        yield batch
