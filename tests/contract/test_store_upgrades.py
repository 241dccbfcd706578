"""The way forward and back: a newer version reads what a release stored, and an older one works on a newer schema."""

from __future__ import annotations

import shutil
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest
from releases.statements import replayed, statements_of
from releases.stored import RELEASES, fill, kept
from sqlalchemy import MetaData, create_engine, inspect, text
from turn_kit import ASKED, CELL, FINISHED, message, write_turn

from core.errors import OursToFix
from core.steps import UnknownStep, dump_step
from core.store import Store, StoreTooNew
from core.store.database import Database
from core.store.history import History
from core.store.schema import MIGRATIONS
from core.values import Lease, Value

pytestmark = pytest.mark.usefixtures("real_migrations")

ASKED_AGAIN = message(ts="103.000001")

GROWS = """
    op.create_table("moods", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("turns", sa.Column("mood", sa.Text(), nullable=True))
    op.add_column("messages", sa.Column("edits", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_steps_kind", "steps", ["kind"])
"""
SHRINKS = """
    op.drop_index("ix_steps_files_held", table_name="steps")
    with op.batch_alter_table("steps") as steps:
        steps.drop_column("kind")
"""


def newest() -> str:
    folder = resources.files("core.store").joinpath("migrations/versions")
    return max(entry.name[:4] for entry in folder.iterdir() if entry.name[:1].isdigit())


def newer_version(tmp_path: Path, upgrade: str, code_from: str = "") -> str:
    """The migrations of a later version: ours and one more. Returns their place."""
    place = tmp_path / "later"
    shutil.copytree(str(resources.files("core.store").joinpath("migrations")), place)
    shutil.copy(str(resources.files("core.store.migrations").joinpath("env.py")), place / "env.py")
    lines = [f'revision = "9001"\ndown_revision = "{newest()}"', code_from and f'code_from = "{code_from}"']
    body = "\n".join(["import sqlalchemy as sa", "from alembic import op", *lines, f"\ndef upgrade():{upgrade}"])
    (place / "versions" / "9001_later.py").write_text(body)
    return str(place)


def migrated(url: str, migrations: str = MIGRATIONS) -> None:
    database = Database(url)
    database.migrate(migrations)
    database.close()


def revision(url: str) -> str:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    engine.dispose()
    return str(found)


def empty(url: str) -> None:
    """Drop everything in a database."""
    engine = create_engine(url)
    with engine.begin() as connection:
        metadata = MetaData()
        metadata.reflect(connection)
        metadata.drop_all(connection)
    engine.dispose()


# --- back: this version on the schema of a later one


def test_this_version_works_on_a_later_schema_that_only_grew(store_url: str, tmp_path: Path) -> None:
    migrated(store_url)
    with closing(Store(store_url)) as store:
        before = write_turn(store, [ASKED, CELL, FINISHED])
    migrated(store_url, newer_version(tmp_path, GROWS))
    with closing(Store(store_url)) as store:
        store.migrate()
        assert revision(store_url) == "9001"
        assert store.steps(before.id) == [ASKED, CELL, FINISHED]
        after = write_turn(store, [ASKED, CELL, FINISHED], channel="C2")
        assert store.turns(after.thread_id) == [after]
        assert store.wait_queue() == []


def test_a_process_that_runs_while_the_schema_grows_goes_on(store_url: str, tmp_path: Path) -> None:
    migrated(store_url)
    with closing(Store(store_url)) as store:
        turn = write_turn(store, [ASKED, CELL], "running")
        migrated(store_url, newer_version(tmp_path, GROWS))
        lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
        store.append_step(lease, turn.id, FINISHED)
        store.set_turn_status(lease, turn.id, "done")
        assert store.steps(turn.id) == [ASKED, CELL, FINISHED]


