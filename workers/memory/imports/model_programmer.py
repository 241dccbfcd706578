"""Conversations of ModelProgrammer's SQLite database, of its first schema (0) and of its second one (1).

0: `messages(hash, json)`, `message_info(hash, datetime, type, role, source_hash)`, and `conversations(hash, datetime,
message_hashes)` with a list of hashes as JSON.
1: `messages(id, hash, content, datetime, type, role, source_id)`, `conversations(id, hash, datetime, description,
startup_script, source_id)`, and `conversation_messages(conversation_id, message_id, message_order)`. Columns that an
older copy of it lacks are read as empty.

ModelProgrammer stores a new conversation for each change. A conversation that is the beginning of another one is not
kept separately. A conversation that was made from another one, or begins like it, becomes a thread with that one as its
source.

The file is hostile: it is opened read-only, nothing of its own schema runs, and each query is bounded.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from core.steps import Imported, Said
from workers.agent.thread.states import step_hash
from workers.memory.imports.conversation import (
    CONVERSATION_CHARS,
    CONVERSATIONS,
    MESSAGES,
    TOTAL_CHARS,
    Conversation,
    NotReadable,
    Reading,
    described,
    group_of,
    key_of,
    time_of,
)
from workers.memory.imports.messages import MESSAGE_CHARS, NoMessage, message_of

MAGIC = b"SQLite format 3\x00"
_ROWS = 500_000
_LINKS = 5_000_000
"""Rows of the table that says which message stands where: each change of a conversation repeats them all."""
_STEPS = 50_000
_MOST_TICKS = 20_000
"""A query may take this many times `_STEPS` instructions of SQLite's machine."""
_TYPES: tuple[Literal["raw", "formatted", "manual", "terminal", "edit", "unknown"], ...] = (
    "raw",
    "formatted",
    "manual",
    "terminal",
    "edit",
    "unknown",
)
_SCRIPT_CHARS = 50_000
Format = Literal["model_programmer_0", "model_programmer_1"]


