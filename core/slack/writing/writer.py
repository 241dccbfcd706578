"""Everything that is written to Slack, for any server that speaks Slack's Web API.

Posts go through the Store's outbox (`posts.py`), and so do files (`uploads.py`). Messages of ours are redrawn from
their full state. Niceties never fail the caller (`niceties.py`).

A worker passes the lease of its thread. It is checked right before each call, so a worker that was paused past its
lease writes nothing any more. Slack has no fencing tokens: between the check and the call a lease can still be lost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackBusy, SlackUnreachable, outline
from core.rows import NewReport, OutboxRow
from core.slack.blocks import PLAINER
from core.slack.client import LOST, error_details, error_name, passes_by_itself, refusal, web_client
from core.slack.rates import Crowded, decorative
from core.slack.text import TEXT_EDITABLE
from core.slack.writing.message_forms import BLOCKS_REFUSED, Lack, lack_of, optional_kind, simpler, written
from core.slack.writing.niceties import AgentSession
from core.slack.writing.outbox import Outbox
from core.slack.writing.outgoing import update_message
from core.slack.writing.posts import Posts
from core.slack.writing.uploads import Upload, Uploads
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

__all__ = ["AgentSession", "SlackWriter", "Upload", "web_client"]

log = get_logger(__name__)

SPARED_FRAMES = 5
"""Slots of chat.update that frames of running turns leave to the last states of turns that end."""

_CARD_GONE = {"message_not_found", "cant_update_message", "edit_window_closed"}


class SlackWriter(Posts):
    """Writes into Slack threads, and reads what its base class reads. Safe to share between threads of one process."""

    def __init__(self, client: WebClient, outbox: Outbox) -> None:
        super().__init__(client, outbox)
        self._uploads = Uploads((client, self._repeatable), outbox, self._shares, self._missing_features, self._owed)

    def update(
        self,
        lease: Lease | None,
        thread: ThreadKey,
        ts: str,
        text: str,
        blocks: list[dict[str, Any]] | None = None,
        *,
        may_wait: bool = True,
        whole: bool = False,
        known: Collection[str] = (),
    ) -> None:
        """Redraw a message from its full state. It is idempotent, so it is repeated when a reply is lost.

        With `whole`, blocks that Slack refuses in every form are an error: their text alone would be cut. `known`: see
        `post_once`.

        A message that people deleted is left alone. With `may_wait=False` it raises SlackBusy instead of waiting for
        the rate limit: a frame that will soon be outdated is not worth the wait. Raises SlackFailed, SlackUnreachable,
        LeaseLost.
        """
        message = written(text, self._offered(thread, blocks), TEXT_EDITABLE, known)
        lacks: Lack | None = None
        pace: AbstractContextManager[None] = nullcontext() if may_wait else decorative(SPARED_FRAMES)
        with pace:
            for _ in range(2 + len(PLAINER)):
                self._check(lease)
                try:
                    update_message(self._repeatable, channel=thread.channel, ts=ts, **message)
                except SlackApiError as error:
                    name = error_name(error)
                    if name in BLOCKS_REFUSED and "blocks" in message and (optional_kind(message) or not whole):
                        log.warning("blocks_refused", ts=ts, error=name, why=error_details(error))
                        lacks, message = lack_of(message, error), simpler(message, TEXT_EDITABLE)
                        continue
                    if name in _CARD_GONE:
                        log.info("card_gone", ts=ts, error=name)
                        return
                    if not may_wait and passes_by_itself(error):
                        raise SlackBusy(f"chat.update: {name}") from error
                    raise refusal("chat.update", error) from error
                except Crowded as error:
                    raise SlackBusy(f"chat.update has no budget left for now: {error}") from error
                except LOST as error:
                    raise SlackUnreachable(f"chat.update got no reply: {outline(error)}") from error
                self._note_lack(thread, message, lacks)
                return

    def prepare_upload(self, thread: ThreadKey, key: str, files: Sequence[Upload]) -> None:
        """Send the bytes of an upload that nobody has begun before. See `Uploads.prepare`."""
        self._uploads.prepare(thread, key, files)

    def forget_upload(self, key: str) -> None:
        """Drop what was prepared for an upload, if it was not begun."""
        self._uploads.forget(key)

    def upload(self, lease: Lease, thread: ThreadKey, key: str, files: Sequence[Upload], comment: str = "") -> None:
        """Put files into the thread as one message, once per `key`. See `Uploads.upload`."""
        self._uploads.upload(lease, thread, key, files, comment)

    def has_files(self, lease: Lease, thread: ThreadKey, key: str) -> bool:
        """Whether Slack has the files of an upload that nobody can make again. See `Uploads.has`."""
        return self._uploads.has(lease, thread, key)

    def note_later(self, lease: Lease) -> None:
        """From now on, note what this thread gets with the next row that is begun for it. See `Owed`."""
        self._owed.note_later(lease.thread_id)

    def save_later(self, lease: Lease, report: NewReport) -> None:
        """Store this report with the next row that is begun for its thread, so before anything of it is posted."""
        self._owed.add_report(lease.thread_id, report)

    def note_now(self, lease: Lease) -> bool:
        """Note what is not noted yet; True when something was, and so the lease was checked. Raises LeaseLost."""
        return self._owed.note_now(lease)

    def forget_later(self, lease: Lease) -> None:
        """The turn ends. What is not noted by now is looked up by whoever goes on with it."""
        self._owed.forget(lease.thread_id)

    def unshown(self, lease: Lease, thread: ThreadKey, *, but: str) -> list[OutboxRow]:
        """The files that Slack took long ago and does not show. See `Shares.unshown`."""
        return self._shares.unshown(lease, thread, but=but)

    def give_up_files(self, lease: Lease, row: OutboxRow) -> None:
        """Stop looking up these files: the thread was told that Slack does not show them."""
        self._outbox.outbox_dropped(lease, row.key)
