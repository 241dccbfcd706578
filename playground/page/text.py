"""Slack's mrkdwn and standard Markdown as safe HTML. Everything that comes in is untrusted and leaves escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from playground.page.emoji import by_name, with_drawings

_STASH = re.compile("\x00(\\d+)\x00")
_FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_TOKEN = re.compile(r"<([^<>\n]+)>")
_EMOJI = re.compile(r":([a-z0-9_+'\-]+(?:::skin-tone-[2-6])?):")
_STYLES = (
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])"), "strong"),
    (re.compile(r"(?<![\w_])_(?=\S)([^_\n]+?)(?<=\S)_(?![\w_])"), "em"),
    (re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])"), "s"),
)
SAFE_LINK = re.compile(r"(?:https?|mailto):[^\s\"<>]*", re.IGNORECASE)

Names = Callable[[str], str]


def link(url: str, label: str) -> Markup:
    """A link that opens elsewhere; a plain label when the address is not http, https or mailto."""
    if not SAFE_LINK.fullmatch(url):
        return Markup("{}").format(label)
    return Markup('<a href="{}" target="_blank" rel="noopener noreferrer">{}</a>').format(url, label)


def unescaped(text: str) -> str:
    """Slack's three escapes undone."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def mrkdwn(text: str, user_name: Names, channel_name: Names) -> Markup:
    """Slack's own mark-up. `user_name` and `channel_name` turn ids into names."""
    kept: list[Markup] = []

    def keep(html: Markup) -> str:
        kept.append(html)
        return f"\x00{len(kept) - 1}\x00"

    def token(found: re.Match[str]) -> str:
        inside, _, label = found[1].partition("|")
        match inside[:1]:
            case "@":
                return keep(
                    Markup('<span class="mention" data-user="{}">@{}</span>').format(inside[1:], user_name(inside[1:]))
                )
            case "#":
                return keep(
                    Markup('<a class="mention" href="/{0}">#{1}</a>').format(inside[1:], channel_name(inside[1:]))
                )
            case "!":
                shown = label or "@" + inside[1:].partition("^")[0]
                return keep(Markup('<span class="mention">{}</span>').format(unescaped(shown)))
        return keep(link(unescaped(inside), unescaped(label or inside.removeprefix("mailto:"))))

    text = text.replace("\x00", "")
    text = _FENCE.sub(lambda found: keep(Markup('<pre tabindex="0">{}</pre>').format(unescaped(found[1]))), text)
    text = _CODE.sub(lambda found: keep(Markup("<code>{}</code>").format(unescaped(found[1]))), text)
    text = _TOKEN.sub(token, text)
    text = _EMOJI.sub(lambda found: keep(by_name(found[1])), text)
    html = str(escape(unescaped(text)))
    for pattern, tag in _STYLES:
        html = pattern.sub(rf"<{tag}>\1</{tag}>", html)
    html = _quotes_and_breaks(html)
    whole = with_drawings(Markup(html))  # noqa: S704  escaped above, then only our own tags were added
    return _restored(whole, kept)


def _restored(html: Markup, kept: Sequence[Markup]) -> Markup:
    filled = str(html)
    while _STASH.search(filled):
        filled = _STASH.sub(lambda found: str(kept[int(found[1])]), filled)
    return Markup(filled)  # noqa: S704  every part was escaped when it was kept


def _quotes_and_breaks(html: str) -> str:
    parts: list[str] = []
    quoted: list[str] = []
    for line in [*html.split("\n"), None]:
        if line is not None and line.startswith("&gt;"):
            quoted.append(line.removeprefix("&gt;").lstrip())
            continue
        if quoted:
            parts.append(f"<blockquote>{'<br>'.join(quoted)}</blockquote>")
            quoted = []
        if line is not None:
            parts.append(line)
    return re.sub(r"(</blockquote>)<br>|<br>(<blockquote>)", r"\1\2", "<br>".join(parts))


def plain(text: str) -> Markup:
    """plain_text: escaped, with emoji names and line breaks."""
    parts = [str(by_name(piece)) if place % 2 else str(escape(piece)) for place, piece in enumerate(_EMOJI.split(text))]
    return with_drawings(Markup("".join(parts).replace("\n", "<br>")))  # noqa: S704  escaped piece by piece


class _Renderer(RendererHTML):
    """Markdown with tables that scroll and links that open elsewhere. Pictures are links: no foreign host is asked."""

    def table_open(self, _tokens: Sequence[Token], _idx: int, _options: Any, _env: Any) -> str:
        return '<div class="scroll"><table>'

    def table_close(self, _tokens: Sequence[Token], _idx: int, _options: Any, _env: Any) -> str:
        return "</table></div>"

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        tokens[idx].attrSet("target", "_blank")
        tokens[idx].attrSet("rel", "noopener noreferrer")
        return self.renderToken(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, _options: Any, _env: Any) -> str:
        token = tokens[idx]
        return str(link(str(token.attrGet("src") or ""), token.content or "picture"))

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _aligned(self, tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _aligned(self, tokens, idx, options, env)


def _aligned(renderer: RendererHTML, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
    """Alignment as a class: the page's policy refuses style attributes."""
    style = str(tokens[idx].attrs.pop("style", ""))
    if style:
        tokens[idx].attrSet("class", style.replace("text-align:", "align-"))
    return renderer.renderToken(tokens, idx, options, env)


_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer).enable(
    ["table", "strikethrough"]
)


def markdown(text: str) -> Markup:
    """Standard Markdown, as in `markdown` blocks; raw HTML in it stays text."""
    html = re.sub(r"(?<=>|\s):([a-z0-9_+\-]+):(?=<|\s)", lambda found: str(by_name(found[1])), _MARKDOWN.render(text))
    return with_drawings(Markup(html))  # noqa: S704  markdown-it with html off escapes its input
