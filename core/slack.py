"""Everything that is written to Slack, and the little that is read back, for any server that speaks Slack's Web API.

Posts go through the Store's outbox: a row with a deterministic key stands before the call, and the message carries the
key in its metadata. When a reply is lost the thread is searched for it before anything is sent again, so nothing is
posted twice and nothing is left out. Niceties (reactions, the status line) never fail the caller; what a server does
not offer is logged once and skipped.

Whoever advances a thread passes its lease. It is checked right before each call: a worker that was paused past its
lease writes nothing any more. Slack itself knows no tokens, so the moment between the check and the call stays open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from core.errors import SlackBusy, SlackFailed, SlackUnreachable
from core.rows import OutboxRow
from core.slack_client import (
    LOST,
    describe,
    error_details,
    error_name,
    ours,
    perhaps_done,
    rates_of,
    refusal,
    web_client,
)
from core.slack_reader import SlackReader
from core.slack_text import (
    TEXT_EDITABLE,
    TEXT_POSTED,
    TEXT_WITH_BLOCKS,
    blocks_without_pings,
    clip,
    text_of_blocks,
    without_pings,
)
from core.slack_uploads import Upload, Uploads
from core.store import Store
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

__all__ = ["SlackWriter", "Upload", "web_client"]

log = get_logger(__name__)

AgentSession = Literal["processing", "suspended", "active"]
METADATA_TYPE = "threadbook"

_BLOCKS_REFUSED = {
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "msg_blocks_too_many",
    "msg_too_long",
    "only_one_table_allowed",
    "invalid_attachments",
}
_NOTHING_TO_DO = {"already_reacted", "no_reaction"}
_NOT_OFFERED = {"unknown_method", "missing_scope", "not_allowed_token_type", "not_agent_app", "method_deprecated"}
_CARD_GONE = {"message_not_found", "cant_update_message", "edit_window_closed"}


class SlackWriter(SlackReader):
    """Writes into Slack threads, and reads what its base class reads. Safe to share between threads of one process."""

    def __init__(self, client: WebClient, store: Store) -> None:
        super().__init__(client)
        self._once = client
        self._store = store
        self._uploads = Uploads(client, self._repeatable, store)
        self._not_offered: set[str] = set()

    # --- niceties

    def react(self, key: ThreadKey, ts: str, name: str, *, lease: Lease | None = None) -> None:
        """Add an emoji to a message. Raises LeaseLost, as all of these do when they are given a lease."""
        self._nicety(
            lease,
            "reactions.add",
            lambda: self._once.reactions_add(channel=key.channel, timestamp=ts, name=name),
        )

    def unreact(self, key: ThreadKey, ts: str, name: str, *, lease: Lease | None = None) -> None:
        """Take our emoji from a message."""
        self._nicety(
            lease,
            "reactions.remove",
            lambda: self._once.reactions_remove(channel=key.channel, timestamp=ts, name=name),
        )

    def set_status(self, key: ThreadKey, text: str, *, lease: Lease | None = None) -> None:
        """The line "<bot> <text>" under the thread. Slack clears it after two minutes and at our next message."""
        self._nicety(
            lease,
            "assistant.threads.setStatus",
            lambda: self._once.assistant_threads_setStatus(
                channel_id=key.channel, thread_ts=key.root_ts, status=clip(text, 100)
            ),
        )

    def set_session(self, key: ThreadKey, state: AgentSession, *, lease: Lease | None = None) -> None:
        """Slack's own view of an agent at work: "processing" is what it shows its Stop button for."""
        self._nicety(
            lease,
            "agents.sessions.setStatus",
            lambda: self._once.agents_sessions_setStatus(channel_id=key.channel, thread_ts=key.root_ts, status=state),
        )

    # --- through the outbox

    def post(
        self, lease: Lease | None, thread: ThreadKey, key: str, text: str, blocks: list[dict[str, Any]] | None = None
    ) -> str:
        """Post into the thread, once per `key` whatever happens; returns the message's ts.

        `text` is mrkdwn with its data escaped; with blocks it is the summary for notifications. When Slack refuses the
        blocks their words are posted as text. Raises SlackFailed, SlackUnreachable, LeaseLost.
        """
        message = _message(text, blocks, TEXT_POSTED)
        row = self._store.outbox_begin(lease, key, "chat.postMessage", message, thread_id=thread.id)
        if row.status == "sent":
            return row.ts or ""
        ts = None if row.fresh else self._find(thread, row)
        if ts is None:
            ts = self._post(lease, thread, row, message)
        self._store.outbox_done(lease, key, ts, {"ts": ts})
        return ts

    def _post(self, lease: Lease | None, thread: ThreadKey, row: OutboxRow, message: dict[str, Any]) -> str:
        for attempt in range(3):
            self._check(lease)
            try:
                reply = self._once.chat_postMessage(
                    channel=thread.channel,
                    thread_ts=thread.root_ts,
                    metadata={"event_type": METADATA_TYPE, "event_payload": {"outbox": row.key}},
                    unfurl_links=False,
                    unfurl_media=False,
                    **message,
                )
            except SlackApiError as error:
                name = error_name(error)
                if name in _BLOCKS_REFUSED and "blocks" in message:
                    log.warning("blocks_refused", key=row.key, error=name, why=error_details(error))
                    message = _as_text(message, TEXT_POSTED)
                    continue
                if not perhaps_done(error):
                    raise refusal("chat.postMessage", error) from error
                lost: Exception = error
            except LOST as error:
                lost = error
            else:
                return str(reply["ts"])
            log.warning("reply_lost", key=row.key, error=repr(lost), attempt=attempt)
            time.sleep(0.5)
            if (ts := self._find(thread, row)) is not None:
                return ts
        raise SlackUnreachable(f"chat.postMessage for {row.key} got no reply")

    def _find(self, thread: ThreadKey, row: OutboxRow) -> str | None:
        """The ts of the message that carries the row's key, if it is in the thread.

        Raises SlackUnreachable when nobody can say so now: posted once more, it might stand there twice.
        """
        # A margin for clocks that disagree; long threads are not read from their beginning.
        oldest = f"{row.created_at.timestamp() - 300:.6f}"
        try:
            with ours("conversations.replies"):
                for page in self._repeatable.conversations_replies(
                    channel=thread.channel, ts=thread.root_ts, oldest=oldest, limit=200, include_all_metadata=True
                ):
                    for message in page.get("messages") or []:
                        payload = (message.get("metadata") or {}).get("event_payload") or {}
                        if payload.get("outbox") == row.key:
                            return str(message["ts"])
        except SlackFailed as error:
            log.warning("lookup_failed", key=row.key, error=str(error))
        return None

    def update(
        self,
        lease: Lease,
        thread: ThreadKey,
        ts: str,
        text: str,
        blocks: list[dict[str, Any]] | None = None,
        *,
        may_wait: bool = True,
    ) -> None:
        """Redraw a message from its full state. Twice is as good as once, so it is repeated when a reply is lost.

        A card that people deleted is let go. A frame that will be old soon should not wait for its turn: without
        `may_wait` it raises SlackBusy instead. Raises SlackFailed, SlackUnreachable, LeaseLost.
        """
        rates = rates_of(self._once)
        if not may_wait and rates is not None and rates.delay("chat.update", thread.channel) > 0:
            raise SlackBusy("chat.update has no budget left for now")
        message = _message(text, blocks, TEXT_EDITABLE)
        for _ in range(2):
            self._check(lease)
            try:
                self._repeatable.chat_update(channel=thread.channel, ts=ts, **message)
            except SlackApiError as error:
                name = error_name(error)
                if name in _BLOCKS_REFUSED and "blocks" in message:
                    log.warning("blocks_refused", ts=ts, error=name, why=error_details(error))
                    message = _as_text(message, TEXT_EDITABLE)
                    continue
                if name in _CARD_GONE:
                    log.info("card_gone", ts=ts, error=name)
                    return
                raise refusal("chat.update", error) from error
            except LOST as error:
                raise SlackUnreachable(f"chat.update got no reply: {error!r}") from error
            return

    def upload(self, lease: Lease, thread: ThreadKey, key: str, files: Sequence[Upload], comment: str = "") -> None:
        """Put files into the thread as one message, once per `key`, and wait until Slack shows them (10 s at most).

        Slack sometimes takes the files and does not show them: then they are uploaded once more. Empty files are left
        out, Slack takes none. Raises SlackFailed, SlackUnreachable, LeaseLost.
        """
        self._uploads.upload(lease, thread, key, files, comment)

    def _check(self, lease: Lease | None) -> None:
        if lease is not None:
            self._store.check(lease)

    def _nicety(self, lease: Lease | None, method: str, call: Callable[[], object]) -> None:
        if method in self._not_offered:
            return
        self._check(lease)
        try:
            call()
        except SlackApiError as error:
            name = error_name(error)
            if name in _NOTHING_TO_DO:
                return
            self._shortcomings.note(method, error)
            if name in _NOT_OFFERED:
                self._not_offered.add(method)
        except (SlackClientError, *LOST) as error:
            log.info("nicety_failed", method=method, error=describe(error))


def _message(text: str, blocks: list[dict[str, Any]] | None, limit: int) -> dict[str, Any]:
    shown = without_pings(text)
    if not blocks:
        return {"text": clip(shown, limit)}
    return {"text": clip(shown, TEXT_WITH_BLOCKS), "blocks": blocks_without_pings(blocks)}


def _as_text(message: dict[str, Any], limit: int) -> dict[str, Any]:
    return {"text": clip(without_pings(text_of_blocks(message["blocks"])), limit) or message["text"]}