def test_the_later_version_reads_what_this_one_wrote_into_its_schema(store_url: str, tmp_path: Path) -> None:
    later = newer_version(tmp_path, GROWS)
    migrated(store_url, later)
    with closing(Store(store_url)) as store:
        turn = write_turn(store, [ASKED, CELL, FINISHED])
        migrated(store_url, later)
        assert store.steps(turn.id) == [ASKED, CELL, FINISHED]
    engine = create_engine(store_url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT edits FROM messages")).scalars().all() == [0]
    engine.dispose()


def test_a_later_schema_that_this_version_cannot_use_is_refused_in_a_line_that_says_what_to_install(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrated(store_url)
    later = newer_version(tmp_path, SHRINKS, code_from="9001")
    with monkeypatch.context() as patch:
        patch.setattr("core.store.schema.version", lambda: "7.1.0")
        migrated(store_url, later)
    with closing(Store(store_url)) as store, pytest.raises(StoreTooNew) as refused:
        store.migrate()
    assert isinstance(refused.value, OursToFix)
    assert "Install Threadbook 7.1.0 or newer" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert revision(store_url) == "9001"


def test_a_schema_that_may_be_used_from_an_older_revision_on_is_used(store_url: str, tmp_path: Path) -> None:
    migrated(store_url, newer_version(tmp_path, GROWS, code_from=newest()))
    with closing(Store(store_url)) as store:
        store.migrate()
        assert write_turn(store, [ASKED, FINISHED]).status == "done"


def test_a_schema_of_somebody_else_is_refused_and_left_alone(store_url: str) -> None:
    migrated(store_url)
    engine = create_engine(store_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'beef'"))
    engine.dispose()
    with closing(Store(store_url)) as store, pytest.raises(StoreTooNew, match="beef"):
        store.migrate()
    assert revision(store_url) == "beef"


def test_each_upgrade_notes_which_code_works_with_its_result(store_url: str) -> None:
    migrated(store_url)
    migrated(store_url)
    engine = create_engine(store_url)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT revision, code_from FROM schema_versions")).all()
    engine.dispose()
    assert [tuple(row) for row in rows] == [(newest(), "0001")]


def test_what_a_later_version_stored_with_a_message_or_a_report_is_read(store_url: str) -> None:
    migrated(store_url)
    with closing(Store(store_url)) as store:
        turn = write_turn(store, [ASKED, FINISHED])
        lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
        store.save_report(lease, turn.id, "# Report", [])
        store.record_message(ASKED_AGAIN)
        engine = create_engine(store_url)
        file = '[{"id": "F1", "name": "a.csv", "colour": "red"}]'
        stored = '[{"name": "a.csv", "mimetype": "text/csv", "size": 1, "sha256": "00", "colour": "red"}]'
        with engine.begin() as connection:
            connection.execute(text("UPDATE messages SET kind = 'leave', files = :files"), {"files": file})
            connection.execute(text("UPDATE reports SET files = :files"), {"files": stored})
        engine.dispose()
        (mail,) = store.unread(turn.thread_id)
        assert (mail.kind, mail.files[0].name, mail.files[0].later_fields) == ("leave", "a.csv", {"colour": "red"})
        report = store.report(turn.id)
        assert report is not None
        assert report.files[0].name == "a.csv"


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_code_of_a_release_asks_is_answered_by_this_schema_as_by_its_own(store_url: str, release: str) -> None:
    """Its statements are kept word for word: old code runs on this schema."""
    asked = statements_of(release, store_url)
    fill(store_url, kept(release))
    before = replayed(store_url, asked)
    empty(store_url)
    fill(store_url, kept(release))
    migrated(store_url)
    after = replayed(store_url, asked)
    assert [one for one, other in zip(before, after, strict=True) if one != other] == []
    assert sum(bool(one["answer"]) for one in before) > len(asked) // 2


def test_a_schema_that_an_older_version_cannot_use_would_be_found(store_url: str, tmp_path: Path) -> None:
    asked = statements_of(RELEASES[-1], store_url)
    migrated(store_url, newer_version(tmp_path, SHRINKS))
    answers = [one["answer"] for one in replayed(store_url, asked) if "steps" in one["asked"][0]]
    assert {"OperationalError", "ProgrammingError"} & {answer for answer in answers if isinstance(answer, str)}


# --- forward: what a release stored


@pytest.mark.parametrize("release", RELEASES)
def test_a_filled_database_of_a_release_is_upgraded_and_nothing_of_it_is_lost(store_url: str, release: str) -> None:
    content = kept(release)
    fill(store_url, content)
    migrated(store_url)
    engine = create_engine(store_url)
    with engine.connect() as connection:
        for table in inspect(connection).get_table_names():
            if table in content:
                count = connection.execute(text(f'SELECT count(*) FROM "{table}"')).scalar_one()
                assert (table, count) == (table, len(content[table]))
    engine.dispose()


@pytest.mark.parametrize("release", RELEASES)
def test_every_step_of_a_release_is_a_step_that_this_version_knows(store_url: str, release: str) -> None:
    content = kept(release)
    fill(store_url, content)
    migrated(store_url)
    with closing(Store(store_url)) as store, closing(History(store_url)) as history:
        for turn in content["turns"]:
            steps = store.steps(turn["id"])
            given = [row["body"] for row in content["steps"] if row["turn_id"] == turn["id"]]
            assert [step for step in steps if isinstance(step, UnknownStep)] == []
            assert [name for step in steps for name in _unknown(step)] == []
            assert [dump_step(step)["kind"] for step in steps] == [body["kind"] for body in given]
            assert [found.id for found in history.find(turn["id"])] == [turn["id"]]
            assert len(history.steps(turn["id"])) == len(given)
        for thread in content["threads"]:
            assert all(message.kind for message in store.unread(thread["id"]))
            assert len(store.turns(thread["id"])) == sum(one["thread_id"] == thread["id"] for one in content["turns"])
        assert sum(1 for _ in history.ended([turn["id"] for turn in content["turns"] if turn["ended_at"]])) == sum(
            turn["ended_at"] is not None for turn in content["turns"]
        )


def _unknown(value: object) -> list[str]:
    """The fields that were stored and that this version does not know, at any depth. A field may have a new name."""
    if isinstance(value, Value):
        inner = [name for item in dict(value).values() for name in _unknown(item)]
        return [*value.later_fields, *inner]
    return [name for item in value for name in _unknown(item)] if isinstance(value, tuple) else []
