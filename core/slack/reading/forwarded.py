"""Messages that a person forwarded: Slack puts them into `attachments` of the new message, marked `is_share`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from core.slack.reading.files import file_refs
from core.values import FileRef

MAX_MESSAGES = 5
_MAX_TEXT = 12_000
_MAX_NAME = 80


def forwarded_text(event: Mapping[str, Any], name_of: Callable[[str], str], read: Callable[[str], str]) -> str:
    """The forwarded messages as quotations, each behind the name of its author; "" without any.

    `read` turns a text in Slack's form into plain text.
    """
    return "\n\n".join(filter(None, (_quotation(each, name_of, read) for each in _forwarded(event))))


def forwarded_files(event: Mapping[str, Any]) -> tuple[FileRef, ...]:
    """The files of the forwarded messages."""
    return tuple(file for each in _forwarded(event) for file in file_refs(each.get("files")))


def _forwarded(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    given = event.get("attachments")
    found = [each for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []
    yield from [each for each in found if each.get("is_share") is True][:MAX_MESSAGES]


def _quotation(message: Mapping[str, Any], name_of: Callable[[str], str], read: Callable[[str], str]) -> str:
    words = message.get("text") or message.get("fallback")
    text = read(words[:_MAX_TEXT]) if isinstance(words, str) else ""
    if not text:
        return ""
    author = message.get("author_name") or message.get("author_subname")
    name = " ".join(author.split())[:_MAX_NAME] if isinstance(author, str) else ""
    if not name and isinstance(user := message.get("author_id"), str):
        name = name_of(user[:_MAX_NAME])
    lines = [*([f"{name}:"] if name else []), *text.splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)
