"""Makes Markdown from a model or from data safe to post: it notifies nobody and links to no unknown address.

Positions come from markdown-it-py's own inline rules, which are wrapped to record where each link is; web addresses
inside plain text, with a scheme or without, are found by `web_addresses.py`. What is left is parsed again: if a link
survived (in a quotation inside a list...), every address of the text is broken by an invisible character instead.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from core.slack.web_addresses import Address, find, find_shown, may_hold_address

_INVISIBLE = "\u200b"
_PING = re.compile(r"<(?=[!@#])|@(?=(?:here|channel|everyone)\b)", re.IGNORECASE)
_MARKS = frozenset("[<@\0")
"""A text without any of these has no link, no image, no HTML and no mention."""
_TRAILING = ".,;:!?…"
_DROPPED = re.compile(r"[\t\r\n]")
"""What browsers drop from an address."""
_WITHOUT_SCHEME = re.compile(r"(?<![:/\\])[/\\]{2}")
"""The beginning of an address that has the scheme of its page: `//host`. The host may be a number."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def addresses(text: str) -> frozenset[str]:
    """The web addresses in a text: those that a person wrote may stay links when they are shown again."""
    return frozenset(address.text for address in find_shown(text))


def sanitize(text: str, known: Collection[str] = ()) -> str:
    """The same Markdown, safe to post.

    Mentions and broadcasts show as they are written and notify nobody. A link or image shows its label and its address
    as code, unless the address is one of `known`.
    """
    if is_plain(text):
        return text
    # The parser reads a NUL as U+FFFD: so do we, or the two would look at different texts.
    return _sanitized(text.replace("\0", "\ufffd"), frozenset(known))


def is_plain(text: str) -> bool:
    """Whether a quick look is enough to know that a text is safe to post as it is. Most texts are."""
    return _MARKS.isdisjoint(text) and not may_hold_address(text)


@lru_cache(maxsize=8)
def _sanitized(text: str, known: frozenset[str]) -> str:
    # Pings are broken first: the invisible character may turn what looked like HTML into text with links. They are
    # broken once more at the end: the label of a link comes out with its escapes undone.
    result = _without_pings(_without_links(_without_pings(text), known))
    if _has_foreign_link(result, known):
        result = _with_foreign(result, known, _broken)
        result = result.replace("](", f"]{_INVISIBLE}(").replace("<", f"<{_INVISIBLE}")
    return result


def _without_pings(text: str) -> str:
    return _PING.sub(lambda match: match.group() + _INVISIBLE, text)


@dataclass(frozen=True, slots=True)
class _Span:
    """Where an inline rule matched, as a slice of the inline content `src`, and what it found there."""

    src: str
    start: int
    end: int
    kind: Literal["code", "link", "image", "autolink"]
    target: str = ""
    label: str = ""


def _recorded(
    kind: Literal["code", "link", "image", "autolink"], rule: Callable[[StateInline, bool], bool]
) -> Callable[[StateInline, bool], bool]:
    def recording(state: StateInline, silent: bool) -> bool:
        if not silent and state.pending:
            state.pushPending()
        start, first = state.pos, len(state.tokens)
        matched = rule(state, silent)
        if matched and not silent:
            made = state.tokens[first:]
            target = next((str(t.attrGet("href") or t.attrGet("src") or "") for t in made if t.attrs), "")
            label = "".join(" " if token.type in ("softbreak", "hardbreak") else token.content for token in made)
            state.env["spans"].append(_Span(state.src, start, state.pos, kind, target, label))
        return matched

    return recording


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    rules = {rule.name: rule.fn for rule in parser.inline.ruler.__rules__}
    kinds: tuple[tuple[str, Literal["code", "link", "image", "autolink"]], ...] = (
        ("backticks", "code"),
        ("link", "link"),
        ("image", "image"),
        ("autolink", "autolink"),
    )
    for name, kind in kinds:
        parser.inline.ruler.at(name, _recorded(kind, rules[name]))
    return parser


