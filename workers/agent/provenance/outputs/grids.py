"""Tables of facts: rows, columns, labels and units, from cells that are already apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from workers.agent.provenance.language.numerals import Day, Marks, Numeral, month_of, scan, scan_dates
from workers.agent.provenance.language.words import CURRENCIES, SCALES, key_of
from workers.agent.provenance.outputs.facts import Fact, Family, Grid, Label, Place, What

_PLAIN = re.compile(r"([-−])?(\d{1,18}(?:\.\d{1,15})?)", re.ASCII)
_UNIT_IN_NAME = re.compile(
    r"(?:[(\[（_ ,/]|^)(?P<unit>k€|t€|k ?eur|t ?eur|k ?usd|k\$|m€|mio\.? ?€|meur|musd|eur|usd|gbp|cny|"
    r"rmb|€|\$|£|¥|%|pct|percent|prozent|kg|km|[kmgt]?wh|[kmg]w|min|minutes|hours|h|days|万元|亿元|千元|元|个?百分点)"
    r"(?:[)\]）_ ,./]|$)",
    re.IGNORECASE,
)
_PERCENT_AT_END = re.compile(r"(?<![A-Za-z\d.,])(?P<bound>\d{1,3}(?:[.,]\d+)?\s?)?[%％][)\]）]?$")
"""A name such as "share of EUR %", "risk 2025Q1 %". "high 95 %" names a bound, and says nothing of its unit."""
_UNIT_AT_END = re.compile(
    r"(?:^|[_(\[ ,/（])(?P<unit>(?i:ms|milliseconds|secs?|seconds|sekunden|mins|minuten|hrs|stunden|bytes|[kmgt]b)|"
    r"(?<=[_(\[])[sg]|毫秒|秒|分钟|小时)[)\]）]?$"
    r"|[_ (](?P<inside>ms)[_ )]"
)
"""The unit of a name that is too short to count anywhere in it: "p99_ms", "weight_g", "time (s)"."""
_SCALE_IN_NAME = re.compile(
    r"[ (\[（](?P<scale>k|tsd|thousands?|mn|mio|millions?|千|万|百万|亿)[)\]）]?$", re.IGNORECASE
)
"""The scale that a name ends with, without a unit: "users_k", "Besucher (Tsd)"."""
_NAMED_UNITS = {
    "k€": ("eur", 1e3), "t€": ("eur", 1e3), "keur": ("eur", 1e3), "teur": ("eur", 1e3), "kusd": ("usd", 1e3),
    "k$": ("usd", 1e3), "m€": ("eur", 1e6), "mio€": ("eur", 1e6), "mio.€": ("eur", 1e6), "meur": ("eur", 1e6),
    "musd": ("usd", 1e6), "eur": ("eur", 1.0), "€": ("eur", 1.0), "usd": ("usd", 1.0), "$": ("usd", 1.0),
    "gbp": ("gbp", 1.0), "£": ("gbp", 1.0),
    "cny": ("cny", 1.0), "rmb": ("cny", 1.0), "¥": ("cny", 1.0), "元": ("cny", 1.0),
    "万元": ("cny", 1e4), "亿元": ("cny", 1e8), "千元": ("cny", 1e3), "个百分点": ("pp", 1.0), "百分点": ("pp", 1.0),
    "%": ("%", 1.0), "pct": ("%", 1.0),
    "percent": ("%", 1.0), "prozent": ("%", 1.0), "min": ("min", 1.0), "minutes": ("min", 1.0), "hours": ("h", 1.0),
    "h": ("h", 1.0), "days": ("d", 1.0), "kg": ("kg", 1.0), "km": ("km", 1.0),
    "wh": ("wh", 1.0), "kwh": ("kwh", 1.0), "mwh": ("mwh", 1.0), "gwh": ("gwh", 1.0), "twh": ("twh", 1.0),
    "kw": ("kw", 1.0), "mw": ("mw", 1.0), "gw": ("gw", 1.0),
    "ms": ("ms", 1.0), "milliseconds": ("ms", 1.0), "毫秒": ("ms", 1.0), "s": ("s", 1.0), "sec": ("s", 1.0),
    "secs": ("s", 1.0), "seconds": ("s", 1.0), "sekunden": ("s", 1.0), "秒": ("s", 1.0), "mins": ("min", 1.0),
    "minuten": ("min", 1.0), "分钟": ("min", 1.0), "hrs": ("h", 1.0), "stunden": ("h", 1.0), "小时": ("h", 1.0),
    "g": ("g", 1.0), "bytes": ("b", 1.0), "kb": ("kb", 1.0), "mb": ("mb", 1.0), "gb": ("gb", 1.0), "tb": ("tb", 1.0),
}  # fmt: skip


@dataclass(slots=True)
class Reader:
    """Makes facts of what one cell printed."""

    what: What
    cell: int
    cell_id: str
    turn: int
    marks: Marks = "point"

    def place(self, line: int, about: str, what: What | None = None) -> Place:
        return Place(what or self.what, self.cell, self.cell_id, line, " ".join(about.split(maxsplit=120)[:120])[:120])


@dataclass(slots=True)
class Found:
    """What reading gave: facts, their tables, dates and times."""

    facts: list[Fact]
    grids: list[Grid]
    days: dict[Day, Place]
    times: dict[str, Place]


def is_year(cell: str) -> bool:
    return re.fullmatch(r"(?:19|20)\d\d", cell.strip()) is not None


def number_in(cell: str, marks: Marks) -> Numeral | None:
    """The number in a cell; None when the cell holds something else."""
    text = cell.strip().strip("*")
    if not text or not any(map(str.isdigit, text)) or len(text) > 40:
        return None
    if plain := _PLAIN.fullmatch(text):
        value, decimals = float(plain[2]), len(plain[2].partition(".")[2])
        return Numeral(0, len(text), text, "number", ((value, decimals),), -1 if plain[1] else 0, bare=text.isdigit())
    found = scan(text, marks)
    if len(found) != 1:
        return None
    one = found[0]
    if one.start == 0 and one.end >= len(text) and (one.kind == "number" or one.bare):
        if one.kind == "date":
            return Numeral(0, len(text), text, "number", ((float(text), 0),), bare=True)
        return one
    return None


@lru_cache(maxsize=4_096)
def label_of(text: str) -> Label:
    """A label as it is compared: a date when it is one, else its words."""
    stripped = text.strip()
    if month := month_of(stripped):
        return Day(month=month)
    if any(map(str.isdigit, stripped)) and len(stripped) < 40:
        found = scan(stripped, "point")
        if len(found) == 1 and found[0].kind == "date" and found[0].end - found[0].start >= len(stripped) - 1:
            return found[0].day
    return key_of(stripped)


def add_grid(  # noqa: PLR0917 - a table is its header, rows and values
    header: Sequence[str],
    rows: Sequence[tuple[int, Sequence[str]]],
    values: Sequence[Sequence[Numeral | None]],
    reader: Reader,
    found: Found,
    what: What | None = None,
    *,
    total_rows: int | None = None,
    over: Mapping[int, str] | None = None,
    of_values: bool = False,
) -> Grid:
    """Add the facts of a table: `rows` are (line, cells), `values` the numbers among them. `over` says what stands
    above a column's own name for several columns together, `of_values` that the columns are values of one thing."""
    groups = Family(columns=True)
    header, over = _with_periods(header, over or {})
    width = max((len(row) for _, row in rows), default=0)
    labels, counts_up = _label_columns(header, rows, values, width)
    names = tuple(key_of(f"{over.get(at, '')} {header[at]}") if at < len(header) else () for at in range(width))
    grid = Grid(
        names=names, rows=len(rows) if total_rows is None else total_rows, whole=total_rows in (None, len(rows))
    )
    families = {at: Family() for at in labels}
    columns = Family(columns=True, of_values=of_values)
    has_range = any("max" in name for name in names)
    last: dict[int, str] = {}
    for place, ((line, row), numbers) in enumerate(zip(rows, values, strict=True)):
        keys: list[tuple[Family, Label]] = []
        shown: list[str] = []
        if sum(map(bool, map(str.strip, row))) == 1 and not any(numbers):
            continue  # a remark below the rows, such as "(TWh)", names none
        for at in labels:
            text = row[at].strip() if at < len(row) else ""
            if not text and len(labels) > 1:
                text = last.get(at, "")
            last[at] = text
            label = label_of(text)
            if label:
                families[at].add(label, text)
                keys.append((families[at], label))
                shown.append(text)
        for at, number in enumerate(numbers):
            if number is None or at in labels or (counts_up and at == 0):
                continue
            name = header[at].strip() if at < len(header) else ""
            group = over.get(at, "")
            own = [*keys, *_labels_of(((columns, name), (groups, group)))]
            words = {word for _, label in own if not isinstance(label, Day) for word in label}
            words.update(names[at])
            fact = make_fact(
                number,
                reader.place(line, " · ".join([*shown, *filter(None, [group]), name]), what),
                reader.turn,
                tuple(own),
                words,
            )
            if not fact.unit and fact.scale == 1.0 and not (has_range and "min" in names[at]):
                fact.unit, fact.scale = next((unit for unit in map(unit_of, (name, group)) if unit[0]), unit_of(name))
            fact.grid, fact.row, fact.column = grid, place, at
            grid.facts.append(fact)
            found.facts.append(fact)
    found.grids.append(grid)
    return grid


