"""What is read from Slack: threads and their messages, people and channels.

A look-up that Slack refuses gives a default instead of an error.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackBusy, SlackUnreachable, outline
from core.slack.client import LOST, ours, rates_of, refusal
from core.slack.reading.channels import Channels
from core.slack.reading.incoming import files_in
from core.slack.reading.look_ups import MAX_PAGES
from core.telemetry import get_logger
from core.values import FileRef, ThreadKey

log = get_logger(__name__)


class SlackReader(Channels):
    """Looks things up. A file that Slack does not give is left out."""

    def __init__(self, client: WebClient) -> None:
        super().__init__(client)
        self._url = ""

    def thread_messages(self, thread: ThreadKey, *, upto: str) -> list[dict[str, Any]]:
        """The messages of a thread up to a ts (with it), oldest first, as Slack has them; empty when it refuses.

        At most `MAX_PAGES` pages: an app that may read 15 messages a minute is done after some minutes. Raises
        SlackUnreachable when Slack does not answer now.
        """
        return self._replies(thread, latest=upto, inclusive=True, limit=200)

    def messages_since(self, thread: ThreadKey, ts: str) -> list[dict[str, Any]]:
        """The messages of a thread after a ts (without it), oldest first; empty when Slack refuses.

        Raises SlackBusy instead of waiting for the rate budget, and SlackUnreachable when Slack does not answer now.
        """
        rates = rates_of(self._repeatable)
        if rates is not None and rates.delay("conversations.replies", thread.channel) > 0:
            raise SlackBusy("conversations.replies has no budget left for now")
        # A small page: it is the most that some apps may have, and most threads have nothing new.
        found = self._replies(thread, oldest=ts, limit=15)
        return [message for message in found if message.get("ts") not in (ts, thread.root_ts)]

    def _replies(self, thread: ThreadKey, **bounds: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        try:
            pages = self._repeatable.conversations_replies(channel=thread.channel, ts=thread.root_ts, **bounds)
            for page in islice(pages, MAX_PAGES):
                found += [message for message in page.get("messages") or [] if isinstance(message, dict)]
        except SlackApiError as error:
            failure = refusal("conversations.replies", error)
            if isinstance(failure, SlackUnreachable):
                raise failure from error
            self._shortcomings.note("conversations.replies", error)
        except LOST as error:
            raise SlackUnreachable(f"the thread {thread.id} could not be read: {outline(error)}") from error
        return found

    def message_files(self, thread: ThreadKey, ts: str) -> tuple[FileRef, ...]:
        """The files of one message, looked up; empty when it has none or may not be read.

        Raises SlackUnreachable when Slack does not answer now.
        """
        message = self.message(thread, ts)
        return files_in(message) if message else ()

    def message_blocks(self, thread: ThreadKey, ts: str) -> list[dict[str, Any]]:
        """The blocks of one message, as Slack has them now; empty when it has none or may not be read.

        Raises SlackUnreachable when Slack does not answer now.
        """
        blocks = (self.message(thread, ts) or {}).get("blocks")
        return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []

    def message(self, thread: ThreadKey, ts: str) -> dict[str, Any] | None:
        """One message as Slack has it; None when it is not there or may not be read.

        Raises SlackUnreachable when Slack does not answer now.
        """
        try:
            reply = self._repeatable.conversations_replies(
                channel=thread.channel, ts=thread.root_ts, oldest=ts, latest=ts, inclusive=True, limit=10
            )
        except SlackApiError as error:
            failure = refusal("conversations.replies", error)
            if isinstance(failure, SlackUnreachable):
                raise failure from error
            self._shortcomings.note("conversations.replies", error)
            return None
        except LOST as error:
            raise SlackUnreachable(f"the message {ts} could not be looked up: {outline(error)}") from error
        messages = reply.get("messages") or []
        return next((each for each in messages if isinstance(each, dict) and each.get("ts") == ts), None)

    def link(self, thread: ThreadKey) -> str:
        """The address of a thread's first message; "" when Slack gives none."""
        try:
            reply = self._repeatable.chat_getPermalink(channel=thread.channel, message_ts=thread.root_ts)
            return str(reply.get("permalink") or "")
        except SlackApiError as error:
            self._shortcomings.note("chat.getPermalink", error)
        except LOST as error:
            log.info("no_link", error=error)
        return ""

    def bot_user(self) -> str:
        """Our own user id. Raises SlackFailed, SlackUnreachable."""
        with ours("auth.test"):
            return str(self._repeatable.auth_test()["user_id"])

    def workspace_url(self) -> str:
        """The address of the workspace, "https://name.slack.com/"; links to messages begin with it. "" when unknown."""
        if not self._url:
            try:
                self._url = str(self._repeatable.auth_test().get("url") or "")
            except SlackApiError as error:
                self._shortcomings.note("auth.test", error)
            except LOST as error:
                log.info("workspace_unknown", error=error)
        return self._url
