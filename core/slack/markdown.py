"""Markdown as source text: where it may be cut, and which tables, headings and plain text are in it.

Every cut returns Markdown source again, so people read exactly what a model wrote. Structure comes from
markdown-it-py (CommonMark with tables). How Markdown from a model is made safe to post: `core/slack/sanitize.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.slack.blocks import Align

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")
"""Reads where the blocks of a text are, and nothing inside them."""


@lru_cache(maxsize=8)
def _tokens(text: str) -> Sequence[Token]:
    """The text's tokens. They are cached and must not be changed: a report is parsed several times, each time for
    another purpose."""
    return _MARKDOWN.parse(text)


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a Markdown text: plain cell texts, header first row of `rows`; `source` is the table as written."""

    rows: tuple[tuple[str, ...], ...]
    aligns: tuple[Align | None, ...]
    source: str


def cut_markdown(text: str, limit: int) -> tuple[str, str]:
    """The longest good first piece of a text that is longer than `limit` characters (at least 200), and the rest.

    It is cut where it reads best: between blocks (not after a heading), then between list items, lines, sentences,
    words. A fence or a table that fits a piece is never cut. A longer fence is closed and opened again, a longer table
    repeats its header. Except for those repeated lines, piece and rest join to exactly the text.
    """
    if limit < 200:
        raise ValueError(f"{limit} characters are too few to cut Markdown well, 200 is the least")
    lines = _first_lines(text, limit)
    borders = _borders("".join(lines), lines, limit)
    places: list[tuple[int, _Border]] = []
    length = 0
    for line, border in zip(lines, borders[1:], strict=False):
        length += len(line)
        if length > limit:
            break
        if border.rank != _NEVER and length + len(border.close) <= limit:
            places.append((length, border))
    for rank in (_BETWEEN_BLOCKS, _BETWEEN_ITEMS, _INSIDE):
        # A piece may end early for a better place, but not so early that it would be a message of one line.
        good = [place for place in places if place[1].rank == rank and place[0] >= limit // 3]
        if good:
            return _at(text, *good[-1])
    if places:
        least = min(border.rank for _, border in places)
        return _at(text, *[place for place in places if place[1].rank == least][-1])
    return _cut_inside_a_line(text, lines, borders, limit)


def split_tables(text: str) -> list[str | Table]:
    """The text as its stretches of Markdown and its top-level tables, in order; the sources join to the text."""
    lines = _LINE.findall(text)
    parts: list[str | Table] = []
    at = 0
    tokens = _tokens(text)
    for index, token in enumerate(tokens):
        if token.type == "table_open" and token.level == 0 and token.map:
            start, end = token.map
            if before := "".join(lines[at:start]):
                parts.append(before)
            parts.append(_table(tokens, index, "".join(lines[start:end])))
            at = end
    if after := "".join(lines[at:]):
        parts.append(after)
    return parts


def headings(text: str) -> list[str]:
    """The plain text of each heading, in order."""
    tokens = _tokens(text)
    return [_text_in(tokens[index + 1]) for index, token in enumerate(tokens) if token.type == "heading_open"]


def source_lines(text: str) -> list[str]:
    """The lines of a text with their ends, as Markdown counts them: a form feed ends none. They join to the text."""
    return _LINE.findall(text)


def top_headings(text: str) -> list[tuple[int, int, str]]:
    """Each heading that stands in no list or quotation: its line from 0 (of `source_lines`), its level, its text."""
    tokens = _tokens(text)
    return [
        (token.map[0], int(token.tag[1:]), _text_in(tokens[index + 1]))
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def closed(text: str) -> str:
    """The text with an end for code or raw HTML that has none: what is written below would be a part of it."""
    fences = [token.markup for token in _tokens(text) if token.type == "fence" and token.level == 0]
    for end in ("", *fences[-1:], *_ENDS_OF_HTML):
        ended = f"{text}\n{end}" if end else text
        if len(top_headings(f"{ended}\n\n# below")) > len(top_headings(ended)):
            return ended
    return text


_ENDS_OF_HTML = ("</pre>", "</script>", "</style>", "</textarea>", "?>")


def plain_text(text: str) -> str:
    """The text of Markdown without its marks, a line per block: for notifications and screen readers."""
    lines: list[str] = []
    cells: list[str] | None = None
    for token in _tokens(text):
        if token.type == "tr_open":
            cells = []
        elif token.type == "tr_close" and cells is not None:
            lines.append(" | ".join(cells))
            cells = None
        elif token.type == "inline":
            (lines if cells is None else cells).append(_text_in(token))
        elif token.type in ("fence", "code_block", "html_block"):
            lines.append(token.content.rstrip("\n"))
    return "\n".join(line for line in lines if line.strip())


def with_emphasis(text: str) -> str:
    """The same text with a blank where bold needs one to be bold.

    Markdown does not read `**` between punctuation and a letter as bold. Chinese and Japanese write it that way:
    `**结论：**北方最高` would show its asterisks.
    """
    lines = _LINE.findall(text)
    for token in _tokens(text):
        if token.map and any(child.type == "text" and "**" in child.content for child in token.children or ()):
            for number in range(*token.map):
                lines[number] = _BOLD.sub(_spaced, lines[number])
    return "".join(lines)


_BOLD = re.compile(r"(?<![*`])\*\*(?=\S)([^*`\n]*[^*`\s])\*\*(?![*`])")


def _spaced(bold: re.Match[str]) -> str:
    line, start, end = bold.string, bold.start(), bold.end()
    before, after = line[max(start - 1, 0) : start], line[end : end + 1]
    inner = bold.group(1)
    lead = " " if before.isalnum() and not inner[0].isalnum() else ""
    return lead + bold.group() + (" " if after.isalnum() and not inner[-1].isalnum() else "")


def escape_markdown(text: str) -> str:
    """One line of data as Markdown that shows exactly these characters."""
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", " ".join(text.split()))


def _table(tokens: Sequence[Token], at: int, source: str) -> Table:
    """The table that starts with the token at this place."""
    rows: list[list[str]] = []
    aligns: list[Align | None] = []
    while (token := tokens[at]).type != "table_close":
        at += 1
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open":
            aligns.append(_ALIGNS.get(str(token.attrGet("style"))))
        elif token.type == "inline":
            rows[-1].append(_text_in(token))
    return Table(tuple(map(tuple, rows)), tuple(aligns), source)


_ALIGNS: dict[str, Align] = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}


LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
"""HTML that models write into the cells of tables, where Markdown has no line break."""


def _text_in(inline: Token) -> str:
    """The text of an inline token as a reader sees it, without marks and targets."""
    parts: list[str] = []
    for child in inline.children or ():
        if child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "image":
            parts.append(_text_in(child))
        elif child.type == "html_inline" and LINE_BREAK.fullmatch(child.content):
            parts.append(" ")
        else:
            parts.append(child.content)
    return "".join(parts).strip()


# --- cutting ----------------------------------------------------------------------------------------------------------

_BETWEEN_BLOCKS, _BETWEEN_ITEMS, _INSIDE, _BEHIND_HEADING, _NEVER = range(5)


@dataclass(frozen=True, slots=True)
class _Border:
    """The place before a line: how well the text reads when cut there, and what a cut must add on both sides.

    `close` ends a fence that the cut goes through; `open` begins the fence again or repeats a table's header.
    """

    rank: int = _INSIDE
    close: str = ""
    open: str = ""


def _at(text: str, position: int, border: _Border) -> tuple[str, str]:
    return text[:position] + border.close, border.open + text[position:]


def _borders(text: str, lines: Sequence[str], limit: int) -> list[_Border]:
    """The border before each line of the text."""
    borders = [_Border() for _ in lines]
    tokens = [token for token in _BLOCKS.parse(text) if token.map]
    covered: set[int] = set()
    after_heading = 0
    for token in tokens:
        start, end = token.map or (0, 0)
        if token.level == 0:
            borders[start] = _Border(_BEHIND_HEADING if start and start == after_heading else _BETWEEN_BLOCKS)
            covered.update(range(start, end))
            if token.type == "heading_open":
                after_heading = _next_text_line(lines, end)
                borders[end:after_heading] = [_Border(_NEVER)] * (after_heading - end)
        elif token.type == "list_item_open":
            borders[start] = _Border(min(_BETWEEN_ITEMS, borders[start].rank))
    for number, line in enumerate(lines):
        if number not in covered and not line.strip() and borders[number].rank == _INSIDE:
            borders[number] = _Border(_BETWEEN_BLOCKS)
    for token in tokens:
        start, end = token.map or (0, 0)
        if token.type in ("fence", "table_open", "heading_open"):
            inside = _inside(token, lines[start:end], limit)
            borders[start + 1 : end] = inside[: len(borders[start + 1 : end])]
    return borders


def _inside(token: Token, lines: Sequence[str], limit: int) -> list[_Border]:
    """The borders inside a fence, a table or a heading: none may be used unless it is longer than a piece."""
    never = [_Border(_NEVER)] * (len(lines) - 1)
    if token.type == "heading_open" or sum(map(len, lines)) <= limit:
        return never
    if token.type == "table_open":
        head = "".join(lines[:2])
        again = head if len(head) <= limit // 4 else ""
        return never[:2] + [_Border(open=again) for _ in lines[3:]]
    opening = lines[0] if len(lines[0]) <= limit // 4 else token.markup + "\n"
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if len(lines[0]) <= limit // 4 else ""
    seam = _Border(close=f"{indent}{token.markup}\n", open=opening)
    closed = lines[-1].strip(" \t>\r\n").startswith(token.markup) and len(lines) > 1
    inside = [_Border(_NEVER), *[seam] * (len(lines) - 2)]
    return [*inside[: len(lines) - 2], _Border(_NEVER)] if closed and len(lines) > 2 else inside[: len(lines) - 1]


def _first_lines(text: str, limit: int) -> list[str]:
    """What a cut must know of a text: a block that begins in the piece and does not end here is longer than a piece."""
    lines: list[str] = []
    beyond = 0
    for line in _LINE.finditer(text):
        lines.append(line.group())
        beyond += line.end() > 2 * limit
        if beyond > 2:
            break
    return lines


def _next_text_line(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at


_PLACES = (re.compile(r"[.!?…]\s+|[。！？；]"), re.compile(r"\s+|[，、]"))


def _cut_inside_a_line(text: str, lines: Sequence[str], borders: Sequence[_Border], limit: int) -> tuple[str, str]:
    """The cut when not even the first lines fit: after a sentence, else after a word, else anywhere."""
    number, start = 0, 0
    while start + len(lines[number]) <= limit:
        start += len(lines[number])
        number += 1
    seam = next((b for b in borders[number : number + 2] if b.close or b.open), _Border())
    close = "\n" + seam.close if seam.close else ""
    room = limit - len(close)
    for place in _PLACES:
        ends = [match.end() for match in place.finditer(text, max(start, limit // 3), room) if match.end() <= room]
        if ends:
            room = ends[-1]
            break
    return text[:room] + close, seam.open + text[room:]
