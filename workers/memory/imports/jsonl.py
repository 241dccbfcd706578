"""Conversations as OpenAI-style JSONL: an object a line with `messages`, as `threadbook export` writes them too."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from core.steps import Imported, Said
from workers.memory.imports.conversation import (
    CONVERSATION_CHARS,
    CONVERSATIONS,
    MESSAGES,
    Conversation,
    NotReadable,
    Reading,
    described,
    group_of,
    hash_of,
    key_of,
    time_of,
)
from workers.memory.imports.messages import NoMessage, message_of

LINE_BYTES = 40_000_000
TOOLS_CHARS = 500_000
_TIMES = ("created_at", "timestamp", "created", "datetime")
_KNOWN = frozenset(
    {"messages", "tools", "parallel_tool_calls", "thread", "turn", "votes", "by_person", "split", *_TIMES}
)


def read(path: Path, user: str, now: datetime) -> Reading:
    """The conversations of a file, in their order. `now` stands where the file has no time. Raises NotReadable."""
    dropped: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    found: list[Conversation] = []
    for number, record in _records(path):
        if len(found) == CONVERSATIONS:
            raise NotReadable(f"{path.name} has more than {CONVERSATIONS} conversations. Split it.")
        try:
            found.append(_conversation(record, path.name, number, user, now, dropped, seen))
        except NoMessage as error:
            raise NotReadable(f"line {number} of {path.name} cannot be imported: {error}.") from None
    if not found:
        raise NotReadable(f"{path.name} holds no conversation.")
    return Reading(tuple(found), dropped=dropped)


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LINE_BYTES + 1):
            number += 1
            if len(line) > LINE_BYTES:
                raise NotReadable(f"line {number} of {path.name} is longer than {LINE_BYTES} bytes.")
            if not line.strip():
                continue
            try:
                record = json.loads(line.decode("utf-8-sig"), parse_constant=_no_number)
            except (ValueError, RecursionError):
                raise NotReadable(
                    f"line {number} of {path.name} is no JSON. One conversation stands on one line."
                ) from None
            if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
                raise NotReadable(
                    f"line {number} of {path.name} has no list of `messages`. Formats: sft, messages and openai-jsonl."
                )
            yield number, record


def _conversation(  # noqa: PLR0917 - what a file shares, and one line of it
    record: Mapping[str, Any],
    file: str,
    number: int,
    user: str,
    now: datetime,
    dropped: Counter[str],
    seen: Counter[str],
) -> Conversation:
    given = record["messages"]
    if not given or len(given) > MESSAGES:
        raise NoMessage(f"it has no message, or more than {MESSAGES}")
    at = _time(record) or now
    said: list[tuple[datetime, Said]] = []
    by_person = _by_person(record.get("by_person"), len(given))
    for each, is_of_person in zip(given, by_person, strict=True):
        fields = each if isinstance(each, Mapping) else {}
        at = _time(fields) or at
        plain = {name: value for name, value in fields.items() if name not in _TIMES}
        message = message_of(plain if fields else each, dropped)
        said.append((at, Said(message=message, type="manual" if is_of_person else "unknown")))
    messages = [step.message for _, step in said]
    if sum(len(step.text) for _, step in said) > CONVERSATION_CHARS:
        raise NoMessage(f"it has more than {CONVERSATION_CHARS} characters")
    dropped.update(f"field {str(name)[:40]}" for name in record.keys() - _KNOWN)
    same = hash_of(messages)
    seen[same] += 1
    thread = record.get("thread")
    thread = thread if isinstance(thread, str) and _is_name(thread) else ""
    head = Imported(
        file=file[:200],
        format="jsonl",
        place=f"line {number}",
        group=thread or group_of(messages),
        thread=thread,
        turn=max(_count(record.get("turn"), 1), 1),
        votes=_count(record.get("votes"), 0),
        tools=_tools(record.get("tools")),
        parallel_tool_calls=_flag(record.get("parallel_tool_calls")),
        user=user,
        author=user,
    )
    about = described("", (step for _, step in said))
    return Conversation(key_of(messages, seen[same]), head, tuple(said), about)


def _time(given: Mapping[str, Any]) -> datetime | None:
    return next((at for name in _TIMES if (at := time_of(given.get(name))) is not None), None)


def _tools(given: object) -> tuple[dict[str, Any], ...] | None:
    """The tools, which `sft` has as a text of JSON."""
    if given is None:
        return None
    if len(json.dumps(given)) > TOOLS_CHARS:
        raise NoMessage(f"its tools have more than {TOOLS_CHARS} characters")
    if isinstance(given, str):
        try:
            given = json.loads(given, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise NoMessage("its tools are no JSON") from None
    if not isinstance(given, list) or not all(isinstance(tool, dict) for tool in given):
        raise NoMessage("its tools are no list of objects")
    return tuple(given)


def _flag(given: object) -> bool | None:
    return given if isinstance(given, bool) else None


def _by_person(given: object, messages: int) -> list[bool]:
    """Which messages an export says that a person wrote; none where it says nothing."""
    is_list = isinstance(given, list) and len(given) == messages
    return [each is True for each in given] if is_list and isinstance(given, list) else [False] * messages


def _count(given: object, otherwise: int) -> int:
    is_count = isinstance(given, int) and not isinstance(given, bool) and abs(given) < 10**6
    return int(given) if is_count and isinstance(given, int) else otherwise


def _is_name(text: str) -> bool:
    """Whether it is what an export calls a thread."""
    return len(text) == 16 and all(letter in "0123456789abcdef" for letter in text)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
