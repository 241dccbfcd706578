"""Markdown of a model as HTML: no raw HTML, no image, no link but those that are known, no attribute of the text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.slack.markdown import LINE_BREAK, with_emphasis
from core.slack.sanitize import sanitize

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")


def to_html(markdown: str, known: Collection[str] = (), *, top: int = 2) -> str:
    """The Markdown as HTML. `known` are the addresses that may be links; its highest headings become those of `top`."""
    tokens = _MARKDOWN.parse(with_emphasis(sanitize(markdown, known)))
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    lower = top - min((int(token.tag[1:]) for token in headings), default=top)
    for token in headings:
        token.tag = f"h{min(int(token.tag[1:]) + lower, 6)}"
    return "".join(_rendered(tokens, frozenset(known)))


_PLAIN = frozenset(
    {"p", "em", "strong", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "hr", "br"}
    | {f"h{n}" for n in range(1, 7)}
)


def _rendered(tokens: Sequence[Token], known: frozenset[str]) -> list[str]:
    parts: list[str] = []
    is_link: list[bool] = []
    for token in tokens:
        match token.type:
            case "inline":
                parts += _rendered(token.children or [], known)
            case "text":
                parts.append("<br>".join(map(escape, LINE_BREAK.split(token.content))))
            case "softbreak":
                parts.append("\n")
            case "code_inline":
                parts.append(f"<code>{escape(token.content)}</code>")
            case "fence" | "code_block":
                parts.append(f'<pre tabindex="0"><code>{escape(token.content)}</code></pre>')
            case "image":
                parts.append(escape(token.content))
            case "link_open":
                address = str(token.attrGet("href") or "")
                is_link.append(address in known and address.startswith(("https://", "http://")))
                if is_link[-1]:
                    parts.append(f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">')
            case "link_close":
                parts.append("</a>" if is_link and is_link.pop() else "")
            case _:
                parts.append(_tag(token))
    return parts


def _tag(token: Token) -> str:
    tag = token.tag
    if token.hidden or tag not in _PLAIN:
        return ""
    if token.nesting < 0:
        return f"</{tag}></div>" if tag == "table" else f"</{tag}>"
    if tag == "table":
        return '<div class="wide" tabindex="0"><table>'
    style: Any = token.attrGet("style")
    aligned = {"text-align:right": ' class="r"', "text-align:center": ' class="c"'}.get(str(style), "")
    start = token.attrGet("start") if tag == "ol" else None
    begins = f' start="{int(start)}"' if start is not None else ""
    return f"<{tag}{aligned}{begins}>"
