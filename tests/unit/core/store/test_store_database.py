"""A database that is away is one error of ours, whichever it is."""

from __future__ import annotations

import resource
import socket
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import psycopg
import pytest
from patience import eventually
from sqlalchemy import URL, make_url, text
from sqlalchemy.exc import InternalError, OperationalError, ProgrammingError, SQLAlchemyError
from turn_kit import ASKED, write_turn

from core.errors import OursToFix, SettingsError
from core.settings import Settings, load_settings
from core.store import Store, StoreDamaged, StoreUnreachable, database
from core.store.database import Database
from tryout.commands import schedules


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


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite", "cannot be read as postgresql"),
        ("postgresql+psycopg://u:pw@h:port/db", "cannot be read as postgresql"),
        ("postgresql+asyncpg://u:pw@h/db", r"asyncpg is not supported; write postgresql\+psycopg://"),
        ("mysql://u:pw@h/db", "mysql is not supported"),
        ("sqlite:////dev/null/here/threadbook.db", "folder /dev/null/here .* cannot be made: Not a directory"),
    ],
)
def test_an_address_that_no_database_can_have_is_a_wrong_setting_in_one_line(url: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says) as refused:
        Store(url)
    assert "pw" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["no database", "damaged"])
def test_a_damaged_file_is_named_as_such_with_what_to_do(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "threadbook.db"
    if kind == "damaged":
        with closing(Store(f"sqlite:///{path}")) as whole:
            whole.migrate()
        with path.open("r+b") as file:
            file.seek(100)  # the header of the first page, behind that of the file
            file.write(b"\xff" * 3_000)
    else:
        path.write_text("not a database, but long enough to be read as one" * 100)
    with closing(Store(f"sqlite:///{path}")) as store:
        for act in (store.migrate, lambda: store.unread("T1:C1:1.0")):
            with pytest.raises(StoreDamaged, match="put the last backup in its place") as damaged:
                act()
            assert not isinstance(damaged.value, StoreUnreachable)


@pytest.fixture
def stored(tmp_path: Path) -> Settings:
    """The settings of a home in which a Store was made."""
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
    return settings


def told(settings: Settings, capsys: pytest.CaptureFixture[str]) -> str:
    """What `threadbook schedules` says when it cannot read the Store."""
    assert schedules.run(settings) == 1
    return capsys.readouterr().err.strip()


def test_a_locked_file_is_told_as_such_and_its_address_is_not_blamed(
    stored: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 1)
    with closing(sqlite3.connect(stored.home / "threadbook.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        said = told(stored, capsys)
    assert said.endswith("database is locked. Another program holds the file: end it, or try again when it is done.")


def test_a_file_that_may_not_be_written_is_told_as_such(
    stored: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_only(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA query_only = ON")

    monkeypatch.setattr(database, "_prepare_sqlite", read_only)
    with closing(Store(stored.database_url)) as store, pytest.raises(StoreUnreachable) as refused:
        store.check_writes()
    assert refused.value.advice == "Let this user write the file of the Store and its folder."
    assert told(stored, capsys).endswith(refused.value.advice)


def test_a_postgres_without_a_connection_left_is_told_as_such_and_works_again_when_there_is_one(
    postgres_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its address is right: nobody has to look at that."""
    address = make_url(postgres_url)
    user = f"limited_{address.database}"
    limited = load_settings({"DATABASE_URL": str(address.set(username=user))}, tmp_path)
    with closing(Store(limited.database_url)) as store, psycopg.connect(plain(address), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {user} LOGIN")
        try:
            admin.execute(f"ALTER DATABASE {address.database} OWNER TO {user}")
            store.migrate()
            admin.execute(f"ALTER ROLE {user} CONNECTION LIMIT 1")
            store.close()
            with psycopg.connect(plain(address.set(username=user))):
                with pytest.raises(StoreUnreachable) as refused:
                    store.check_writes()
                assert "raise its max_connections" in refused.value.advice
                assert "DATABASE_URL)" in refused.value.advice
                assert told(limited, capsys).endswith(refused.value.advice)
            eventually(lambda: works(store), "a connection that is free again")
        finally:
            store.close()
            admin.execute(f"ALTER DATABASE {address.database} OWNER TO CURRENT_USER")
            admin.execute(f"REASSIGN OWNED BY {user} TO CURRENT_USER")
            admin.execute(f"DROP OWNED BY {user}")
            admin.execute(f"DROP ROLE {user}")


def plain(address: URL) -> str:
    return address.set(drivername="postgresql").render_as_string(hide_password=False)


def works(store: Store) -> bool:
    with suppress(StoreUnreachable):
        store.check_writes()
        return True
    return False


@pytest.mark.parametrize(
    "words",
    [
        "FATAL:  sorry, too many clients already",
        "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
        'FATAL:  too many connections for database "threadbook"',
    ],
)
def test_each_way_in_which_postgres_says_that_it_is_full_has_the_same_advice(words: str) -> None:
    error = OperationalError("", {}, psycopg.OperationalError(f"connection failed: {words}"))
    assert "max_connections" in database._advice(error)


def test_a_disk_without_room_is_noticed_although_nothing_is_to_be_stored(stored: Settings) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(Store(stored.database_url)) as store:
        store.check_writes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
        try:
            with pytest.raises(StoreUnreachable) as full:
                store.check_writes()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        store.check_writes()
    assert "disk" in full.value.advice


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


@pytest.mark.integration
def test_a_server_that_takes_no_writes_any_more_is_away_and_its_connections_are_left(postgres_url: str) -> None:
    with closing(Database(postgres_url)) as opened:
        with opened.writing() as connection:
            before = connection.execute(text("SELECT pg_backend_pid()")).scalar()
            connection.execute(text("SET default_transaction_read_only = on"))
        with pytest.raises(StoreUnreachable), opened.writing() as connection:
            connection.execute(text("CREATE TABLE anything (id int)"))
        with opened.writing() as connection:
            assert connection.execute(text("SELECT pg_backend_pid()")).scalar() != before
            connection.execute(text("CREATE TABLE anything (id int)"))


@pytest.mark.integration
def test_a_transaction_that_was_idle_for_too_long_counts_the_database_as_away(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "IDLE_IN_TRANSACTION_S", 0.1)

    def work(opened: Database, pause_s: float) -> None:
        with opened.writing() as connection:
            connection.execute(text("SELECT 1"))
            time.sleep(pause_s)
            connection.execute(text("SELECT 1"))

    with closing(Database(postgres_url)) as opened:
        with pytest.raises(StoreUnreachable):
            work(opened, 0.5)
        work(opened, 0.0)


@pytest.mark.integration
def test_a_transaction_that_failed_by_our_own_fault_does_not_count_as_away(postgres_url: str) -> None:
    with closing(Database(postgres_url)) as opened, ExitStack() as stack:
        connection = stack.enter_context(opened.writing())
        with pytest.raises(ProgrammingError):
            connection.execute(text("SELECT nothing"))
        with pytest.raises(InternalError):
            connection.execute(text("SELECT 1"))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (psycopg.errors.DiskFull("could not extend file"), "make room there"),
        (psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT"), "Postgres is read-only"),
    ],
)
def test_a_postgres_that_takes_no_writes_says_what_to_do(error: psycopg.Error, says: str) -> None:
    kind = InternalError if isinstance(error, psycopg.InternalError) else OperationalError
    with pytest.raises(StoreUnreachable) as told, database._reachable():
        raise kind("INSERT", {}, error)
    assert says in told.value.advice


def test_a_store_that_cannot_be_opened_says_that_its_disk_may_be_read_only(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    with closing(Store(f"sqlite:///{tmp_path}/folder.db")) as store, pytest.raises(StoreUnreachable) as told:
        store.unread("T1:C1:1.0")
    assert "mounted read-only" in told.value.advice


def test_a_store_whose_writers_take_too_long_does_not_blame_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 0)
    here = Database(f"sqlite:///{tmp_path}/store.db")
    with here.writing(), pytest.raises(StoreUnreachable) as told, here.writing():
        pass
    here.close()
    assert "DATABASE_URL" not in told.value.advice
