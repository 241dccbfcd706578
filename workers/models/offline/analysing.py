"""The cells that answer: one per analysis of an intent, each on `work`, the rows of `df` that the question is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from workers.models.offline import cells, dates
from workers.models.offline import columns as cols
from workers.models.offline.subject import BAND, ORDERED, label, period, plain, scope, selection, time_said, word
from workers.models.offline.tasks import REPORT_ROWS, Task
from workers.models.offline.thread import done
from workers.models.offline.values import Cell, Filter
from workers.models.offline.wording import say

MAX_FEATURES = 60
MAX_CATEGORIES = 50
MATRIX_COLUMNS = 12
SEASONS = {"D": 7, "W": 52, "M": 12, "Q": 4, "Y": 1}
"""After how many steps of a frequency things come round again."""
TABLES = "tables"
"""The stage that saves the tables of a turn."""


_SHEET_FORBIDDEN = re.compile(r"[\[\]:*?/\\\\']")
_SHEET_CHARS = 28  # Excel allows 31


def tables_cell(found: list[Task]) -> Cell | None:
    """Saves what these analyses computed as a workbook; None when a report shows all of it anyway."""
    kept = [task for task in found if done(task.stage, task.thread.since) and task.has_table]
    if not any(task.outgrows_the_report for task in kept):
        return None
    thread = kept[0].thread
    sheets = [
        {
            "variable": f"table_{task.stage}",
            "sheet": f"{number} {_SHEET_FORBIDDEN.sub(' ', analysis_cell(task).title)[:_SHEET_CHARS].strip()}",
            "index": task.analysis.kind in ("profile", "compare", "correlate"),
        }
        for number, task in enumerate(kept, start=1)
    ]
    return cells.cell("tables", TABLES, thread.language, {"file": f"tables-{thread.number}.xlsx", "tables": sheets})


def analysis_cell(task: Task) -> Cell:
    """The code of one analysis."""
    measured, scoped = task.measured, scope(task.thread, task.intent)
    common = {
        "selection": selection(task.thread, task.join, task.intent, task.analysis.by),
        "measure": measured.label[:1].upper() + measured.label[1:],
        "measure_name": measured.label,
        "amount": measured.amount,
        "aggregation": measured.aggregation,
        "total": measured.total,
        "additive": measured.additive,
        "rate": measured.rate,
        "number_format": measured.axis_format,
        "axis_format": measured.axis_format,
        "label_format": measured.label_format,
        "column": measured.column,
        "suffix": _in_brackets(task, scoped),
        "chart": task.intent.chart,
        "top": task.intent.top,
        "ascending": task.intent.ascending,
        "date": task.intent.date,
        "table": f"table_{task.stage}",
    }
    template, more = _COMPOSERS[task.analysis.kind](task)
    return cells.cell(template, task.stage, task.language, {**common, **more})


def _in_brackets(task: Task, text: str) -> str:
    """The text as the end of a title; empty for an empty text."""
    if not text:
        return ""
    return f"（{text}）" if task.language == "zh" else f" ({text})"


# --- what each kind of analysis adds ----------------------------------------------------------------------------------

Variables = Mapping[str, Any]


def _trend(task: Task) -> tuple[str, Variables]:
    steps = {"D": 365, "W": 52, "M": 12, "Q": 4, "Y": 1}[task.frequency]
    more = {"frequency": task.frequency, "period": task.period, "period_name": task.period, "steps_of_a_year": steps}
    if not task.analysis.by:
        return "trend", more
    return "trend_by", {**more, "by": task.by, "by_name": plain(task.analysis.by[0])}


def _change(task: Task) -> tuple[str, Variables]:
    """A named period against the one before; without a name, the last whole one."""
    named, frequency = task.intent.period, task.change_frequency
    words = period(task.language, frequency)
    return "change", {
        "frequency": frequency,
        "period": words,
        "season": SEASONS[frequency],
        "asked": dates.period_named(named, "series.index") if named else "series.index[-1 - int(ends_early)]",
        "said": time_said(task.thread, named) if named else word(task.thread, "last_whole", period=words),
        "by": [{"name": by, "label": label(task.thread, by)} for by in task.analysis.by],
    }


def _breakdown(task: Task) -> tuple[str, Variables]:
    by = task.analysis.by[0]
    return "breakdown", {
        "by": task.by,
        "by_name": plain(by),
        "ordered": by in ORDERED,
        "banded": by.startswith(BAND),
        "tested": task.intent.tested,
        "whole_years": by == "@year"
        and all(_names_years(item) for item in task.intent.filters if item.column == task.intent.date),
        "days": say("words", "days", task.language).split() if by == "@weekday" else [],
        "most": 8 if task.intent.chart == "pie" else 12,
    }


def _names_years(item: Filter) -> bool:
    return all(value.isdigit() or value.startswith("Y-") for value in item.values)


def _compare(task: Task) -> tuple[str, Variables]:
    name, by = task.intent.measure, task.analysis.by[0]
    column = task.join.column(name)
    if column is None or column.kind != "number":
        return _breakdown(task)
    return "compare", {
        "column": name,
        "name": task.name(name or ""),
        "amount": task.axis(name),
        "axis_format": task.ticks(name),
        "by": task.by,
        "by_name": plain(by),
    }


def _correlate(task: Task) -> tuple[str, Variables]:
    x, y = task.analysis.other, task.intent.measure
    if x and y:
        return "correlate", {
            "x": x,
            "y": y,
            "x_label": task.name(x),
            "y_label": task.name(y),
            "x_axis": task.axis(x),
            "y_axis": task.axis(y),
            "x_format": task.ticks(x),
            "y_format": task.ticks(y),
        }
    numbers = [column for column in task.join.columns if column.kind == "number"]
    fullest = sorted(numbers, key=lambda column: column.missing)[:MATRIX_COLUMNS]
    return "correlations", {"numbers": [column.name for column in numbers if column in fullest]}


def _distribution(task: Task) -> tuple[str, Variables]:
    name = task.intent.measure or ""
    ids = [column.name for column in task.join.columns if column.kind == "id"]
    quantities = [
        column.name
        for column in task.join.columns
        if column.kind == "number" and column.name != name and "quantity" in cols.concepts(column)
    ]
    shown = [*ids[:1], *([task.intent.date] if task.intent.date else []), *quantities[:1], name]
    return "distribution", {
        "column": name,
        "measure": task.name(name),
        "amount": task.axis(name),
        "axis_format": task.ticks(name),
        "sign": task.unit(task.join.column(name)),
        "shown": list(dict.fromkeys(shown)),
        "other": next(iter(quantities), None),
        "label": ids[0] if ids else name,
    }


def features(task: Task, target: str | None) -> tuple[list[str], list[str]]:
    """The columns that a model may use: numbers, and categories of not too many values."""
    used = [
        column for column in task.join.columns if column.name != target and column.kind not in ("id", "date", "empty")
    ]
    numbers = [column.name for column in used if column.kind == "number"]
    categories = [
        column.name
        for column in used
        if column.kind in ("category", "flag") and (column.unique is None or column.unique <= MAX_CATEGORIES)
    ]
    return numbers[:MAX_FEATURES], categories[:MAX_FEATURES]


def _rows(task: Task) -> tuple[str, Variables]:
    name = task.intent.measure or ""
    columns = task.join.columns
    ids = [column.name for column in columns if column.kind == "id"][:1]
    categories = [column.name for column in columns if column.kind in ("category", "text")][:4]
    asked = [item.column for item in task.intent.filters if item.column != name]
    others = list(dict.fromkeys([*ids, *([task.intent.date] if task.intent.date else []), *categories, *asked]))
    return "rows", {
        "column": name,
        "name": task.name(name),
        "amount": task.axis(name),
        "axis_format": task.ticks(name),
        "label_format": f"{task.unit(task.join.column(name))}{{:,.10g}}",
        "shown": [*others, name],
        "label": others[0] if others else name,
        "label_name": task.name(others[0] if others else name),
        "count": REPORT_ROWS if task.intent.listed else task.intent.top or 5,
        "listed": task.intent.listed,
    }


def _predict(task: Task) -> tuple[str, Variables]:
    target = task.intent.target or task.intent.measure
    numeric, categorical = features(task, target)
    sign = task.unit(task.join.column(target))
    more = {
        "numeric": numeric,
        "categorical": categorical,
        "target": task.name(target or ""),
        "unit": f" ({sign})" if sign else "",
    }
    if task.intent.target:
        return "predict", more
    return "predict_number", {**more, "column": target, "amount": task.axis(target), "axis_format": task.ticks(target)}


def _forecast(task: Task) -> tuple[str, Variables]:
    frequency = task.frequency
    season = SEASONS[frequency]
    ahead = task.intent.ahead or {"D": 14, "W": 8, "M": 3, "Q": 4, "Y": 2}[frequency]
    return "forecast", {"frequency": frequency, "period": task.period, "ahead": ahead, "season": season}


def _total(task: Task) -> tuple[str, Variables]:
    return "total", {}


def _profile(task: Task) -> tuple[str, Variables]:
    columns = task.join.columns
    categories = [column.name for column in columns if column.kind in ("category", "flag")]
    measure = cols.default_measure(columns)
    shown = measure.name if measure else next(iter(categories), None)
    return "profile", {
        "name": task.join.base.name,
        "numbers": [column.name for column in columns if column.kind == "number"][:12],
        "dates": [column.name for column in columns if column.kind == "date"][:4],
        "categories": categories[:12],
        "chart_column": shown,
        "chart_kind": "number" if measure else "category",
        "chart_label": task.axis(shown),
        "chart_title": word(task.thread, "distribution_of", name=task.name(shown or "")),
        "axis_format": task.ticks(shown),
    }


_COMPOSERS: Mapping[str, Callable[[Task], tuple[str, Variables]]] = {
    "rows": _rows,
    "trend": _trend,
    "change": _change,
    "breakdown": _breakdown,
    "compare": _compare,
    "correlate": _correlate,
    "distribution": _distribution,
    "predict": _predict,
    "forecast": _forecast,
    "total": _total,
    "profile": _profile,
}
