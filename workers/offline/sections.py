"""What each analysis has to say; every number read from what its cell printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, UndefinedError

from core.phrases import written
from workers.offline.cells import stage_of
from workers.offline.lexicon import has
from workers.offline.reading import facts_of, last_told
from workers.offline.subject import BAND, ORDERED, Subject, pretty, scope, time_said
from workers.offline.tasks import REPORT_ROWS, Task
from workers.offline.values import Facts
from workers.offline.wording import environment, flat, percent, sentences, template

_FEW_ROWS = 10


@dataclass(frozen=True, slots=True)
class Section:
    """What one analysis has to say. All texts are Markdown on one line."""

    answer: str
    findings: tuple[str, ...] = ()
    method: str = ""
    limits: str = ""
    table: str = ""


def section(task: Task) -> Section | None:
    """What an analysis found; None when its cell did not run or its output is incomplete."""
    facts = facts_of([cell for cell in task.thread.since if stage_of(cell.code) == task.stage])
    kind, measured = task.kind, task.measured
    try:
        variables = {**_common(task, measured), **_VARIABLES[kind](task, facts)}
        own = kind in ("distribution", "rows", "compare", "predict")  # of the column, not its total or mean
        made = environment(task.language, task.unit(task.intent.measure) if own else measured.unit, measured.rate)
        texts = sentences()[kind][task.language]

        def render(key: str) -> str:
            return template(made, texts.get(key, "")).render(variables)

        if kind == "distribution" and variables["other"]:
            variables["odd"] = flat(render("odd"))
        return Section(
            answer="\n\n".join(filter(None, [flat(render("answer")), _moved(task, facts)])),
            findings=tuple(_findings(made, texts.get("findings", {}), variables)),
            method=flat(render("method")),
            limits=flat(render("limits")),
            table=_table(task, made, kind, variables),
        )
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError, UndefinedError):
        return None  # output that was cut: the report says that this part is missing


def _findings(made: Environment, sentences_of: Mapping[str, str], variables: Mapping[str, Any]) -> Iterator[str]:
    """What was found, sentence by sentence. `told` has a value for the name of a sentence. If it is a list, the
    sentence is said once for each item (`one`). It is not said for None, False or nothing. For any other value it is
    said once."""
    for name, sentence in sentences_of.items():
        told = variables["told"].get(name)
        for one in told if isinstance(told, list) else [told] if told else []:
            yield flat(template(made, sentence).render(variables, one=one))


def _moved(task: Task, facts: Facts) -> str:
    """The remark on means that depend on one value, with the medians; empty if none does."""
    moved, medians = facts.get("moved", [])[:3], facts.get("median", [])[:8]
    sign = task.unit(task.intent.measure)
    return task.thread.say("frame", "moved", sign, moved=moved, medians=medians) if moved else ""


def _common(task: Task, measured: Subject) -> dict[str, Any]:
    how: str = sentences()["frame"][task.language]["aggregates"][task.intent.aggregate]
    return {
        "measure": measured.label,
        "counted": measured.column is None and not measured.rate,
        "additive": measured.additive,
        "rate": measured.rate,
        "scope": scope(task.thread, task.intent),
        "how": how if measured.column and not measured.rate else "",
        "by": task.by,
        "period": task.period,
        "anomalies": task.intent.anomalies,
        "ascending": task.intent.ascending,
        "column": task.name(task.intent.measure or ""),
        "target": task.name(task.intent.target or task.intent.measure or ""),
    }


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _trend(task: Task, facts: Facts) -> dict[str, Any]:
    years = facts.get("year", [])
    compared = [year for year in years if _real(year.get("change")) is not None]
    return {
        "t": facts["trend"][-1],
        "told": {"years": years, "ends": True, "season": last_told(facts, "season")},
        "last": compared[-1] if compared else None,
        "prior": compared[-2] if len(compared) > 1 and not compared[-1].get("whole") else None,
        "peak": task.intent.peak,
        "moved_by": lambda year: _moved_by(task, year),
    }


def _moved_by(task: Task, year: Mapping[str, Any]) -> str:
    """A year's change in percent; of a share, in points."""
    if not task.measured.rate:
        return percent(year["change"], task.language, "+.1f")
    points = written(f"{(year['value'] - year['before']) * 100:+.1f}", task.language)
    return task.thread.say("words", "points", n=points)


