"""Facts in printed text: tables with aligned columns, pipes or commas, JSON and Python literals, lines with labels."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workers.agent.provenance.facts import Fact, Family, Grid, Label, Place
from workers.agent.provenance.numerals import Day, Marks, Numeral, scan
from workers.agent.provenance.words import Key, key_of

MAX_TEXT = 64_000
_MAX_LITERAL = 40_000
_MAX_RUN = 400
_RECORD = 24
"""Named figures that a mapping may hold to be one record, such as the results of one test."""
_LITERAL = re.compile(r"^(?P<name>[\w .%()/-]{0,60}?)\s*[:=]?\s*(?P<body>[\[{(].*[\]})])\s*$", re.DOTALL)
_NUMPY = re.compile(r"\b(?:np|numpy)\.(?:float|int|str|bool)_?\d*\(([^()]*)\)|\bTimestamp\(('[^']*')[^()]*\)|\bPeriod\(('[^']*')[^()]*\)")
_SPLIT = re.compile(r"[,;|]\s+|\s{2,}|\t|\)\s|\s\(")
_TOLD = re.compile(r"^[^|]{1,60}?[:=]\s")
_LABEL_END = re.compile(r"[:=]")


@dataclass(slots=True)
class Reader:
    """Makes facts of what one cell printed."""

    what: str
    cell: int
    cell_id: str
    turn: int
    marks: Marks = "point"

    def place(self, line: int, about: str, what: str = "") -> Place:
        return Place(what or self.what, self.cell, self.cell_id, line, " ".join(about.split())[:120])  # type: ignore[arg-type]


@dataclass(slots=True)
class Found:
    """What reading gave: facts, their tables, dates and times."""

    facts: list[Fact]
    grids: list[Grid]
    days: dict[Day, Place]
    times: dict[str, Place]


def read_text(text: str, reader: Reader) -> Found:
    """The facts of a printed text."""
    found = Found([], [], {}, {})
    lines = text[:MAX_TEXT].split("\n")
    whole = _literal(text[:MAX_TEXT].strip())
    if whole is not None and "\n" in text.strip():
        _walk(whole, reader, 1, found)
        _note_days(lines, reader, found, 0)
        return found
    at = 0
    while at < len(lines):
        end = _run_end(lines, at)
        block = lines[at:end]
        if len(block) >= 2 and _table(block, reader, at + 1, found):
            at = end
            continue
        value = _literal(lines[at].strip())
        if value is not None:
            match = _LITERAL.match(lines[at].strip())
            _walk(value, reader, at + 1, found, name=match["name"] if match else "")
            _note_days([lines[at]], reader, found, at)
            at += 1
            continue
        end = at + 1
        shape = _shape(lines[at])
        while shape and end < len(lines) and _shape(lines[end]) == shape and (_TOLD.match(lines[end]) or _run_end(lines, end) == end + 1):
            end += 1
        _lines(lines[at:end], reader, at + 1, found)
        at = max(end, at + 1)
    return found


def _note_days(lines: Sequence[str], reader: Reader, found: Found, at: int) -> None:
    for number, line in enumerate(lines, at + 1):
        if len(line) < 20_000:
            for one in scan(line, "point"):
                _note_day(one, reader.place(number, line[:80]), found)


def _note_day(one: Numeral, place: Place, found: Found) -> None:
    if one.kind == "date":
        found.days.setdefault(one.day, place)
    elif one.kind == "time":
        found.times.setdefault(one.text[:5].zfill(5), place)


# --- tables


def _run_end(lines: Sequence[str], at: int) -> int:
    """The end of the run of lines that look like one table: as long as the first, or as many pipes or commas."""
    first = lines[at]
    if not first.strip():
        return at + 1
    pipes, commas = first.count("|"), first.count(",")
    if pipes >= 2 and first.lstrip().startswith("|"):
        return _while(lines, at, lambda line: line.count("|") >= 2)
    if commas and ", " not in first and not first.lstrip().startswith(("{", "[", "(")):
        end = _while(lines, at, lambda line: line.count(",") == commas and ", " not in line)
        if end - at >= 2:
            return end
    if first.count("\t"):
        return _while(lines, at, lambda line: line.count("\t") == first.count("\t"))
    width = len(first)
    if "  " not in first.strip() and " " not in first.strip():
        second = lines[at + 1] if at + 1 < len(lines) else ""
        if not second.strip() or len(second.rstrip()) <= width:
            return at + 1
        # The name of an index stands alone above a series, narrower than the rows.
        end = _while(lines, at + 1, lambda line: len(line) == len(second))
        return end if end - at >= 3 and _numbers_at_end(lines[at + 1 : end]) else at + 1
    end = _while(lines, at, lambda line: abs(len(line) - width) == 0 or (len(line) < width and _is_narrow(line)))
    if end - at >= 2:
        return end
    second = lines[at + 1] if at + 1 < len(lines) else ""
    if second.strip() and "  " in first and not scan(first, "point"):
        # A header that is narrower than its rows: names of index levels above a series.
        end = _while(lines, at + 1, lambda line: len(line) == len(second))
        if end - at >= 3 and _numbers_at_end(lines[at + 1 : end]):
            return end
    return at + 1


def _is_narrow(line: str) -> bool:
    """Whether a line may be the one of index names below a header, its blanks stripped."""
    return bool(line.strip()) and "  " not in line.strip() and not any(map(str.isdigit, line)) and ":" not in line


def _numbers_at_end(lines: Sequence[str]) -> bool:
    return all(re.search(r"[\d%]\s*$", line) for line in lines)


def _while(lines: Sequence[str], at: int, like) -> int:  # type: ignore[no-untyped-def]
    end = at
    while end < len(lines) and end - at < _MAX_RUN and lines[end].strip() and like(lines[end]):
        end += 1
    return max(end, at + 1)


def _table(block: Sequence[str], reader: Reader, line: int, found: Found) -> bool:
    """Read a block as a table; False when it is none."""
    first = block[0]
    aligned = False
    if first.lstrip().startswith("|"):
        rows = [[cell.strip() for cell in text.strip().strip("|").split("|")] for text in block]
    elif "\t" in first:
        rows = [[cell.strip() for cell in text.split("\t")] for text in block]
    elif "," in first and ", " not in first and all(text.count(",") == first.count(",") for text in block):
        rows = [[cell.strip() for cell in text.split(",")] for text in block]
    else:
        rows, aligned = _columns_of(block), True
    kept = [(line + n, row) for n, row in enumerate(rows) if any(map(str.isalnum, "".join(row)))]
    values = [[_value(cell, reader.marks) for cell in row] for _, row in kept]
    heads = _head_rows([row for _, row in kept], values)
    body = kept[heads:]
    if not body or len(body[0][1]) < 2 or (len(body) < 2 and (aligned or not heads)):
        return False
    width = max(len(row) for _, row in body)
    words = [sum(value[at] is None for value in values[heads:] if at < len(value)) * 2 > len(body) for at in range(width)]
    if aligned and any(cell.endswith((",", ":", ";", "(")) for _, row in kept for cell in row):
        return False
    if all(words) or (not heads and aligned and any(words[words.index(False) :])):
        return False  # sentences that happen to be of one length
    header = [" ".join(row[at] for _, row in kept[:heads] if at < len(row) and row[at]) for at in range(width)]
    add_grid(header, body, values[heads:], reader, found)
    _note_days(block, reader, found, line - 1)
    return True


def _head_rows(rows: Sequence[Sequence[str]], values: Sequence[Sequence[Numeral | None]]) -> int:
    """How many rows at the top name the columns: words, or years, above numbers that are none."""
    width = max(map(len, rows), default=0)
    below = values[1:]
    numeric = [sum(v[at] is not None for v in below if at < len(v)) * 2 > len(below) for at in range(width)]
    count = 0
    for row, value in zip(rows[:4], values, strict=False):
        cells = [(at, cell) for at, cell in enumerate(row) if cell]
        if not cells or not any(numeric):
            break
        over = [(at, cell) for at, cell in cells if at < width and numeric[at]]
        words = sum(value[at] is None for at, _ in over)
        years = sum(_is_year(cell) and not _mostly_years(rows, at) for at, cell in over)
        if over and words + years < len(over):
            break
        if not over and any(value[at] is not None for at, _ in cells):
            break
        count += 1
    return count


def _mostly_years(rows: Sequence[Sequence[str]], at: int) -> bool:
    cells = [row[at] for row in rows[1:] if at < len(row) and row[at]]
    return sum(map(_is_year, cells)) * 2 > len(cells)


def _is_year(cell: str) -> bool:
    return re.fullmatch(r"(?:19|20)\d\d", cell.strip()) is not None


def _columns_of(block: Sequence[str]) -> list[list[str]]:
    """The cells of aligned lines: a column ends where all lines have a blank."""
    width = max(map(len, block))
    padded = [line.ljust(width) for line in block]
    used = [any(line[at] != " " for line in padded) for at in range(width)]
    spans: list[tuple[int, int]] = []
    start = None
    for at, one in enumerate([*used, False]):
        if one and start is None:
            start = at
        elif not one and start is not None:
            spans.append((start, at))
            start = None
    return [[line[a:b].strip() for a, b in spans] for line in padded]


def _value(cell: str, marks: Marks) -> Numeral | None:
    """The number that a cell is, None when it is something else."""
    text = cell.strip().strip("*")
    if not text or not any(map(str.isdigit, text)) or len(text) > 40:
        return None
    found = scan(text, marks)
    if len(found) != 1:
        return None
    one = found[0]
    if one.start == 0 and one.end >= len(text) and (one.kind == "number" or one.bare):
        if one.kind == "date":
            return Numeral(0, len(text), text, "number", ((float(text), 0),), bare=True)
        return one
    return None


def label_of(text: str) -> Label:
    """A label as it is compared: a date when it is one, else its words."""
    stripped = text.strip()
    if any(map(str.isdigit, stripped)) and len(stripped) < 40:
        found = scan(stripped, "point")
        if len(found) == 1 and found[0].kind == "date" and found[0].end - found[0].start >= len(stripped) - 1:
            return found[0].day
    return key_of(stripped)


def add_grid(  # noqa: C901, PLR0912
    header: Sequence[str],
    rows: Sequence[tuple[int, Sequence[str]]],
    values: Sequence[Sequence[Numeral | None]],
    reader: Reader,
    found: Found,
    what: str = "",
    *,
    total_rows: int | None = None,
) -> Grid:
    """Add the facts of a table: `rows` are (line, cells), `values` the numbers among them."""
    width = max((len(row) for _, row in rows), default=0)
    numeric = [sum(v[at] is not None for v in values if at < len(v)) * 2 > len(values) for at in range(width)]
    labels = [at for at in range(width) if not numeric[at] or (at == 0 and _is_index(at, rows, header, numeric))]
    counts_up = width > 1 and [row[0] for _, row in rows] == [str(n) for n in range(len(rows))]
    if counts_up:
        labels = [at for at in labels if at]
    if all(at in labels for at in range(width)):
        labels = labels[:-1]
    names = tuple(key_of(header[at]) if at < len(header) else () for at in range(width))
    grid = Grid(names=names, rows=len(rows) if total_rows is None else total_rows, whole=total_rows in (None, len(rows)))
    families = {at: Family() for at in labels}
    columns = Family(columns=True)
    last: dict[int, str] = {}
    for place, ((line, row), numbers) in enumerate(zip(rows, values, strict=True)):
        keys: list[tuple[Family, Label]] = []
        shown: list[str] = []
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
            column: Label = label_of(name)
            own = list(keys)
            if column:
                columns.add(column, name)
                own.append((columns, column))
            words = {word for _, label in own if not isinstance(label, Day) for word in label}
            words.update(names[at])
            fact = make_fact(number, reader.place(line, " · ".join([*shown, name]), what), reader.turn, tuple(own), words)
            if not fact.unit and fact.scale == 1.0:
                fact.unit, fact.scale = unit_of(name)
            fact.grid, fact.row, fact.column = grid, place, at
            grid.facts.append(fact)
            found.facts.append(fact)
    found.grids.append(grid)
    return grid


def _is_index(at: int, rows: Sequence[tuple[int, Sequence[str]]], header: Sequence[str], numeric: Sequence[bool]) -> bool:
    """Whether a first column of numbers is labels all the same: a series' index, years, percentiles, months."""
    if not any(numeric[at + 1 :]):
        return False
    cells = [row[at].strip() for _, row in rows if at < len(row) and row[at].strip()]
    small = [cell.isdigit() and 0 < int(cell) <= 31 for cell in cells]
    return (
        not any(header)
        or all(map(_is_year, cells))
        or all(cell.endswith("%") for cell in cells)
        or (all(small) and [int(cell) for cell in cells] == list(range(int(cells[0]), int(cells[0]) + len(cells))))
    )


