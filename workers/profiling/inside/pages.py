"""Tables of a page in HTML, and how their numbers are written."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .bounds import Bounds
from .columns import Column, is_spoilt_by, is_text, number_style, of_two_meanings, with_lost_words
from .frames import cut, describe_frame
from .headers import is_data
from .lines import note

_IN_FIRST_ROW = {"header": 0}
_WITH_POINTS = re.compile(r"[-+]?\d+(\.\d+)+|")


def words_of(page: str) -> str:
    """What a page shows, line by line, without scripts. Raises ValueError and LxmlError where there is no page."""
    from lxml import html  # type: ignore[import-untyped]  # noqa: PLC0415 - imported where it is installed

    root = html.document_fromstring(page)
    for element in root.xpath("//script|//style|//comment()"):
        element.drop_tree()
    # programs write pages without line ends, and their cells and lines must not become one word
    for element in root.iter("td", "th", "tr", "p", "div", "br", "li", "h1", "h2", "h3", "h4"):
        end = " " if element.tag in ("td", "th") else "\n"
        element.tail = end + (element.tail or "")
    return "\n".join(line for raw in root.text_content().splitlines() if (line := raw.strip()))


def tables_of(page: str, bounds: Bounds, line: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """The tables of a page, the line that reads the first one, and notes; nothing when no table holds a word.

    `line` writes the call of `pandas.read_html` with more arguments.
    """
    from lxml import etree, html  # noqa: PLC0415 - as above

    try:
        return _tables(page, bounds, line) if html.document_fromstring(page).xpath("//table//td") else {}
    except (ValueError, etree.LxmlError):  # of an empty page, and of tables that only make room
        return {}


def _tables(page: str, bounds: Bounds, line: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    styles, beyond = _styles(page, bounds)
    # a page is parsed once for each way in which its numbers are written, not for each of its tables
    read = {style: _read(page, style.arguments()) for style in set(styles)}
    lines = [line(style.arguments()) + f"[{number}]" for number, style in enumerate(styles)]
    tables = [describe_frame(read[style][place], str(place), bounds) for place, style in enumerate(styles)]
    for number, table in enumerate(tables):
        if styles[number] != styles[0]:
            table["read"] = lines[number]
    doubtful = [name for style in styles for name in style.maybe_thousands]
    words = [name for style in styles for name in style.maybe_words]
    notes = [
        note(code, names=cut(", ".join(names), 200))
        for code, names in (("maybe_thousands", doubtful), ("maybe_words", words))
        if names
    ]
    if beyond:
        notes.append(note("more_tables", count=beyond))
    return {"tables": tables, "read_hint": lines[0], "notes": notes}


@dataclass(frozen=True)
class _Style:
    """Where a table's names stand and how its numbers are written."""

    first_row: bool
    """Whether the names stand in its first row, which the page does not mark as a header."""
    decimal: str
    thousands: str | None
    text_columns: tuple[str | int, ...]
    maybe_thousands: tuple[str, ...]
    maybe_words: tuple[str, ...]

    def arguments(self) -> dict[str, Any]:
        """What differs from the defaults of `pandas.read_html`: a comma between thousands, a point before decimals."""
        found: dict[str, Any] = dict(_IN_FIRST_ROW) if self.first_row else {}
        if self.decimal != ".":
            found["decimal"] = self.decimal
        if self.thousands != ",":
            found["thousands"] = self.thousands
        if self.text_columns:
            found["converters"] = dict.fromkeys(self.text_columns, str)
        return found


def _styles(page: str, bounds: Bounds) -> tuple[list[_Style], int]:
    """The style of each of the first tables of a page, by its cells as they are written; and how many more it has."""
    marked = _as_written(page, {})
    held = [_names_in_first_row(frame) for frame in marked]
    named = _as_written(page, _IN_FIRST_ROW) if any(held) else marked
    frames = [other if first else frame for frame, other, first in zip(marked, named, held, strict=True)]
    labels = {first: _labels(named if first else marked) for first in set(held)}
    first_ones = list(zip(frames, held, strict=True))[: bounds.sheets]
    return [_style(frame, labels[first], first) for frame, first in first_ones], len(frames) - len(first_ones)


def _read(page: str, arguments: dict[str, Any]) -> list[Any]:
    import pandas as pd  # noqa: PLC0415 - as above

    return pd.read_html(io.StringIO(page), flavor="lxml", **arguments)


def _labels(frames: Sequence[Any]) -> list[str | int]:
    """The columns that may have a converter: pandas gives the same to each table of a page, and fails where a table has
    no column at a place.
    """
    labels: list[str | int] = [*range(min(frame.shape[1] for frame in frames))]
    return labels + [label for frame in frames for label in frame.columns if isinstance(label, str)]


def _as_written(page: str, arguments: dict[str, Any]) -> list[Any]:
    """The tables with their cells as text."""
    labels = _labels(_read(page, arguments))
    plain: dict[str, Any] = {"keep_default_na": False, "thousands": None}
    return _read(page, {"converters": dict.fromkeys(labels, str)} | plain | arguments)


def _names_in_first_row(frame: Any) -> bool:
    """Whether the first of at least two rows holds names: words in each column, of which none is twice."""
    if len(frame) < 2 or not all(isinstance(label, int) for label in frame.columns):
        return False
    rows = [[str(value).strip() for value in row] for row in frame.head(50).itertuples(index=False)]
    names = [name for name in rows[0] if name]
    return len(set(names)) == len(rows[0]) > 1 and not is_data(rows[0], rows[1:])


def _style(frame: Any, labels: Sequence[str | int], first_row: bool) -> _Style:
    held = [
        Column(label, map(str, frame.iloc[:, place]))
        for place, label in enumerate(frame.columns)
        if isinstance(label, str | int) and label in labels
    ]
    decimal, thousands = number_style(held, ";")
    if decimal == ".":
        thousands = ","  # as pandas has it
    if any(is_spoilt_by(column.cells, (decimal, thousands)) for column in held):
        thousands = None  # pandas takes the marks away even where a column is text
    return _Style(
        first_row=first_row,
        decimal=decimal,
        thousands=thousands,
        text_columns=tuple(
            column.name
            for column in held
            if is_text(column, (decimal, thousands))
            # pandas takes a point before decimals for one even where it is told that a comma is
            or (decimal == "," and thousands is None and all(map(_WITH_POINTS.fullmatch, column.cells)))
        ),
        maybe_thousands=of_two_meanings(held, ";", (".", None)),
        maybe_words=with_lost_words(held),
    )
