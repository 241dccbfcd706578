"""How much a question asks for: the sum or the mean, how many groups, rows or periods ahead, numbers above a bound."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workers.offline import columns as cols
from workers.offline import dates
from workers.offline.lexicon import Span, find, first_of, has, lexicon
from workers.offline.values import Aggregate, Column, Filter, of_kind


def aggregate_of(text: str, measures: Sequence[Column], named: Sequence[Span]) -> Aggregate | None:
    """How the measure is put together; rows are counted when they are what is asked for: "orders by region"."""
    found = first_of("aggregates", text)
    if found is None and (end := _superlative(text, measures)):
        return end
    if found is None and not measures and _counts_rows(text, named):
        return "count"
    if found is None and has("durations", text) and not moves(text):
        return "mean"
    if found == "count" and any("quantity" in cols.concepts(column) for column in measures):
        return "sum"
    return found  # type: ignore[return-value]  # the lexicon's keys are the aggregates


def _superlative(text: str, measures: Sequence[Column]) -> Aggregate | None:
    """The end of a number's range that is asked for, as in "what is the highest amount?"."""
    asks = re.match(r"\s*(?:and\s+)?(?:what|how)\b", text, re.IGNORECASE) and len(measures) == 1
    if not asks or not has("superlatives", text) or any(has(group, text) for group in ("asks_each", "row_names")):
        return None
    return "min" if has("ascending", text) else "max"


def moves(text: str) -> bool:
    """True when a text speaks of a rise or a fall."""
    return has("rises", text) or has("falls", text)


_SUPERLATIVE = (
    "largest|biggest|highest|lowest|smallest|longest|slowest|fastest|shortest|most expensive|cheapest|best|worst|top"
)
_ROW = r"(?:orders?|transactions?|tickets?|rows?|records?|invoices?|deals?|purchases?|entry|entries|cases?|sales?)\b"
_SINGLE_ROWS = (
    rf"\b(?P<n>\d{{1,2}}|three|five|ten)\s+(?:{_SUPERLATIVE})\s+(?:single\s+)?{_ROW}",
    rf"\b(?:{_SUPERLATIVE})\s+(?:(?P<n>\d{{1,2}}|three|five|ten)\s+)?(?:single\s+)?{_ROW}",
    rf"\b(?P<one>which)\s+(?:single\s+)?{_ROW}\s+\w+\s+(?:the\s+)?(?:{_SUPERLATIVE})",
    r"(?:最大|最高|最小|最低|最贵|最长|最久)的?(?P<n>\d{1,2}|[一三五十])?[笔个条张]?(?:订单|记录|工单|交易)",
    r"(?P<one>哪)一?[笔个条张](?:订单|记录|工单|交易)",
)


def single_rows(text: str) -> tuple[int, Span] | None:
    """How many single rows are asked for ("the three largest orders"), and where."""
    if match := _first_match(_SINGLE_ROWS, text):
        told = match.groupdict()
        return 1 if told.get("one") else dates.count(told.get("n") or "5"), Span(*match.span())
    return None


def _first_match(patterns: Sequence[str], text: str) -> re.Match[str] | None:
    """Where the first pattern that fits stands in the text."""
    return next(filter(None, (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)), None)


_ROWS = r"(?:orders|transactions|tickets|rows|records|invoices|deals|purchases|entries|cases)"
_PEOPLE = r"(?:customers|clients|users|employees|people|persons|members|respondents)"
_LISTED = (
    rf"\b(?:list|show|display|print|see|give)\b(?:\s+(?:me|us|all|every|the|any|our|my|of|those))*\s+(?P<rows>{_ROWS}|{_PEOPLE})\b",
    rf"\bwhich\s+(?:of\s+(?:the|our|my)\s+)?(?P<rows>{_ROWS})\s+(?:are|were|have|had|is|was)\b",
    r"(?:列出|列举|显示|看看)[^，。？！]{0,16}?(?P<rows>订单|记录|工单|交易|客户|用户|员工|顾客|会员)",
    r"(?:有哪些|哪些)(?P<rows>订单|记录|工单|交易)",
)


def listed_rows(text: str) -> Span | None:
    """Where a text that asks to see rows one by one ("list all orders above 800") says what a row is."""
    match = _first_match(_LISTED, text)
    return Span(*match.span("rows")) if match else None


_AFTER_ROWS = re.compile(r"\s+(?:per|by|over|each|in each)\b|(?:最多|最少)", re.IGNORECASE)
_BEFORE_ROWS = re.compile(r"\b(?:trend (?:of|in) (?:\w+ )?|(?:the )?(?:most|fewest) (?:\w+ )?)$", re.IGNORECASE)


def _counts_rows(text: str, named: Sequence[Span]) -> bool:
    """True for rows themselves as what is asked for: "orders by region", "which city has the most customers"."""
    rows = [span for span in find(lexicon()["row_names"], text) if not span.meets(named)]
    return any(_AFTER_ROWS.match(text[span.end :]) or _BEFORE_ROWS.search(text[: span.start]) for span in rows)


_TOP = (
    r"\b(?:top|bottom|best|worst|largest|biggest|first)\s+(\d{1,2}|three|five|ten)\b",
    r"[前后]\s*(\d{1,2}|[三五十])\s*[名个位大]?",
    r"\b(\d{1,2}|three|five|ten)\s+(?:best|worst|top|largest|biggest|highest|lowest|most)\b",
)


def top_of(text: str) -> tuple[int, Span] | None:
    """How many groups are asked for, and where."""
    match = _first_match(_TOP, text)
    return (dates.count(match[1]), Span(*match.span())) if match else None


def periods_ahead(text: str) -> tuple[int, Span] | None:
    """How many periods a forecast is asked for, in months unless the text counts others; and where."""
    if match := re.search(
        r"(?:next|coming|未来|接下来|下)\s*(\d{1,2}|three|six|一|三|六)?\s*(?:个)?\s*(month|quarter|year|week|day|月|季|年|周|天)",
        text,
        re.IGNORECASE,
    ):
        step = {"quarter": 3, "季": 3, "year": 12, "年": 12}.get(match[2].casefold(), 1)
        return min(24, dates.count(match[1]) * step), Span(*match.span())
    return None


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
            span = Span(*match.span())
            if span.meets(spans) or _OVER_A_YEAR.match(match[0]):
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
        return next((column for column in of_kind(columns, "number") if "age" in cols.concepts(column)), None), []
    return cols.default_measure(columns), []


def bounds_mask(values: Sequence[str], column: str) -> str:
    """The condition, as code, that holds where `column` keeps to every bound."""
    bounds = [bound for value in values if (bound := dates.BOUND.fullmatch(value))]
    parts = [f"{column} {bound[1]} {bound[2]}" for bound in bounds]
    return " & ".join(f"({part})" if len(parts) > 1 else part for part in parts)
