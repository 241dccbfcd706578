"""A question of the suite, and the plain arithmetic of its golds: the standard library over rows, no data frame."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
UNKNOWN = object()
"""The gold of a question that the data does not answer."""


@dataclass(frozen=True)
class Item:
    """A question: `golds` are (value, decimals) by name; decimals None for words, and UNKNOWN where there is none."""

    id: str
    files: tuple[str, ...]
    text: str
    golds: dict[str, tuple[Any, int | None]]
    tags: tuple[str, ...]
    rubric: tuple[str, ...] = ()

    def line(self) -> dict[str, Any]:
        """The question as a line of `suite.jsonl`."""
        return {
            "id": self.id,
            "question": self.text,
            "format": self._format(),
            "files": list(self.files),
            "answers": {name: _gold(value, decimals) for name, (value, decimals) in self.golds.items()},
            "tags": list(self.tags),
            **({"rubric": list(self.rubric)} if self.rubric else {}),
        }

    def _format(self) -> str:
        chinese = any("\u4e00" <= char <= "\u9fff" for char in self.text)
        parts = []
        for name, (_, decimals) in self.golds.items():
            how = "" if decimals is None else _DECIMALS[chinese].format(decimals) if decimals else _WHOLE[chinese]
            parts.append(f"@{name}[{_VALUE[chinese]}]{how}")
        return (_FORMAT_ZH if chinese else _FORMAT).format("；".join(parts) if chinese else "; ".join(parts))


_VALUE = ("value", "值")
_DECIMALS = (", rounded to {} decimals", "，保留{}位小数")
_WHOLE = (", a whole number", "，取整数")
_FORMAT = "Write in the report, verbatim: {}. If the data does not say it, write [not in the data] as the value."
_FORMAT_ZH = "请在报告中原样写出：{}。如果数据没有说明，值写作[数据没有说明]。"


def _gold(value: Any, decimals: int | None) -> dict[str, Any]:
    if value is UNKNOWN:
        return {"unknown": True}
    if decimals is None:
        return {"value": str(value)}
    # Half a unit of the last place: the value as it is, and both ways to round its half.
    return {"value": float(value), "tolerance": 0.5 * 10**-decimals}


def items(file: str | Sequence[str], *tags: str) -> Callable[..., Item]:
    """Makes questions about these files: `ask(id, text, name=(value, decimals))`."""
    files = (file,) if isinstance(file, str) else tuple(file)

    def ask(id_: str, text: str, *more: str, rubric: tuple[str, ...] = (), **golds: tuple[Any, int | None]) -> Item:
        return Item(id_, files, text, golds, (*tags, *more), rubric)

    return ask


def unknown() -> tuple[Any, int | None]:
    """The gold of a trap."""
    return UNKNOWN, None


def col(rows: Iterable[Row], name: str) -> list[Any]:
    """The values of a column that are there."""
    return [row[name] for row in rows if row[name] is not None]


def where(rows: Iterable[Row], test: Callable[[Row], bool]) -> list[Row]:
    """The rows that pass."""
    return [row for row in rows if test(row)]


def groups(rows: Iterable[Row], key: str | Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """The rows by a column or a function."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row) if callable(key) else row[key]].append(row)
    return dict(found)


def top(values: dict[Any, float]) -> Any:
    """The key of the largest value. Raises ValueError when two share it: such a question has no single answer."""
    ordered = sorted(values, key=lambda key: values[key], reverse=True)
    if len(ordered) > 1 and math.isclose(values[ordered[0]], values[ordered[1]]):
        raise ValueError(f"a tie between {ordered[0]} and {ordered[1]}")
    return ordered[0]


def total(rows: Iterable[Row], name: str) -> float:
    """The sum of a column, without the error of many additions."""
    return math.fsum(col(rows, name))


def mean(rows: Iterable[Row], name: str) -> float:
    """The mean of what is there."""
    return statistics.fmean(col(rows, name))


def quantile(values: Sequence[float], share: float) -> float:
    """A quantile by linear interpolation, as numpy and Excel's QUARTILE.INC give it."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def welch_t(first: Sequence[float], second: Sequence[float]) -> float:
    """Welch's t of two samples."""
    spread = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    return (statistics.fmean(first) - statistics.fmean(second)) / math.sqrt(spread)


def anova_f(samples: Sequence[Sequence[float]]) -> float:
    """F of a one-way analysis of variance."""
    everything = [value for sample in samples for value in sample]
    middle = statistics.fmean(everything)
    between = sum(len(sample) * (statistics.fmean(sample) - middle) ** 2 for sample in samples) / (len(samples) - 1)
    within = sum((value - statistics.fmean(sample)) ** 2 for sample in samples for value in sample)
    return between / (within / (len(everything) - len(samples)))


def chi_square(table: Sequence[Sequence[int]]) -> float:
    """Pearson's chi-square of a table of counts, without a correction."""
    lines, columns = [sum(line) for line in table], [sum(column) for column in zip(*table, strict=True)]
    n = sum(lines)
    return sum(
        (table[i][j] - lines[i] * columns[j] / n) ** 2 / (lines[i] * columns[j] / n)
        for i in range(len(lines))
        for j in range(len(columns))
    )


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1, ties with their mean."""
    ordered = sorted(values)
    first = {}
    for place, value in enumerate(ordered, 1):
        first.setdefault(value, place)
    return [first[value] + (ordered.count(value) - 1) / 2 for value in values]