@dataclass(frozen=True, slots=True)
class _Message:
    """A row of a message. `source` is the key of the message that it was made from."""

    message: dict[str, Any]
    at: datetime | None
    type: Literal["raw", "formatted", "manual", "terminal", "edit", "unknown"]
    source: object = None


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a conversation, with the keys of its messages in their order."""

    place: object
    at: datetime | None
    messages: tuple[object, ...]
    description: str = ""
    startup: str = ""
    source: object = None


@dataclass(slots=True)
class _File:
    """A whole database."""

    format: Format
    messages: dict[object, _Message] = field(default_factory=dict)
    rows: list[_Row] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def read(path: Path, user: str, now: datetime) -> Reading:
    """The conversations of a database, oldest first. `now` stands where it has no time. Raises NotReadable."""
    try:
        with closing(_opened(path)) as db:
            tables = _tables(db)
            if {"messages", "conversations", "conversation_messages"} <= tables.keys():
                file = _second(db, tables)
            elif {"messages", "message_info", "conversations"} <= tables.keys():
                file = _first(db, tables)
            else:
                raise NotReadable(f"{path.name} is an SQLite database, but none of ModelProgrammer.")
    except sqlite3.Error as error:
        raise NotReadable(f"{path.name} cannot be read as a database ({type(error).__name__}).") from None
    if not file.rows:
        raise NotReadable(f"{path.name} holds no conversation.")
    made = tuple(_made(file, path.name, user, now))
    return Reading(made, earlier=len(file.rows) - len(made), dropped=file.dropped)


# --- the database


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4 * MESSAGE_CHARS + 100_000)
    db.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        db.execute(f"PRAGMA {pragma}")
    ticks = iter(range(_MOST_TICKS))
    db.set_progress_handler(lambda: next(ticks, None) is None, _STEPS)
    return db


def _tables(db: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """The plain tables with their columns. Views and virtual tables would run what the file says."""
    found = {}
    for name, kind in db.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main' LIMIT 100"):
        if kind == "table" and name in ("messages", "message_info", "conversations", "conversation_messages"):
            columns = db.execute("SELECT name FROM pragma_table_info(?) LIMIT 100", (name,))
            found[name] = frozenset(column for (column,) in columns)
    return found


def _select(  # noqa: PLR0917 - a query in its parts
    db: sqlite3.Connection, table: str, names: Sequence[str], has: frozenset[str], order: str, most: int = _ROWS
) -> Iterator[tuple[Any, ...]]:
    """The rows of a table. A column that it does not have is null."""
    columns = ", ".join(name if name in has else "NULL" for name in names)
    for number, row in enumerate(db.execute(f"SELECT {columns} FROM {table} ORDER BY {order}")):  # noqa: S608
        if number == most:
            raise NotReadable(f"the table {table} has more than {most} rows.")
        yield row


def _first(db: sqlite3.Connection, tables: Mapping[str, frozenset[str]]) -> _File:
    file = _File("model_programmer_0")
    about = ("hash", "datetime", "type", "source_hash")
    infos = {row[0]: row for row in _select(db, "message_info", about, tables["message_info"], "rowid")}
    for key, content in _select(db, "messages", ("hash", "json"), tables["messages"], "rowid"):
        _, at, kind, source = infos.get(key, (key, None, None, None))
        _keep(file, key, content, at, kind, source)
    names = ("hash", "datetime", "message_hashes")
    for number, row in enumerate(_select(db, "conversations", names, tables["conversations"], "rowid"), start=1):
        try:
            hashes = json.loads(row[2])
        except (TypeError, ValueError, RecursionError):
            hashes = None
        if not isinstance(hashes, list) or not all(isinstance(each, str) for each in hashes):
            raise NotReadable(f"conversation {number} does not say which messages it has.")
        _add(file, _Row(number, time_of(row[1]), tuple(hashes)))
    return file


def _second(db: sqlite3.Connection, tables: Mapping[str, frozenset[str]]) -> _File:
    file = _File("model_programmer_1")
    about = ("id", "content", "datetime", "type", "source_id")
    for row in _select(db, "messages", about, tables["messages"], "rowid"):
        _keep(file, *row)
    links: defaultdict[object, dict[tuple[object, object], None]] = defaultdict(dict)
    standing, order = ("conversation_id", "message_id", "message_order"), "message_order, rowid"
    for conversation, message, at in _select(
        db, "conversation_messages", standing, tables["conversation_messages"], order, _LINKS
    ):
        links[conversation][at, message] = None  # saving a conversation again repeats its rows
    names = ("id", "datetime", "description", "startup_script", "source_id")
    for key, at, description, startup, source in _select(db, "conversations", names, tables["conversations"], "rowid"):
        texts = [text if isinstance(text, str) else "" for text in (description, startup)]
        messages = tuple(message for _, message in links[key])
        _add(file, _Row(key, time_of(at), messages, texts[0], texts[1][:_SCRIPT_CHARS], source))
    return file


def _keep(file: _File, key: object, content: object, at: object, kind: object, source: object) -> None:  # noqa: PLR0917
    """Take in a message. What cannot be read is missing in its conversations, and counted there."""
    try:
        given = json.loads(content) if isinstance(content, str) else None
        if isinstance(given, dict) and "choices" in given:  # a reply as the endpoint gave it
            given = given["choices"][0]["message"]
        message = message_of(given, file.dropped)
    except (NoMessage, ValueError, LookupError, TypeError, RecursionError):
        file.dropped["messages that cannot be read"] += 1
        return
    number = kind if isinstance(kind, int) and 0 <= kind < len(_TYPES) else len(_TYPES) - 1
    file.messages[key] = _Message(message, time_of(at), _TYPES[number], source)


def _add(file: _File, row: _Row) -> None:
    """Take in a conversation, without messages that are not there."""
    if len(file.rows) == CONVERSATIONS:
        raise NotReadable(f"it has more than {CONVERSATIONS} conversations.")
    if len(row.messages) > MESSAGES:
        raise NotReadable(f"conversation {row.place} has more than {MESSAGES} messages.")
    there = tuple(key for key in row.messages if key in file.messages)
    if sum(len(str(file.messages[key].message.get("content") or "")) for key in there) > CONVERSATION_CHARS:
        raise NotReadable(f"conversation {row.place} has more than {CONVERSATION_CHARS} characters.")
    if there:
        file.rows.append(_Row(row.place, row.at, there, row.description, row.startup, row.source))


# --- conversations


def _holders(rows: Sequence[_Row]) -> dict[int, _Row]:
    """By the id of each row, the first whole one that begins with its messages: itself for most."""
    chains = {id(row): list(_chain(row)) for row in rows}
    longer: set[bytes] = {each for row in rows for each in chains[id(row)][:-1]}
    holders: dict[bytes, _Row] = {}
    for row in rows:
        if chains[id(row)][-1] not in longer:
            for each in chains[id(row)]:
                holders.setdefault(each, row)
    return {id(row): holders[chains[id(row)][-1]] for row in rows}


def _chain(row: _Row) -> Iterator[bytes]:
    """A hash for each beginning of a row's messages, the shortest first."""
    running = b""
    for each in row.messages:
        running = hashlib.sha256(running + repr(each).encode("utf-8", "replace")).digest()
        yield running


