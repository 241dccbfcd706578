"""The schema: migrations lead to exactly what core/tables.py says, however many processes start at once."""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from patience import PATIENCE_S
from sqlalchemy import Engine, create_engine, event, inspect

from core.database import Database
from core.store import Store, StoreUnreachable
from core.tables import metadata


def _migrate(url: str) -> None:
    store = Store(url)
    store.migrate()
    store.close()


def test_the_migrated_schema_is_the_one_in_the_code(store_url: str) -> None:
    _migrate(store_url)
    engine = create_engine(store_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        differences = compare_metadata(context, metadata)
    engine.dispose()
    assert differences == []


@pytest.mark.parametrize(
    ("table", "name", "words"),
    [("turns", "ix_turns_one_open", "waiting"), ("messages", "ix_messages_unread", "turn_id")],
)
def test_an_index_of_a_part_covers_that_part_only(store_url: str, table: str, name: str, words: str) -> None:
    _migrate(store_url)
    engine = create_engine(store_url)
    with engine.connect() as connection:
        (index,) = [one for one in inspect(connection).get_indexes(table) if one["name"] == name]
    engine.dispose()
    assert words in " ".join(map(str, index["dialect_options"].values()))


def test_the_janitors_question_never_reads_a_whole_table(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = Store(f"sqlite:///{path}")
    store.migrate()
    asked: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        asked.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    store.threads_needing_a_wake()
    event.remove(Engine, "before_cursor_execute", note)
    store.close()
    connection = sqlite3.connect(path)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {asked[-1][0]}", asked[-1][1])]
    connection.close()
    reads = [line for line in plan if line.startswith(("SCAN", "SEARCH"))]
    assert len(reads) == 2
    assert all("USING" in line and "INDEX" in line for line in reads), plan


def test_migrating_again_changes_nothing(store_url: str) -> None:
    _migrate(store_url)
    _migrate(store_url)


def test_processes_that_start_at_the_same_time_all_find_a_schema(store_url: str) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_migrate, args=(store_url,)) for _ in range(4)]
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join(PATIENCE_S)
    finally:
        for process in processes:
            process.kill()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]


def test_the_versions_form_one_line() -> None:
    config = Config()
    config.set_main_option("script_location", "core:migrations")
    script = ScriptDirectory.from_config(config)
    files = [
        entry.name
        for entry in resources.files("core").joinpath("migrations/versions").iterdir()
        if entry.name[:1].isdigit()
    ]
    assert len(script.get_heads()) == 1
    assert len(list(script.walk_revisions())) == len(files)


def test_sqlite_is_set_up_for_several_processes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    _migrate(f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert mode == "wal"


def test_another_database_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="mysql is not supported"):
        Store("mysql+pymysql://root@127.0.0.1/x")


def test_a_database_that_is_away_is_waited_for(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate, away = Database.migrate, ["once", "twice"]

    def away_at_first(database: Database) -> None:
        if away:
            away.pop()
            raise StoreUnreachable("connection refused\nIs the server running?")
        migrate(database)

    monkeypatch.setattr(Database, "migrate", away_at_first)
    with closing(Store(store_url)) as store:
        store.migrate(PATIENCE_S)
        assert store.unread("T1:C1:1.0") == []
    assert not away


def test_a_database_that_stays_away_is_named_in_one_line(tmp_path: Path) -> None:
    with closing(Store(f"sqlite:///{tmp_path}")) as store, pytest.raises(StoreUnreachable) as told:
        store.migrate()
    assert str(told.value).endswith("Check DATABASE_URL.")
    assert "\n" not in str(told.value)
