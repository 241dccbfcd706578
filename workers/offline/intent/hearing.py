"""Finds the single things that a question names, before they are put together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from core.values import Language
from workers.offline import columns as cols
from workers.offline import dates
from workers.offline.intent.quantities import (
    aggregate_of,
    listed_rows,
    number_filters,
    periods_ahead,
    single_rows,
    top_of,
)
from workers.offline.intent.unplaced import unplaced
from workers.offline.lexicon import Span, find, first_of, has, language_of, lexicon, without
from workers.offline.values import Aggregate, AnalysisKind, Column, Filter, Frequency, Join, Unclear, Unplaced, of_kind

MAX_GROUPINGS = 3
"""Breakdowns that one answer holds; more would bury the answer."""


_AGAINST = re.compile(
    r"(?:\b(?:below|under|above|exceeds?|exceeding|(?:less|more|fewer|greater|lower|higher) than)"
    r"\s+(?:(?:the|its|their|his|her)\s+)?|低于|高于|超过)$",
    re.IGNORECASE,
)
_COUNTING = re.compile(
    r"(?:how many|(?:number|count) of)(?: (?:different|distinct|unique|the|our))*\s*$|多少[个种家]?$", re.IGNORECASE
)
_TIMELY: set[AnalysisKind] = {"trend", "forecast"}


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beyond the abstracts: values of categories (from cells), if the data has refunds, and where.

    `found` are names that were looked up: the column that holds them and the values meant; None for those not there.
    `language` is that of a text whose words do not tell.
    """

    values: Mapping[str, Sequence[str]]
    refunds: bool = False
    refund_column: str = ""
    found: Mapping[str, Filter | None] = field(default_factory=dict)
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class Heard:
    """What a text names. `lacks_date` says that it names times and the data has none."""

    text: str
    plain: str
    """The text without the names of columns and times that it has whole."""
    kinds: tuple[AnalysisKind, ...]
    measures: tuple[Column, ...]
    unclear: Unclear | None
    groups: tuple[str, ...]
    target: Column | None
    dates: tuple[Column, ...]
    filters: tuple[Filter, ...]
    lacks_date: bool
    frequency: Frequency | None
    aggregate: Aggregate | None
    chart: str | None
    top: int | None
    ahead: int | None
    refunds: bool | None
    about_refunds: bool
    tested: bool
    peak: bool
    rows: int | None
    listed: bool
    """Whether the rows that meet the filters are asked for one by one, and nothing else of them."""
    shares: bool
    unplaced: tuple[Unplaced, ...]
    counted: str
    """The column whose different values are to be counted: more than a number of rows."""
    unread: tuple[Column, ...]
    """Columns of amounts that could not be read as numbers."""
    versus: bool
    """Whether a number is set against another one, row by row or as a ratio."""
    language: Language


