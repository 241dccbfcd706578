"""What the Store hands out: frozen rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from core.clean_room import CleanRoomOrder
from core.values import IncomingMessage, Language, StoredFile, TurnStatus


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a message: `new` when it was not known before, `to_notify` when this very call made it unread.

    So of twins and redelivered events only one wakes the thread. If its sender dies before that, the janitor does it.
    `node_id` is the node that holds the thread's session; None when none does.
    """

    thread_id: str
    new: bool
    to_notify: bool
    node_id: str | None = None


class StoredMessage(IncomingMessage):
    """A stored message, with its number in the Store and its author's display name at that time.

    `talk_wanted`: it called the bot into a conversation of people, and that talk is still to be read.
    """

    id: int
    author: str
    talk_wanted: bool = False


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
class Appended:
    """A step that was just stored: its place in the turn, from 0, and whether the thread had unread mail then.

    `count` is 1, or more when steps that follow from it were stored with it.
    """

    seq: int
    has_mail: bool
    count: int = 1


@dataclass(frozen=True, slots=True)
class Spent:
    """What one or many model calls took: tokens as the endpoint reported them, and their estimated cost.

    `cached_tokens` are among `prompt_tokens`. `cost_micros` counts millionths of the currency of `[budget]`; it is
    None for a call of a model without a price, and such calls add nothing to a sum.
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
    """An amount for people: two decimals; below 0.01, as many as its first two digits need."""
    amount = micros / 1e6
    if micros == 0 or amount >= 0.01:
        return f"{amount:,.2f}"
    return f"{amount:.{min(8 - len(str(micros)), 6)}f}"


@dataclass(frozen=True, slots=True)
class ExportedRow:
    """Which exported session of a thread counts, the one before it, and the bytes that the two take."""

    name: str
    before: str | None = None
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class ExportedBytes:
    """The bytes of exported sessions: of a thread, of all threads at its node, of all of its team."""

    thread: int
    node: int
    team: int


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The report of a turn: its Markdown and the files that went with it."""

    turn_id: str
    markdown: str
    files: tuple[StoredFile, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewReport:
    """A report to be stored: its turn, its Markdown, the files that go with it, and what a clean room has to know."""

    turn_id: str
    markdown: str
    files: Sequence[StoredFile] = ()
    clean_room: CleanRoomOrder | None = None


class Sent(NamedTuple):
    """A message that Slack has: its key in the outbox, its ts ("" when Slack gives none yet), and Slack's reply."""

    key: str
    ts: str
    response: Mapping[str, Any]


OutboxStatus = Literal["sending", "unsent", "sent", "dropped"]
"""sending: a call was made or is about to be, no reply was seen yet · unsent: Slack does not have it for certain ·
sent: Slack has it · dropped: Slack said yes to files, and long after that does not show them."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message to Slack. `ts` and `response` are Slack's; the `payload` is kept until Slack has it.

    The `ts` of files is "" until they were seen in their thread. `after_ts` is a ts of Slack's behind which a post of
    this row stands; None when the thread had none of ours before.

    `fresh` is True for the caller that made the row, and for one that took up an unsent row. Anybody else must look in
    Slack before sending again.
    """

    key: str
    thread_id: str
    method: str
    payload: dict[str, Any]
    status: OutboxStatus
    ts: str | None
    response: dict[str, Any]
    created_at: datetime
    sent_at: datetime | None = None
    after_ts: str | None = None
    fresh: bool = field(default=False)


Vote = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class VoteRow:
    """What one person thinks of a report, and why if they said so."""

    user: str
    vote: Vote
    reason: str


FoundBy = Literal["words", "meaning"]
FOUND_BY: tuple[FoundBy, ...] = ("words", "meaning")
"""How a thread is found: by the words that stand in it, or by what it is about (`core/store/vectors.py`)."""


@dataclass(frozen=True, slots=True)
class FoundThread:
    """A thread that somebody looked for: its first message, who wrote that, and when people wrote there last.

    `state` is that of its last turn, "running" while messages wait to be read, "" if no turn has begun.
    """

    thread_id: str
    channel: str
    last_at: datetime
    question: str
    author: str
    turns: int
    pinned_by: str = ""
    description: str = ""
    by: tuple[FoundBy, ...] = ("words",)
    state: str = ""
    is_own_pin: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """The person who pinned a thread, and the time."""

    user: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The rest of a thread that was deleted for good: the hash of its last state ("" if it was not computed)."""

    thread_id: str
    state: str
    turns: int
    purged_at: datetime
