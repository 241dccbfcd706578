"""Posts, each made once: through the Store's outbox.

A row with a deterministic key stands before the call, and the message carries the key in its metadata. When a reply is
lost, the message is looked for in the thread before anything is sent again (`lost_posts.py`). So nothing is posted
twice and nothing is left out. A call that was refused or never made is no lost reply: its row says so, and nothing is
looked for.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackBusy, SlackUnreachable
from core.retry import retry_call
from core.rows import OutboxRow, Sent
from core.slack.blocks import PLAINER
from core.slack.client import LOST, error_details, error_name, ours, perhaps_done, refusal
from core.slack.rates import LONGEST_WAIT_S, Crowded
from core.slack.text import TEXT_POSTED
from core.slack.writing.lost_posts import Lookup, metadata_of
from core.slack.writing.message_forms import (
    BLOCKS_REFUSED,
    Lack,
    Message,
    NewMessage,
    has_kind,
    lack_of,
    simpler,
    to_post,
    written,
)
from core.slack.writing.niceties import Niceties
from core.slack.writing.outbox import Outbox
from core.slack.writing.outgoing import post_message
from core.slack.writing.owed import Owed
from core.slack.writing.shares import Shares
from core.telemetry import get_logger
from core.values import Lease, ThreadKey

log = get_logger(__name__)

IN_FLIGHT = timedelta(seconds=LONGEST_WAIT_S + 20)
"""For this time, a post that somebody's press caused counts as being sent. Then it is looked up again. It may wait for
its rate budget, so it is not in the thread before that."""
LOOK_AFTER_S = 0.5
"""A message whose reply was lost can be found in its thread by then."""

_POST = "chat.postMessage"
_MAX_DIRECT = 10_000


class _ReplyLost(Exception):
    """No usable reply came: the message may stand in the thread or not."""


class Posted(NamedTuple):
    """A message of ours: its ts, and whether this very call put it into the thread."""

    ts: str
    new: bool


class Posts(Niceties):
    """Adds posting to what its base class does. Safe to share between threads of one process."""

    def __init__(self, client: WebClient, outbox: Outbox) -> None:
        super().__init__(client, outbox)
        self._direct: dict[str, str] = {}
        self._shares = Shares(self._repeatable, outbox)
        self._owed = Owed(outbox)

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
        message = to_post(written(text, self._offered(thread, blocks), TEXT_POSTED, known), to_channel=to_channel)
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
        message = to_post(written(text, None, TEXT_POSTED))
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
        message = to_post(written(text, None, TEXT_POSTED, known))
        row = self._outbox.outbox_begin(lease, key, _POST, dict(message), thread_id=thread.id)
        return self._begin(lease, ThreadKey(thread.team, channel, row.ts or ""), row, message)

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
        self, lease: Lease | None, thread: ThreadKey, row: OutboxRow, message: NewMessage, *, lacks: Lack | None = None
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
            if name in BLOCKS_REFUSED and "blocks" in message:
                log.warning("blocks_refused", key=row.key, error=name, why=error_details(error))
                self._check(lease)
                plain = to_post(simpler(message, TEXT_POSTED), to_channel=message.get("reply_broadcast", False))
                return self._post_once(lease, thread, row, plain, lacks=lack_of(message, error))
            if perhaps_done(error):
                raise _ReplyLost from error
            raise
        except Crowded:
            raise
        except LOST as error:
            raise _ReplyLost from error
        self._note_lack(thread, message, lacks)
        return str(reply["ts"])

    def _note_lack(self, thread: ThreadKey, message: Message, lacks: Lack | None) -> None:
        """Remember that this workspace refused a message with a kind of block, and took it without that kind."""
        if lacks is not None and "blocks" in message:
            log.info("blocks_not_offered", team=thread.team, kind=lacks.kind, error=lacks.error)
            self._missing_features.note(thread.team, lacks.kind, lacks.error)

    def _offered(self, thread: ThreadKey, blocks: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        """The blocks as this workspace takes them, as far as we know."""
        for kind, plainer in PLAINER.items():
            if blocks and has_kind(kind, blocks) and self._missing_features.error(thread.team, kind):
                blocks = plainer(blocks)
        return blocks

    def _find(self, lease: Lease | None, thread: ThreadKey, row: OutboxRow) -> str | None:
        known = self._outbox.outbox_known(thread.id)
        note = lambda progress: self._outbox.outbox_note(lease, row.key, progress)  # noqa: E731 - one line of it
        return Lookup(thread, row, known, note).find(self._repeatable)
