"""How the databases carry out what the Store asks: by an index, however much has been stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    create_engine,
    text,
)
from store_calls import SELDOM, call_everything, methods, prepare, recorded

from core.store import Store
from core.store import tables as t
from core.store.database import Database
from core.store.history import History

ROWS = 4_000
OPEN = 5
NOTHING_LEFT_OUT = {name for name in methods(Store) + methods(History) if name not in SELDOM}

YEAR_AGO = datetime.now(UTC) - timedelta(days=365)


def open_indexes() -> set[str]:
    """Indexes of what is open, unread or unchecked. Reading one of them whole is reading what there is to do."""
    conditions = {str(t.OPEN), str(t.UNREAD), str(t.TO_CHECK), str(t.ACTIVE), str(t.TO_RUN)}
    return {
        str(index.name)
        for table in t.metadata.tables.values()
        for index in table.indexes
        if str(index.dialect_options["sqlite"]["where"]) in conditions
    }


# --- a year of threads: the last ones are open, every fourth message is quiet


def fill(url: str) -> None:
    """Put `ROWS` rows into each table, new ones too: a column gets a value by its name, else by its type."""
    database = Database(url)
    named = [_named(number) for number in range(ROWS)]
    with database.writing() as db:
        for table in t.metadata.sorted_tables:
            db.execute(table.insert(), [_row(table, number, named[number]) for number in range(ROWS)])
    database.close()


def _row(table: Table, number: int, named: dict[str, Any]) -> dict[str, Any]:
    return {
        column.key: _value(table.name, column, number, named)
        for column in table.columns
        if not (column.primary_key and isinstance(column.type, Integer))
    }


def _named(number: int) -> dict[str, Any]:
    """The values of a row that have a meaning: by the table's and the column's name, or by the column's alone."""
    at = YEAR_AGO + timedelta(hours=2) * number
    is_open = number >= ROWS - OPEN
    thread = f"T9:C{number % 50}:{number}.000001"
    return {
        "threads.id": thread,
        "turns.id": f"{thread}/t1",
        "turns.status": "running" if is_open else "done",
        "turns.ended_at": None if is_open else at,
        "messages.turn_id": None if is_open or number % 4 == 0 else f"{thread}/t1",
        "messages.quiet": number % 4 == 0,
        "messages.kind": "text",
        "message_versions.message_id": number + 1,
        "outbox.key": f"{thread}/t1:card",
        "installations.team": f"T{number}",
        "installation_teams.team": f"T{number}",
        "steps.body": {"kind": "asked", "user": "U1", "author": "", "text": "?", "ts": "1.1"},
        "thread_id": thread,
        "turn_id": f"{thread}/t1",
        "team": "T9",
        "channel": f"C{number % 50}",
        "ts": f"{number}.000001",
        "root_ts": f"{number}.000001",
        "user": f"U{number % 300}",
    }


def _value(table: str, column: Column[Any], number: int, named: dict[str, Any]) -> Any:
    for name in (f"{table}.{column.key}", column.key):
        if name in named:
            return named[name]
    return _value_of_type(column.type, number)


def _value_of_type(kind: Any, number: int) -> Any:
    if isinstance(kind, JSON):
        return {}
    if isinstance(kind, Boolean):
        return False
    if isinstance(kind, t.UtcDateTime):
        return YEAR_AGO + timedelta(hours=2) * number
    if kind.python_type is bytes:
        return b"\x00\x3c"
    return number if kind.python_type is int else f"x{number}"


# --- plans


def scans(db: Connection, statement: str, arguments: Any) -> list[str]:
    """What a plan reads whole, apart from the indexes of what is open."""
    if db.dialect.name == "sqlite":
        plan = [str(row[3]) for row in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", arguments)]
        # SQLite says SEARCH for the largest of all, too. A search by a value names the value: "(thread_id=?)".
        whole = [
            line
            for line in plan
            if line.split()[1] in t.metadata.tables
            and (("=?" not in line and ">?" not in line) or _searches_for_none(line, statement))
        ]
        return [line for line in whole if line.rpartition("INDEX ")[2].partition(" (")[0] not in open_indexes()]
    (plan,) = db.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", arguments).scalar_one()
    return [_described(node) for node in _nodes(plan["Plan"]) if _reads_all(node)]


def _searches_for_none(line: str, statement: str) -> bool:
    """Whether SQLite looks up what has no turn in the index of turns: it says "(turn_id=?)" for that, too."""
    return "(turn_id=?)" in line and "messages" in line and "turn_id IS NULL" in statement


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for inner in node.get("Plans", ()):
        yield from _nodes(inner)


def _reads_all(node: dict[str, Any]) -> bool:
    by_index = node["Node Type"] in ("Index Scan", "Index Only Scan", "Bitmap Index Scan")
    whole_index = by_index and "Index Cond" not in node and node["Index Name"] not in open_indexes()
    return node["Node Type"] == "Seq Scan" or whole_index


def _described(node: dict[str, Any]) -> str:
    return f"{node['Node Type']} of {node.get('Index Name') or node.get('Relation Name')}"


def asked_of_the_store(url: str) -> dict[str, Any]:
    """Every statement that the methods of the Store and of its history send, with its arguments."""
    with closing(Store(url)) as store, closing(History(url)) as history, recorded() as statements:
        for part in (store, history):
            call_everything(store, part, NOTHING_LEFT_OUT)
    assert len(statements.asked) > len(NOTHING_LEFT_OUT)
    # A command asks the catalogue whether there is a Store at all; no turn does.
    return {asked: given for asked, given in statements.asked.items() if "pg_catalog." not in asked}


def test_no_statement_of_the_store_reads_a_table_whole(store_url: str) -> None:
    with closing(Store(store_url)) as store:
        store.migrate()
        fill(store_url)
        prepare(store)
    asked = asked_of_the_store(store_url)
    engine = create_engine(store_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        found: dict[str, list[str]] = {}
        # Postgres gathers statistics by itself, SQLite only when it is told to: it must do without.
        for gathered in (False, True) if db.dialect.name == "sqlite" else (True,):
            if gathered:
                db.execute(text("ANALYZE"))
            assert scans(db, "SELECT id FROM messages WHERE text = 'how much?'", ())
            assert scans(db, "SELECT max(length(id)) FROM threads", ())
            assert scans(db, "SELECT thread_id FROM messages WHERE turn_id IS NULL AND NOT quiet", ()) == []
            plans = {statement: scans(db, statement, arguments) for statement, arguments in asked.items()}
            found |= {statement: plan for statement, plan in plans.items() if plan}
    engine.dispose()
    assert found == {}


def test_who_refers_to_a_row_is_found_by_an_index() -> None:
    """The database asks so for each row that is deleted, and no plan shows it. Rows of threads stay for ever."""
    missing = [
        f"{table.name}.{key.parent.name}"
        for table in t.metadata.tables.values()
        for key in table.foreign_keys
        if key.column.table is not t.threads and key.parent.name not in _led_by_an_index(table)
    ]
    assert missing == []


def _led_by_an_index(table: Table) -> set[str]:
    """The first columns of the keys and indexes of a table. A reference that is null is never looked for."""
    keys = [each for each in table.constraints if isinstance(each, PrimaryKeyConstraint | UniqueConstraint)]
    unconditional = [each for each in table.indexes if each.dialect_options["sqlite"]["where"] in (None, t.OF_A_TURN)]
    return {each.columns[0].name for each in (*keys, *unconditional)}
