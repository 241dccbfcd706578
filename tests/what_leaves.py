"""What left for Slack that must not: the bound of docs/security.md, asked of every call that was made.

It believes none of our own parsers. An address that leads away counts wherever Slack could make a link of it: in mrkdwn
or Markdown outside of code, as a link element, as a picture.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from markdown_it import MarkdownIt

from core.slack.fake import FakeSlack
from core.values import ThreadKey

READS = frozenset(
    {"users.info", "users.list", "files.info", "conversations.replies", "conversations.info", "auth.test"}
)
_CODE = re.compile(r"```.*?(?:```|\Z)|(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_PING = re.compile(r"<[!@#]|@(?:here|channel|everyone)\b(?!\u200b)", re.IGNORECASE)
_AWAY = re.compile(
    r"(?:https?|ftps?|wss?|file|slack):[/\\]+[^\s`<>|)]+|mailto:[^\s`<>|)]+"
    r"|(?<![\w@.])(?:[\w-]+\.)+com(?![\w.-])(?:[/?#:][^\s`<>|)]*)?|(?<![\d.])\d+\.\d+\.\d+\.\d+/",
    re.IGNORECASE,
)


def leaks(slack: FakeSlack, thread: ThreadKey, *, secrets: Collection[str] = ()) -> list[str]:
    """A line for each thing that left and must not have."""
    found: list[str] = []
    for method, arguments in slack.calls:
        if method not in READS:
            found += [f"{method}: {why}" for why in _of_call(method, arguments, thread, secrets)]
    for message in slack.thread(thread.root_ts):
        for file in message.get("files", []) if message.get("bot_id") else []:
            found += [f"{file['name']}: {why}" for why in _of_file(file, slack.content(file["id"]), secrets)]
    return found


def _of_call(method: str, arguments: dict[str, Any], thread: ThreadKey, secrets: Collection[str]) -> Iterator[str]:
    if (channel := arguments.get("channel") or arguments.get("channel_id") or thread.channel) != thread.channel:
        yield f"went to {channel}"
    if arguments.get("thread_ts") and arguments["thread_ts"] != thread.root_ts:
        yield "went into another thread"
    if method in ("conversations.open", "chat.postEphemeral", "views.open"):
        yield "reached one person"
    if method == "chat.postMessage" and (arguments.get("unfurl_links"), arguments.get("unfurl_media")) != (
        False,
        False,
    ):
        yield "may be unfurled"
    raw = json.dumps(arguments, ensure_ascii=False)
    yield from (f"holds a secret ({secret[:4]}...)" for secret in secrets if secret in raw)
    given = {
        name: json.loads(value) if name in ("blocks", "files") and isinstance(value, str) else value
        for name, value in arguments.items()
    }
    for kind, text in _texts(given):
        if kind == "link":
            yield f"links to {text}"
        elif kind == "mrkdwn":
            yield from _of_text(text)


def _texts(value: Any, kind: str = "mrkdwn", key: str = "") -> Iterator[tuple[str, str]]:
    """(how Slack reads it, text) of each text in the arguments of a call."""
    if isinstance(value, dict):
        kinds = {"plain_text": "plain", "raw_text": "plain", "text": "plain", "mrkdwn": "mrkdwn", "markdown": "mrkdwn"}
        own = kinds.get(str(value.get("type")), "plain")
        for name, each in value.items():
            yield from _texts(each, own, name)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, kind, key)
    elif isinstance(value, str) and key in ("url", "image_url", "thumb_url", "title_url", "value_url"):
        yield "link", value
    elif isinstance(value, str) and key in ("text", "initial_comment", "status", ""):
        yield kind, value


def _of_text(text: str) -> Iterator[str]:
    if ping := _PING.search(text):
        yield f"pings: {text[ping.start() : ping.start() + 60]!r}"
    shown = html.unescape(_CODE.sub(" ", text)).replace("\\", "")
    for away in _AWAY.findall(shown):
        yield f"leads to {away}: {text[:300]!r}"


def _of_file(file: dict[str, Any], content: bytes, secrets: Collection[str]) -> Iterator[str]:
    yield from (f"holds a secret ({secret[:4]}...)" for secret in secrets if secret.encode() in content)
    text = content.decode("utf-8", "replace")
    if file["name"].endswith((".html", ".htm")):
        tags = re.findall(r"<(?:a|img|link|script|iframe|form|object|embed|base|meta)\b[^>]*>", text, re.IGNORECASE)
        yield from (f"leads away by {tag[:120]}" for tag in tags if re.search(r"=\s*[\"']?\s*(?:https?:)?//", tag))
    elif file["name"].endswith(".md"):
        yield from (f"leads to {target}" for target in _targets(text))
    elif file["name"].endswith(".ipynb"):
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "markdown":
                yield from (f"leads to {target}" for target in _targets("".join(cell["source"])))


def _targets(markdown: str) -> Iterator[str]:
    parser = MarkdownIt("gfm-like", {"linkify": False})
    for token in parser.parse(markdown):
        for child in (token, *(token.children or ())):
            target = str(child.attrGet("href") or child.attrGet("src") or "")
            if re.match(r"(?:[a-z]+:)?//|mailto:|[a-z]+:[^/]", target, re.IGNORECASE) and not target.startswith(
                "data:"
            ):
                yield target
            if child.type in ("html_inline", "html_block") and re.search(r"(?:src|href)\s*=", child.content):
                yield child.content[:100]
