"""Databases of released versions: made at the revision of the release, filled with what it stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import JSON, Boolean, Connection, DateTime, MetaData, Table, text

from core.store.database import Database
from core.store.schema import MIGRATIONS

FOLDER = Path(__file__).parent
RELEASES = sorted(folder.name for folder in FOLDER.iterdir() if (folder / "threads.json").is_file())
TABLES = ("threads", "turns", "messages", "thread_files", "outbox", "model_calls", "steps", "reports")

Json = dict[str, Any]


@cache
def _text(release: str) -> str:
    return (FOLDER / release / "threads.json").read_text(encoding="utf-8")


def kept(release: str, names: tuple[tuple[str, str], ...] = ()) -> Json:
    """The threads of a release, by table. `names` are replaced wherever they stand: a team, a channel, a person."""
    content = _text(release)
    for old, new in names:
        content = content.replace(old, new)
    document: Json = json.loads(content)
    return document


def fill(url: str, content: Json) -> None:
    """Make a database of the release's schema with this content."""
    at_revision(url, content["revision"])
    database = Database(url)
    with database.writing() as db:
        metadata = MetaData()
        metadata.reflect(db)
        for name in TABLES:
            for row in content[name]:
                db.execute(metadata.tables[name].insert().values(**_typed(metadata.tables[name], row)))
        if database.dialect == "postgresql":
            _continue_numbers(db, metadata)
    database.close()


def at_revision(url: str, revision: str) -> None:
    """Bring a database to a revision with this version's migrations: they never change once released."""
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    database = Database(url)
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    database.close()


def _typed(table: Table, row: Json) -> Json:
    return {name: _value(table.c[name].type, value, name) for name, value in row.items()}


def _value(kind: Any, value: Any, name: str) -> Any:
    if value is None:
        return None
    if isinstance(kind, DateTime):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    if isinstance(kind, Boolean):
        return bool(value)
    assert isinstance(kind, JSON) or not isinstance(value, dict | list), name
    return value


def _continue_numbers(db: Connection, metadata: MetaData) -> None:
    for name in TABLES:
        if "id" in metadata.tables[name].c and metadata.tables[name].c.id.type.python_type is int:
            newest = f"(SELECT max(id) FROM {name})"
            db.execute(text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), {newest})"))


def contents(release: str) -> Iterator[bytes]:
    """What people gave in the threads of a release."""
    yield from (bytes.fromhex(content) for content in kept(release)["contents"].values())
