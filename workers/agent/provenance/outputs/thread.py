"""The facts of a thread: what its cells showed, what its files and people say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Literal

from core.steps import (
    Asked,
    Briefed,
    CellRan,
    ChartData,
    ColumnNote,
    DataCheck,
    FileAbstract,
    Forgot,
    Loaded,
    Recalled,
    Step,
    TableData,
    TableNote,
    TeamNote,
)
from core.weighed_cache import WeighedCache
from workers.agent.allowed_cells import last_runs
from workers.agent.code.source import tree
from workers.agent.provenance.language.numerals import Day, Marks, Numeral, marks_of, scan
from workers.agent.provenance.language.words import CURRENCIES, PERCENT_WORDS, Key, has_word, key_of
from workers.agent.provenance.outputs.facts import (
    EARLIER,
    MAX_FACTS,
    Fact,
    Facts,
    Family,
    Grid,
    Label,
    Place,
    Told,
    settle,
)
from workers.agent.provenance.outputs.from_memory import entry_named
from workers.agent.provenance.outputs.grids import Found, Reader, add_grid, label_of, make_fact, unit_of
from workers.agent.provenance.outputs.periods import add_periods
from workers.agent.provenance.outputs.printed import read_text

_MONEY = re.compile(
    r"US\$|[$€£¥￥₹₩]|(?<![A-Za-z])(?:EUR|USD|GBP|CNY|RMB|JPY|CHF|INR)(?![A-Za-z])|\beuros?\b|\bdollars?\b|美元|欧元|人民币|元",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(
    r"(?<![A-Za-z])(?:T ?€|k ?€|k ?EUR|T ?EUR|k ?USD|k ?\$|thousands?|Tsd\.?|TEUR|KEUR|"
    r"千元)(?![A-Za-z])|_(?:t|k)_?(?:eur|usd)",
    re.IGNORECASE,
)
_MILLIONS = re.compile(r"(?<![A-Za-z])(?:Mio\.? ?€?|M€|M ?EUR|MEUR|MUSD|millions?|百万)(?![A-Za-z])", re.IGNORECASE)
_WAN = re.compile(r"万元")
_NAME = re.compile(r"^(?:Freq: [\w-]+, )?Name: (?P<name>.+?), (?:Length: \d+, )?dtype: ", re.MULTILINE)
_UNIT_OF_TITLE = re.compile(
    r"(?:\b(?:in|en)\s|[,;(\[（])\s*([kKTM]\s?(?:€|EUR|USD|\$)|[KT]EUR|Mio\.?\s?€|万元|亿元|千元)(?!\w)"
)
"""The unit that a title gives to all that its cell shows: "Revenue per country, in k EUR"."""
_EARLIER_CELLS = 40
_PERCENTILE = re.compile(r"[pq](\d\d)")
_SIZES = re.compile(r"\[?(\d[\d,]{0,20}) rows x (\d{1,15}) columns\]?|\((\d{1,15}), (\d{1,15})\)")


MOST_KEPT = 40_000
"""Facts of all kept cells together: as many as one report may rest on, about 0.9 KB each."""
_KEPT = WeighedCache[Facts](MOST_KEPT, lambda facts: len(facts.facts) + 1)
"""All reports of a thread rest on the same earlier cells."""


def facts_of(turns: Sequence[Sequence[Step]], *, own: bool = False) -> Facts:  # noqa: PLR0912 - one case per kind
    """All facts that the report of the last of these turns may use, oldest first. Cells count through the thread.

    Output of a cell that was taken back, or that a reset followed, is not included: no notebook has that cell any more.
    Nor is an entry of the team's memory once the thread was told that it was changed or removed, nor the output of a
    cell that stopped to ask a person and ran again. What a failed cell showed stands behind all else: of two places
    with the same figure, the one that runs to its end is the source.
    The facts of a cell are read once and shared: only with `own` may the caller change a fact or a family.
    """
    facts = Facts()
    number = 0
    last = len(turns) - 1
    total = sum(isinstance(step, CellRan) for steps in turns for step in steps)
    standing, fresh = _standing_notes(turns), _turns_since_reset(turns)
    of_failed: list[Facts] = []
    for place, steps in enumerate(turns):
        lasting = {cell.cell_id for cell in last_runs(steps)}
        for step in steps:
            turn = 0 if place == last else EARLIER
            if isinstance(step, CellRan):
                number += 1
                if step.status == "undone" or step.cell_id not in lasting or place < fresh:
                    continue
                if turn == 0 or number > total - _EARLIER_CELLS:
                    read = partial(_cell_facts, step, number, turn)
                    shown = read() if own else _KEPT.of((step, number, turn), read)
                    if step.status == "ok":
                        _add(shown, facts)
                    else:
                        of_failed.append(shown)
            elif isinstance(step, Asked):
                _said(step.text, Place("question", about="the question"), facts)
                if turn == 0 and (today := _day_of(step.ts)):
                    facts.days.setdefault(today, Place("question", about="the day of the question"))
            elif isinstance(step, Briefed):
                for file in step.files:
                    _file(file, facts)
            elif isinstance(step, Loaded):
                texts = (*step.questions, *(each.text for each in step.said), step.report)
                _said("\n".join(texts), Place("note", about="the loaded thread"), facts)
            elif isinstance(step, Recalled):
                for note in standing[id(step)]:
                    _said(f"{note.title}\n{note.text}", Place("memory", about=entry_named(note)), facts)
            if len(facts.facts) > MAX_FACTS:
                del facts.facts[MAX_FACTS:]
    for shown in of_failed:
        _add(shown, facts)
    del facts.facts[MAX_FACTS:]
    facts.cells = number
    for fact in facts.facts:
        if fact.unit in _CURRENCY_CODES and not fact.given:
            facts.currencies.add(fact.unit)
    settle(facts)
    _percentiles(facts)
    return facts


def _day_of(ts: str) -> Day | None:
    """The day of a message (UTC): the model is told it, and reports name it."""
    try:
        day = datetime.fromtimestamp(float(ts), UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return Day(day.year, day.month, day.day)


def _turns_since_reset(turns: Sequence[Sequence[Step]]) -> int:
    """The place of the first turn behind the last reset. A reset ends its turn."""
    reset = [
        place for place, steps in enumerate(turns) if any(isinstance(step, Forgot) and step.done for step in steps)
    ]
    return reset[-1] + 1 if reset else 0


def _standing_notes(turns: Sequence[Sequence[Step]]) -> dict[int, list[TeamNote]]:
    """The entries of each `Recalled`, by its id in memory, that no later one names as gone. One that still stands under
    the same title was read again there."""
    gone: set[str] = set()
    standing: dict[int, list[TeamNote]] = {}
    for step in (step for steps in reversed(turns) for step in reversed(steps)):
        if isinstance(step, Recalled):
            standing[id(step)] = [note for note in step.notes if note.title not in gone]
            gone |= {*step.gone, *step.withheld}
    return standing


def _percentiles(facts: Facts) -> None:
    """Note what the names of columns say: "p95_h" is for 95 % of the cases."""
    places = {word: fact.place for fact in facts.facts if fact.turn == 0 for word in fact.words if word[:1] in "pq"}
    for word, place in places.items():
        if match := _PERCENTILE.fullmatch(word):
            facts.facts.append(Fact(float(match[1]), 0, place, unit="%", given=True, percent=True))


_CURRENCY_CODES = set(CURRENCIES.values())


def _take(found: Found, facts: Facts) -> None:
    facts.facts += found.facts
    facts.grids += found.grids
    for day, place in found.days.items():
        facts.days.setdefault(day, place)
    for time, place in found.times.items():
        facts.times.setdefault(time, place)
    for grid in found.grids:
        if grid.facts:
            facts.counts.setdefault(grid.rows, grid.facts[0].place._replace(what="count", line=0))


def _units(text: str, facts: Facts) -> None:
    """Note the currencies and scales that a text names."""
    for match in _MONEY.finditer(text):
        facts.currencies.add(CURRENCIES.get(match[0].casefold(), ""))
    facts.currencies.discard("")
    for pattern, scale in ((_THOUSANDS, 1e3), (_MILLIONS, 1e6), (_WAN, 1e4)):
        if pattern.search(text):
            facts.scales.add(scale)


def _add(part: Facts, facts: Facts) -> None:
    """Add the facts of one cell to those of the thread. The first place of a date, a time or a count stays."""
    facts.facts += part.facts
    facts.grids += part.grids
    for day, place in part.days.items():
        facts.days.setdefault(day, place)
    for time, place in part.times.items():
        facts.times.setdefault(time, place)
    for count, place in part.counts.items():
        facts.counts.setdefault(count, place)
    facts.currencies |= part.currencies
    facts.scales |= part.scales
    facts.titled |= part.titled


# --- cells


def _cell_facts(step: CellRan, number: int, turn: int) -> Facts:
    """What one cell showed, settled as far as possible. Nothing of it changes when it joins the others."""
    facts = Facts()
    _cell(step, number, turn, facts)
    add_periods(facts)
    settle(facts)
    return facts


def _cell(step: CellRan, number: int, turn: int, facts: Facts) -> None:
    percent = has_word(key_of(step.title), PERCENT_WORDS)
    before = len(facts.facts)
    for what in ("stdout", "result"):
        text = step.stdout if what == "stdout" else "" if step.tables else step.result
        if text.strip():
            reader = Reader("output", number, step.cell_id, turn, _marks_in(text, step.code))
            found = read_text(text, reader)
            _series_names(text, found)
            _take(found, facts)
            _units(text[:20_000], facts)
            for match in _SIZES.finditer(text):
                for group in match.groups():
                    if group:
                        facts.counts.setdefault(int(group.replace(",", "")), Place("output", number, step.cell_id))
    for table in step.tables:
        _table(table, number, step.cell_id, turn, facts)
    for chart in step.charts:
        _chart(chart, number, step.cell_id, turn, facts)
    for ran in step.statements:
        place = Place("statement", number, step.cell_id, about=f"rows of {ran.source}")
        facts.facts.append(Fact(float(ran.rows), 0, place, words=frozenset(("row",)), turn=turn))
    for check in step.checks:
        _noticed(check, number, step.cell_id, turn, facts)
    _code(step, number, facts)
    _units(step.title, facts)
    if (titled := _UNIT_OF_TITLE.search(step.title)) and (unit := unit_of(titled[1]))[1] != 1.0:
        facts.titled[number] = unit
    for fact in facts.facts[before:]:
        named = any(family.columns for family, _ in fact.keys)
        fact.percent = fact.percent or (percent and not named and fact.unit in ("", "%"))


def _noticed(check: DataCheck, number: int, cell_id: str, turn: int, facts: Facts) -> None:
    """The counts of a hint, such as the rows that a filter left: the model is told them and asked to report them."""
    if check.code == "glyphs":
        return
    words = frozenset(word for name in check.names for word in key_of(name)) | _COUNTED_ROWS
    for count in check.numbers:
        place = Place("output", number, cell_id, about=" · ".join(check.names)[:120])
        facts.facts.append(Fact(float(count), 0, place, words=words, turn=turn))


_COUNTED_ROWS = frozenset(("row",))


def _marks_in(text: str, code: str) -> Marks:
    """Which mark a printed text has before decimals. If its numbers leave it open, as "4.812" does, the cell's code
    decides.

    Python writes a point there, unless the code sets a locale or exchanges the commas of numbers that it writes.
    """
    told = marks_of(text[:4_000])
    if told == "unsure":
        return "comma" if _groups_by_points(code) else "point"
    return told


@lru_cache(maxsize=256)
def _groups_by_points(code: str) -> bool:
    """Whether code writes numbers in the German way: `f"{x:,}".replace(",", ".")`, `locale.setlocale(...)`."""
    parsed = tree(code)
    calls = (node for node in ast.walk(parsed) if isinstance(node, ast.Call)) if parsed else ()
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name == "setlocale" or (name in ("replace", "translate") and _is_format(call.func)):
            return True
    return False


def _is_format(called: ast.expr) -> bool:
    """Whether a method, or the last one of a chain, is called on a number that is written with commas."""
    while isinstance(called, ast.Attribute) and isinstance(called.value, ast.Call):
        inner = called.value.func
        name = inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
        if name == "format":
            return "," in ast.unparse(called.value)
        called = inner
    written = called.value if isinstance(called, ast.Attribute) else None
    specs = [part.format_spec for part in ast.walk(written) if isinstance(part, ast.FormattedValue)] if written else []
    return any(spec is not None and "," in ast.unparse(spec) for spec in specs)


def _series_names(text: str, found: Found) -> None:
    """A series prints its name below: it is the heading of the column above it."""
    for match in _NAME.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        grid = next((g for g in reversed(found.grids) if g.facts and g.facts[-1].place.line < line), None)
        if grid is None or line - grid.facts[-1].place.line > 2:
            continue
        unit, scale = unit_of(match["name"])
        for fact in grid.facts:
            fact.words |= frozenset(key_of(match["name"]))
            if not fact.unit and fact.scale == 1.0:
                fact.unit, fact.scale = unit, scale


def _table(table: TableData, number: int, cell_id: str, turn: int, facts: Facts) -> None:
    reader = Reader("table", number, cell_id, turn)
    found = Found([], [], {}, {})
    rows: list[tuple[int, list[str]]] = []
    values: list[list[Numeral | None]] = []
    for line, row in enumerate(table.rows, 1):
        rows.append((line, ["" if item is None else str(item) for item in row]))
        values.append([_number(item) for item in row])
        for item in row:
            if isinstance(item, str) and any(map(str.isdigit, item)) and len(item) < 60:
                for one in scan(item, "point"):
                    if one.kind == "date":
                        found.days.setdefault(one.day, reader.place(line, item))
            elif isinstance(item, int) and 1900 <= item <= 2100:
                found.days.setdefault(Day(item), reader.place(line, str(item)))
    grid = add_grid(table.columns, rows, values, reader, found, total_rows=table.total_rows)
    for fact in grid.facts:
        item = table.rows[fact.row][fact.column] if fact.column < len(table.rows[fact.row]) else None
        if isinstance(item, int | float):
            fact.value, fact.decimals = float(item), None
    for name in table.columns:
        _units(name, facts)
        for one in scan(name, "point"):
            if one.kind == "date":
                found.days.setdefault(one.day, reader.place(0, name))
    _take(found, facts)
    facts.counts.setdefault(table.total_rows, Place("count", number, cell_id, about="rows"))
    facts.counts.setdefault(table.total_columns, Place("count", number, cell_id, about="columns"))


def _number(item: object) -> Numeral | None:
    if isinstance(item, bool) or not isinstance(item, int | float):
        return None
    return Numeral(0, 0, repr(item), "number", ((abs(float(item)), 12),), -1 if item < 0 else 0)


def _chart(chart: ChartData, number: int, cell_id: str, turn: int, facts: Facts) -> None:
    series_family, words = Family(), set(key_of(f"{chart.title} {chart.y}"))
    unit, scale = unit_of(chart.y)
    for series in chart.series:
        points, grid = Family(), Grid(rows=series.total_points, whole=series.total_points == len(series.points))
        grid.names = (key_of(series.name), key_of(chart.y))
        name = label_of(series.name)
        for row, (x, y) in enumerate(series.points):
            if isinstance(y, bool) or not isinstance(y, int | float):
                continue
            keys: list[tuple[Family, Label]] = []
            if x is not None and (label := label_of(str(x))) and series.kind != "scatter":
                points.add(label, str(x))
                keys.append((points, label))
            if name and len(chart.series) > 1:
                series_family.add(name, series.name)
                keys.append((series_family, name))
            place = Place("chart", number, cell_id, 0, f"{chart.figure}: {series.name} {x}"[:120])
            own = words | set(key_of(f"{series.name} {x}"))
            fact = Fact(float(y), None, place, unit, scale, tuple(keys), frozenset(own), grid, row, 0, turn)
            grid.facts.append(fact)
            facts.facts.append(fact)
            if isinstance(x, str):
                for one in scan(x, "point"):
                    if one.kind == "date":
                        facts.days.setdefault(one.day, place)
        facts.grids.append(grid)


def _code(step: CellRan, number: int, facts: Facts) -> None:
    """Parameters that the code sets: thresholds, limits, shares. Numbers that it lists as data are not included."""
    parameters, texts = _written(step.code) if step.language == "python" else ((), "")
    _said(step.error.rstrip().rpartition("\n")[2][:_ERROR_CHARS], Place("output", number, step.cell_id), facts)
    for value in parameters:
        place = Place("code", number, step.cell_id, about="a parameter in the code")
        facts.facts.append(Fact(abs(float(value)), None, place, given=True, percent=True, turn=0))
    for one in scan(texts, "point"):
        if one.kind == "date":
            facts.days.setdefault(one.day, Place("code", number, step.cell_id, about="a date in the code"))


@lru_cache(maxsize=256)  # each decision of a turn reads all its cells again
def _written(code: str) -> tuple[tuple[int | float, ...], str]:
    """The different numbers that the code sets, and its short texts in one line."""
    parsed = tree(code)
    return (tuple(set(_parameters(parsed))), " ".join(_texts(parsed))) if parsed else ((), "")


def _parameters(parsed: ast.Module) -> Iterator[int | float]:
    for node in ast.walk(parsed):
        inside: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            inside = [node.left, *node.comparators]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.match(node.value):
            sql = node.value[:_SQL_CHARS]
            listed = (value for inside in _SQL_LIST.findall(sql) for value in _SQL_LISTED.findall(inside))
            yield from map(float, islice((*_SQL_PARAMETER.findall(sql), *listed), _SQL_PARAMETERS))
        elif isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id == "print"):
            inside = [*node.args, *(keyword.value for keyword in node.keywords)]
        for one in inside:
            if isinstance(one, ast.Constant) and isinstance(one.value, int | float) and not isinstance(one.value, bool):
                yield one.value


_SQL = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)
_SQL_PARAMETER = re.compile(
    r"(?:[<>=]=?|\bbetween|\band|\binterval|\blimit)\s*'?(\d{1,12}(?:\.\d{1,6})?)(?![\d.:/-])", re.IGNORECASE
)
"""What a statement compares with, and how long its intervals are."""
_SQL_LIST = re.compile(r"\bin\s*\(([^()]{1,400})\)", re.IGNORECASE)
_SQL_LISTED = re.compile(r"(?<![\w.])'?(\d{1,12})'?(?=\s*(?:,|$))")
_SQL_DAY = re.compile(r"(?<![\d-])(?:19|20)\d\d-\d\d-\d\d(?!\d)")
_SQL_CHARS, _SQL_PARAMETERS, _ERROR_CHARS = 20_000, 50, 400


def _texts(parsed: ast.Module) -> Iterator[str]:
    for node in ast.walk(parsed):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.match(node.value):
            yield from _SQL_DAY.findall(node.value[:_SQL_CHARS])[:_SQL_PARAMETERS]
        if isinstance(node, ast.Compare | ast.Subscript | ast.Call):
            for one in ast.iter_child_nodes(node):
                if isinstance(one, ast.Constant) and isinstance(one.value, str) and len(one.value) < 40:
                    yield one.value


# --- what people and files say


def _said(text: str, place: Place, facts: Facts, told: Told | None = None) -> None:
    marks = marks_of(text)
    for line in text[:20_000].splitlines():
        for one in scan(line[:4_000], marks):
            if one.kind == "date":
                facts.days.setdefault(one.day, place)
            elif one.kind == "time":
                facts.times.setdefault(one.text[:5].zfill(5), place)
            elif one.readings:
                fact = make_fact(one, place, 0, (), set(), given=True)
                fact.told = told
                facts.facts.append(fact)
    _units(text[:20_000], facts)


def _file(file: FileAbstract, facts: Facts) -> None:
    """What is known of a file before any code ran: sizes, ranges, counts of values, its own text."""
    place = Place("file", about=file.path)
    for table in file.tables:
        _given(len(table.columns) + len(table.more_names), Told("columns", (("column",),)), place, facts)
        if table.rows is not None:
            _given(table.rows, Told("rows", (("row",), ("record",), ("line",))), place, facts)
        rows = _sample_rows(table)
        for column in table.columns:
            _column(column, table, rows, place, facts)
        for line in (table.name, *table.above, *table.more_names):
            _said(line[:300], place, facts)
        _units(" ".join(table.above), facts)
    if file.text:
        _said(file.text[:8_000], place, facts)
    for one in scan(file.path.replace("_", " "), "point"):
        if one.kind == "date":
            facts.days.setdefault(one.day, place)


def _column(
    column: ColumnNote, table: TableNote, rows: Sequence[Mapping[str, str]], place: Place, facts: Facts
) -> None:
    own, missing = (key_of(column.name),), (key_of(column.name), ("missing",))
    _units(column.name, facts)
    if column.unique is not None:
        _given(column.unique, Told("count", (*own, ("unique",))), place, facts)
    for level in column.levels:
        _given(level.rows, Told("count", own + _names([level.value])), place, facts)
    if column.missing:
        _given(column.missing, Told("share", missing), place, facts)
        if table.rows:
            _given(round(column.missing * table.rows), Told("missing", missing), place, facts)
    for statistic, text in zip(_SPREAD, column.spread, strict=False):
        _said(text[:80], place, facts, Told(statistic, own))
    for text in column.samples:
        beside = [value for row in rows if row.get(column.name) == text for value in row.values() if value != text]
        _said(text[:80], place, facts, Told("value", own + _names(beside)))


def _names(values: Sequence[str]) -> tuple[Key, ...]:
    """Those of these values that have letters."""
    keys = dict.fromkeys(map(key_of, values))
    return tuple(key for key in keys if not all(map(str.isdigit, key)))


_SPREAD: tuple[Literal["min", "median", "max", "value"], ...] = ("min", "value", "median", "value", "max")
"""The statistics of a spread of numbers, without names for the quartiles."""


def _sample_rows(table: TableNote) -> list[dict[str, str]]:
    """The first rows of a table, as far as they can be told apart: value by column."""
    head = [line.split(" | ") for line in table.head.splitlines()]
    return [dict(zip(head[0], line, strict=True)) for line in head[1:] if len(line) == len(head[0])]


def _given(value: float, told: Told, place: Place, facts: Facts) -> None:
    words, is_share = frozenset(chain.from_iterable(told.names)), told.what == "share"
    facts.facts.append(Fact(value, 4 if is_share else 0, place, words=words, given=True, percent=is_share, told=told))
