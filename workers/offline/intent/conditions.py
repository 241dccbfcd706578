"""Conditions on numbers that a text names: "orders above 1,000", "older than 60", "数量大于5"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workers.offline import columns as cols
from workers.offline.lexicon import Span
from workers.offline.values import Column, Filter

_NUMBER = r"[$€£¥￥]?\s*(\d[\d,]*(?:\.\d+)?)(?![\d.]*\s*%)\s*(k\b|m\b|万|亿)?"
_SIGNS = {
    ">=": r"at least|no less than|>=|≥|不少于|不低于|至少",
    ">": r"over|above|more than|greater than|larger than|bigger than|higher than|older than|longer than|exceeding"
    r"|>|大于|超过|高于|多于",
    "<=": r"at most|no more than|<=|≤|不超过|至多",
    "<": r"under|below|less than|fewer than|smaller than|lower than|younger than|shorter than|<|小于|低于|少于",
}
_BEFORE = [(sign, re.compile(rf"(?:{words})\s*{_NUMBER}", re.IGNORECASE)) for sign, words in _SIGNS.items()]
_AFTER = [(">=", re.compile(rf"{_NUMBER}\s*(?:岁|元|个)?以上")), ("<=", re.compile(rf"{_NUMBER}\s*(?:岁|元|个)?以下"))]
_SCALE = {"k": 1e3, "m": 1e6, "万": 1e4, "亿": 1e8}
_OVER_A_YEAR = re.compile(r"over\s+(?:19|20)\d\d$", re.IGNORECASE)
"""In "sales over 2023" the number is a year."""
_NEAR = 14
"""Characters that may stand between a column's name and the bound on it."""


def number_filters(
    text: str, found: Sequence[cols.Mention], columns: Sequence[Column]
) -> tuple[tuple[Filter, ...], list[Span]]:
    """Filters by bounds on numbers, and the parts of the text that they come from, column names included."""
    filters: list[Filter] = []
    spans: list[Span] = []
    for sign, pattern in [*_BEFORE, *_AFTER]:
        for match in pattern.finditer(text):
            span = Span(match.start(), match.end())
            if any(span.overlaps(taken) for taken in spans) or _OVER_A_YEAR.match(match[0]):
                continue
            column, own = _bounded(text, span, found, columns)
            if column is None:
                continue
            value = float(match[1].replace(",", "")) * _SCALE.get((match[2] or "").casefold(), 1)
            filters.append(Filter(column.name, (f"{sign}{value:.10g}",)))
            spans += [span, *own]
    return tuple(filters), spans


def _bounded(
    text: str, span: Span, found: Sequence[cols.Mention], columns: Sequence[Column]
) -> tuple[Column | None, list[Span]]:
    """The number that a bound is on: named just before it or just after, else an age or the usual measure."""
    numbers = [(m, c) for m in found for c in m.columns[:1] if c.kind == "number"]
    close = [
        (gap, mention, column)
        for mention, column in numbers
        for gap in (span.start - mention.span.end, mention.span.start - span.end)
        if 0 <= gap <= _NEAR
    ]
    if close:
        _, mention, column = min(close, key=lambda item: item[0])
        return column, [mention.span]
    if re.search(r"older|younger|岁", text[span.start : span.end]):
        return next(
            (column for column in columns if column.kind == "number" and "age" in cols.concepts(column)), None
        ), []
    return cols.default_measure(columns), []


def mask(values: Sequence[str], column: str) -> str:
    """The condition, as code, that holds where `column` keeps to every bound."""
    parts = [re.fullmatch(r"(>=|>|<=|<)(.+)", value) for value in values]
    return " & ".join(
        f"({column} {part[1]} {part[2]})" if len(parts) > 1 else f"{column} {part[1]} {part[2]}"
        for part in parts
        if part
    )