def _made(file: _File, name: str, user: str, now: datetime) -> Iterator[Conversation]:
    """The rows that are the beginning of no other one. What such a beginning was called, the whole is called."""
    steps = {key: _said(file, key) for key in file.messages}
    holders = _holders(file.rows)
    by_place = {row.place: row for row in file.rows}
    held: defaultdict[int, list[_Row]] = defaultdict(list)
    for row in file.rows:
        held[id(holders[id(row)])].append(row)
    begun: dict[str, str] = {}
    made: set[int] = set()  # a source stands before what was made from it, so nothing is its own one
    room = TOTAL_CHARS
    for row in file.rows:
        if id(row) not in held:
            continue
        said = tuple((file.messages[key].at or row.at or now, steps[key]) for key in row.messages)
        if (room := room - sum(len(step.text) for _, step in said)) < 0:
            raise NotReadable(f"its conversations have more than {TOTAL_CHARS} characters.")
        group, key = group_of(_messages(said)), key_of(_messages(said), 1)
        source = next((each for each in _ancestors(row, by_place, holders) if id(each) in made), None)
        made.add(id(row))
        older = held[id(row)][::-1]
        head = Imported(
            file=name[:200],
            format=file.format,
            place=f"conversation {row.place}"[:60],
            group=group,
            startup=next((each.startup for each in older if each.startup), ""),
            user=user,
            author=user,
        )
        about = described(
            next((each.description for each in older if each.description), ""), (step for _, step in said)
        )
        made_from = key_of([steps[each].message for each in source.messages], 1) if source else begun.get(group, "")
        begun.setdefault(group, key)
        yield Conversation(key, head, said, about, made_from)


def _messages(said: Iterable[tuple[datetime, Said]]) -> list[dict[str, Any]]:
    return [step.message for _, step in said]


def _ancestors(row: _Row, by_place: Mapping[object, _Row], holders: Mapping[int, _Row]) -> Iterator[_Row]:
    """The conversations that hold what a conversation was made from, the nearest first."""
    seen = {row.place}
    while (source := row.source) is not None and source in by_place and source not in seen:
        seen.add(source)
        row = by_place[source]
        yield holders[id(row)]


def _said(file: _File, key: object) -> Said:
    own = file.messages[key]
    original = file.messages.get(own.source) if own.source != key else None
    if original is None:
        return Said(message=own.message, type=own.type)
    before = Said(message=original.message, type=original.type)
    return Said(message=own.message, type=own.type, source=step_hash(before), before=before.text)
