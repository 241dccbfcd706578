"""Links to messages in Slack, as people paste them."""

from __future__ import annotations

import re
from typing import NamedTuple

from core.values import IMPORTED

_LINK = re.compile(r"/archives/([A-Z0-9]+)/p(\d{10,})(\d{6})(?:\?(?:.*&)?thread_ts=([\d.]+))?")
_IMPORTED = re.compile(re.escape(IMPORTED) + "[0-9a-f]{16}")
_ALONE = re.compile(r"\A<?https?://[^\s<>|]{1,300}>?\Z")


class MessageLink(NamedTuple):
    """A message: its channel, its ts, and the ts of the first message of its thread as far as the link has it."""

    channel: str
    ts: str
    root_ts: str


def link_in(text: str) -> MessageLink | None:
    """The first link to a message of Slack in a text; None when there is none."""
    if (found := _LINK.search(text)) is None:
        return None
    channel, seconds, micros, root_ts = found.groups()
    return MessageLink(channel, f"{seconds}.{micros}", root_ts or f"{seconds}.{micros}")


def imported_name(text: str) -> str | None:
    """The name of an imported conversation that a text is, as `threadbook import` and `find` print it."""
    return text.strip() if _IMPORTED.fullmatch(text.strip()) else None


def lone_link(text: str) -> MessageLink | None:
    """The link that a text is, if it is a link to a message and nothing else."""
    return link_in(text) if _ALONE.match(text.strip()) else None


def names_thread(text: str) -> bool:
    """Whether a text is a link to a message, or the name of an imported conversation, and nothing else."""
    return imported_name(text) is not None or lone_link(text) is not None
