"""Brings a database to this version's schema, and says whether this version works with a newer one.

Migrations come in two kinds. A migration that *expands* only adds tables, indexes, or columns that may be left out.
Code that does not know of it goes on working. A migration that *contracts* removes something. It may do so one release
after the last code that used it, and says in `code_from` which revision that code's successor has:

    code_from = "0007"      # in the migration's file: code whose newest revision is older than 0007 stops working

Each upgrade notes in `schema_versions` the oldest code that works with its result. Older code reads that on its start.
So the release before works with a database that a newer one has upgraded, and anything older says what to install.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, inspect, select

from core.errors import OursToFix
from core.release import version
from core.store import tables as t
from core.telemetry import get_logger

log = get_logger(__name__)

MIGRATIONS = "core.store:migrations"


class StoreTooNew(OursToFix):
    """The database has a schema that this version does not work with. The message says which version to install."""


def upgrade(db: Connection, migrations: str = MIGRATIONS) -> None:
    """Bring the schema to the newest version of `migrations`; leave a newer one as it is.

    Raises StoreTooNew when this version cannot work with the newer schema; nothing was changed then.
    """
    config = _config(db, migrations)
    script = ScriptDirectory.from_config(config)
    revisions = {each.revision: each for each in script.walk_revisions()}
    ours = str(script.get_current_head())
    found = MigrationContext.configure(db).get_current_revision()
    if found is not None and found not in revisions:
        note = _accepted(db, found, ours)
        log.info("newer_schema", revision=found, made_by=note.made_by, ours=ours)
        return
    command.upgrade(config, "head")
    if found != ours:
        _note(db, ours, oldest_code(revisions.values()))


def check(db: Connection, migrations: str = MIGRATIONS) -> None:
    """Raise StoreTooNew when this version cannot work with the schema that is there. Nothing is changed."""
    script = ScriptDirectory.from_config(_config(db, migrations))
    found = MigrationContext.configure(db).get_current_revision()
    if found is not None and found not in {each.revision for each in script.walk_revisions()}:
        _accepted(db, found, str(script.get_current_head()))


def _config(db: Connection, migrations: str) -> Config:
    config = Config()
    config.set_main_option("script_location", migrations)
    config.attributes["connection"] = db
    return config


def oldest_code(scripts: Iterable[Script]) -> str:
    """The oldest revision whose code works with the schema that these migrations make together."""
    named = [getattr(script.module, "code_from", None) for script in scripts]
    return max((str(revision) for revision in named if revision is not None), default="0001")


def _accepted(db: Connection, found: str, ours: str) -> Any:
    """What is noted of a newer schema with which this version works. Raises StoreTooNew when it does not."""
    note = _noted(db, found)
    if note is not None and ours >= note.code_from:
        return note
    made_by = "a version of Threadbook that this one does not know" if note is None else f"Threadbook {note.made_by}"
    install = "that version" if note is None else f"Threadbook {note.made_by} or newer"
    raise StoreTooNew(
        f"the database has the schema {found} of {made_by}; this is version {version()} with the schema {ours}, "
        f"which cannot work with it. Nothing was changed. Install {install}, or restore the backup of the database "
        "that was made before the upgrade."
    )


def _noted(db: Connection, revision: str) -> Any | None:
    if not inspect(db).has_table(t.schema_versions.name):
        return None
    return db.execute(select(t.schema_versions).where(t.schema_versions.c.revision == revision)).first()


def _note(db: Connection, revision: str, code_from: str) -> None:
    db.execute(t.schema_versions.delete().where(t.schema_versions.c.revision == revision))
    values = {"code_from": code_from, "made_by": version(), "created_at": datetime.now(UTC)}
    db.execute(t.schema_versions.insert().values(revision=revision, **values))
