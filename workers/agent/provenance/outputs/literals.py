"""Facts in JSON and in Python literals: records, lists of records, mappings of numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core import python_source
from workers.agent.provenance.language.numerals import Day, scan
from workers.agent.provenance.language.words import Key, key_of
from workers.agent.provenance.outputs.facts import Fact, Family, Grid, Label
from workers.agent.provenance.outputs.grids import Found, Reader, label_of, make_fact, note_day, unit_of

_MAX_LITERAL = 40_000
_RECORD = 24
"""A mapping may hold at most this many named figures to be one record, such as the results of one test."""
_NAMED = re.compile(r"^(?P<name>[\w .%()/-]{0,60}?)\s*+[:=]?+\s*+(?P<body>[\[{(].*[\]})])\s*$", re.DOTALL)
_NUMPY = re.compile(
    r"\b(?:np|numpy)\.(?:float|int|str|bool)_?\d*\(([^()]*)\)|\bTimestamp\(('[^']*')[^()]*\)|"
    r"\bPeriod\(('[^']*')[^()]*\)"
)


def literal_in(text: str) -> object:
    """The JSON or Python value that a line ends with. None if there is none, or if it holds no other values."""
    match = _NAMED.match(text) if len(text) <= _MAX_LITERAL and any(map(str.isdigit, text)) else None
    if match is None:
        return None
    body = match["body"]
    for read in (json.loads, python_source.literal):
        try:
            value = read(_plain(body) if read is python_source.literal else body)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return value if isinstance(value, dict | list | tuple) else None
    return None


def name_of(text: str) -> str:
    """What stands before a literal: "trend" in "trend: {…}"."""
    match = _NAMED.match(text)
    return match["name"] if match else ""


def _plain(body: str) -> str:
    return re.sub(r"\bnan\b", "None", _NUMPY.sub(lambda match: match[1] or match[2] or match[3] or "None", body))


def walk(value: object, reader: Reader, line: int, found: Found, name: str = "") -> None:
    """The facts of nested lists and mappings. A list of mappings, and a mapping of numbers, are tables."""
    _Walk(reader, line, found).go(value, (key_of(name),) if name else (), name, (), 0)


def _names_measures(value: Mapping[object, object]) -> bool:
    """Whether the names of a mapping are those of different measures, such as "km" and "fuel_l", and not of things.

    Names of measures do not exclude each other: a sentence may name one beside the figure of another.
    """
    numbers = [item for item in value.values() if isinstance(item, int | float) and not isinstance(item, bool)]
    mixed = len({isinstance(item, int) for item in numbers}) > 1
    return mixed and len(numbers) == len(value)


@dataclass(slots=True)
class _Walk:
    reader: Reader
    line: int
    found: Found

    def go(
        self, value: object, path: tuple[Key, ...], shown: str, keys: tuple[tuple[Family, Label], ...], depth: int
    ) -> None:
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

    def _mapping(
        self,
        value: Mapping[object, object],
        path: tuple[Key, ...],
        shown: str,
        keys: tuple[tuple[Family, Label], ...],
        depth: int,
    ) -> None:
        own = self._labels(value)
        family = Family(columns=bool(own) or _names_measures(value))
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

    def _list(
        self,
        value: Sequence[object],
        path: tuple[Key, ...],
        shown: str,
        keys: tuple[tuple[Family, Label], ...],
        depth: int,
    ) -> None:
        records = [item for item in value if isinstance(item, Mapping)]
        pairs = [item for item in value if isinstance(item, list | tuple) and item and isinstance(item[0], str)]
        if records and len(records) == len(value):
            self._records(records, path, shown, keys, depth)
        elif pairs and len(pairs) == len(value):
            names = {f"{at}": None for at in range(max(map(len, pairs)))}
            self._records(
                [dict(zip(names, item, strict=False)) for item in pairs], path, shown, keys, depth, named=False
            )
        else:
            for item in value[:2_000]:
                self.go(item, path, shown, keys, depth + 1)

    def _records(
        self,
        records: Sequence[Mapping[object, object]],
        path: tuple[Key, ...],
        shown: str,
        keys: tuple[tuple[Family, Label], ...],
        depth: int,
        *,
        named: bool = True,
    ) -> None:
        """Mappings of the same kind: a table whose words label its rows."""
        families: dict[str, Family] = {}
        grid, columns = Grid(rows=len(records)), Family(columns=True)
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
                    self.go(
                        item,
                        (*path, key_of(str(name)) if named else ()),
                        " · ".join([shown, *words, str(name) if named else ""]).strip(" ·"),
                        added,
                        depth + 1,
                    )
                if len(self.found.facts) == before + 1 and isinstance(item, int | float):
                    fact = self.found.facts[-1]
                    fact.grid, fact.row, fact.column = grid, place, names.index(str(name))
                    grid.facts.append(fact)
        self.found.grids.append(grid)

    def _number(self, value: float, path: tuple[Key, ...], shown: str, keys: tuple[tuple[Family, Label], ...]) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            return
        words = {word for part in path for word in part} | {
            w for _, label in keys if not isinstance(label, Day) for w in label
        }
        text = repr(value)
        decimals = len(text.partition(".")[2]) if "e" not in text else None
        unit, scale = unit_of(shown.rpartition(" · ")[2])
        self.found.facts.append(
            Fact(
                float(value),
                decimals,
                self.reader.place(self.line, shown),
                unit,
                scale,
                keys,
                frozenset(words),
                turn=self.reader.turn,
                percent=not unit and unit_of(shown.partition(" · ")[0])[0] == "%",
            )
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
                note_day(one, place, self.found)
