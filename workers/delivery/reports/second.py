"""The line under a report on the second way to its figures: the same, or both values with the likely reason."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import UNSPACED, joined, listed, say
from core.second_route import RouteFigure, SecondRoute
from core.slack.sanitize import sanitize
from core.values import Language

_MOST_OTHERS = 4
_MOST_NAMED = 6


def second_line(outcome: SecondRoute, language: Language, model: str = "") -> str:
    """What people read, in a few sentences of plain text. `model` is the one that wrote the report."""
    if outcome.state == "unchecked":
        return say(f"second_none_{outcome.reason or 'error'}", language)
    by = "" if outcome.model in ("", model) else outcome.model
    same, other, absent = (_of(outcome.figures, state) for state in ("same", "other", "absent"))
    parts = [say(f"second_{outcome.state}", language, by=by, same=_listed(same, language), count=len(other))]
    parts += [_both(one, language) for one in other[:_MOST_OTHERS]]
    if more := len(other) - _MOST_OTHERS:
        parts += (
            [say("report_more", language, count=more) + ("。" if language in UNSPACED else ".")] if more > 0 else []
        )
    if same and other:
        parts.append(say("second_same_too", language, same=_listed(same, language)))
    if absent:
        parts.append(say("second_absent", language, absent=_listed(absent, language)))
    if outcome.reading and other:
        parts.append(say("second_reading", language, reading=sanitize(outcome.reading)))
    return joined(parts, language)


def _of(figures: Sequence[RouteFigure], state: str) -> list[RouteFigure]:
    return [figure for figure in figures if figure.state == state]


def _both(one: RouteFigure, language: Language) -> str:
    why = say(f"second_why_{one.why or 'reading'}", language, factor=one.factor)
    return say("second_both", language, figure=one.figure, value=one.value, name=sanitize(one.name), why=why)


def _listed(figures: Sequence[RouteFigure], language: Language) -> str:
    names = [figure.figure for figure in figures[:_MOST_NAMED]]
    if more := len(figures) - len(names):
        names.append(say("report_more", language, count=more))
    return listed(names, language)