_UNIT_IN_NAME = re.compile(r"(?:[(\[_ ,/]|^)(?P<unit>k€|t€|k ?eur|t ?eur|k ?usd|k\$|m€|mio\.? ?€|meur|musd|eur|usd|gbp|cny|rmb|€|\$|£|¥|%|pct|percent|prozent|kg|km|min|minutes|hours|h|days|万元|亿元|千元|元)(?:[)\]_ ,./]|$)", re.IGNORECASE)
_NAMED_UNITS = {
    "k€": ("eur", 1e3), "t€": ("eur", 1e3), "keur": ("eur", 1e3), "teur": ("eur", 1e3), "kusd": ("usd", 1e3),
    "k$": ("usd", 1e3), "m€": ("eur", 1e6), "mio€": ("eur", 1e6), "mio.€": ("eur", 1e6), "meur": ("eur", 1e6),
    "musd": ("usd", 1e6), "eur": ("eur", 1.0), "€": ("eur", 1.0), "usd": ("usd", 1.0), "$": ("usd", 1.0),
    "gbp": ("gbp", 1.0), "£": ("gbp", 1.0), "cny": ("cny", 1.0), "rmb": ("cny", 1.0), "¥": ("cny", 1.0), "元": ("cny", 1.0),
    "万元": ("cny", 1e4), "亿元": ("cny", 1e8), "千元": ("cny", 1e3), "%": ("%", 1.0), "pct": ("%", 1.0),
    "percent": ("%", 1.0), "prozent": ("%", 1.0), "min": ("min", 1.0), "minutes": ("min", 1.0), "hours": ("h", 1.0),
    "h": ("h", 1.0), "days": ("d", 1.0), "kg": ("kg", 1.0), "km": ("km", 1.0),
}  # fmt: skip


