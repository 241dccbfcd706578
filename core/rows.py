"""What the Store hands out: frozen rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from core.values import IncomingMessage, Language, StoredFile, TurnStatus


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a message: `new` when it was not known before; `to_ring` when it is mail since this very call.

    Of twins and redelivered events so only one rings; should that one die before it does, the janitor rings.
    """

    thread_id: str
    new: bool
    to_ring: bool


class StoredMessage(IncomingMessage):
    """A message as the Store keeps it: with its number there and its author's display name at that time."""

    id: int
    author: str


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn without its steps. `number` counts from 1 in its thread; `id` is "thread_id/t{number}"."""

    id: str
    thread_id: str
    number: int
    status: TurnStatus
    language: Language
    model: str
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Spent:
    """What model calls took, one or many: tokens as the endpoint reported them, and their estimated cost.

    `cached_tokens` are among `prompt_tokens`. `cost_micros` counts millionths of the currency of `[budget]`; calls of a
    model without a price count as None and, in a sum, as nothing.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_micros: int | None = None
    calls: int = 1

    @property
    def tokens(self) -> int:
        """Both directions together."""
        return self.prompt_tokens + self.completion_tokens


def money(micros: int) -> str:
    """An amount for people: two decimals, below 0.01 as many as its first two digits need."""
    amount = micros / 1e6
    if micros == 0 or amount >= 0.01:
        return f"{amount:,.2f}"
    return f"{amount:.{min(8 - len(str(micros)), 6)}f}"


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The report of a turn: its Markdown and the files that went with it."""

    turn_id: str
    markdown: str
    files: tuple[StoredFile, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message to Slack. "sending": handed over, no reply seen yet; "sent": `ts` and `response` are Slack's.

    `fresh` is True only for the caller that made the row: anybody else must look in Slack before sending again.
    """

    key: str
    thread_id: str
    method: str
    payload: dict[str, Any]
    status: Literal["sending", "sent"]
    ts: str | None
    response: dict[str, Any]
    created_at: datetime
    fresh: bool = field(default=False)
