"""A Store of many millions of rows, made with set-based SQL: a message every 6.4 s, five to a thread, up to now.

Every table is filled, new ones too: a column gets its value by its name, else by its type. The last threads are at
work. Indexes and the full-text search are made behind the rows, by the statements that the migrations made them with.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from sqlalchemy import JSON, Boolean, Column, Connection, Integer, LargeBinary, Table, create_engine, inspect, text

from core.store import Store
from core.store import tables as t
from core.store.full_text import FULL_TEXT_TABLES

PER_THREAD, SECONDS_PER_THREAD = 5, 32
OPEN = 100
"""Threads at work: half of their turns run, half wait for a person; one message of each is unread."""
PEOPLE, CHANNELS, NODES = 2_000, 500, 4
FEW = 20
"""Tables that not every thread has a row in have one for each of so many threads."""
ROWS_PER_THREAD = {
    "threads": 1,
    "messages": PER_THREAD,
    "turns": 1,
    "steps": 3,
    "model_calls": 2,
    "outbox": 2,
    "reports": 1,
    "blob_refs": 1,
    "thread_files": 1,
}
NOT_FILLED = {"schema_versions", "packed_totals", "searches", "installations", "oauth_states", "purge_nodes"}
"""Tables that do not grow with the messages."""


def fill(url: str, messages: int, say: Callable[[str], None]) -> None:
    """Make the schema in an empty database and fill it with so many messages and what belongs to them."""
    with closing(Store(url)) as store:
        store.migrate()
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    # Without parameters a driver leaves the signs of percent alone.
    with engine.connect().execution_options(no_parameters=True) as db:
        behind = _bare(db)
        threads = messages // PER_THREAD
        began_at = int(time.time()) - threads * SECONDS_PER_THREAD
        for table in t.metadata.sorted_tables:
            if table.name not in NOT_FILLED:
                began = time.monotonic()
                _fill_table(db, table, threads, began_at)
                say(f"{table.name}: {time.monotonic() - began:.0f} s")
        for statement in behind:
            began = time.monotonic()
            db.exec_driver_sql(statement)
            say(f"{statement.split(' ON ')[0][:60]}: {time.monotonic() - began:.0f} s")
        if db.dialect.name == "postgresql":  # it does so by itself at some time; SQLite never does
            db.exec_driver_sql("VACUUM (ANALYZE)")
    engine.dispose()


def _bare(db: Connection) -> list[str]:
    """Take indexes, triggers and checks away for the time of filling; gives the statements that bring them back."""
    if db.dialect.name == "postgresql":
        db.exec_driver_sql("SET session_replication_role = replica")  # foreign keys are not checked row by row
        db.exec_driver_sql("SET synchronous_commit = off")
        db.exec_driver_sql("SET maintenance_work_mem = '1GB'")
        kept = "SELECT conindid FROM pg_constraint WHERE contype IN ('p', 'u')"
        found = db.exec_driver_sql(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = "
            f"indrelid WHERE relnamespace = 'public'::regnamespace AND indexrelid NOT IN ({kept})"
        ).all()
        for name, _ in found:
            db.exec_driver_sql(f"DROP INDEX {name}")
        return [str(made) for _, made in found]
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000", "foreign_keys = OFF"):
        db.exec_driver_sql(f"PRAGMA {pragma}")
    found = db.exec_driver_sql(
        "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
    ).all()
    for kind, name, _ in found:
        db.exec_driver_sql(f"DROP {kind} {name}")
    made = [str(sql) for kind, _, sql in found if kind == "index"]
    for _, name, sql in found:  # what a trigger of the search would have done for each row, for all rows at once
        if name in [f"{each}_added" for each in FULL_TEXT_TABLES]:
            body = str(sql).partition(" BEGIN ")[2].removesuffix("; END")
            table = str(sql).partition(" INSERT ON ")[2].split()[0]
            made.append(body.replace(" WHERE ", f" FROM {table} new WHERE "))
    return [*made, *(str(sql) for kind, _, sql in found if kind == "trigger"), "PRAGMA journal_mode = WAL"]


def _fill_table(db: Connection, table: Table, threads: int, began_at: int) -> None:
    each = ROWS_PER_THREAD.get(table.name, 0)
    rows = threads * each if each else threads // FEW
    # `n` is the number of the row, `th` that of its thread, `open` whether that thread is at work.
    thread = f"(n / {each})" if each else f"(n * {FEW})"
    columns = [column for column in table.columns if not (column.primary_key and isinstance(column.type, Integer))]
    values = ", ".join(_value(db.dialect.name, table.name, column) for column in columns)
    names = ", ".join(f'"{column.name}"' for column in columns)
    source = f"SELECT n, {thread} AS th, {thread} >= {threads - OPEN} AS open FROM {_numbers(db, rows)}"
    statement = f'INSERT INTO "{table.name}" ({names}) SELECT {values} FROM ({source}) AS numbered'
    db.exec_driver_sql(statement.replace("$began", str(began_at)))


def _numbers(db: Connection, rows: int) -> str:
    if db.dialect.name == "postgresql":
        return f"generate_series(0, {rows - 1}) AS numbers(n)"
    return f"(WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < {rows - 1}) SELECT n FROM c)"


_AT = f"($began + th * {SECONDS_PER_THREAD})"
_CHANNEL = f"'C' || (th % {CHANNELS})"
_THREAD = f"'T1:' || {_CHANNEL} || ':' || {_AT} || '.000001'"
_TEXT = "'How much did region ' || (n % 997) || ' sell in week ' || (n % 53) || '?'"
_STEP = (
    'CASE n % 3 WHEN 0 THEN \'{"kind":"asked","user":"U\' || (th % 2000) || \'","author":"","text":"\' || '
    f'{_TEXT} || \'","ts":"1.1"}}\' WHEN 1 THEN \'{{"kind":"cell","call_id":"c","cell_id":"x","title":'
    '"Total","code":"total(\' || n || \')","status":"ok","stdout":"\' || n || \'","duration_s":0.1}\' '
    'ELSE \'{"kind":"finished","report":"Region \' || (th % 997) || \' sold \' || n || \'."}\' END'
)
_VALUES = {
    "threads.id": _THREAD,
    "threads.host_id": f"'node' || (th % {NODES})",
    "threads.fence": "1",
    "threads.packed_bytes": "0",
    "turns.id": f"{_THREAD} || '/t1'",
    "turns.number": "1",
    "turns.status": "CASE WHEN NOT open THEN 'done' WHEN th % 2 = 0 THEN 'running' ELSE 'waiting' END",
    "turns.ended_at": f"CASE WHEN open THEN NULL ELSE $at({_AT} + 20) END",
    "turns.language": "'en'",
    "messages.ts": f"({_AT} + n % {PER_THREAD}) || '.000001'",
    "messages.channel_type": "'channel'",
    "messages.kind": "'text'",
    "messages.text": _TEXT,
    "messages.files": "'[]'",
    "messages.mention": f"n % {PER_THREAD} = 0",
    "messages.quiet": f"n % {PER_THREAD} = {PER_THREAD - 1} AND NOT open",
    "messages.turn_id": f"CASE WHEN n % {PER_THREAD} = {PER_THREAD - 1} THEN NULL ELSE {_THREAD} || '/t1' END",
    "messages.received_at": f"$at({_AT} + n % {PER_THREAD})",
    "message_versions.message_id": f"th * {PER_THREAD} + 1",
    "steps.seq": "n % 3",
    "steps.kind": "CASE n % 3 WHEN 0 THEN 'asked' WHEN 1 THEN 'cell' ELSE 'finished' END",
    "steps.body": _STEP,
    "reports.markdown": "'Region ' || (th % 997) || ' sold ' || n || '.'",
    "reports.files": "'[]'",
    "reports.clean_room_state": "'shown'",
    "model_calls.model": "'gpt-x'",
    "outbox.key": f"{_THREAD} || '/t1:' || CASE n % 2 WHEN 0 THEN 'card' ELSE 'report:0' END",
    "outbox.method": "'chat.postMessage'",
    "outbox.payload": "'{}'",
    "outbox.status": "'sent'",
    "outbox.ts": f"({_AT} + 10 + n % 2) || '.000009'",
    "outbox.sent_at": f"$at({_AT} + 10)",
    "blob_refs.sha256": "substr('000000000000000000000000000000000000000000000000000000000000000' || n, -64)",
    "thread_files.name": "'a' || n || '.csv'",
    "schedules.id": f"{_THREAD} || '/s1'",
    "schedules.state": "CASE WHEN n % 100 = 0 THEN 'active' ELSE 'stopped' END",
    "schedules.next_at": "$at($began + 100000000 + th)",
    "schedules.order": """'{"cron":"0 9 * * 1","zone":"UTC","language":"en"}'""",
    "schedules.shown": "'[]'",
    "schedule_runs.schedule_id": f"{_THREAD} || '/s1'",
    "schedule_runs.state": "'told'",
    "lineage.source_id": f"{_THREAD}",
    "installation_teams.team": "'T' || n",
    "preferences.subject": "'U' || n",
    "audit.resource": _THREAD,
    "thread_id": _THREAD,
    "turn_id": f"{_THREAD} || '/t1'",
    "team": "'T1'",
    "channel": _CHANNEL,
    "root_ts": f"{_AT} || '.000001'",
    "user": f"'U' || (th % {PEOPLE})",
    "owner": f"'U' || (th % {PEOPLE})",
}


def _value(dialect: str, table: str, column: Column[object]) -> str:
    known = _VALUES.get(f"{table}.{column.name}", _VALUES.get(column.name))
    if known is None:
        known = "NULL" if column.nullable else _of_type(dialect, column)
    if dialect == "postgresql":
        known = (
            known.replace("$at", "to_timestamp").replace("substr('000", "right('000").replace("|| n, -64", "|| n, 64")
        )
        return f"({known})::json" if isinstance(column.type, JSON) and known != "NULL" else known
    before, at, rest = known.partition("$at")
    return f"{before}strftime('%Y-%m-%d %H:%M:%f000', {_inner(rest)}" if at else known


def _inner(rest: str) -> str:
    """The argument in brackets and what follows, with what `strftime` needs behind it."""
    depth = 0
    for place, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return f"{rest[1:place]}, 'unixepoch'){rest[place + 1 :]}"
    raise ValueError(rest)


def _of_type(dialect: str, column: Column[object]) -> str:
    if isinstance(column.type, JSON):
        return "'{}'"
    if isinstance(column.type, Boolean):
        return "false"
    if isinstance(column.type, t.UtcDateTime):
        return f"$at({_AT})"
    if isinstance(column.type, LargeBinary):
        return "'\\x003c'::bytea" if dialect == "postgresql" else "x'003c'"
    return "n" if column.type.python_type is int else "'x' || n"


def size(url: str) -> int:
    """Bytes that the database takes on disk."""
    engine = create_engine(url)
    with engine.connect() as db:
        if db.dialect.name == "postgresql":
            found = db.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
        else:
            pages, bytes_each = (
                db.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size")
            )
            found = pages * bytes_each
    engine.dispose()
    return int(found)


def is_filled(url: str) -> bool:
    """Whether the database has the rows already."""
    engine = create_engine(url)
    with engine.connect() as db:
        found = inspect(db).has_table("threads") and db.execute(text("SELECT 1 FROM threads LIMIT 1")).scalar()
    engine.dispose()
    return bool(found)