def unit_of(name: str) -> tuple[str, float]:
    """The unit and the scale that a column's name tells: "revenue_k_eur" → ("eur", 1000)."""
    flat = name.replace("_", " ")
    match = _UNIT_IN_NAME.search(flat)
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
    )


# --- literals


def _literal(text: str) -> object:
    """The JSON or Python value that a line ends with; None when there is none that holds others."""
    match = _LITERAL.match(text) if len(text) <= _MAX_LITERAL and any(map(str.isdigit, text)) else None
    if match is None:
        return None
    body = match["body"]
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(_plain(body) if read is ast.literal_eval else body)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return value if isinstance(value, dict | list | tuple) else None
    return None


def _plain(body: str) -> str:
    return re.sub(r"\bnan\b", "None", _NUMPY.sub(lambda match: match[1] or match[2] or match[3] or "None", body))


def _walk(value: object, reader: Reader, line: int, found: Found, name: str = "") -> None:
    """The facts of nested lists and mappings. A list of mappings, and a mapping of numbers, are tables."""
    _Walk(reader, line, found).go(value, (key_of(name),) if name else (), name, (), 0)


@dataclass(slots=True)
class _Walk:
    reader: Reader
    line: int
    found: Found

    def go(self, value: object, path: tuple[Key, ...], shown: str, keys: tuple[tuple[Family, Label], ...], depth: int) -> None:
        if depth > 8 or len(self.found.facts) > 20_000:
            return
        if isinstance(value, Mapping):
            self._mapping(value, path, shown, keys, depth)
        elif isinstance(value, list | tuple):
            self._list(value, path, shown, keys, depth)
        elif isinstance(value, bool) or value is None:
            return
        elif isinstance(value, int | float):
            self._number(value, path, shown, keys)
        elif isinstance(value, str):
            self._text(value, path, shown, keys)

    def _mapping(self, value: Mapping[object, object], path: tuple[Key, ...], shown: str, keys: tuple[tuple[Family, Label], ...], depth: int) -> None:
        own = self._labels(value)
        family = Family(columns=bool(own))
        words = [item for item in value.values() if isinstance(item, str) and item in own]
        about = " ".join([shown, *words]).strip()
        grid = Grid() if sum(isinstance(item, int | float) for item in value.values()) > 1 else None
        for place, (name, item) in enumerate(value.items()):
            label = label_of(str(name))
            added = keys
            if label:
                family.add(label, str(name))
                added = (*keys, (family, label))
            before = len(self.found.facts)
            self.go(item, (*path, key_of(str(name))), f"{about} · {name}".strip(" ·"), added, depth + 1)
            if grid is not None and len(self.found.facts) == before + 1 and not isinstance(item, str):
                fact = self.found.facts[-1]
                fact.grid, fact.row, fact.column = grid, place, 0
                grid.facts.append(fact)
        if grid is not None:
            grid.rows = len(value)
            grid.record = len(grid.facts) <= _RECORD
            self.found.grids.append(grid)

    @staticmethod
    def _labels(value: Mapping[object, object]) -> list[str]:
        """The texts of a record that name it."""
        return [item for item in value.values() if isinstance(item, str) and item and len(item) < 60]

    def _list(self, value: Sequence[object], path: tuple[Key, ...], shown: str, keys: tuple[tuple[Family, Label], ...], depth: int) -> None:
        records = [item for item in value if isinstance(item, Mapping)]
        pairs = [item for item in value if isinstance(item, list | tuple) and item and isinstance(item[0], str)]
        if records and len(records) == len(value):
            self._records(records, path, shown, keys, depth)
        elif pairs and len(pairs) == len(value):
            names = {f"{at}": None for at in range(max(map(len, pairs)))}
            self._records([dict(zip(names, item, strict=False)) for item in pairs], path, shown, keys, depth, named=False)
        else:
            for item in value[:2_000]:
                self.go(item, path, shown, keys, depth + 1)

    def _records(self, records: Sequence[Mapping[object, object]], path: tuple[Key, ...], shown: str, keys: tuple[tuple[Family, Label], ...], depth: int, *, named: bool = True) -> None:
        """Mappings of the same kind: a table whose words label its rows."""
        grid, families, columns = Grid(rows=len(records)), {}, Family(columns=True)
        names = list(dict.fromkeys(str(name) for record in records for name in record))
        for place, record in enumerate(records):
            own: list[tuple[Family, Label]] = list(keys)
            words: list[str] = []
            for name, item in record.items():
                if isinstance(item, str) and item and len(item) < 80 and (label := label_of(item)):
                    family = families.setdefault(str(name), Family())
                    family.add(label, item)
                    own.append((family, label))
                    words.append(item)
                    self._text(item, path, shown, ())
            for name, item in record.items():
                label = label_of(str(name)) if named else ()
                if label:
                    columns.add(label, str(name))
                added = (*own, (columns, label)) if label else tuple(own)
                before = len(self.found.facts)
                if not isinstance(item, str):
                    self.go(item, (*path, key_of(str(name)) if named else ()), " · ".join([shown, *words, str(name) if named else ""]).strip(" ·"), added, depth + 1)
                if len(self.found.facts) == before + 1 and isinstance(item, int | float):
                    fact = self.found.facts[-1]
                    fact.grid, fact.row, fact.column = grid, place, names.index(str(name))
                    grid.facts.append(fact)
        self.found.grids.append(grid)

    def _number(self, value: float, path: tuple[Key, ...], shown: str, keys: tuple[tuple[Family, Label], ...]) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            return
        words = {word for part in path for word in part} | {w for _, label in keys if not isinstance(label, Day) for w in label}
        text = repr(value)
        decimals = len(text.partition(".")[2]) if "e" not in text else None
        unit, scale = unit_of(shown.rpartition(" · ")[2])
        self.found.facts.append(
            Fact(float(value), decimals, self.reader.place(self.line, shown), unit, scale, keys, frozenset(words), turn=self.reader.turn)
        )
        if isinstance(value, int) and 1900 <= value <= 2100:
            self.found.days.setdefault(Day(value), self.reader.place(self.line, shown))

    def _text(self, value: str, path: tuple[Key, ...], shown: str, keys: tuple[tuple[Family, Label], ...]) -> None:
        for one in scan(value[:2_000], "point") if any(map(str.isdigit, value[:2_000])) else ():
            place = self.reader.place(self.line, shown)
            if one.kind == "number" and one.readings:
                words = {word for part in path for word in part} | set(key_of(value[:200]))
                self.found.facts.append(make_fact(one, place, self.reader.turn, keys, words))
            else:
                _note_day(one, place, self.found)


