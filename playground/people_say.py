"""What a person types, as Slack's clients send it: escaped text and rich_text blocks."""

from __future__ import annotations

import re

from playground.workspace import Json, Workspace

_TOKEN = re.compile(r"<(?:@[UW][A-Z0-9]+|#C[A-Z0-9]+|![a-z]+|https?://[^\s<>]+|mailto:[^\s<>]+)(?:\|[^<>]*)?>")
_HANDLE = re.compile(r"(?<![\w.@/])@([\w.\-]{1,80})")
_ADDRESS = re.compile(r"(?<![\w<|])https?://[^\s<>|]+[^\s<>|.,;:!?'\")\]]")
_PIECES = re.compile(r"<([^<>]+)>")
_FENCE = re.compile(r"```\n?(.*?)```", re.DOTALL)


def slack_text(space: Workspace, typed: str) -> str:
    """The message text: `&`, `<`, `>` escaped, "@ana" and bare addresses turned into Slack's tokens, tokens kept."""
    parts: list[str] = []
    end = 0
    for token in _TOKEN.finditer(typed):
        parts += (_plain(space, typed[end : token.start()]), token[0])
        end = token.end()
    return "".join((*parts, _plain(space, typed[end:])))


def _plain(space: Workspace, typed: str) -> str:
    escaped = typed.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    linked = _ADDRESS.sub(lambda address: f"<{address[0]}>", escaped)
    names = {each.name: each.id for each in space.users.values()}
    names |= {each.real_name.split()[0].casefold(): each.id for each in space.users.values()}

    def mention(found: re.Match[str]) -> str:
        name = found[1].casefold()
        bare = name.rstrip(".-")
        return f"<@{names[bare]}>{found[1][len(bare) :]}" if bare in names else found[0]

    return _HANDLE.sub(mention, linked)


def rich_text(text: str) -> list[Json]:
    """The rich_text block that a client sends beside its text."""
    if not text:
        return []
    parts: list[Json] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += _section(text[end : fence.start()])
        parts.append({"type": "rich_text_preformatted", "elements": [{"type": "text", "text": _unescaped(fence[1])}]})
        end = fence.end()
    parts += _section(text[end:])
    return [{"type": "rich_text", "block_id": "b1", "elements": parts}]


def _section(text: str) -> list[Json]:
    elements: list[Json] = []
    end = 0
    for piece in _PIECES.finditer(text):
        elements += _text(text[end : piece.start()])
        inside, _, label = piece[1].partition("|")
        match inside[:1]:
            case "@":
                elements.append({"type": "user", "user_id": inside[1:]})
            case "#":
                elements.append({"type": "channel", "channel_id": inside[1:]})
            case "!":
                elements.append({"type": "broadcast", "range": inside[1:]})
            case _:
                elements.append(
                    {"type": "link", "url": _unescaped(inside), **({"text": _unescaped(label)} if label else {})}
                )
        end = piece.end()
    elements += _text(text[end:])
    return [{"type": "rich_text_section", "elements": elements}] if elements else []


def _text(text: str) -> list[Json]:
    return [{"type": "text", "text": _unescaped(text)}] if text else []


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