_PARSER = _parser()


def _rewritten(source: str, contents: list[list[_Span]], known: Collection[str]) -> str:
    """The source lines of one block without the targets of its links; a table row has several contents."""
    result, at = "", 0
    for span in (span for spans in contents for span in _outermost(spans)):
        written = span.src[span.start : span.end]
        found = re.compile(r"\n[ \t>]*".join(map(re.escape, written.split("\n")))).search(source, at)
        if found is None:
            continue
        result += _without_addresses(source[at : found.start()], known)
        keep = span.kind == "code" or _is_known(span.target, known)
        result += found.group() if keep else _shown(span)
        at = found.end()
    return result + _without_addresses(source[at:], known)


def _without_links(text: str, known: Collection[str]) -> str:
    env: dict[str, Any] = {"spans": []}
    lines = _LINE.findall(text)
    written: dict[tuple[int, int], list[str]] = {}
    for token in _PARSER.parse(text, env):
        if token.map and token.type in ("inline", "html_block"):
            written.setdefault((token.map[0], token.map[1]), []).append(token.content)
    for start, end in _definitions(env):
        written.setdefault((start, end), [])
    spans = sorted(set(env["spans"]), key=lambda span: span.start)
    for (start, end), contents in sorted(written.items(), reverse=True):
        inside = [[span for span in spans if span.src == content] for content in contents]
        lines[start:end] = [_rewritten("".join(lines[start:end]), inside, known)]
    return "".join(lines)


def _definitions(env: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """The lines of each `[label]: address`. Readers that do not know these show them, with the address as a link."""
    for found in (*env.get("references", {}).values(), *env.get("duplicate_refs", ())):
        yield found["map"][0], found["map"][1]


def _outermost(spans: list[_Span]) -> list[_Span]:
    kept: list[_Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _shown(span: _Span) -> str:
    """A link as label and address; the address alone when the label is the same."""
    label = " ".join(span.label.split())
    target = "`" + (span.target or label).replace("`", "%60") + "`"
    if span.kind == "autolink" or not label or label == span.target:
        return target
    return f"{_without_addresses(label, ())} ({target})"


def _without_addresses(text: str, known: Collection[str]) -> str:
    return _with_foreign(text, known, lambda address: f"`{address.text}`")


def _with_foreign(text: str, known: Collection[str], shown: Callable[[Address], str]) -> str:
    """The text with each address that is not `known` as `shown` has it."""
    result, at = "", 0
    for address in find(text):
        if not _is_known(address.text, known):
            result, at = result + text[at : address.start] + shown(address), address.end
    return result + text[at:]


def _is_known(target: str, known: Collection[str]) -> bool:
    return target in known or target.rstrip(_TRAILING) in known


def _broken(address: Address) -> str:
    return re.sub(r"([:.。．｡])", r"\1" + _INVISIBLE, address.text)


def _asks_elsewhere(tag: str, known: Collection[str]) -> bool:
    """Whether a reader that shows HTML may fetch something for this tag, also by an address without a scheme."""
    read = _DROPPED.sub("", html.unescape(tag))
    foreign = any(not _is_known(address.text, known) for address in find_shown(read))
    return foreign or _WITHOUT_SCHEME.search(read) is not None


def _has_foreign_link(text: str, known: Collection[str]) -> bool:
    def foreign(token: Token) -> bool:
        if token.type in ("link_open", "image"):
            return not _is_known(str(token.attrGet("href") or token.attrGet("src") or ""), known)
        if token.type in ("html_inline", "html_block"):
            return _asks_elsewhere(token.content, known)
        if token.type == "text":
            return any(not _is_known(address.text, known) for address in find_shown(token.content))
        return any(foreign(child) for child in token.children or ())

    return any(foreign(token) for token in _PARSER.parse(text, {"spans": []}))
