"""An imported conversation, and the limits for its file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.steps import Imported, Said

FILE_BYTES = 200_000_000
CONVERSATIONS = 20_000
MESSAGES = 2_000
CONVERSATION_CHARS = 8_000_000
"""Characters of all messages of one conversation."""
TOTAL_CHARS = 400_000_000
"""Characters of all conversations of a file. Conversations of a database share their messages, so it may be small."""
DESCRIPTION_CHARS = 200

_EARLIEST, _LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


class NotReadable(Exception):
    """The file cannot be imported, in a sentence for people. Nothing of it was kept."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a file. `source` is the `key` of the one that it was made from, "" when of none."""

    key: str
    head: Imported
    said: tuple[tuple[datetime, Said], ...]
    description: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds. `earlier` conversations are the beginning of another one, so they are not kept twice.

    `dropped` counts what was left out of messages, by what it was.
    """

    conversations: tuple[Conversation, ...]
    earlier: int = 0
    dropped: Mapping[str, int] | None = None


def key_of(messages: Sequence[Any], nth: int) -> str:
    """The name of the `nth` conversation of a file that says just this: the same in each file."""
    return hash_of([messages, nth])[:16]


def group_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """What conversations with the same beginning share: all up to the first message of the user."""
    first = next((n for n, message in enumerate(messages) if message.get("role") == "user"), len(messages) - 1)
    return hash_of(list(messages[: first + 1]))[:16]


def hash_of(value: Any) -> str:
    """The SHA-256 of a JSON value."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def described(description: str, said: Iterable[Said]) -> str:
    """What a conversation is about, in a line: what its tool says, else its first words of a user."""
    first = next((each.text for each in said if each.message.get("role") == "user"), "")
    return " ".join((description or first).split())[:DESCRIPTION_CHARS] or "…"


def time_of(value: object) -> datetime | None:
    """A time as text (ISO; without a zone it is UTC) or as seconds since 1970; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value, UTC)
        elif isinstance(value, str) and len(value) <= 40:
            at = datetime.fromisoformat(value)
        else:
            return None
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return at if _EARLIEST <= at <= _LATEST else None
