"""Files of other tools: conversations as JSONL, and databases of ModelProgrammer in both of its schemas."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

CALL = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"code": "1"}'}}
HELLO: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "sum it"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "42"},
    {"role": "assistant", "content": "It is 42."},
]


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def terminal(text: str) -> dict[str, str]:
    return {"role": "user", "name": "terminal", "content": text}


MESSAGES = (  # key, message, time, type, key of the original
    ("h1", {"role": "system", "content": "Use the terminal."}, "2023-04-02 16:08:02", 2, None),
    ("h2", {"role": "user", "content": "write a vector"}, "2023-04-02 16:09:00", 2, None),
    (
        "h3",
        {"id": "x", "choices": [{"message": {"role": "assistant", "content": "rm"}}]},
        "2023-04-02 16:10:00",
        0,
        None,
    ),
    ("h4", {"role": "assistant", "content": "ls"}, "2023-04-02 16:11:00.123456", 4, "h3"),
    ("h5", terminal("a.py"), "2023-04-02 16:12:00", 3, None),
)
CONVERSATIONS = (  # time, messages, description, startup, number of the one before
    ("2023-04-02 16:09:00", ["h1", "h2"], "vectors", "cd work", None),
    ("2023-04-02 16:10:00", ["h1", "h2", "h3"], "", "", 1),
    ("2023-04-02 16:12:00", ["h1", "h2", "h4", "h5", "h4", "h5"], "", "", 2),
)


def first_schema(path: Path, conversations: Sequence[Any] = CONVERSATIONS) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE messages (hash text, json text, PRIMARY KEY (hash))")
        db.execute(
            "CREATE TABLE message_info "
            "(hash text, datetime text, type integer, role text, source_hash text, PRIMARY KEY (hash))"
        )
        db.execute("CREATE TABLE conversations (hash text, datetime text, message_hashes text, PRIMARY KEY (hash))")
        for key, said, at, kind, source in MESSAGES:
            db.execute("INSERT INTO messages VALUES (?, ?)", (key, json.dumps(said)))
            db.execute("INSERT INTO message_info VALUES (?, ?, ?, ?, ?)", (key, at, kind, "", source))
        for number, (at, hashes, *_) in enumerate(conversations, start=1):
            db.execute("INSERT INTO conversations VALUES (?, ?, ?)", (f"c{number}", at, json.dumps(hashes)))
        db.commit()
    return path


def second_schema(path: Path, *, old: bool = False) -> Path:
    """`old`: as its first copies were, before the columns that were added later."""
    more = "" if old else ", description TEXT NOT NULL DEFAULT '', startup_script TEXT NOT NULL DEFAULT ''"
    ids = {key: number for number, (key, *_) in enumerate(MESSAGES, start=1)}
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime TEXT, type INTEGER, "
            "role TEXT, source_id INTEGER)"
        )
        db.execute(
            f"CREATE TABLE conversations (id INTEGER PRIMARY KEY, hash TEXT, datetime TEXT{more}, source_id INTEGER)"
        )
        db.execute(
            "CREATE TABLE conversation_messages (conversation_id INTEGER, message_id INTEGER, message_order INTEGER)"
        )
        for key, said, at, kind, source in MESSAGES:
            row = (ids[key], key, json.dumps(said), at, kind, "", ids.get(source or ""))
            db.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for number, (at, hashes, description, startup, source) in enumerate(CONVERSATIONS, start=1):
            texts = () if old else (description, startup)
            marks = ", ".join("?" * (4 + len(texts)))
            row = (number, f"c{number}", at, *texts, source)
            db.execute(f"INSERT INTO conversations VALUES ({marks})", row)
            for order, key in enumerate(hashes):
                for _ in range(2):  # saving it again repeats its rows
                    db.execute("INSERT INTO conversation_messages VALUES (?, ?, ?)", (number, ids[key], order))
        db.commit()
    return path