def _label_columns(
    header: Sequence[str],
    rows: Sequence[tuple[int, Sequence[str]]],
    values: Sequence[Sequence[Numeral | None]],
    width: int,
) -> tuple[list[int], bool]:
    """The columns that name the rows, and whether the first one only counts them, from 0."""
    numeric = [is_numeric(at, rows, values) for at in range(width)]
    labels = [
        at
        for at in range(width)
        if not (numeric[at] or (at and _is_empty(at, rows))) or (at == 0 and _is_index(at, rows, header, numeric))
    ]
    counts_up = width > 1 and ["".join(row[:1]) for _, row in rows] == [str(n) for n in range(len(rows))]
    if counts_up:
        labels = [at for at in labels if at]
    elif _is_level_behind(labels, rows):
        labels.append(len(labels))
    return labels[:-1] if len(labels) == width else labels, counts_up


def _labels_of(names: Sequence[tuple[Family, str]]) -> list[tuple[Family, Label]]:
    """The labels of names, each noted in its family. A name without words is none."""
    told = [(family, label, name) for family, name in names if (label := label_of(name))]
    for family, label, name in told:
        family.add(label, name)
    return [(family, label) for family, label, _ in told]


def _with_periods(header: Sequence[str], over: Mapping[int, str]) -> tuple[list[str], dict[int, str]]:
    """The names of the columns and what stands above them. "Q1" below "2024" is one name, as both are one period."""
    whole = {at: f"{header[at]} {name}" for at, name in over.items() if is_year(name)}
    joined = {at: name for at, name in whole.items() if isinstance(label_of(name), Day)}
    names = [joined.get(at, name) for at, name in enumerate(header)]
    return names, {at: name for at, name in over.items() if at not in joined}


