"""The sources of a report's figures in words, the same in Slack, in report.md and on the report's page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from core.phrases import UNSPACED, say, written
from core.steps import CellRan, FigureSource, SourcePlace
from core.thread_cells import NumberedCell
from core.values import Language

Cells = Mapping[str, NumberedCell]
"""The thread's cells by id."""

_PLACES = {"output": "cell", "count": "cell"} | {
    what: what for what in ("table", "chart", "statement", "code", "file", "question", "note", "memory")
}
_LINE = 300
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+")


HOWS = frozenset(("difference", "change", "share", "sum", "ratio", "rest", "count", "formula"))
"""The steps by which a figure follows from others, as `FigureSource.how` names them."""


_WHYS = frozenset(("row", "unit", "sign", "earlier", "chart", "rank", "only", "tag"))
"""The reasons that have words, as `FigureSource.reason` names them."""


def as_it_is(text: str) -> str:
    """The text, for places where nothing is parsed."""
    return text


def source_line(one: FigureSource, cells: Cells, language: Language, quote: Callable[[str], str] = as_it_is) -> str:
    """Where a figure comes from, as one line. `quote` makes text of the data safe for where the line will stand."""
    if one.state == "unsourced":
        if one.reason == "memory":
            return say("sources_why_memory", language, about=quote(_about(one)))
        has_own_words = one.reason in ("rank", "only")
        return say(f"sources_why_{one.reason}" if has_own_words else "source_none", language)
    places = ("；" if language in UNSPACED else "; ").join(
        place_line(place, cells, language, quote) for place in one.places
    )
    if one.state != "derived":
        return places
    line = say("source_derived", language, how=how_words(one, language), places=places)
    return f"{line} — {quote(arithmetic_in(one, language))}" if one.arithmetic else line


def arithmetic_in(one: FigureSource, language: Language) -> str:
    """The step that derives a figure, with its numbers as the language writes them; "" where it is not known."""
    return _NUMBER.sub(lambda match: written(match[0], language), one.arithmetic)


def why_unsourced(one: FigureSource, language: Language) -> str:
    """Why a figure has no source, in words. A reason of a newer version, which we do not know, is left out."""
    if one.reason == "memory":
        return say("sources_why_memory", language, about=_about(one))
    return say(f"sources_why_{one.reason}" if one.reason in _WHYS else "source_none", language)


def _about(one: FigureSource) -> str:
    return one.places[0].about if one.places else "–"


def how_words(one: FigureSource, language: Language) -> str:
    """By which step a figure follows, in words. A step of a newer version, which we do not know, is a formula."""
    return say(f"source_how_{one.how if one.how in HOWS else 'formula'}", language)


def place_line(place: SourcePlace, cells: Cells, language: Language, quote: Callable[[str], str] = as_it_is) -> str:
    """One place that a figure comes from: the cell, its title, the line, what the value is of."""
    known = cells.get(place.cell_id)
    return say(
        f"source_{_PLACES.get(place.what, 'cell')}",
        language,
        number=known.number if known else "–",
        title=quote(_short(known.cell.title)) if known else "",
        line=place.line,
        about=quote(place.about.strip(" ·")),
    )


def counts_line(sources: Sequence[FigureSource], language: Language) -> str:
    """How many figures have which kind of source, as one sentence."""
    states = ("sourced", "derived", "given", "unsourced")
    count = {state: sum(one.state == state for one in sources) for state in states}
    return say("sources_counts", language, all=len(sources), **count)


def shown_there(place: SourcePlace, cells: Cells) -> str:
    """What the cell shows in this place: a line of its output, a row of its table, a statement; "" when it is gone."""
    known = cells.get(place.cell_id)
    if known is None:
        return ""
    text = next((line for line in _lines(place, known.cell) if line.strip()), "").strip()
    return _short(text, _LINE)


def text_with(place: SourcePlace, cell: CellRan) -> Literal["stdout", "result", ""]:
    """Which text of the cell has the line of an output: a place does not say it; "" when none has that line."""
    names: tuple[Literal["stdout", "result"], ...] = ("stdout", "result")
    lines = {name: getattr(cell, name).splitlines() for name in names}
    known = [name for name in names if 0 < place.line <= len(lines[name])]
    holding = [name for name in known if _holds(lines[name][place.line - 1], place.value)]
    return next(iter([*holding, *known]), "")


def _short(text: str, most: int = 100) -> str:
    """One line of at most this many characters. The blanks of a printed line stay."""
    line = text if most == _LINE else " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _lines(place: SourcePlace, cell: CellRan) -> Iterator[str]:
    match place.what:
        case "output":
            if text := text_with(place, cell):
                yield getattr(cell, text).splitlines()[place.line - 1]
        case "table":
            for table in cell.tables:
                if 0 < place.line <= len(table.rows):
                    row = table.rows[place.line - 1]
                    yield " · ".join(
                        f"{name}: {'' if item is None else item}"
                        for name, item in zip(table.columns, row, strict=False)
                    )
        case "statement":
            yield from (" ".join(ran.sql.split()) for ran in cell.statements)
        case "code":
            yield from (line for line in cell.code.splitlines() if _holds(line, place.value))
        case _:
            return


def _holds(line: str, value: str) -> bool:
    """Whether the first digits of a value stand in the line, however it is written there."""
    digits = re.sub(r"[^0-9]+", "", value)[:4]
    return bool(digits) and digits in re.sub(r"[^0-9]+", "", line)