def _rows(task: Task, facts: Facts) -> dict[str, Any]:
    rows = facts["row"]
    own = [key for key in rows[0] if key != "value"]
    told = {"r": facts["ranked"][-1], "rows": rows, "own": own, "label": own[0] if own else ""}
    return told | {"listed": task.intent.listed}


def _change(task: Task, facts: Facts) -> dict[str, Any]:
    parts: dict[str, list[dict[str, Any]]] = {}
    told = last_told(facts, "change")
    for part in facts.get("part", ()):
        if told and part["change"] * told["change"] > 0:
            parts.setdefault(pretty(str(part["by"]), task.language), []).append(part)
    steps = last_told(facts, "same_step").get("steps", [])
    singles = facts.get("single", []) if len(facts.get("single", [])) == 2 else []
    alone = [one for one in singles if one["total"] > 0 and one["largest"] > 0.2 * one["total"]]
    return {
        "c": told,
        "told": {
            "year_ago": bool(told) and _real(told["year_ago"]) is not None,
            "same_step": bool(steps),
            "singles": bool(singles),
            "alone": alone,
            "by_group": list(parts.items()),
        },
        "period": task.thread.say("periods", task.change_frequency),
        "outside": last_told(facts, "no_change"),
        "parts": parts,
        "steps": steps,
        "singles": singles,
        "fell": has("falls", task.intent.text),
        "rose": has("rises", task.intent.text),
        "said": time_said(task.thread, task.intent.period) if task.intent.period else "",
    }


def _breakdown(task: Task, facts: Facts) -> dict[str, Any]:
    by = task.analysis.by[0]
    groups = [
        {**group, "share": _real(group.get("share")), "change": _real(group.get("change"))} for group in facts["group"]
    ]
    averaged = task.intent.aggregate not in ("sum", "count")
    changes, test = last_told(facts, "changes"), last_told(facts, "test")
    return {
        "g": facts["groups"][-1],
        "told": {"moves": changes and len(changes["most"]) > 1, "tested_rates": task.measured.rate and test},
        "groups": groups,
        "changes": changes,
        "ordered": by in ORDERED or by.startswith(BAND),
        "small": [group["name"] for group in groups if group.get("rows", 0) < _FEW_ROWS] if averaged else [],
        "test": test,
        "named": lambda name: f"{task.by} {name}" if str(name).isdigit() else name,  # "store 7", not "7"
        "tested": task.intent.tested,
        "focused": next((group for group in groups if group["name"] == task.intent.focus), None),
        "cut": last_told(facts, "cut"),
        "no_pie": task.intent.chart == "pie" and (not task.measured.additive or "no_pie" in facts),
    }


def _compare(task: Task, facts: Facts) -> dict[str, Any]:
    said = (lambda name: f"{task.by}: {name}") if task.join.kind(task.analysis.by[0]) == "flag" else str
    sides = [{**side, "name": said(side["name"])} for side in facts["side"]]
    test = last_told(facts, "test")
    effect = bool(test) and _real(test["effect"]) is not None
    welch = bool(test) and test["kind"] == "welch"
    return {
        "c": facts["compared"][-1],
        "told": {"sides": sides, "apart": effect and welch, "explained": effect and not welch},
        "sides": sides,
        "test": test,
        "of_sums": task.intent.tested and task.intent.aggregate == "sum",
    }


def _correlate(task: Task, facts: Facts) -> dict[str, Any]:
    single = "correlations" not in facts
    pairs = facts["pair"]
    return {
        "pairs": pairs,
        "told": {"coefficients": single, "slope": single, "all_pairs": [] if single else pairs},
        "single": single,
        "x": task.name(str(pairs[0]["x"])),
        "y": task.name(str(pairs[0]["y"])),
    }


def _distribution(task: Task, facts: Facts) -> dict[str, Any]:
    other = last_told(facts, "other_extreme")
    typing_error = other and other["largest"] > 3 * max(other["next"], 1)
    extremes = facts.get("extreme", [])
    return {
        "s": facts["spread"][-1],
        "told": {"spread": True, "outliers": True, "furthest": bool(extremes)},
        "extremes": extremes,
        "extreme": extremes[0]["value"] if extremes else 0,
        "other": other if typing_error else None,
        "odd": "",
    }