# --- lines


def _shape(line: str) -> int:
    """How many numbers a line holds, 0 for none or for one without words."""
    if not any(map(str.isdigit, line)) or len(line) > 2_000:
        return 0
    return sum(one.kind == "number" for one in _figures(line, "point"))


def _figures(line: str, marks: Marks) -> list[Numeral]:
    """The numbers and dates of a line. What looks like a year is a number behind a label, unless it labels the next."""
    found = scan(line, marks)
    for at, one in enumerate(found):
        labels_next = at + 1 < len(found) and line[one.end : found[at + 1].start].strip(" :=") == ""
        if one.bare and one.kind == "date" and not labels_next and _LABELLED.search(line, 0, one.start):
            found[at] = Numeral(one.start, one.end, one.text, "number", ((float(one.text), 0),), digits_end=one.end, bare=True)
    return found


_LABELLED = re.compile(r"(?:[:=]|[a-z_]{3,}|[\u3400-\u9fff])\s*$", re.IGNORECASE)


def _lines(lines: Sequence[str], reader: Reader, first: int, found: Found) -> None:
    """The facts of lines such as "North: revenue 12, orders 3". Lines of the same shape are rows of one family."""
    family = Family(binds=len(lines) > 1)
    heads: list[str] = []
    parsed: list[tuple[int, str, list[Numeral]]] = []
    for number, line in enumerate(lines, first):
        if len(line) > 20_000:
            line = line[:20_000]
        numbers = _figures(line, reader.marks) if any(map(str.isdigit, line)) else []
        for one in numbers:
            if one.kind in ("date", "time"):
                _note_day(one, reader.place(number, line), found)
        parsed.append((number, line, [one for one in numbers if one.kind in ("number", "ordinal")]))
        heads.append(_head(line, numbers))
    shared = set(key_of(heads[0])) if len(lines) > 1 else set()
    for head in heads[1:]:
        shared &= set(key_of(head))
    grid = Grid(rows=len(lines)) if len(lines) > 1 else None
    columns = Family(columns=True)
    for place, ((number, line, numbers), head) in enumerate(zip(parsed, heads, strict=True)):
        label = label_of(head)
        keys: tuple[tuple[Family, Label], ...] = ()
        if label and len(lines) > 1:
            own = label if isinstance(label, Day) else tuple(word for word in label if word not in shared) or label
            family.add(own, head)
            keys = ((family, own),)
        previous = 0
        for at, one in enumerate(numbers):
            piece = _SPLIT.split(line[previous : one.start])[-1] if previous else line[: one.start]
            after = re.match(r"\s?[^\d,;|()\n]{0,40}", line[one.end :])
            words = set(key_of(piece)) | set(key_of(head)) | set(key_of(after[0] if after else ""))
            own_keys = keys
            name = piece.rpartition(":")[2].strip(" =:$€£(-")
            if keys and len(numbers) > 1 and (column := label_of(name)) and name.strip() != head:
                columns.add(column, name)
                own_keys = (*keys, (columns, column))
            fact = make_fact(one, reader.place(number, line.strip()), reader.turn, own_keys, words)
            if not fact.unit and fact.scale == 1.0:
                fact.unit, fact.scale = unit_of(name if len(numbers) > 1 else head)
            if grid is not None:
                fact.grid, fact.row, fact.column = grid, place, at
                grid.facts.append(fact)
            found.facts.append(fact)
            previous = one.end
    if len(columns.labels) < 2:
        columns.binds = False
    if grid is not None and grid.facts:
        found.grids.append(grid)


def _head(line: str, numbers: Sequence[Numeral]) -> str:
    """What stands before the first number, or before the colon when there is one: the label of the line."""
    first = next((one for one in numbers if one.kind == "number"), None)
    end = first.start if first else len(line)
    mark = _LABEL_END.search(line, 0, end)
    head = line[: mark.start()] if mark and mark.start() else line[:end]
    return head.strip(" -•*:=|\t$€£(")[:80] if any(map(str.isalnum, head)) else ""
