"""A report's Markdown as parts that a page with a frame can hold: a heading, lines of text with their marks, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.slack.markdown import LINE_BREAK, with_emphasis

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


class Run(NamedTuple):
    """A stretch of text with one look."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph, an item of a list or a piece of code. `bullet` is "", "•" or a number; `level` counts from 0."""

    runs: tuple[Run, ...]
    bullet: str = ""
    level: int = 0

    @property
    def text(self) -> str:
        """The words alone."""
        return "".join(run.text for run in self.runs)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as written; the header is the first row."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What stands under a heading; `title` is empty before the first one."""

    title: str
    items: tuple[Line | Grid, ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """The text without the tables."""
        return tuple(item for item in self.items if isinstance(item, Line))


def parts_of(markdown: str) -> list[Part]:
    """The parts of a text, one for each heading, in order."""
    parts: list[Part] = []
    title, items = "", list[Line | Grid]()
    tokens = _MARKDOWN.parse(with_emphasis(markdown))
    for heading, piece in _pieces(tokens):
        if isinstance(piece, Line) and heading:
            if title or items:
                parts.append(Part(title, tuple(items)))
            title, items = piece.text, []
        else:
            items.append(piece)
    if title or items:
        parts.append(Part(title, tuple(items)))
    return parts


def _pieces(tokens: Sequence[Token]) -> Iterator[tuple[bool, Line | Grid]]:
    """Each line and table of the text, with whether it is a heading."""
    bullets: list[str] = []
    counts: list[int] = []
    fresh, heading = False, False
    rows: list[list[str]] | None = None
    for token in tokens:
        match token.type:
            case "heading_open" | "heading_close":
                heading = token.nesting > 0
            case "bullet_list_open" | "ordered_list_open":
                bullets.append("•" if token.type == "bullet_list_open" else "1")
                counts.append(int(token.attrGet("start") or 1) - 1)
            case "bullet_list_close" | "ordered_list_close":
                bullets.pop()
                counts.pop()
            case "list_item_open":
                counts[-1] += 1
                fresh = True
            case "table_open":
                rows = []
            case "tr_open" if rows is not None:
                rows.append([])
            case "table_close":
                yield False, Grid(tuple(map(tuple, rows or [])))
                rows = None
            case "inline" if rows is not None:
                rows[-1].append("".join(run.text for run in _runs(token)).strip())
            case "inline":
                bullet = "" if not (bullets and fresh) else "•" if bullets[-1] == "•" else f"{counts[-1]}."
                fresh = False
                yield heading, Line(_runs(token), bullet, max(len(bullets) - 1, 0))
            case "fence" | "code_block":
                yield False, Line((Run(token.content.rstrip("\n"), code=True),), level=max(len(bullets) - 1, 0))
            case _:
                pass


def _runs(inline: Token) -> tuple[Run, ...]:
    runs: list[Run] = []
    bold = italic = 0
    for token in inline.children or ():
        match token.type:
            case "strong_open" | "strong_close":
                bold += token.nesting
            case "em_open" | "em_close":
                italic += token.nesting
            case "softbreak" | "hardbreak":
                runs.append(Run(" "))
            case "text" | "code_inline" | "image":
                is_code = token.type == "code_inline"
                if text := token.content if is_code else LINE_BREAK.sub(" ", token.content):
                    runs.append(Run(text, bold > 0, italic > 0, is_code))
            case _:
                pass
    return tuple(runs)
