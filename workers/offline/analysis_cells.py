"""Makes the cells that answer: one per analysis of an intent, on `work`, the rows of `df` that are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from core.phrases import UNSPACED
from workers.offline import cells, dates
from workers.offline import columns as cols
from workers.offline.cells import Code
from workers.offline.subject import BAND, ORDERED, plain, scope, selection, time_said
from workers.offline.tasks import REPORT_ROWS, Task
from workers.offline.thread import done
from workers.offline.values import Cell, of_kind

MAX_FEATURES = 60
MAX_CATEGORIES = 50
MATRIX_COLUMNS = 12
MOST_LINES = 6
SEASONS = {"D": 7, "W": 52, "M": 12, "Q": 4, "Y": 1}
"""The steps of a season, by frequency."""
_WITHOUT_TABLE = ("single_number", "correlate", "predict", "forecast", "change")
"""Templates that return nothing."""
_OF_THE_MEASURE = ("column", "additive", "rate", "amount", "axis_format", "label_format")
TABLES = "tables"
"""The stage that saves the tables of a turn."""


_SHEET_FORBIDDEN = re.compile(r"[\[\]:*?/\\\\']")
_SHEET_CHARS = 28  # Excel allows 31


def tables_cell(found: list[Task]) -> Cell | None:
    """Saves what these analyses computed as a workbook; None when a report shows all of it anyway."""
    kept = [task for task in found if done(task.stage, task.thread.since) and task.has_table]
    if not any(task.outgrows_the_report or task.intent.saved for task in kept):
        return None
    thread = kept[0].thread
    sheets = {
        f"{number} {_SHEET_FORBIDDEN.sub(' ', analysis_cell(task).title)[:_SHEET_CHARS].strip()}": [
            Code(f"table_{task.stage}"),
            task.analysis.kind in ("profile", "compare", "correlate"),
        ]
        for number, task in enumerate(kept, start=1)
    }
    values = {"file": f"tables-{thread.number}.xlsx", "sheets": sheets}
    return cells.cell("tables", TABLES, thread.language, values)


def analysis_cell(task: Task) -> Cell:
    """The code of one analysis."""
    measured, intent, scoped = task.measured, task.intent, scope(task.thread, task.intent)
    brackets = "（{}）" if task.language in UNSPACED else " ({})"
    common = {
        **{name: getattr(measured, name) for name in _OF_THE_MEASURE},
        **{name: getattr(intent, name) for name in ("chart", "top", "ascending", "date")},
        **{name: getattr(task, name) for name in ("by", "frequency", "period")},
        "measure": measured.label[:1].upper() + measured.label[1:],
        "measure_name": measured.label,
        "aggregate": Code(f"lambda rows: rows{measured.aggregation}"),
        "total": Code(measured.total),
        "averaged": intent.aggregate == "mean" and measured.column is not None,
        "suffix": brackets.format(scoped) if scoped else "",
        "shown_rows": intent.top or REPORT_ROWS,
        "by_name": plain(next(iter(task.analysis.by), "")),
    }
    template, more = _COMPOSERS[task.kind](task)
    before = selection(task.thread, task.join, task.intent, task.analysis.by)
    shown = "" if template in _WITHOUT_TABLE else f"table_{task.stage}"
    return cells.cell(template, task.stage, task.language, {**common, **more}, before=before, table=shown)


# --- what each kind of analysis adds ----------------------------------------------------------------------------------

Variables = Mapping[str, Any]


def _shown(task: Task, name: str | None) -> Variables:
    """How a column is shown as it is: its name, and its axis."""
    return {"name": task.name(name or ""), "amount": task.axis(name), "axis_format": task.format_of(name)}


def _axis(prefix: str, task: Task, name: str) -> Variables:
    return {f"{prefix}_{key}": value for key, value in _shown(task, name).items()}


def _change(task: Task) -> tuple[str, Variables]:
    """A named period against the one before; without a name, the last whole one."""
    named, frequency = task.intent.period, task.change_frequency
    words = task.thread.say("periods", frequency)
    return "change", {
        "frequency": frequency,
        "period": words,
        "season": SEASONS[frequency],
        "asked": Code(f"lambda every: {dates.period_named(named, 'every')}") if named else None,
        "asked_for": time_said(task.thread, named) if named else task.thread.say("words", "last_whole", period=words),
        "splits": task.analysis.by,
        "change_format": "{:+,.0f}" if task.measured.additive else "{:+,.2f}",
    }


def _breakdown(task: Task) -> tuple[str, Variables]:
    by = task.analysis.by[0]
    times = [value for item in task.intent.filters if item.column == task.intent.date for value in item.values]
    years = all(value.isdigit() or value.startswith("Y-") for value in times)
    return "breakdown", {
        "ordered": by in ORDERED,
        "banded": by.startswith(BAND),
        "tested": task.intent.tested,
        "whole_years": by == "@year" and years,
        "days": task.thread.say("words", "days").split() if by == "@weekday" else [],
        "most": 8 if task.intent.chart == "pie" else 12,
    }


def _correlate(task: Task) -> tuple[str, Variables]:
    x, y = task.analysis.other, task.intent.measure
    if x and y:
        return "correlate", {"x": x, "y": y, **_axis("x", task, x), **_axis("y", task, y)}
    numbers = of_kind(task.join.columns, "number")
    fullest = sorted(numbers, key=lambda column: column.missing)[:MATRIX_COLUMNS]
    return "correlations", {"columns": [column.name for column in numbers if column in fullest]}


def _distribution(task: Task) -> tuple[str, Variables]:
    name, ids = task.intent.measure or "", task.join.names("id")[:1]
    others = [column for column in of_kind(task.join.columns, "number") if column.name != name]
    quantities = [column.name for column in others if "quantity" in cols.concepts(column)][:1]
    return "distribution", {
        **_shown(task, name),
        "column": name,
        "median_format": task.format_of(name, ",.2f"),
        "columns": list(dict.fromkeys(filter(None, [*ids, task.intent.date, *quantities, name]))),
        "other": next(iter(quantities), None),
        "label": ids[0] if ids else name,
    }


def _rows(task: Task) -> tuple[str, Variables]:
    name, ids, categories = (
        task.intent.measure or "",
        task.join.names("id")[:1],
        task.join.names("category", "text")[:4],
    )
    asked = [item.column for item in task.intent.filters if item.column != name]
    others = list(dict.fromkeys(filter(None, [*ids, task.intent.date, *categories, *asked])))
    label = others[0] if others else name
    return "rows", {
        **_shown(task, name),
        "column": name,
        "columns": [*others, name],
        "label": label,
        "label_name": task.name(label),
        "count": REPORT_ROWS if task.intent.listed else task.intent.top or 5,
        "listed": task.intent.listed,
    }


def _predict(task: Task) -> tuple[str, Variables]:
    target = task.intent.target or task.intent.measure
    used = [column for column in task.join.columns if column.name != target]
    few = [column for column in used if column.unique is None or column.unique <= MAX_CATEGORIES]
    sign = task.unit(target)
    return "predict", {
        **_shown(task, target),
        "target": task.name(target or ""),
        "number": None if task.intent.target else target,
        "numbers": [column.name for column in of_kind(used, "number")[:MAX_FEATURES]],
        "categories": [column.name for column in of_kind(few, "category", "flag")[:MAX_FEATURES]],
        "unit": f" ({sign})" if sign else "",
        "band": task.thread.say("words", "band"),
    }


def _forecast(task: Task) -> tuple[str, Variables]:
    ahead = task.intent.ahead or {"D": 14, "W": 8, "M": 3, "Q": 4, "Y": 2}[task.frequency]
    return "forecast", {"steps_ahead": ahead, "steps_of_season": SEASONS[task.frequency]}


def _profile(task: Task) -> tuple[str, Variables]:
    categories, measure = task.join.names("category", "flag"), cols.default_measure(task.join.columns)
    shown = measure.name if measure else next(iter(categories), None)
    return "profile", {
        **_shown(task, shown),
        "file": task.join.base.name,
        "numbers": task.join.names("number")[:12],
        "dates": task.join.names("date")[:4],
        "categories": categories[:12],
        "shown": shown,
        "counted": measure is None,
        "shown_title": task.thread.say("titles", "distribution", name=task.name(shown or ""), suffix=""),
    }


_COMPOSERS: Mapping[str, Callable[[Task], tuple[str, Variables]]] = {
    "rows": _rows,
    "trend": lambda task: ("trend", {"steps_of_a_year": {**SEASONS, "D": 365}[task.frequency]}),
    "trend_by": lambda task: ("trend_by", {"most": task.intent.top or MOST_LINES}),
    "change": _change,
    "breakdown": _breakdown,
    "compare": lambda task: ("compare", {**_shown(task, task.intent.measure), "column": task.intent.measure}),
    "correlate": _correlate,
    "distribution": _distribution,
    "predict": _predict,
    "forecast": _forecast,
    "total": lambda _: ("single_number", {}),
    "profile": _profile,
}
