"""Everything that is written to Slack, for any server that speaks Slack's Web API.

Posts go through the Store's outbox: a row with a deterministic key stands before the call, and the message carries the
key in its metadata. When a reply is lost the thread is searched for it before anything is sent again
(`core/slack/lookup.py`), so nothing is posted twice and nothing is left out. A call that was refused or never made is
no lost reply: its row says so, and nothing is searched for. Niceties never fail the caller (`core/slack/niceties.py`).

A worker passes the lease of its thread. It is checked right before each call, so a worker that was paused past its
lease writes nothing any more. Slack has no fencing tokens: between the check and the call a lease can still be lost.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, NotRequired, TypedDict

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackBusy, SlackUnreachable, outline
from core.retry import retry_call
from core.rows import NewReport, OutboxRow, Sent
from core.slack.blocks import DATA_TABLE, PLAINER, PLAN
from core.slack.charts import CHART
from core.slack.client import LOST, error_details, error_name, ours, passes_by_itself, perhaps_done, refusal, web_client
from core.slack.lookup import Lookup, metadata_of
from core.slack.niceties import AgentSession, Niceties
from core.slack.outbox import Outbox
from core.slack.outgoing import (
    SlackBlocks,
    SlackText,
    post_message,
    slack_blocks,
    slack_text,
    update_message,
    without_kind,
)
from core.slack.owed import Owed
from core.slack.rates import LONGEST_WAIT_S, Crowded, decorative
from core.slack.shares import Shares
from core.slack.text import (
    TEXT_EDITABLE,
    TEXT_POSTED,
    TEXT_WITH_BLOCKS,
    text_of_blocks,
)
from core.slack.uploads import Upload, Uploads
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

__all__ = ["AgentSession", "SlackWriter", "Upload", "web_client"]

log = get_logger(__name__)

IN_FLIGHT = timedelta(seconds=LONGEST_WAIT_S + 20)
"""For this time, a post that somebody's press caused counts as being sent. Then it is looked up again. It may wait for
its rate budget, so it is not in the thread before that."""
LOOK_AFTER_S = 0.5
"""A message whose reply was lost can be found in its thread by then."""
SPARED_FRAMES = 5
"""Slots of chat.update that frames of running turns leave to the last states of turns that end."""

_POST = "chat.postMessage"
_MAX_DIRECT = 10_000
_BLOCKS_REFUSED = {
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "msg_blocks_too_many",
    "msg_too_long",
    "only_one_table_allowed",
    "invalid_attachments",
}
_CARD_GONE = {"message_not_found", "cant_update_message", "edit_window_closed"}


class _ReplyLost(Exception):
    """No usable reply came: the message may stand in the thread or not."""


class Message(TypedDict):
    """What a message of ours says."""

    text: SlackText
    blocks: NotRequired[SlackBlocks]


class NewMessage(Message):
    """The same for one that is posted: whether it stands in the channel too."""

    reply_broadcast: NotRequired[bool]


class _Lack(NamedTuple):
    """A kind of block that a workspace may not have, and the error that says so."""

    kind: str
    error: str


class Posted(NamedTuple):
    """A message of ours: its ts, and whether this very call put it into the thread."""

    ts: str
    new: bool


class SlackWriter(Niceties):
    """Writes into Slack threads, and reads what its base class reads. Safe to share between threads of one process."""

    def __init__(self, client: WebClient, outbox: Outbox) -> None:
        super().__init__(client, outbox)
        self._direct: dict[str, str] = {}
        self._shares = Shares(self._repeatable, outbox)
        self._owed = Owed(outbox)
        self._uploads = Uploads((client, self._repeatable), outbox, self._shares, self._without, self._owed)

    # --- through the outbox

    def post(
        self, lease: Lease | None, thread: ThreadKey, key: str, text: str, blocks: list[dict[str, Any]] | None = None
    ) -> str:
        """Post into the thread, once per `key` whatever happens; returns the message's ts. See `post_once`."""
        return self.post_once(lease, thread, key, text, blocks).ts

    def post_once(
        self,
        lease: Lease | None,
        thread: ThreadKey,
        key: str,
        text: str,
        blocks: list[dict[str, Any]] | None = None,
        *,
        to_channel: bool = False,
        pressed: bool = False,
        known: Collection[str] = (),
    ) -> Posted:
        """The same, with whether it was posted now. With `to_channel` it stands in the channel too.

        `pressed`: several people may ask for it at the same moment, and no lease keeps them apart. A post that is on
        its way counts as posted then, with "" as its ts.

        `text` is mrkdwn with its data escaped; with blocks it is the summary for notifications. `known` are the web
        addresses that may stay links. When Slack refuses the blocks, their text is posted instead. Files that were
        uploaded before are waited for, so that the thread keeps its order. Raises SlackFailed, SlackUnreachable,
        LeaseLost.
        """
        message = _new(_message(text, self._offered(thread, blocks), TEXT_POSTED, known), to_channel=to_channel)
        owed = self._owed.take(thread.id)
        row = self._outbox.outbox_begin(
            lease, key, _POST, dict(message), thread_id=thread.id, sent=owed.sent, report=owed.report
        )
        if row.status == "sent":
            return Posted(row.ts or "", new=False)
        if pressed and self._is_of_another(row):
            return Posted("", new=False)
        waited = self._shares.settle(lease, thread)
        found = None if row.fresh else self._find(lease, thread, row)
        # Writing the row has checked the lease, a moment ago.
        ts = found or self._post(lease, thread, row, message, is_checked=row.fresh and not waited)
        self._owed.add(lease, thread.id, Sent(key, ts, {"ts": ts}))
        return Posted(ts, new=not found)

    def begin_privately(self, lease: Lease | None, thread: ThreadKey, user: str, key: str, text: str) -> ThreadKey:
        """Begin a thread in the direct message with a person, once per `key`; `thread` is the one that it is about.

        A post whose reply was lost cannot be looked up outside of a thread, so it may stand there twice; the thread
        that counts is the last. Raises SlackFailed, SlackUnreachable, LeaseLost.
        """
        return self.begin_thread(lease, thread, self.direct_message(user), key, text)

    def begin_pressed(self, thread: ThreadKey, user: str, key: str, text: str) -> ThreadKey | None:
        """The same for what somebody pressed for, where no lease keeps two bots apart.

        None when another one is posting it at this moment.
        """
        channel = self.direct_message(user)
        message = _new(_message(text, None, TEXT_POSTED), to_channel=False)
        row = self._outbox.outbox_begin(None, key, _POST, dict(message), thread_id=thread.id)
        if self._is_of_another(row):
            return None
        return self._begin(None, ThreadKey(thread.team, channel, row.ts or ""), row, message)

    def begin_thread(
        self,
        lease: Lease | None,
        thread: ThreadKey,
        channel: str,
        key: str,
        text: str,
        *,
        known: Collection[str] = (),
    ) -> ThreadKey:
        """Begin a thread in a channel, as `begin_privately` does in a direct message. `known`: see `post_once`."""
        message = _new(_message(text, None, TEXT_POSTED, known), to_channel=False)
        row = self._outbox.outbox_begin(lease, key, _POST, dict(message), thread_id=thread.id)
        return self._begin(lease, ThreadKey(thread.team, channel, row.ts or ""), row, message)

    def _is_of_another(self, row: OutboxRow) -> bool:
        """Whether somebody else began this post and may still be at it. One that was given up is ours, and nobody's
        who asks at this moment too.
        """
        if row.fresh or row.status != "sending":
            return False
        age = abs(datetime.now(UTC) - row.created_at)  # the clock may have been set back since
        return age < IN_FLIGHT or not self._outbox.outbox_take_up(row)

    def _begin(self, lease: Lease | None, begun: ThreadKey, row: OutboxRow, message: NewMessage) -> ThreadKey:
        """Post this row where no thread is; `begun` has the ts of one that was sent before."""
        if row.status == "sent":
            return begun
        try:
            ts = self._post_once(lease, ThreadKey(begun.team, begun.channel, ""), row, message)
        except _ReplyLost as error:
            raise SlackUnreachable(f"{_POST} for {row.key} got no reply") from error
        except Crowded as error:
            self._unsent(lease, row, str(error), lost=not row.fresh)
            raise SlackBusy(str(error)) from error
        except SlackApiError as error:
            self._unsent(lease, row, error_name(error), lost=not row.fresh)
            raise refusal(_POST, error) from error
        self._outbox.outbox_done(lease, row.key, ts, {"ts": ts})
        return ThreadKey(begun.team, begun.channel, ts)

    def direct_message(self, user: str) -> str:
        """The channel of the direct message with a person, cached. Raises SlackFailed, SlackUnreachable."""
        if (known := self._direct.get(user)) is not None:
            return known
        with ours("conversations.open"):
            channel = str(self._repeatable.conversations_open(users=user)["channel"]["id"])
        if len(self._direct) >= _MAX_DIRECT:
            self._direct.clear()
        self._direct[user] = channel
        return channel

    def _post(
        self, lease: Lease | None, thread: ThreadKey, row: OutboxRow, message: NewMessage, *, is_checked: bool
    ) -> str:
        lost = not row.fresh  # only then may an earlier call of this row have arrived

        def post_or_find() -> str:
            nonlocal lost, is_checked
            try:
                if not is_checked:
                    self._check(lease)
                is_checked = False
                return self._post_once(lease, thread, row, message)
            except _ReplyLost as error:
                lost = True
                log.warning("reply_lost", key=row.key, error=error.__cause__)
                time.sleep(LOOK_AFTER_S)
                if (ts := self._find(lease, thread, row)) is None:
                    raise
                return ts
            except Crowded as error:
                self._unsent(lease, row, str(error), lost=lost)
                raise SlackBusy(str(error)) from error
            except SlackApiError as error:
                self._unsent(lease, row, error_name(error), lost=lost)
                raise refusal(_POST, error) from error

        return retry_call(
            post_or_find,
            on=_ReplyLost,
            attempts=3,
            every_s=0,
            give_up=lambda _: SlackUnreachable(f"{_POST} for {row.key} got no reply"),
        )

    def _unsent(self, lease: Lease | None, row: OutboxRow, why: str, *, lost: bool) -> None:
        if not lost:
            self._outbox.outbox_unsent(lease, row.key, why)

    def _post_once(
        self, lease: Lease | None, thread: ThreadKey, row: OutboxRow, message: NewMessage, *, lacks: _Lack | None = None
    ) -> str:
        """The ts of the new message; with plainer blocks, or as text, when Slack refuses its blocks.

        `lacks`: what Slack said of the same message with one more kind of block. Raises _ReplyLost: it may be posted.
        Raises Crowded or SlackApiError: it is not.
        """
        try:
            reply = post_message(
                self._once,
                channel=thread.channel,
                thread_ts=thread.root_ts or None,
                metadata=metadata_of(row.key),
                **message,
            )
        except SlackApiError as error:
            name = error_name(error)
            if name in _BLOCKS_REFUSED and "blocks" in message:
                log.warning("blocks_refused", key=row.key, error=name, why=error_details(error))
                self._check(lease)
                plain = _new(_simpler(message, TEXT_POSTED), to_channel=message.get("reply_broadcast", False))
                return self._post_once(lease, thread, row, plain, lacks=_lack_of(message, error))
            if perhaps_done(error):
                raise _ReplyLost from error
            raise
        except Crowded:
            raise
        except LOST as error:
            raise _ReplyLost from error
        self._note_lack(thread, message, lacks)
        return str(reply["ts"])

    def _note_lack(self, thread: ThreadKey, message: Message, lacks: _Lack | None) -> None:
        """Remember that this workspace refused a message with a kind of block, and took it without that kind."""
        if lacks is not None and "blocks" in message:
            log.info("blocks_not_offered", team=thread.team, kind=lacks.kind, error=lacks.error)
            self._without.note(thread.team, lacks.kind, lacks.error)

    def _offered(self, thread: ThreadKey, blocks: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        """The blocks as this workspace takes them, as far as we know."""
        for kind, plainer in PLAINER.items():
            if blocks and _has(kind, blocks) and self._without.error(thread.team, kind):
                blocks = plainer(blocks)
        return blocks

    def _find(self, lease: Lease | None, thread: ThreadKey, row: OutboxRow) -> str | None:
        known = self._outbox.outbox_known(thread.id)
        note = lambda progress: self._outbox.outbox_note(lease, row.key, progress)  # noqa: E731 - one line of it
        return Lookup(thread, row, known, note).find(self._repeatable)

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
        message = _message(text, self._offered(thread, blocks), TEXT_EDITABLE, known)
        lacks: _Lack | None = None
        pace: AbstractContextManager[None] = nullcontext() if may_wait else decorative(SPARED_FRAMES)
        with pace:
            for _ in range(2 + len(PLAINER)):
                self._check(lease)
                try:
                    update_message(self._repeatable, channel=thread.channel, ts=ts, **message)
                except SlackApiError as error:
                    name = error_name(error)
                    if name in _BLOCKS_REFUSED and "blocks" in message and (_optional_in(message) or not whole):
                        log.warning("blocks_refused", ts=ts, error=name, why=error_details(error))
                        lacks, message = _lack_of(message, error), _simpler(message, TEXT_EDITABLE)
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


def _message(text: str, blocks: list[dict[str, Any]] | None, limit: int, known: Collection[str] = ()) -> Message:
    if not blocks:
        return {"text": slack_text(text, known, limit=limit)}
    return {"text": slack_text(text, known, limit=TEXT_WITH_BLOCKS), "blocks": slack_blocks(blocks, known)}


def _new(message: Message, *, to_channel: bool) -> NewMessage:
    made = NewMessage(text=message["text"])
    if "blocks" in message:
        made["blocks"] = message["blocks"]
    if to_channel:
        made["reply_broadcast"] = True
    return made


def _has(kind: str, blocks: Sequence[dict[str, Any]]) -> bool:
    return any(block.get("type") == kind for block in blocks)


def _optional_in(message: Message) -> str:
    """A kind of block in this message that the workspace may not have; "" without one."""
    return next((kind for kind in PLAINER if _has(kind, message.get("blocks", ()))), "")


def _lack_of(message: Message, error: SlackApiError) -> _Lack | None:
    """What the workspace may not have; None when Slack's error is about what stands in such a block."""
    name, kind = error_name(error), _optional_in(message)
    if not kind or name not in _KINDS_REFUSED or _INSIDE[kind].search(error_details(error)):
        return None
    return _Lack(kind, name)


_KINDS_REFUSED = {"invalid_blocks", "invalid_blocks_format", "invalid_attachments"}
_INSIDE = {
    CHART: re.compile(r"/(?:chart|title)\b"),
    DATA_TABLE: re.compile(r"/(?:rows|caption|page_size)\b"),
    PLAN: re.compile(r"/(?:title|details|output|status|task_id)\b|/tasks\b(?!/)"),
}


def _simpler(message: Message, limit: int) -> Message:
    """A refused message in a form that Slack may take: without a kind of block that it may not have, else as text."""
    if not (kind := _optional_in(message)):
        return _as_text(message, limit)
    return {"text": message["text"], "blocks": without_kind(message["blocks"], kind)}


def _as_text(message: Message, limit: int) -> Message:
    return {"text": slack_text(text_of_blocks(message["blocks"]), limit=limit) or message["text"]}
