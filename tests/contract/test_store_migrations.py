"""The schema: migrations lead to exactly what core/store/tables.py says, however many processes start at once."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import schema_template
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from patience import PATIENCE_S
from sqlalchemy import Engine, create_engine, event, inspect, text
from turn_kit import ASKED, CELL, FINISHED, write_turn

from core.errors import SettingsError
from core.store import Store, StoreUnreachable
from core.store.database import Database
from core.store.full_text import is_full_text
from core.store.tables import metadata

pytestmark = pytest.mark.usefixtures("real_migrations")

ROOT = Path(__file__).parents[2]


def _migrate(url: str) -> None:
    store = Store(url)
    store.migrate()
    store.close()


def _schema(url: str) -> dict[str, str]:
    """Columns, indexes and constraints of every table, as the database itself describes them."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = inspect(connection)
        asked = (found.get_columns, found.get_pk_constraint, found.get_foreign_keys)
        unordered = (found.get_indexes, found.get_unique_constraints)
        schema = {
            table: _text([*(each(table) for each in asked), *(sorted(each(table), key=_text) for each in unordered)])
            for table in found.get_table_names()
            if not is_full_text(table)
        }
    engine.dispose()
    return schema


def _text(description: object) -> str:
    return json.dumps(description, default=str, sort_keys=True)


def _contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of every table, also of the one that holds the version."""
    engine = create_engine(url)
    with engine.connect() as connection:
        tables = [table for table in inspect(connection).get_table_names() if not is_full_text(table)]
        rows = {table: connection.exec_driver_sql(f'SELECT * FROM "{table}"').all() for table in tables}
    engine.dispose()
    return {table: sorted((tuple(row) for row in found), key=repr) for table, found in rows.items()}


def _is_ours(name: str | None, kind: str, parents: object) -> bool:
    """The full-text search is not in the metadata: each database has its own."""
    return not is_full_text(name)


def test_the_template_of_the_tests_is_what_the_migrations_make(tmp_path: Path) -> None:
    def made() -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(path)) as db:
            return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()

    path = tmp_path / "template.db"
    _migrate(f"sqlite:///{path}")
    stepwise, statements = made(), schema_template.statements_of(path)
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(";\n".join(statements))
    assert made() == stepwise
    assert schema_template.statements_of(path) == statements


def test_the_migrated_schema_is_the_one_in_the_code(store_url: str) -> None:
    _migrate(store_url)
    engine = create_engine(store_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True, "include_name": _is_ours}
        )
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


def test_the_janitors_query_never_reads_a_whole_table(tmp_path: Path) -> None:
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
    with closing(Store(store_url)) as store:
        write_turn(store, [ASKED, CELL, FINISHED])
    before = _contents(store_url)
    assert before["turns"]
    schema = _schema(store_url)
    assert set(schema) == {*metadata.tables, "alembic_version"}
    _migrate(store_url)
    assert _schema(store_url) == schema
    assert _contents(store_url) == before


def test_processes_that_start_at_the_same_time_all_find_a_schema(store_url: str) -> None:
    code = f"from core.store import Store; store = Store({store_url!r}); store.migrate(); store.close()"
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(3)]
    try:
        codes = [process.wait(PATIENCE_S) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert codes == [0, 0, 0]


def test_the_versions_form_one_chain() -> None:
    config = Config()
    config.set_main_option("script_location", "core.store:migrations")
    script = ScriptDirectory.from_config(config)
    files = [
        entry.name
        for entry in resources.files("core.store").joinpath("migrations/versions").iterdir()
        if entry.name[:1].isdigit()
    ]
    assert len(script.get_heads()) == 1
    assert len(list(script.walk_revisions())) == len(files)


def test_a_migration_loses_no_trigger_and_no_view_of_an_earlier_one(tmp_path: Path) -> None:
    """SQLite drops the triggers of a table that is made again: such a migration has to make them again, too."""
    config = Config()
    config.set_main_option("script_location", "core.store:migrations")
    revisions = [one.revision for one in ScriptDirectory.from_config(config).walk_revisions()][::-1]
    path = tmp_path / "store.db"
    database = Database(f"sqlite:///{path}")
    lost, before = {}, set[str]()
    for revision in revisions:
        with database.writing() as db:
            config.attributes["connection"] = db
            command.upgrade(config, revision)
        with closing(sqlite3.connect(path)) as db:
            after = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')")}
        lost |= dict.fromkeys(before - after, revision)
        before = after
    database.close()
    assert before
    assert lost == {}


def test_sqlite_is_set_up_for_several_processes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    _migrate(f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert mode == "wal"


def test_another_database_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"mysql\+pymysql is not supported"):
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
    with closing(Store(f"sqlite:///{tmp_path}")) as store, pytest.raises(StoreUnreachable) as raised:
        store.migrate()
    assert "Check DATABASE_URL" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_contents_that_earlier_versions_stored_are_referred_to(store_url: str) -> None:
    """A purge deletes from the file store what `blob_refs` says that only the purged thread needs."""
    config = Config()
    config.set_main_option("script_location", "core.store:migrations")
    database = Database(store_url)
    step = json.dumps({"kind": "cell", "figures": [{"sha256": "a" * 64}], "sha256": "short", "text": "no sha256"})
    now = "2026-01-01 00:00:00+00:00"
    with database.writing() as db:
        config.attributes["connection"] = db
        command.upgrade(config, "0003")
        db.execute(
            text("INSERT INTO threads VALUES ('T1:C1:1.0', 'T1', 'C1', '1.0', 0, NULL, :now, :pack, NULL)"),
            {"now": now, "pack": "b" * 64},
        )
        db.execute(
            text("INSERT INTO turns VALUES ('T1:C1:1.0/t1', 'T1:C1:1.0', 1, 'done', 'en', 'm', :now, :now)"),
            {"now": now},
        )
        db.execute(
            text("INSERT INTO steps VALUES (1, 'T1:C1:1.0/t1', 0, 'cell', :step, :now)"), {"step": step, "now": now}
        )
        file = {"sha256": "c" * 64, "now": now}
        db.execute(text("INSERT INTO thread_files VALUES (1, 'T1:C1:1.0', 'a', '', 1, :sha256, :now)"), file)
    database.migrate()
    with database.reading() as db:
        found = {tuple(row) for row in db.execute(text("SELECT thread_id, sha256 FROM blob_refs"))}
    database.close()
    assert found == {("T1:C1:1.0", letter * 64) for letter in "abc"}
