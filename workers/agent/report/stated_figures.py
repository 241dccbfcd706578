"""The figures that a report states, with what the places that they come from show in a later run of its code. Pure.

A figure stands for one row of one output. Where that row is not shown any more, the figure has no value now: the number
that took its place on the page is another row's.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.schedules.values import Figure
from core.steps import CellRan, FigureSource, Finished, SourcePlace
from workers.agent.about_steps import Turns
from workers.agent.provenance import Facts, facts_of
from workers.agent.provenance.claims.reading import Claim, Reading, read_report
from workers.agent.provenance.language.numerals import FILLER, Numeral
from workers.agent.provenance.outputs.facts import EARLIER, Fact, Grid, Label
from workers.agent.report.rerun import Plan, labels_of, places_of, same_number
from workers.agent.text import one_line

_PERCENT = frozenset({"%", "pp"})
_ROUNDED = 0.5
"""A figure of one digit may be rounded by so much: 1 for 0.67 or 1.49."""
_NUMERAL = re.compile(r"[-+(]?[$€£¥]?\d[\d.,]*[%)]?,?")
_DAY = re.compile(r"\b(?:19|20)\d\d(?:-\d\d){0,2}\b")
_DIGITS = re.compile(r"[-+]?\d[\d.,:]*")
_PLAIN_NAME = re.compile(r"(?!.{41})[^\[\]{}()'\":=_…→]+")
"""A name that a reader understands: no piece of a printed line, and no name of a column in code."""
_MARKS = re.compile(r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}|^[ \t>]*(?:[-*•#]+|\d{1,3}[.)])[ \t]+")
_EDGE = re.compile(r"(?<!\\)\|")
_QUOTED = 90
"""The characters of a sentence around a figure that are quoted for it."""

_Home = tuple[Grid | None, int]
"""A column of an output: its table, and its number there."""


def figures_now(turns: Turns, made: Plan, ran: Mapping[str, CellRan]) -> list[Figure]:
    """The figures of the last report that cells show, with what the same rows show now. `ran` are the cells as they ran
    now, by their ids.

    A figure whose row is not shown any more is left out. Called without cells, it gives the figures of the report.
    """
    finished = next(step for step in reversed(turns[-1]) if isinstance(step, Finished))
    shown = [
        tuple(ran.get(step.cell_id, step) if isinstance(step, CellRan) else step for step in steps) for steps in turns
    ]
    facts = facts_of(turns)
    before, now = _Outputs(turns, facts), _Outputs(shown, facts_of(shown))
    reading = read_report(finished.report)
    claims = {claim.start: claim for claim in reading.claims}
    sourced = {
        number: place
        for number, source in enumerate(finished.sources)
        if source.state == "sourced" and (place := next((p for p in places_of(source) if p.number is not None), None))
    }
    sourced |= _by_columns(finished.sources, sourced, claims, facts, made)
    found: list[Figure] = []
    for number, place in sourced.items():
        source = finished.sources[number]
        if place.number is None or place.cell_id not in made.wanted:
            continue
        value = before.in_another_run(now, place)
        if value is not None:
            claim = claims.get(source.start)
            numeral = claim.numeral if claim else None
            name = _named(labels_of(place.what, place.about)) or source.figure
            heading = _heading(claim, reading) if claim else ""
            found.append(
                Figure(
                    place=number,
                    name=name,
                    value=value,
                    text=_line(finished.report, source),
                    written=source.figure,
                    times=1.0 if numeral is None else _times(numeral, place.number),
                    percent="%" in source.figure if numeral is None else numeral.unit in _PERCENT,
                    heading=heading,
                    quote="" if heading or claim is None or _PLAIN_NAME.fullmatch(name) else _quote(finished, claim),
                )
            )
    return found


# --- where a figure comes from


def _by_columns(
    sources: Sequence[FigureSource],
    sourced: Mapping[int, SourcePlace],
    claims: Mapping[int, Claim],
    facts: Facts,
    made: Plan,
) -> dict[int, SourcePlace]:
    """Other places of figures in the report's tables: a column of a table comes from one column of an output.

    The value of a row may stand in several outputs, of which one gives the column's other rows too. Only a table of a
    wanted cell that shows the value for the same row can be the place instead.
    """
    columns: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number in sourced:
        claim = claims.get(sources[number].start)
        if claim is not None and claim.in_table:
            columns[claim.table, claim.at[1]].append(number)
    of_value: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts.facts:
        if fact.grid is not None and fact.place.cell_id in made.wanted:
            of_value[_key(fact.value)].append(fact)
    found: dict[int, SourcePlace] = {}
    for numbers in columns.values():
        given = {number: _given(sourced[number], of_value) for number in numbers}
        homes = Counter(home for each in given.values() for home in {_home(fact) for fact in each})
        own = Counter(_home(each[0]) for each in given.values() if each)
        if not homes:
            continue
        best = max(homes, key=lambda home: (homes[home], _turn(home), own[home]))
        for number, each in given.items():
            other = next((fact for fact in each if _home(fact) == best), None)
            if other is not None and each[0] is not other and _home(each[0]) != best:
                found[number] = _placed(sourced[number], other)
    return found


def _given(place: SourcePlace, of_value: Mapping[str, Sequence[Fact]]) -> list[Fact]:
    """The facts of tables that give a figure's value for its row, that of its place first; empty for one of a line."""
    if place.number is None:
        return []
    same = of_value.get(_key(place.number), ())
    at = (place.what, place.cell_id, place.line, labels_of(place.what, place.about))
    own = next((fact for fact in same if _where(fact) == at), None)
    if own is None:
        return []
    row = _row(own)
    return [own, *(fact for fact in same if fact is not own and row and not row.isdisjoint(_row(fact)))]


