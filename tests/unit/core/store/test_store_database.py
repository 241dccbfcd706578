"""A database that is away is one error of ours, whichever it is."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy.exc import SQLAlchemyError
from turn_kit import ASKED, write_turn

from core.errors import OursToFix
from core.store import Store, StoreUnreachable, database
from core.store.database import Database


def nobody_listens() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"postgresql://threadbook@127.0.0.1:{taken.getsockname()[1]}/threadbook"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_database_that_is_away_is_named_as_such(kind: str, tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    store = Store(nobody_listens() if kind == "postgres" else f"sqlite:///{tmp_path}/folder.db")
    with pytest.raises(StoreUnreachable) as away:
        store.unread("T1:C1:1.0")
    assert isinstance(away.value, OursToFix)
    assert isinstance(away.value, SQLAlchemyError)
    store.close()


def test_threads_that_find_no_connection_in_time_count_the_database_as_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database._POOL, "pool_size", 1)
    monkeypatch.setitem(database._POOL, "max_overflow", 0)
    monkeypatch.setitem(database._POOL, "pool_timeout", 0.01)
    with (
        closing(Database(f"sqlite:///{tmp_path}/store.db")) as opened,
        opened.reading(),
        ExitStack() as second,
        pytest.raises(StoreUnreachable),
    ):
        second.enter_context(opened.reading())


def test_many_threads_write_to_sqlite_one_after_the_other(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/store.db")
    store.migrate()
    turn = write_turn(store, [ASKED])
    with ThreadPoolExecutor(20) as threads:
        tokens = list(threads.map(lambda _: store.raise_fence(turn.thread_id), range(200)))
    assert sorted(tokens) == list(range(min(tokens), min(tokens) + 200))
    store.close()


def test_a_thread_that_waits_too_long_to_write_counts_the_database_as_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 1)
    with (
        closing(Database(f"sqlite:///{tmp_path}/store.db")) as opened,
        opened.writing(),
        ExitStack() as second,
        pytest.raises(StoreUnreachable),
    ):
        second.enter_context(opened.writing())
