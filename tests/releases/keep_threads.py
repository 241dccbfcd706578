"""Keeps stored threads of a release as a fixture: `python keep_threads.py STORE.db FILES > VERSION/threads.json`.

It takes the smallest threads that have, together, every kind of step, message and ending that the database has.
Standard library only, and no code of Threadbook: it runs beside any version.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

BY_THREAD = {
    "threads": "id",
    "turns": "thread_id",
    "messages": "thread_id",
    "thread_files": "thread_id",
    "outbox": "thread_id",
    "model_calls": "thread_id",
}
BY_TURN = ("steps", "reports")
JSON_COLUMNS = {"body", "files", "payload", "response"}
FILE_BYTES = 100_000

Row = dict[str, Any]
Rows = dict[str, list[Row]]


def rows(db: sqlite3.Connection, table: str, column: str, value: str) -> list[Row]:
    found = db.execute(f'SELECT * FROM "{table}" WHERE "{column}" = ? ORDER BY rowid', (value,))
    names = [one[0] for one in found.description]
    return [
        {name: json.loads(item) if name in JSON_COLUMNS else item for name, item in zip(names, row, strict=True)}
        for row in found
    ]


def thread(db: sqlite3.Connection, thread_id: str) -> Rows:
    """All rows of a thread, by table, in the order in which they can be written."""
    kept = {table: rows(db, table, column, thread_id) for table, column in BY_THREAD.items()}
    for table in BY_TURN:
        kept[table] = [row for turn in kept["turns"] for row in rows(db, table, "turn_id", turn["id"])]
    return kept


def features(kept: Rows) -> set[tuple[str, ...]]:
    """What a thread shows that another one may not."""
    found = {("message", row["kind"]) for row in kept["messages"]} | {("turn", row["status"]) for row in kept["turns"]}
    for row in kept["steps"]:
        body: Mapping[str, Any] = row["body"]
        found.add(("step", row["kind"], str(body.get("status") or body.get("reason") or "")))
        found |= {("field", row["kind"], name) for name, value in body.items() if value}
    return found


def chosen(threads: list[Rows]) -> Iterator[Rows]:
    """Threads, smallest first per new feature, that show every feature of them all."""
    missing = set().union(*map(features, threads))
    while missing:
        best = max(threads, key=lambda kept: len(features(kept) & missing) / len(json.dumps(kept)))
        missing -= features(best)
        yield best


def main(store: Path, files: Path) -> None:
    with sqlite3.connect(store) as db:
        revision = db.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        threads = [thread(db, row[0]) for row in db.execute("SELECT id FROM threads ORDER BY id").fetchall()]
    kept = list(chosen(threads))
    inputs = {row["sha256"] for one in kept for row in one["thread_files"] if row["size"] <= FILE_BYTES}
    contents = {sha256: (files / sha256[:2] / sha256).read_bytes().hex() for sha256 in sorted(inputs)}
    tables = {table: [row for one in kept for row in one[table]] for table in (*BY_THREAD, *BY_TURN)}
    lines = [f"{json.dumps('revision')}: {json.dumps(revision)}", f"{json.dumps('contents')}: {json.dumps(contents)}"]
    for table, content in tables.items():
        written = ",\n".join(json.dumps(row, ensure_ascii=False) for row in content)
        lines.append(f"{json.dumps(table)}: [\n{written}\n]")
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