def _placed(place: SourcePlace, fact: Fact) -> SourcePlace:
    what, cell_id, line, about = _where(fact)
    changed = {"what": what, "cell_id": cell_id, "line": line, "about": about, "number": fact.value}
    return place.model_copy(update=changed)


def _where(fact: Fact) -> tuple[str, str, int, str]:
    what, cell_id = fact.place.what, fact.place.cell_id
    return what, cell_id, fact.place.line, labels_of(what, fact.place.about)


def _home(fact: Fact) -> _Home:
    return fact.grid, fact.column


def _turn(home: _Home) -> int:
    """The turn of a table: that of the report is the highest."""
    return home[0].facts[0].turn if home[0] is not None else EARLIER


def _row(fact: Fact) -> set[Label]:
    return {label for family, label in fact.keys if not family.columns}


def _key(value: float) -> str:
    return f"{value:.9g}"


# --- what its row shows in another run


@dataclass(slots=True)
class _Lines:
    """The lines that one cell printed, by their words. Their numbers may be others in another run."""

    texts: dict[int, str] = field(default_factory=dict)
    values: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def like(self, line: str, pattern: re.Pattern[str] | None) -> list[int]:
        """The lines with the same words. Days and years are words too, unless `pattern` leaves them out."""
        shape = _shape(line, pattern)
        return [number for number, text in self.texts.items() if _shape(text, pattern) == shape]


class _Outputs:
    """What the cells of a thread show: values by the labels of their row and column, else by their printed line."""

    def __init__(self, turns: Turns, facts: Facts) -> None:
        self._tables: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self._lines: dict[tuple[str, str], _Lines] = defaultdict(_Lines)
        printed = {
            (step.cell_id, number, _flat(line))
            for steps in turns
            for step in steps
            if isinstance(step, CellRan)
            for text in (step.stdout, step.result)
            for number, line in enumerate(text.split("\n"), 1)
        }
        for fact in facts.facts:
            what, cell_id, line, about = _where(fact)
            if what == "output" and (cell_id, line, about) in printed:
                lines = self._lines[what, cell_id]
                lines.texts[line] = about
                lines.values[line].append(fact.value)
            else:
                self._tables[what, cell_id, about].append(fact.value)

    def in_another_run(self, other: _Outputs, place: SourcePlace) -> float | None:
        """The value that the row of this place shows in another run; None where that run does not show the row."""
        about = labels_of(place.what, place.about)
        lines, others = self._lines[place.what, place.cell_id], other._lines[place.what, place.cell_id]
        if lines.texts.get(place.line) == about:
            at = _same_line(lines, others, place.line)
            was, now = lines.values[place.line], others.values[at] if at else []
        else:
            key = (place.what, place.cell_id, about)
            was, now = self._tables[key], other._tables[key]
        if len(was) != len(now):
            return None
        return next((b for a, b in zip(was, now, strict=True) if same_number(place.number or 0.0, a)), None)