def hear(text: str, frame: Join, known: Known) -> Heard:
    """What a text names of this data."""
    language = language_of(text, known.language)
    found = cols.mentions(frame.columns, text)
    date = cols.default_date(frame.columns)
    bounds, bound_spans = number_filters(text, found, frame.columns)
    times = [moment for moment in dates.moments(text) if not moment.span.meets(bound_spans)]
    values, value_spans = _value_filters(text, known, {column.name for mention in found for column in mention.columns})
    if known.refunds:  # refunds are counted in or out by a rule of their own
        values = tuple(item for item in values if not all(find(lexicon()["refunds"], value) for value in item.values))
    top = top_of(text)
    named = _columns_named(text, known, found, [*value_spans, *bound_spans], {item.column for item in values})
    if (top or has("asks_each", text)) and not named.groups:  # "top 5 customers": rows that share a name are a group
        named.groups += [column.name for column in named.others if repeats(column, frame)][:1]
    parts = {part: find(said, text) for part, said in lexicon()["parts_of_dates"].items() if date}
    groups = [*(part for part, spans in parts.items() if spans), *named.groups]
    columns = [mention for mention in found if mention.columns[0].kind != "id"]  # a row's number names the rows
    whole_names = [mention.span for mention in columns if mention.score >= cols.WHOLE_NAME]
    timely = [*(moment.span for moment in times), *parts.get("@weekday", ())]
    plain = without(text, [*whole_names, *timely])  # "monthly charges", "by day of the week": no steps of time
    peak = first_of("best_period", plain) if not groups else None
    kinds = _kinds(plain, is_peak=peak is not None)
    aggregate = aggregate_of(plain, named.measures, [mention.span for mention in columns])
    groups = _around_target(named, groups, compared="compare" in kinds or aggregate not in (None, "count"))
    of_refunds = known.refunds and has("refunds", text)
    refunds = _refunds_dropped(text) if of_refunds else None
    ahead, single, listing = periods_ahead(text), single_rows(text), listed_rows(text)
    if listing and listing.meets(mention.span for mention in columns):  # a column's values, and no rows
        listing = None
    filters, shares = (*_date_filters(text, date, times), *values, *bounds), has("shares", text)
    others = set(kinds) - {"total", "breakdown"}
    used = [
        *(told[1] for told in (top, single, ahead) if told),
        *(moment.span for moment in times),
        *value_spans,
        *bound_spans,
        *(mention.span for mention in found),
    ]
    own_names = [*(table.name for table in frame.tables), *(column.name for column in frame.columns)]
    return Heard(
        text=text,
        plain=plain,
        kinds=kinds,
        measures=tuple(named.measures),
        unclear=named.unclear,
        groups=tuple(dict.fromkeys(groups or named.prose))[:MAX_GROUPINGS],
        target=named.target,
        dates=tuple(named.dates),
        filters=filters,
        lacks_date=date is None and bool(times or _TIMELY & set(kinds) or first_of("frequencies", plain)),
        frequency=peak or first_of("frequencies", plain),  # type: ignore[arg-type]  # the lexicon's keys
        aggregate=aggregate,
        chart=first_of("charts", text),
        top=top[0] if top else None,
        ahead=ahead[0] if ahead else None,
        refunds=refunds,
        about_refunds=of_refunds and refunds is None,
        tested=has("significance", text),
        peak=peak is not None,
        rows=single[0] if single and not groups else None,
        listed=bool(listing and filters) and not (single or groups or top or aggregate or shares or others),
        shares=shares,
        unplaced=unplaced(text, used, own_names, refunds=known.refunds, language=language),
        counted=_counted(text, found, frame),
        unread=tuple(c for mention in columns for c in mention.columns[:1] if cols.holds_unread_amounts(c)),
        versus=_between_columns(text, columns),
        language=language,
    )


def _kinds(plain: str, *, is_peak: bool) -> tuple[AnalysisKind, ...]:
    """The analyses that a text names, in its order. The best or worst period is a question about a trend."""
    said = {kind: spans[0].start for kind, each in lexicon()["analyses"].items() if (spans := find(each, plain))}
    kinds: tuple[AnalysisKind, ...] = tuple(sorted(said, key=lambda kind: said[kind]))
    if is_peak:
        return ("trend", *(kind for kind in kinds if kind not in ("trend", "breakdown")))
    return kinds


def _refunds_dropped(text: str) -> bool | None:
    """Whether a text leaves refunds out (True) or counts them again (False); None when it is about them themselves."""
    if has("without", text):
        return True
    return False if has("with_again", text) else None


@dataclass(slots=True)
class _Named:
    """The columns that a text names, by the part that they can play."""

    measures: list[Column] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    others: list[Column] = field(default_factory=list)
    dates: list[Column] = field(default_factory=list)
    target: Column | None = None
    unclear: Unclear | None = None


def _columns_named(
    text: str, known: Known, found: Sequence[cols.Mention], spans: Sequence[Span], filtered: set[str]
) -> _Named:
    """The columns that a text means outside of `spans`. A `filtered` column is no group: only its values are meant."""
    named = _Named()
    for mention in found:
        if mention.span.meets(spans):
            continue
        column = _settled(mention)
        if column and column.kind == "flag" and _means_refunds(column, mention.span, text, known):
            continue
        if column is None:
            named.unclear = named.unclear or Unclear(mention.text, tuple(c.name for c in mention.columns))
        elif column.kind == "number" and column not in named.measures:
            named.measures.append(column)
        elif column.kind == "date":
            named.dates.append(column)
        elif column.kind == "flag" and "type" not in cols.concepts(column) and mention.score >= 4 and not named.target:
            named.target = column
        elif column.kind in ("category", "flag") and not (column.name in filtered and not has("asks_each", text)):
            named.groups.append(column.name)
        elif column.kind in ("text", "id"):
            named.others.append(column)
            named.prose += [column.name] if column.kind == "text" else []
    return named


def _around_target(named: _Named, groups: list[str], *, compared: bool) -> list[str]:
    """The groups, once it is settled what a yes-no column is there for.

    Where a measure is `compared`, the column is a group: both its sides are shown. Otherwise its rate is the answer,
    and a measure that has no other groups beside it becomes the group.
    """
    if named.target and named.measures and compared:
        groups, named.target = [*groups, named.target.name], None
    elif named.target and not groups:
        groups, named.measures = [f"~{column.name}" for column in named.measures], []
    return groups


