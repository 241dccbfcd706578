"""The only way for text to Slack: `slack_text` and the functions that use it make a `SlackText`, and nothing else does.

Whatever a text contains when it gets here (a file's name, a column, a sentence of a model that was not made harmless
before), it notifies nobody. A web address in it is shown as code unless a person wrote that address. The methods of the
Web API that write are called in this module alone, and they take no plain `str`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NewType

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse

from core.slack.blocks import PLAINER, Limit
from core.slack.sanitize import sanitize
from core.slack.text import clip_escaped, without_pings
from core.slack.web_addresses import find

SlackText = NewType("SlackText", str)
"""Text that Slack may have. Made by `slack_text` only."""
SlackBlocks = NewType("SlackBlocks", list[dict[str, Any]])
"""Blocks in which every text that Slack parses is a `SlackText`. Made by `slack_blocks` only."""
SlackPrompts = NewType("SlackPrompts", list[dict[str, str]])
"""Prompts to press. Slack parses nothing in them; what they say is posted in the person's name."""
SlackView = NewType("SlackView", dict[str, Any])
"""The same for a modal. Made by `slack_view` only."""

_CODE = re.compile(r"((?<![\w`])```.*?```(?![\w`])|(?<![\w`])`[^`\n]+`(?![\w`]))", re.DOTALL)
"""Text that Slack shows as code. A backtick inside a word does not begin code."""
_NO_MARK = "'"
_IN_WORD = re.compile(r"[\w`]")
_PARSED = frozenset({"mrkdwn", "markdown"})


def slack_text(text: str, known: Collection[str] = (), *, limit: int | None = None) -> SlackText:
    """mrkdwn with its data escaped, safe to post. `known` are the addresses that may stay links.

    At most `limit` characters. Applied again it changes nothing.
    """
    # Code is left alone, except for pings: we cannot know what Slack takes for code.
    parts = _CODE.split(without_pings(text))
    safe = [_without_addresses(part, known) for part in parts[::2]]
    if safe != parts[::2]:  # a single mark would be the beginning of code that ends where an address begins
        safe = [_without_addresses(part.replace("`", _NO_MARK), known) for part in parts[::2]]
        # Two marks side by side are one mark of another kind.
        safe = [re.sub(r"\A`", " `", part) if at else part for at, part in enumerate(safe)]
        safe[:-1] = [re.sub(r"`\Z", "` ", part) for part in safe[:-1]]
    parts[::2] = safe
    shown = "".join(parts)
    if limit is not None and len(shown) > limit:
        shown = clip_escaped(shown, limit)
        if shown.count("`") % 2:  # the cut went through code: what is left of it must not become an address
            shown = shown[: shown.rindex("`")].rstrip() + "…"
    return SlackText(shown)


def slack_blocks(blocks: list[dict[str, Any]], known: Collection[str] = ()) -> SlackBlocks:
    """The same blocks, with every text in them that Slack parses made safe."""
    return SlackBlocks([_safe(block, known) for block in blocks])


def without_kind(blocks: SlackBlocks, kind: str) -> SlackBlocks:
    """The same blocks for a workspace without this kind of `PLAINER`. Slack parses nothing in what takes its place."""
    return SlackBlocks(PLAINER[kind](blocks))


def slack_view(view: dict[str, Any]) -> SlackView:
    """The same modal, with every text in it that Slack parses made safe."""
    return SlackView(_safe(view, ()))


def slack_prompts(prompts: list[dict[str, str]]) -> SlackPrompts:
    """The same prompts: the person who presses one says its message, so nothing in it may ping."""
    return SlackPrompts([{name: without_pings(text) for name, text in prompt.items()} for prompt in prompts])