def _same_line(before: _Lines, now: _Lines, line: int) -> int:
    """The number of a line in another run, 0 where that is not certain. Lines above it may have come or gone."""
    for pattern in (_DAY, None):
        was, there = (lines.like(before.texts[line], pattern) for lines in (before, now))
        if there and len(was) == len(there) and (len(was) == 1 or pattern):
            return there[was.index(line)]
    return 0


def _shape(line: str, days: re.Pattern[str] | None) -> str:
    """A line with a sign in place of each number, `days` of it left as they are."""
    if days is None:
        return _DIGITS.sub("#", line)
    kept = days.findall(line)
    return " ".join((_DIGITS.sub("#", line), *kept))


def _flat(line: str) -> str:
    return labels_of("output", " ".join(line.split())[:120])


# --- how a figure is called


def _named(about: str) -> str:
    """The labels around a figure, without numbers. The labels of a printed line include the figure itself."""
    words = (word for word in about.split() if not _NUMERAL.fullmatch(word))
    return one_line(" ".join(words).strip(" :=|,;·-"), 60)


def _heading(claim: Claim, reading: Reading) -> str:
    """The row and the column of a figure in a table of the report, as the report writes them; "" outside of tables."""
    if not claim.in_table:
        return ""
    at = reading.written.count("\n", 0, claim.start)
    lines, blanked = reading.written.split("\n"), reading.text.split("\n")
    top = at
    while top and "|" in lines[top - 1]:
        top -= 1
    names = claim.row.split(" | ")
    row = [a for a, b in zip(_cells(lines[at]), _cells(blanked[at]), strict=False) if a in names or b in names]
    column = _cells(lines[top])[claim.at[1] : claim.at[1] + 1]
    return one_line(" · ".join(filter(None, (*row, *column))), 80)


def _cells(line: str) -> list[str]:
    return [_MARKS.sub("", cell.replace(FILLER, "").strip()) for cell in _EDGE.split(line.strip().strip("|"))]


def _quote(finished: Finished, claim: Claim) -> str:
    """The words of the report around a figure, of its sentence at most."""
    start, end = claim.span
    text = finished.report
    first, last = max(start, claim.start - _QUOTED // 2), min(end, claim.end + _QUOTED // 2)
    if end - start <= _QUOTED:
        first, last = start, end
    before, behind = text[first : claim.start], text[claim.start : last]
    if first > start:
        before = "…" + before.partition(" ")[2] if " " in before else "…" + before
    if last < end:
        behind = behind.rpartition(" ")[0] + "…" if " " in text[claim.end : last] else behind + "…"
    return " ".join(_MARKS.sub("", before + behind).split())


def _line(report: str, source: FigureSource) -> str:
    """The line of the report around a figure."""
    if source.start < 0:
        return ""
    start = report.rfind("\n", 0, source.start) + 1
    end = report.find("\n", source.start)
    return one_line(report[start : end if end >= 0 else len(report)], 200)


def _times(numeral: Numeral, value: float) -> float:
    """The power of ten between a cell's value and how the report writes it; 0 where one of them is 0 or none fits."""
    for reading, _ in numeral.readings:
        amount = abs(reading * numeral.scale)
        if amount and value:
            power = 10.0 ** round(math.log10(amount / abs(value)))
            if math.isclose(amount, abs(value) * power, rel_tol=_ROUNDED):
                return power
    return 0.0 if numeral.unit in _PERCENT or numeral.scale != 1.0 else 1.0
