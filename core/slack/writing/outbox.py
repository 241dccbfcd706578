"""The outbox as the writer needs it. `core.store.Store` implements it; the two packages do not import each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from core.rows import NewReport, OutboxRow, Sent
from core.values import Lease


class Outbox(Protocol):
    """Rows with deterministic keys, one for each message that is or was sent."""

    def outbox_begin(
        self,
        lease: Lease | None,
        key: str,
        method: str,
        payload: Mapping[str, Any],
        *,
        thread_id: str | None = None,
        response: Mapping[str, Any] | None = None,
        sent: Sequence[Sent] = (),
        report: NewReport | None = None,
    ) -> OutboxRow:
        """Record what is about to be sent, or return what was recorded under this key before.

        What was `sent` before is recorded with it, and so are a partial `response` to a new row, and a `report`.
        """
        ...

    def outbox_note(self, lease: Lease | None, key: str, response: Mapping[str, Any]) -> None:
        """Keep a partial answer of Slack's; the row keeps its status."""
        ...

    def outbox_done(self, lease: Lease | None, key: str, ts: str, response: Mapping[str, Any]) -> None:
        """Record that Slack has the message, with its ts and the reply."""
        ...

    def outbox_sent(self, lease: Lease | None, sent: Sequence[Sent]) -> None:
        """The same for several messages at once."""
        ...

    def outbox_unsent(self, lease: Lease | None, key: str, error: str) -> None:
        """Record that Slack does not have the message for certain."""
        ...

    def outbox_take_up(self, row: OutboxRow) -> bool:
        """Begin a row anew that came to no end; True for one of those who ask at that moment."""
        ...

    def outbox_dropped(self, lease: Lease | None, key: str) -> None:
        """Record that Slack took files and does not show them."""
        ...

    def outbox_get(self, key: str) -> OutboxRow | None:
        """The row of this key."""
        ...

    def outbox_known(self, thread_id: str) -> frozenset[str]:
        """The ts of the messages of a thread that rows are known to have sent."""
        ...

    def outbox_unshown(self, thread_id: str) -> list[OutboxRow]:
        """The files of a thread that Slack took and that nobody has seen there yet."""
        ...

    def check(self, lease: Lease) -> None:
        """Raise LeaseLost when another worker took the thread."""
        ...