def _safe(value: Any, known: Collection[str]) -> Any:
    if isinstance(value, list):
        return [_safe(item, known) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind in _PARSED and isinstance(value.get("text"), str):
        text = value["text"]
        # A text that fits may grow when it is made safe. One that never fitted is refused, and posted whole as text.
        limit = Limit.SECTION if len(text) <= Limit.SECTION else None
        shown = sanitize(text, known) if kind == "markdown" else slack_text(text, known, limit=limit)
        return {**value, "text": without_pings(shown)}
    safe = {name: _safe(item, known) for name, item in value.items()}
    if kind == "data_table" and isinstance(safe.get("caption"), str):
        safe["caption"] = without_pings(safe["caption"])
    return safe


def _without_addresses(text: str, known: Collection[str]) -> str:
    result, at = "", 0
    for address in find(text):
        if address.text not in known:
            before = text[at : address.start]
            gap = " " if before and _IN_WORD.fullmatch(before[-1]) else ""
            result, at = f"{result}{before}{gap}`{text[address.start : address.end]}`", address.end
    return result + text[at:]


# --- the methods that write


def post_message(
    client: WebClient,
    *,
    channel: str,
    thread_ts: str | None,
    metadata: dict[str, Any],
    text: SlackText,
    blocks: SlackBlocks | None = None,
    reply_broadcast: bool = False,
) -> SlackResponse:
    """chat.postMessage, never unfurled: an unfurler fetches an address without anybody pressing it."""
    return client.chat_postMessage(
        channel=channel,
        thread_ts=thread_ts,
        metadata=metadata,
        unfurl_links=False,
        unfurl_media=False,
        text=text,
        **_given(blocks),
        reply_broadcast=reply_broadcast or None,
    )


def update_message(
    client: WebClient, *, channel: str, ts: str, text: SlackText, blocks: SlackBlocks | None = None
) -> SlackResponse:
    """chat.update."""
    return client.chat_update(channel=channel, ts=ts, text=text, **_given(blocks))


def _given(blocks: SlackBlocks | None) -> dict[str, Any]:
    return {} if blocks is None else {"blocks": blocks}


def whisper(
    client: WebClient,
    *,
    channel: str,
    thread_ts: str | None,
    user: str,
    text: SlackText,
    blocks: SlackBlocks | None = None,
) -> SlackResponse:
    """chat.postEphemeral. In a thread without replies Slack shows no such message."""
    return client.chat_postEphemeral(channel=channel, thread_ts=thread_ts, user=user, text=text, **_given(blocks))


def open_view(client: WebClient, *, trigger_id: str, view: SlackView) -> SlackResponse:
    """views.open."""
    return client.views_open(trigger_id=trigger_id, view=view)


def update_view(client: WebClient, *, view_id: str, hash: str | None, view: SlackView) -> SlackResponse:
    """views.update."""
    return client.views_update(view_id=view_id, hash=hash, view=view)


def set_status(client: WebClient, *, channel: str, thread_ts: str, status: SlackText) -> SlackResponse:
    """assistant.threads.setStatus."""
    return client.assistant_threads_setStatus(channel_id=channel, thread_ts=thread_ts, status=status)


def set_title(client: WebClient, *, channel: str, thread_ts: str, title: SlackText) -> SlackResponse:
    """assistant.threads.setTitle."""
    return client.assistant_threads_setTitle(channel_id=channel, thread_ts=thread_ts, title=title)


def suggest_prompts(client: WebClient, *, channel: str, thread_ts: str | None, prompts: SlackPrompts) -> SlackResponse:
    """assistant.threads.setSuggestedPrompts."""
    return client.assistant_threads_setSuggestedPrompts(channel_id=channel, thread_ts=thread_ts, prompts=prompts)


def publish_view(client: WebClient, *, user: str, hash: str | None, view: SlackView) -> SlackResponse:
    """views.publish."""
    return client.views_publish(user_id=user, view=view, hash=hash)


def share_files(
    client: WebClient, *, files: list[dict[str, str | None]], channel: str, thread_ts: str, comment: SlackText | None
) -> SlackResponse:
    """files.completeUploadExternal, whose comment has no flag against unfurling."""
    return client.files_completeUploadExternal(
        files=files, channel_id=channel, thread_ts=thread_ts, initial_comment=comment
    )


if TYPE_CHECKING:

    def _a_plain_str_is_refused(client: WebClient) -> None:
        """mypy checks this: if one of these lines were no error any more, mypy would report its comment."""
        whisper(client, channel="", thread_ts="", user="", text="plain", blocks=None)  # type: ignore[arg-type]
        update_message(client, channel="", ts="", text=slack_text(""), blocks=[{}])  # type: ignore[arg-type]
        share_files(client, files=[], channel="", thread_ts="", comment="plain")  # type: ignore[arg-type]
        set_status(client, channel="", thread_ts="", status="plain")  # type: ignore[arg-type]
        open_view(client, trigger_id="", view={})  # type: ignore[arg-type]
