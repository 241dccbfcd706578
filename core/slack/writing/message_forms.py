"""The forms of a message of ours: with all its blocks, without a kind that a workspace does not have, text alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from slack_sdk.errors import SlackApiError

from core.slack.blocks import DATA_TABLE, PLAINER, PLAN
from core.slack.charts import CHART
from core.slack.client import error_details, error_name
from core.slack.text import TEXT_WITH_BLOCKS, text_of_blocks
from core.slack.writing.outgoing import SlackBlocks, SlackText, slack_blocks, slack_text, without_kind

BLOCKS_REFUSED = {
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "msg_blocks_too_many",
    "msg_too_long",
    "only_one_table_allowed",
    "invalid_attachments",
}
"""Slack's errors for a message that it may take in another form."""
_KINDS_REFUSED = {"invalid_blocks", "invalid_blocks_format", "invalid_attachments"}
_INSIDE = {
    CHART: re.compile(r"/(?:chart|title)\b"),
    DATA_TABLE: re.compile(r"/(?:rows|caption|page_size)\b"),
    PLAN: re.compile(r"/(?:title|details|output|status|task_id)\b|/tasks\b(?!/)"),
}


class Message(TypedDict):
    """What a message of ours says."""

    text: SlackText
    blocks: NotRequired[SlackBlocks]


class NewMessage(Message):
    """The same for one that is posted: whether it stands in the channel too."""

    reply_broadcast: NotRequired[bool]


class Lack(NamedTuple):
    """A kind of block that a workspace may not have, and the error that says so."""

    kind: str
    error: str


def written(text: str, blocks: list[dict[str, Any]] | None, limit: int, known: Collection[str] = ()) -> Message:
    """A message that Slack may have. `known` are the web addresses that may stay links.

    A text with blocks is a summary; one without has at most `limit` characters.
    """
    if not blocks:
        return {"text": slack_text(text, known, limit=limit)}
    return {"text": slack_text(text, known, limit=TEXT_WITH_BLOCKS), "blocks": slack_blocks(blocks, known)}


def to_post(message: Message, *, to_channel: bool = False) -> NewMessage:
    """The message as one that is posted; with `to_channel` it stands in the channel too."""
    made = NewMessage(text=message["text"])
    if "blocks" in message:
        made["blocks"] = message["blocks"]
    if to_channel:
        made["reply_broadcast"] = True
    return made


def has_kind(kind: str, blocks: Sequence[dict[str, Any]]) -> bool:
    """Whether one of these blocks is of this kind."""
    return any(block.get("type") == kind for block in blocks)


def optional_kind(message: Message) -> str:
    """A kind of block in this message that the workspace may not have; "" without one."""
    return next((kind for kind in PLAINER if has_kind(kind, message.get("blocks", ()))), "")


def lack_of(message: Message, error: SlackApiError) -> Lack | None:
    """What the workspace may not have; None when Slack's error is about what stands in such a block."""
    name, kind = error_name(error), optional_kind(message)
    if not kind or name not in _KINDS_REFUSED or _INSIDE[kind].search(error_details(error)):
        return None
    return Lack(kind, name)


def simpler(message: Message, limit: int) -> Message:
    """A refused message in a form that Slack may take: without a kind of block that it may not have, else as text."""
    if not (kind := optional_kind(message)):
        return {"text": slack_text(text_of_blocks(message["blocks"]), limit=limit) or message["text"]}
    return {"text": message["text"], "blocks": without_kind(message["blocks"], kind)}
