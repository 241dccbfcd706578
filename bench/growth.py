"""How long each statement of the Store takes at 10 million messages: `python -m bench growth`.

The statements are those that the methods of the Store send when `tests/store_calls.py` calls each of them in every way;
those of the hot path are all but `SELDOM` and `LONG_PERIODS`, which say why. Each is sent seven times and
undone, in one transaction for each method. The time of a statement is the best of the seven, all its rows read: the
machine may be shared. It is time of the processor: of this process in SQLite, of the server in Postgres if it runs
here. So what a commit takes, and a disk that is waited for, are not in it.

`python -m bench.growth --messages N [--database URL]` takes a database of its own, which is filled if it is empty and
kept: a million messages take 1.2 GB in SQLite and in Postgres. Without a URL an SQLite file is made and deleted.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event, make_url
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from bench.grown import fill, is_filled, size
from core.store import Store
from core.store.history import History
from core.values import Lease

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from store_calls import LONG_PERIODS, SELDOM, THREAD, TURN, call_everything, methods, prepare

NOT_HOT = {*SELDOM, *LONG_PERIODS}
MESSAGES = 1_000_000
TIMES = 7
HOT_MS = 2.0
"""What no statement of the hot path may take longer than."""
LONG_MS = 500.0
"""A statement that takes longer is not sent again."""


@dataclass
class Asked:
    """A statement of a method, with the milliseconds of its first time and of its best one."""

    method: str
    statement: str
    first_ms: float
    best_ms: float


@dataclass
class Found:
    """What was measured of one database."""

    dialect: str
    messages: int
    disk_bytes: int
    statements: list[Asked] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Methods that the database refused, with its words."""

    def of(self, *, seldom: bool) -> list[Asked]:
        """The statements of the hot path, or the others; the slowest first."""
        mine = [each for each in self.statements if (each.method in NOT_HOT) == seldom]
        return sorted(mine, key=lambda each: -each.best_ms)

    @property
    def slow(self) -> list[Asked]:
        """The statements of the hot path that take too long."""
        return [each for each in self.of(seldom=False) if each.best_ms > HOT_MS]


def measure() -> dict[str, Any]:
    """Measure a million messages in SQLite, print the slowest statements, return the raw figures."""
    return measured(MESSAGES)


def measured(messages: int, url: str = "", *, hot_only: bool = False) -> dict[str, Any]:
    """The same for so many messages and a database; `hot_only` leaves out what a person asks for."""
    with tempfile.TemporaryDirectory() as name:
        url = url or f"sqlite:///{name}/grown.db"
        if not is_filled(url):
            fill(url, messages, lambda line: print(f"  {line}", file=sys.stderr))
        found = _measured(url, messages, hot_only=hot_only)
    _show(found)
    return asdict(found)


def _measured(url: str, messages: int, *, hot_only: bool) -> Found:
    with closing(Store(url)) as store, closing(History(url)) as history:
        store.migrate()
        if store.turn(TURN) is None:
            prepare(store)
        found = Found(make_url(url).get_backend_name(), messages, size(url))
        for part in (store, history):
            if part is history:  # it tells of turns that ended
                store.set_turn_status(
                    Lease(thread_id=THREAD.id, token=store.fence(THREAD.id), owner="bench"), TURN, "done"
                )
            for method in methods(type(part)):
                if hot_only and method in NOT_HOT:
                    continue
                # Some searches have nine: every set of them would take days.
                at_once = 1 if method in NOT_HOT else None
                within = functools.partial(_undone, part, method, found)
                try:
                    call_everything(store, part, [method], optional_at_once=at_once, within=within)
                except SQLAlchemyError as error:
                    found.failed[method] = str(error).splitlines()[0]
    return found


@contextmanager
def _undone(part: Store | History, method: str, found: Found) -> Iterator[None]:
    """Inside the block, each statement is measured before it is sent for good. At its end all is undone."""
    known = {(each.method, each.statement) for each in found.statements}

    def send(_c: Any, cursor: Any, statement: str, given: Any, _context: Any, many: bool) -> None:
        if not statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "(")):
            return
        if "pg_catalog." in statement or (method, statement) in known:
            return
        clock = _processor_of(cursor) if found.dialect == "postgresql" else time.thread_time
        times = _times(cursor, statement, given, many, clock)
        found.statements.append(Asked(method, statement, times[0], min(times)))

    with suppress(IntegrityError), part.rolled_back():
        event.listen(Engine, "before_cursor_execute", send)
        try:
            yield
        finally:
            event.remove(Engine, "before_cursor_execute", send)


def _processor_of(cursor: Any) -> Callable[[], float]:
    """Seconds of the processor that the server has used for this connection, if it runs on this machine; else a clock
    on the wall."""
    path = Path(f"/proc/{cursor.connection.info.backend_pid}/schedstat")
    local = cursor.connection.info.host in ("127.0.0.1", "localhost") or cursor.connection.info.host.startswith("/")
    return (lambda: int(path.read_text().split()[0]) / 1e9) if local and path.exists() else time.perf_counter


def _times(cursor: Any, statement: str, given: Any, many: bool, clock: Callable[[], float]) -> list[float]:
    """Milliseconds of each time. A statement that fails is undone, too: its method is told when it sends it itself."""
    times: list[float] = []
    while len(times) < TIMES and (not times or times[-1] < LONG_MS):
        cursor.execute("SAVEPOINT measured")
        began = clock()
        try:
            cursor.executemany(statement, given) if many else cursor.execute(statement, given)
            if cursor.description is not None:
                cursor.fetchall()
        except Exception:  # the driver's own; a second open turn, or a time-out
            cursor.execute("ROLLBACK TO measured")
            return [*times, (clock() - began) * 1000]
        times.append((clock() - began) * 1000)
        cursor.execute("ROLLBACK TO measured")
        cursor.execute("RELEASE measured")
    return times


def _show(found: Found) -> None:
    hot = found.of(seldom=False)
    print(
        f"{found.dialect}, {found.messages:,} messages, {found.disk_bytes / 1e9:.1f} GB: {len(hot)} statements of the "
        f"hot path, {len(found.slow)} above {HOT_MS:g} ms"
    )
    _print_slowest(hot, 20)
    print("what a person asks for, or what happens seldom:")
    _print_slowest(found.of(seldom=True), 40)
    for method, why in found.failed.items():
        print(f"  {method} failed: {why}")


def _print_slowest(statements: list[Asked], most: int) -> None:
    """The slowest statement of each method."""
    slowest: dict[str, Asked] = {}
    for each in statements:
        slowest.setdefault(each.method, each)
    for each in list(slowest.values())[:most]:
        print(f"  {each.best_ms:9.2f} ms (first {each.first_ms:9.2f}) {each.method}: {each.statement[:60]!r}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.growth")
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--database", default="", help="URL of an SQLite file or of a Postgres that has no tables yet")
    parser.add_argument("--json", action="store_true", help="the raw figures, too")
    parser.add_argument("--hot", action="store_true", help="only the hot path")
    options = parser.parse_args()
    raw = measured(options.messages, options.database, hot_only=options.hot)
    if options.json:
        print(json.dumps(raw))
