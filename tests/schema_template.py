"""The tables of an empty SQLite database by a list of statements, in place of every migration one after the other."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect

from core.store import schema
from core.store.database import Database

SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")
"""Endings of the tables that a full-text table makes by itself."""

upgrade = schema.upgrade


@contextmanager
def used(template: Path) -> Iterator[None]:
    """Inside the block an empty SQLite database takes its tables from `template`, which the first of them makes."""

    @functools.cache
    def statements() -> list[str]:
        made = Database(f"sqlite:///{template}")
        with made.writing() as db:
            upgrade(db)
        made.close()
        return statements_of(template)

    def quick(db: Connection, migrations: str = schema.MIGRATIONS) -> None:
        if db.dialect.name != "sqlite" or migrations != schema.MIGRATIONS or inspect(db).get_table_names():
            upgrade(db, migrations)
            return
        for statement in statements():
            db.exec_driver_sql(statement)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "upgrade", quick)
        yield


def statements_of(path: Path) -> list[str]:
    """What makes the tables, indexes and triggers of an SQLite file again, and the rows that its migrations wrote."""
    with closing(sqlite3.connect(path)) as db:
        made = db.execute("SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        shadows = {name + end for name, _, sql in made if sql.startswith("CREATE VIRTUAL") for end in SHADOWS}
        tables = [(name, sql) for name, kind, sql in made if kind == "table" and name not in shadows]
        found = [sql for name, _, sql in made if name not in shadows]
        for name, sql in tables:
            if not sql.startswith("CREATE VIRTUAL"):
                rows = db.execute(f"SELECT * FROM {name}").fetchall()
                found += [f"INSERT INTO {name} VALUES ({', '.join(map(_literal, row))})" for row in rows]
    return found


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"