def _predict(task: Task, facts: Facts) -> dict[str, Any]:
    names = sentences()["frame"][task.language]["methods"]
    model = last_told(facts, "model")
    drivers = [driver for driver in facts.get("driver", []) if driver["importance"] > 0]
    clear = [driver for driver in drivers if driver.get("high_rate", 1) - driver.get("low_rate", 0) >= 0.03]
    boosted = bool(model) and model["model"] == "gradient boosting"  # takes blank cells as they are
    number = not task.intent.target
    return {
        "m": facts["modelled"][-1],
        "number": number,
        "told": {"drivers": drivers[:5]} if number else {"overall": True, "clear": clear[:5], "riskiest": model},
        "model": model and {**model, "model": names[model["model"]]},
        "candidates": [{**told, "model": names[told["model"]]} for told in facts.get("candidate", [])],
        "gaps": [] if boosted else list(last_told(facts, "gaps").get("columns", {}).items()),
        "drivers": drivers,
    }


def _forecast(task: Task, facts: Facts) -> dict[str, Any]:
    names = sentences()["frame"][task.language]["methods"]
    forecast, steps = last_told(facts, "forecast"), facts.get("next", [])
    return {
        "h": facts["history"][-1],
        "told": {"trials": forecast, "later": steps[6:]},
        "f": forecast and {**forecast, "method": names[forecast["method"]]},
        "steps": steps,
        "methods": [{**told, "name": names[told["name"]]} for told in facts.get("method", [])],
    }


def _profile(task: Task, facts: Facts) -> dict[str, Any]:
    paths = list(dict.fromkeys(table.path for table in task.join.tables))
    size = facts["profile"][-1]
    numbers, categories = facts.get("number", [])[:8], facts.get("category", [])[:8]
    return {
        "p": size,
        "told": {"numbers": numbers, "categories": categories, "empty": bool(size["empty_columns"])},
        "spans": facts.get("span", []),
        "name": ", ".join(paths),
        "several": len(paths) > 1,
    }


_VARIABLES: Mapping[str, Callable[[Task, Facts], dict[str, Any]]] = {
    "rows": _rows,
    "trend": _trend,
    "trend_by": lambda _, facts: {"t": facts["trend_by"][-1], "told": {"lines": facts["line"]}, "lines": facts["line"]},
    "change": _change,
    "breakdown": _breakdown,
    "compare": _compare,
    "correlate": _correlate,
    "distribution": _distribution,
    "predict": _predict,
    "forecast": _forecast,
    "total": lambda _, facts: {"t": {"missing": 0, **facts["total"][-1]}},
    "profile": _profile,
}


def _table(task: Task, made: Environment, kind: str, variables: Mapping[str, Any]) -> str:
    """The groups of a breakdown as a Markdown table; empty for anything else."""
    if kind == "rows" and (variables["listed"] or len(variables["rows"]) > 1):
        return _rows_table(task, made, variables)
    if kind != "breakdown" or len(variables["groups"]) < 2:
        return ""
    names = sentences()["frame"][task.language]["columns"]
    value, plus, number, share = (made.filters[name] for name in ("v", "plus", "n", "pct"))
    groups = variables["groups"][:REPORT_ROWS]
    columns: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        (variables["by"], lambda group: _cell(str(group["name"]))),
        (variables["measure"], lambda group: value(group["value"])),
    ]
    if all(group["share"] is not None for group in groups):
        columns.append((names["share"], lambda group: share(group["share"])))
    if any(group["change"] is not None for group in groups):
        columns.append((names["last"], lambda group: value(group.get("last_12_months"))))
        columns.append((names["change"], lambda group: plus(group["change"]) if group["change"] is not None else "–"))
    if task.measured.rate:
        columns.append((names["cases"], lambda group: number(group.get("cases"))))
    if task.measured.column is not None:
        columns.append((names["rows"], lambda group: number(group.get("rows"))))
    lines = [[title for title, _ in columns], ["---", *["---:"] * (len(columns) - 1)]]
    return _lines([*lines, *([write(group) for _, write in columns] for group in groups)])


def _rows_table(task: Task, made: Environment, variables: Mapping[str, Any]) -> str:
    """Single rows as a Markdown table, the measure last."""
    own, day = variables["own"], made.filters["day"]
    lines = [[*(task.name(key) for key in own), variables["column"]], [*["---"] * len(own), "---:"]]
    for row in variables["rows"]:
        value = "–" if row["value"] is None else made.filters["m"](row["value"])
        lines.append([*(_cell(day(row[key])) for key in own), value])
    return _lines(lines)


def _lines(cells: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
