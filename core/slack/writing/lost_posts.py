"""Finds a post whose reply was lost: by the key in its metadata, or by its words where a server drops metadata.

It uses no clock of ours. The thread is read page by page, from the newest message that was known when the post began.
An interrupted look-up continues where it was: some apps get one page of 15 messages a minute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from core.errors import SlackFailed, SlackUnreachable, outline
from core.rows import OutboxRow
from core.slack.client import LOST, error_name, refusal
from core.slack.text import text_of_blocks, unescape
from core.telemetry import get_logger
from core.values import ThreadKey

log = get_logger(__name__)

METADATA_TYPE = "threadbook"
PAGE = 200
"""Messages asked for at once; a server may give fewer."""

_METHOD = "conversations.replies"
_LINK = re.compile(r"<([^<>|]{1,4000})(?:\|([^<>]*))?>")
_EMOJI = re.compile(r":[a-z0-9_+'-]+:")
_COMPARED = 2_000
"""Characters of a text that are compared: a server may cut a long one."""


def metadata_of(key: str) -> dict[str, Any]:
    """What a post carries so that it can be found."""
    return {"event_type": METADATA_TYPE, "event_payload": {"outbox": key}}


def fingerprint(text: str, blocks: list[dict[str, Any]] | None = None) -> str:
    """The letters and digits of a message's text, or of its blocks if it has no text. Servers keep these.

    Servers mark links, spell emoji out, escape and strip; none of that changes it.
    """
    words = unescape(_LINK.sub(lambda found: found[2] or found[1], text or text_of_blocks(blocks or [])))
    bare = "".join(letter for letter in _EMOJI.sub("", words) if letter.isalnum())
    return (bare or words.strip())[:_COMPARED]


class Lookup:
    """Where to look for one row's post. `known` are messages of other rows; `note` keeps how far the look-up came."""

    def __init__(
        self, thread: ThreadKey, row: OutboxRow, known: frozenset[str], note: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self._thread = thread
        self._row = row
        self._known = known
        self._note = note
        text, blocks = str(row.payload.get("text") or ""), row.payload.get("blocks")
        self._prints = {fingerprint(text, blocks)}
        if blocks:
            self._prints.add(fingerprint(text_of_blocks(blocks)))  # posted as text, because its blocks were refused

    def find(self, client: WebClient) -> str | None:
        """The ts of the post if it is in the thread.

        Raises SlackUnreachable when Slack cannot say now: posting again might post it twice.
        """
        cursor = begun = str(self._row.response.get("cursor") or "")
        try:
            while True:
                page = self._page(client, cursor)
                for message in page.get("messages") or []:
                    if self._is_it(message):
                        return str(message["ts"])
                cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
                if not cursor:
                    if begun:
                        self._note({})  # the next look-up begins again
                    return None
                self._note({"cursor": cursor})
                begun = cursor
        except SlackFailed as error:
            log.warning("lookup_failed", key=self._row.key, error=error)
        return None

    def _page(self, client: WebClient, cursor: str) -> Mapping[str, Any]:
        oldest = self._row.after_ts or self._thread.root_ts
        try:
            reply = client.conversations_replies(
                channel=self._thread.channel,
                ts=self._thread.root_ts,
                oldest=oldest,
                limit=PAGE,
                include_all_metadata=True,
                cursor=cursor or None,
            )
        except SlackApiError as error:
            if cursor and error_name(error) == "invalid_cursor":
                return self._page(client, "")
            raise refusal(_METHOD, error) from error
        except LOST as error:
            raise SlackUnreachable(f"{_METHOD} got no reply: {outline(error)}") from error
        return reply.data if isinstance(reply.data, dict) else {}

    def _is_it(self, message: Mapping[str, Any]) -> bool:
        metadata = message.get("metadata") or {}
        if metadata.get("event_type") == METADATA_TYPE:
            return bool((metadata.get("event_payload") or {}).get("outbox") == self._row.key)
        if not message.get("bot_id") or message.get("files") or message.get("ts") in self._known:
            return False
        return fingerprint(str(message.get("text") or ""), message.get("blocks")) in self._prints
