"""The intent of a question of its own: the measure, the rows, and the analyses that answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from workers.offline import columns as cols
from workers.offline import dates
from workers.offline.intent.hearing import Heard
from workers.offline.intent.quantities import moves
from workers.offline.lexicon import find, has, lexicon
from workers.offline.values import Aggregate, Analysis, Column, Filter, Intent, Join, of_kind


def asked_anew(heard: Heard, frame: Join, previous: Intent | None) -> Intent:
    """The intent of a question of its own; measure and filters of an earlier one are kept unless it names others."""
    text = heard.text
    date = heard.dates[0] if heard.dates else cols.default_date(frame.columns)
    if heard.target and "compare" in heard.kinds and not heard.measures and not heard.groups:  # its two sides
        heard = replace(heard, groups=(heard.target.name,), target=None)
    target = _target(heard, frame, previous, date)
    counted = heard.aggregate == "count" and not heard.measures
    measure = heard.measures[0] if heard.measures else None
    if measure is None and not counted and target is None:
        kept = frame.column(previous.measure) if previous else None
        measure = kept if kept and kept.kind == "number" else cols.default_measure(frame.columns)
    kept_filters = previous.filters if previous and refers_back(text) else ()
    base = Intent(
        analyses=(),
        text=text,
        measure=target.name if target else measure.name if measure else None,
        aggregate="mean" if target else heard.aggregate or usual(measure),
        date=date.name if date else None,
        frequency=heard.frequency or ("W" if heard.ahead and find(["week", "周"], text) else None),
        filters=merged(kept_filters, heard.filters),
        top=heard.rows or heard.top,
        listed=heard.listed,
        ascending=ranks_from_below(text),
        chart=heard.chart,
        no_refunds=heard.refunds if heard.refunds is not None else bool(previous and previous.no_refunds),
        target=target.name if target else None,
        ahead=heard.ahead,
        anomalies=has("asks_anomalies", text),
        beyond=has("beyond", text) or heard.versus or (has("single_scores", text) and not heard.aggregate),
        assumed=not (heard.measures or counted or target or heard.about_refunds),
        tested=heard.tested,
        peak=heard.peak,
        unplaced=heard.unplaced,
    )
    if base.beyond:
        return replace(base, analyses=(Analysis("profile"),), unplaced=())
    if heard.about_refunds and not heard.measures:
        base = replace(base, measure="is_refund", aggregate="mean", target="is_refund", no_refunds=False)
    if base.date and base.target is None and moves(text) and has("causes", text):
        return _change(heard, frame, base)
    if shared := _share(heard, frame, base):
        return shared
    if "correlate" in heard.kinds and len(heard.groups) > 1 and not (heard.measures or target):
        return replace(base, analyses=(Analysis("profile"),), beyond=True, unplaced=())  # of two categories: no rule
    wordless = base.measure is None and heard.aggregate not in (None, "count")  # the average of words
    impossible = wordless or (heard.lacks_date and not heard.groups)
    analyses = [] if impossible else _analyses(heard, frame, base)
    if not analyses:
        profile = (Analysis("profile"),)
        if lacks := _lacks(heard, base):
            return replace(base, analyses=profile, lacks=lacks)
        asked = "profile" in heard.kinds or has("looks", text)
        demanded = tuple(word for word in base.unplaced if word.demanded)
        return replace(base, analyses=profile, beyond=not asked, unplaced=base.unplaced if asked else demanded)
    modelled = any(analysis.kind == "predict" for analysis in analyses) and base.target is not None
    return replace(base, analyses=tuple(dict.fromkeys(analyses)), by_drivers=modelled and not heard.groups)


def _target(heard: Heard, frame: Join, previous: Intent | None, date: Column | None) -> Column | None:
    """The yes-no column that the question is about."""
    if heard.target or heard.measures:
        return heard.target
    asks_why = has("causes", heard.text)
    if previous and previous.target and (refers_back(heard.text) or (asks_why and not moves(heard.text))):
        return frame.column(previous.target)
    if not asks_why or (date and cols.default_measure(frame.columns)):
        return None
    flags = [column for column in of_kind(frame.columns, "flag") if "type" not in cols.concepts(column)]
    churn = [column for column in flags if "churn" in cols.concepts(column)]
    return (churn or flags)[0] if len(churn or flags) == 1 else None


def _change(heard: Heard, frame: Join, base: Intent) -> Intent:
    """Why a measure rose or fell: a period against the one before, and where the change comes from."""
    times = [item for item in base.filters if item.column == base.date and item.keep and len(item.values) == 1]
    if not heard.measures and has("row_names", heard.text):
        base = replace(base, measure=None, aggregate="count")
    single = [item for item in times if not any(sign in item.values[0] for sign in "<>.:")]
    others = tuple(item for item in base.filters if item not in single)
    groups = tuple(by for by in heard.groups if not by.startswith(("@", "~")))
    groups = groups or tuple(each.by[0] for each in default_breakdowns(frame, 3))
    period = single[0].values[0] if single else ""
    return replace(base, filters=others, period=period, analyses=(Analysis("change", groups),))


def _share(heard: Heard, frame: Join, base: Intent) -> Intent | None:
    """The share that one value of a category makes, as in "what share of orders is online?"."""
    named = [item for item in base.filters if item.keep and len(item.values) == 1]
    single = [item for item in named if frame.kind(item.column) == "category"]
    if not heard.shares or heard.groups or len(single) != 1 or base.target:
        return None
    counted = not heard.measures
    return replace(
        base,
        analyses=(Analysis("breakdown", (single[0].column,)),),
        filters=tuple(item for item in base.filters if item != single[0]),
        focus=single[0].values[0],
        measure=None if counted else base.measure,
        aggregate="count" if counted else "sum",
    )


def _lacks(heard: Heard, base: Intent) -> Literal["", "date", "number"]:
    """The kind of column that the asked analysis needs and the data has not."""
    if heard.lacks_date:
        return "date"
    needs_number = {"trend", "distribution", "correlate", "compare", "total"} & set(heard.kinds)
    return "number" if needs_number and base.measure is None else ""


def merged(old: Sequence[Filter], new: Sequence[Filter]) -> tuple[Filter, ...]:
    """The filters of both; a column that is named again is filtered again."""
    named = {item.column for item in new}
    return (*(item for item in old if item.column not in named), *new)


def usual(measure: Column | None) -> Aggregate:
    """How a measure is put together when the question does not say."""
    if measure is None:
        return "count"
    return "mean" if cols.is_rate(measure.name) else "sum"


def ranks_from_below(text: str) -> bool:
    """True when the smallest come first: "worst", and "fastest" of durations, but not "grew fastest"."""
    return has("ascending", text) or (has("quickest", text) and not moves(text))


def refers_back(text: str) -> bool:
    """True when a new question still speaks of what was asked about before, as in "which products drive it?"."""
    return has("refers_back", text) and not has("reset", text)


def default_breakdowns(frame: Join, most: int = 2) -> tuple[Analysis, ...]:
    """The groups to look at when a question names none."""
    groups = [column for column in cols.groupable(frame.columns) if "type" not in cols.concepts(column)]
    return tuple(Analysis("breakdown", (column.name,)) for column in groups[:most])


# --- which analyses ---------------------------------------------------------------------------------------------------


def _analyses(heard: Heard, frame: Join, base: Intent) -> list[Analysis]:
    """What to compute for a question of its own: the first rule that fits decides; a trend comes with any."""
    text, kinds = heard.text, set(heard.kinds)
    groups = [(group,) for group in heard.groups]
    found: list[Analysis] = []
    if base.measure and not base.target and (heard.rows or heard.listed):
        return [Analysis("rows")]
    over_time = "predict" in kinds and not base.target and not groups and has("time_words", text)
    if base.date and ("forecast" in kinds or over_time):
        found.append(Analysis("forecast"))
        kinds -= {"predict", "trend"}
    if base.date and "trend" in kinds:
        split = len(groups) == 1 and not groups[0][0].startswith("@") and (not _asks_which(text) or moves(text))
        found.append(Analysis("trend", groups.pop() if split else ()))
    if base.target and (has("causes", text) or "predict" in kinds):
        return [*found, *(Analysis("breakdown", group) for group in groups), Analysis("predict")]
    if "predict" in kinds:
        return [*found, Analysis("predict")]
    if related := _relations(heard, frame, base, groups):
        return [*found, *related]
    if groups:
        found += [Analysis("breakdown", group) for group in groups]
    elif not found and ("breakdown" in kinds or heard.top) and _asks_which(text) and base.target is None:
        found += default_breakdowns(frame) if heard.aggregate not in ("max", "min") else ()
    if "distribution" in kinds and base.measure:
        found.append(Analysis("distribution"))
    return found or _plainest(heard, frame, base)


def _relations(heard: Heard, frame: Join, base: Intent, groups: list[tuple[str]]) -> list[Analysis]:
    """Correlations and comparisons, if that is what the question is about."""
    text = heard.text
    pair = [Analysis("correlate", other=heard.measures[1].name)] if len(heard.measures) >= 2 else []
    sides = [by for (by,) in groups if frame.kind(by) == "flag"]
    compared = "compare" in heard.kinds or (heard.measures and base.aggregate != "sum")
    if sides and base.measure and not base.target and compared:
        return [Analysis("compare", group) for group in groups]
    if "correlate" in heard.kinds or (has("causes", text) and pair):
        if pair:
            return pair
        if groups and base.measure:
            return [Analysis("compare", group) for group in groups]
        if len(frame.names("number")) >= 2:
            return [Analysis("correlate")]
    if "compare" in heard.kinds and base.measure:
        several = [item for item in heard.filters if len(item.values) > 1]
        named = [(item.column,) for item in several if item.column != base.date]
        if groups or named:
            totals = base.aggregate == "sum" and not has("tests", text)
            return [Analysis("breakdown" if totals else "compare", group) for group in groups or named]
        return [Analysis("breakdown", (_step_of(several[0]),))] if several else pair
    return []


def _step_of(item: Filter) -> str:
    """The part of a date that distinguishes the compared times."""
    steps = {dates.frequency_of(value) for value in item.values}
    named = all(len(value) == 3 and value.startswith("M") for value in item.values)
    return "@month" if named else "@months" if "M" in steps else "@quarters" if "Q" in steps else "@year"


def _plainest(heard: Heard, frame: Join, base: Intent) -> list[Analysis]:
    """The simplest answer to a question that asks for no analysis by name; nothing when it names no column either."""
    if base.target:
        if heard.aggregate == "count" or heard.shares or (heard.filters and "breakdown" not in heard.kinds):
            return [Analysis("total")]
        return [Analysis("breakdown", (column.name,)) for column in _driver_groups(frame, base.target)]
    if several := [f.column for f in base.filters if f.keep and len(f.values) > 1 and f.column != base.date]:
        return [Analysis("breakdown", (several[0],))]
    if heard.aggregate in ("max", "min") and base.measure:
        return [Analysis("total")]
    if ("total" in heard.kinds or heard.filters) and (base.measure or base.aggregate == "count"):
        return [Analysis("total")]
    if heard.measures:
        return [Analysis("trend") if base.date else Analysis("distribution")]
    return []


def _asks_which(text: str) -> bool:
    strong = [word for word in lexicon()["analyses"]["breakdown"] if word not in ("by", "per", "按", "各")]
    return bool(find(strong, text))


def _driver_groups(frame: Join, target: str) -> list[Column]:
    """The groups by which a yes-no question is first looked at."""
    wanted = [c for c in cols.groupable(of_kind(frame.columns, "category")) if c.name != target]
    first = [c for c in wanted if {"contract", "department", "category", "type"} & cols.concepts(c)]
    rest = [c for c in wanted if c not in first and not (c.missing > 0.3)]
    return (first + rest)[:2]