def add_index(name: str, rows: Sequence[tuple[int, Sequence[str]]], reader: Reader, found: Found) -> None:
    """Add the numbers by which the rows of a series are named, such as ids: people tell them. `name` is the index's."""
    columns, column = Family(columns=True), label_of(name)
    columns.add(column, name)
    for line, row in rows:
        number = number_in(row[0], reader.marks)
        if number is not None and _LONG_NUMBER.fullmatch(row[0].strip()) and not is_year(row[0]):
            place = reader.place(line, f"{row[0].strip()} · {name}")
            fact = make_fact(number, place, reader.turn, ((columns, column),), set(key_of(name)))
            if not fact.unit and fact.scale == 1.0:
                fact.unit, fact.scale = unit_of(name)
            found.facts.append(fact)


_LONG_NUMBER = re.compile(r"\d{3,18}")
"""Shorter ones may be places in a list."""
_MISSING = frozenset(("", "nan", "none", "null", "nat", "na", "n/a", "<na>", "-", "–", "—"))


def is_numeric(at: int, rows: Sequence[tuple[int, Sequence[str]]], values: Sequence[Sequence[Numeral | None]]) -> bool:
    """Whether a column holds numbers: more than half of its cells. Cells without a value do not count."""
    cells = [
        numbers[at] is not None
        for (_, row), numbers in zip(rows, values, strict=True)
        if at < len(row) and at < len(numbers)
        if numbers[at] is not None or row[at].strip().casefold() not in _MISSING
    ]
    return sum(cells) * 2 > len(cells)


