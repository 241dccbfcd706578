"""Consequences of the check of figures: what the model is told, which figures are marked, which sources are kept."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import get_args

from core.phrases import say
from core.steps import CellRan, FigureSource, SourcePlace, Step
from core.values import Language
from workers.agent.provenance import Provenance, Traced, facts_of, trace
from workers.agent.provenance.outputs.from_memory import day_of
from workers.agent.redrawn import as_last_drawn
from workers.agent.text import one_line
from workers.agent.turn import Turn

MOST_TOLD = 24
"""The model is told of at most this many unsourced figures at once."""
MOST_SOURCES = 1_000
ABOUT_CHARS = 120
SIGN = "⚠"
"""Stands behind a figure of a table that nothing backs."""
_OF_THE_OUTPUT = ("row", "unit", "sign", "earlier")
"""Reasons of figures that an output does show, but not for what the report says."""


def trace_report(turn: Turn, report: str) -> Provenance:
    """Where the figures of a report of this turn come from. The sources are all cells, files and people of the
    thread."""
    return _trace((*turn.earlier, turn.steps), report)


@lru_cache(maxsize=8)
def _trace(turns: tuple[tuple[Step, ...], ...], report: str) -> Provenance:
    return trace(report, facts_of((*turns[:-1], _as_shown(turns[-1])) if turns else turns))


def _as_shown(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps of a turn without the charts that a later cell drew again: people see the last drawing."""
    cells = iter(as_last_drawn([step for step in steps if isinstance(step, CellRan)]))
    return tuple(next(cells) if isinstance(step, CellRan) else step for step in steps)


def told(unsourced: Sequence[Traced]) -> list[dict[str, object]]:
    """Unsourced figures for the model: figure, sentence, why, and what the outputs show instead."""
    return [
        {
            "figure": one_line(figure.text, 60),
            "sentence": one_line(figure.sentence, 240),
            "reason": figure.reason,
            "fault": figure.fault,
            "near": [one_line(near, 160) for near in figure.near],
        }
        for figure in unsourced[:MOST_TOLD]
    ]


def marked(provenance: Provenance, language: Language) -> str:
    """The report with a mark behind each figure that nothing backs; unchanged when there is none.

    In a table the mark is the sign alone, and a line below the report says what it means.
    """
    report, marks = provenance.report, _marks(provenance, language)
    for at, mark in reversed(marks):
        report = report[:at] + mark + report[at:]
    if not any(figure.in_table for figure in provenance.unsourced):
        return report
    legend = say("unsourced_in_tables", language)
    return f"{report}\n\n_{legend}_"


def without_legend(report: str) -> str:
    """A marked report without the line about signs in tables."""
    for language in get_args(Language):
        report = report.replace(f"\n\n_{say('unsourced_in_tables', language)}_", "")
    return report


def without_idle_legend(report: str) -> str:
    """A marked report that a person changed: without the line about signs in tables once no table has one."""
    rest = without_legend(report)
    return report if SIGN in rest.replace(f"({SIGN}", "") else rest


def _marks(provenance: Provenance, language: Language) -> list[tuple[int, str]]:
    """The marks and where they go, in order."""
    marks = []
    for figure in sorted(provenance.unsourced, key=lambda each: each.start):
        day = day_of(figure.places[0].about) if figure.reason == "memory" and figure.places else ""
        mark = f" {SIGN}" if figure.in_table else f" ({say(_phrase(figure), language, day=day)})"
        marks.append((_behind_emphasis(provenance.report, figure.end), mark))
    return marks


def _phrase(figure: Traced) -> str:
    if figure.reason == "chart":
        return "unsourced_chart"
    if figure.reason == "rank":
        return "unsourced_rank"
    if figure.reason == "only":
        return "unsourced_only"
    if figure.reason == "memory":
        return "unsourced_memory"
    return "unsourced_other" if figure.reason in _OF_THE_OUTPUT else "unsourced_mark"


_UNIT_BEHIND = re.compile(
    r"[*_`]*[ \u00a0\u202f](?:points?|puntos?|Punkten?|heures?|horas?|Stunden|hours?|jours?|días?|days?|Tagen?)\b"
)
"""A unit in words that is no part of the figure: "-0,18 point"."""


def _behind_emphasis(report: str, at: int) -> int:
    """The place behind a unit in words and the signs that close an emphasis or code around the figure. Inside them, a
    mark would be bold or break it."""
    unit = _UNIT_BEHIND.match(report, at)
    end = unit.end() if unit else at
    while report[end : end + 1] in ("*", "_", "`"):
        end += 1
    return end


def sources_of(provenance: Provenance, language: Language) -> tuple[FigureSource, ...]:
    """The figures of the marked report with their sources, in order; those that need none are left out."""
    marks = _marks(provenance, language)
    return tuple(
        FigureSource(
            figure=one_line(figure.text, 60),
            state=figure.state,
            reason=figure.reason,
            how=figure.how,
            places=tuple(
                SourcePlace(
                    what=place.what,
                    cell_id=place.cell_id,
                    line=place.line,
                    about=one_line(place.about, ABOUT_CHARS),
                    value=place.value,
                    number=None if number is None or not math.isfinite(number) else number,
                )
                for place, number in zip_longest(figure.places, figure.values)
            ),
            start=figure.start + sum(len(mark) for at, mark in marks if at <= figure.start),
            arithmetic=one_line(figure.arithmetic, 300),
            near=tuple(one_line(near, 160) for near in figure.near) if figure.state == "unsourced" else (),
        )
        for figure in provenance.figures
        if figure.state != "left"
    )[:MOST_SOURCES]