def repeats(column: Column, frame: Join) -> bool:
    """True when several rows share a value of the column."""
    rows = next((table.rows for table in frame.tables if table.column(column.name)), None)
    return column.unique is not None and rows is not None and column.unique < 0.9 * rows


def _counted(text: str, found: Sequence[cols.Mention], frame: Join) -> str:
    """The column of "how many customers", when a customer stands in several rows; empty for rows themselves."""
    for mention in found:
        column, counted = _settled(mention), _COUNTING.search(text[: mention.span.start])
        if column and counted and column.kind in ("category", "text", "id") and repeats(column, frame):
            return column.name
    return ""


def _between_columns(text: str, found: Sequence[cols.Mention]) -> bool:
    """True for "stock below its reorder level" and "cost per click": one column is compared with another or divided by
    it."""
    numbers = [mention for mention in found if mention.columns[0].kind == "number"]
    pairs = pairwise(numbers)
    per = any(re.fullmatch(r"\s*(?:per|/|每)\s*", text[one.span.end : other.span.start], re.I) for one, other in pairs)
    return per or any(_AGAINST.search(text[: mention.span.start]) for mention in numbers)


def _means_refunds(column: Column, span: Span, text: str, known: Known) -> bool:
    """True when a yes-no column is named as the refunds themselves, which have a rule of their own."""
    if column.name == known.refund_column:
        return not re.search(r"(?:\b(?:by|per)\s+|按\s*)$", text[: span.start], re.IGNORECASE)
    return has("without", text) and bool(find(lexicon()["refunds"], column.name))


def _settled(mention: cols.Mention) -> Column | None:
    """The one column that a mention means; None when it fits several numbers equally well."""
    numbers = of_kind(mention.columns, "number")
    if groups := of_kind(mention.columns, "category", "flag"):
        return min(groups, key=lambda column: column.unique or 0)
    return None if len(numbers) > 1 else (numbers or mention.columns)[0]


def _value_filters(text: str, known: Known, named: set[str]) -> tuple[tuple[Filter, ...], list[Span]]:
    """Filters by values of categories that the text names, and where it names them. If several columns have a value,
    one of the `named` columns is taken."""
    found: dict[str, list[str]] = {}
    spans: list[Span] = []
    negative: set[str] = set()
    options: list[tuple[str, str, tuple[str, ...]]] = [
        (value, column, (value,)) for column, listed in known.values.items() for value in listed
    ]
    options += [(name, item.column, item.values) for name, item in known.found.items() if item]
    plain = {"yes", "no", "true", "false", "none", "other", "sale", "order", "是", "否", "有", "无"}
    for said, column, meant in sorted(options, key=lambda option: (-len(option[0]), option[1] not in named)):
        if said.casefold() in plain or said.replace(".", "").isdigit():
            continue
        if len(said) == 1 and not re.search(rf"\b{re.escape(column)}s?\s+{re.escape(said)}\b", text, re.IGNORECASE):
            continue
        hits = [span for span in find([said], text) if not span.meets(spans)]
        if len(said) <= 3 and said.isascii():  # "IT" is a department, "it" is not
            hits = [span for span in hits if text[span.start : span.end] == said and not _is_preposition(text, span)]
        if hits:
            found.setdefault(column, []).extend(value for value in meant if value not in found.get(column, ()))
            spans += hits
            if has("without", text[max(0, hits[0].start - 24) : hits[0].start]):
                negative.add(column)
    return tuple(Filter(column, tuple(listed), column not in negative) for column, listed in found.items()), spans


def _is_preposition(text: str, span: Span) -> bool:
    """True for "in" of "in 2025" or "in the north", though a column may hold "in" and "out"."""
    small = text[span.start : span.end].casefold() in lexicon()["stop_words"]
    return small and bool(re.match(r"\s+(?:\d|[A-Z]|(?:the|an?|each|every|all|which)\b)", text[span.end :]))


def _date_filters(text: str, date: Column | None, times: Sequence[dates.Moment]) -> tuple[Filter, ...]:
    """Filters by the times that the text names."""
    if date is None or not times:
        return ()
    before = text[max(0, times[0].span.start - 24) : times[0].span.start]
    return (Filter(date.name, dates.spans_of_time(text, times), not has("without", before)),)