def _is_empty(at: int, rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether a column has no value in any row: pandas prints NaN in each."""
    return all(at >= len(row) or row[at].strip().casefold() in _MISSING for _, row in rows)


def _is_index(
    at: int, rows: Sequence[tuple[int, Sequence[str]]], header: Sequence[str], numeric: Sequence[bool]
) -> bool:
    """Whether the numbers of a first column are labels: a series' index, years, percentiles, months."""
    if not any(numeric[at + 1 :]):
        return False
    cells = [row[at].strip() for _, row in rows if at < len(row) and row[at].strip()]
    small = [cell.isdigit() and 0 < int(cell) <= 31 for cell in cells]
    return (
        not any(header)
        or all(map(is_year, cells))
        or all(cell.endswith("%") for cell in cells)
        or (all(small) and [int(cell) for cell in cells] == list(range(int(cells[0]), int(cells[0]) + len(cells))))
    )


def _is_level_behind(labels: Sequence[int], rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether the numbers behind the labels are the last level of an index, as pandas prints `groupby([a, b])`: rows
    leave the labels blank that the row above has, and count on in years, quarters or months."""
    at = len(labels)
    if not at or list(labels) != list(range(at)) or not "".join(rows[0][1][:1]).strip():
        return False
    groups: list[list[int]] = []
    for _, row in rows:
        if sum(map(bool, map(str.strip, row))) == 1:
            continue
        if len(row) <= at + 1 or not row[at].strip().isdigit():
            return False
        if row[0].strip() or not groups:
            groups.append([])
        groups[-1].append(int(row[at]))
    numbers = [number for group in groups for number in group]
    return (
        len(groups) < len(numbers)
        and (all(1900 <= number < 2100 for number in numbers) or all(0 < number <= 31 for number in numbers))
        and all(one < other for group in groups for one, other in pairwise(group))
    )


@lru_cache(maxsize=1_024)
def unit_of(name: str) -> tuple[str, float]:
    """The unit and the scale that a column's name tells: "revenue_k_eur" → ("eur", 1000).

    "min" at the beginning of a name is the least value, not minutes. "high 95 %" is a bound, and says nothing of its
    unit. A share or a rank of amounts in a currency is none itself: "Anteil USD", "rank_eur".
    """
    unit, scale = _unit_told(name)
    return ("", 1.0) if unit in _CURRENCY_UNITS and _NO_AMOUNT.search(name.replace("_", " ")) else (unit, scale)


_NO_AMOUNT = re.compile(
    r"\b(?:shares?|percent\w*|pct|proportion|rank(?:ing)?|anteile?|quoten?|prozent|rang|part|cuotas?|rango|puesto|"
    r"porcentaje)\b|占比|比例|排名|順位|割合|シェア",
    re.IGNORECASE,
)
_CURRENCY_UNITS = frozenset(CURRENCIES.values())


def _unit_told(name: str) -> tuple[str, float]:
    flat = name.replace("_", " ")
    if (percent := _PERCENT_AT_END.search(flat.strip())) and not percent["bound"]:
        return "%", 1.0
    match = _UNIT_IN_NAME.search(flat) or _UNIT_AT_END.search(name.strip())
    if match is not None and match.groupdict().get("inside"):
        return "ms", 1.0
    if match is not None and match.start("unit") == 0 and match["unit"].casefold() == "min":
        return "", 1.0
    if match is not None and match["unit"] == "%" and flat[: match.start("unit")].rstrip()[-1:].isdigit():
        return "", 1.0
    if match is None and (scale := _SCALE_IN_NAME.search(flat)):
        return "", SCALES[scale["scale"].casefold()]
    return _NAMED_UNITS.get(match["unit"].casefold().replace(" ", ""), ("", 1.0)) if match else ("", 1.0)


def make_fact(
    number: Numeral,
    place: Place,
    turn: int,
    keys: tuple[tuple[Family, Label], ...],
    words: set[str],
    *,
    given: bool = False,
) -> Fact:
    """A fact of a printed number. A whole number is exact, however many zeros it ends with."""
    value, decimals = number.readings[0]
    if decimals < 0 and not re.search(r"\d[eE]", number.text) and number.scale == 1.0:
        decimals = 0
    return Fact(
        -value if number.sign < 0 else value,
        decimals,
        place,
        number.unit,
        number.scale,
        keys,
        frozenset(words),
        turn=turn,
        given=given,
        plus=number.sign > 0,
    )


_MONTH_AS_NUMBER = re.compile(r"(?<![\w.,-])(0[1-9]|1[0-2])\.((?:19|20)\d\d)(?!\d|[.,]\d)")
"""03.2026, as German files write a month. It stays a number, too: 10.2026 may be one."""


def note_months(lines: Sequence[str], reader: Reader, found: Found) -> None:
    """Note the months that are written as numbers."""
    for number, line in enumerate(lines, 1):
        for match in _MONTH_AS_NUMBER.finditer(line[:20_000]):
            found.days.setdefault(Day(int(match[2]), int(match[1])), reader.place(number, line[:80]))


def note_days(lines: Sequence[str], reader: Reader, found: Found, at: int) -> None:
    for number, line in enumerate(lines, at + 1):
        if len(line) < 20_000:
            for one in scan_dates(line):
                note_day(one, reader.place(number, line[:80]), found)


def note_day(one: Numeral, place: Place, found: Found) -> None:
    if one.kind == "date":
        found.days.setdefault(one.day, place)
    elif one.kind == "time":
        found.times.setdefault(one.text[:5].zfill(5), place)
