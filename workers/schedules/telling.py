"""The message about a run: the figures that changed; no message if none did. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.phrases import say, written
from core.schedules.thresholds import Threshold
from core.schedules.values import Figure
from core.values import Language

MOST = 30
_WORDS = 2


@dataclass(frozen=True, slots=True)
class Changed:
    """A figure that is another one now. `was` is None for one that people have not seen yet, `now` for one whose row is
    not shown any more."""

    figure: Figure
    was: float | None
    now: float | None


def changes(before: Sequence[Figure], now: Sequence[Figure]) -> list[Changed]:
    """The figures that are others now, in the order of the report. One that the report gives twice is told once, by the
    name that it has in a table."""
    known = {figure.place: figure.value for figure in before}
    values = {figure.place: figure.value for figure in now}
    figures = {figure.place: figure for figure in (*before, *now)}
    found: dict[tuple[str, float | None, float | None], Changed] = {}
    for place, figure in sorted(figures.items()):
        was, value = known.get(place), values.get(place)
        if was is not None and value is not None and math.isclose(was, value, rel_tol=1e-9, abs_tol=1e-12):
            continue
        key = (figure.name, was, value)
        if key not in found or (figure.heading and not found[key].figure.heading):
            found[key] = Changed(figure, was, value)
    return list(found.values())


def called(figure: Figure, language: Language) -> str:
    """A figure's name in a line of its own; words of a sentence of the report stand in quotation marks."""
    is_quote = figure.quote and not figure.heading
    return say("figure_quoted", language, words=figure.words) if is_quote else figure.words


def figure_meant(threshold: Threshold, figures: Sequence[Figure]) -> Figure | None:
    """The figure that a limit is about; None when none has all its words near it.

    Of several in one sentence it is the one whose own name has most of the words, else one in the limit's unit.
    """
    words = [word for word in threshold.name.casefold().split() if word not in ("the", "a", "of", "in")]

    def strangeness(figure: Figure) -> tuple[int, bool]:
        name = f"{figure.name} {figure.heading}".casefold()
        return sum(word not in name for word in words), figure.percent != threshold.percent

    near = [
        each for each in figures if all(word in f"{each.name} {each.heading} {each.text}".casefold() for word in words)
    ]
    return min(near, key=strangeness, default=None)


def is_comparable(threshold: Threshold, figure: Figure) -> bool:
    """Whether a limit is in the unit of the report's figure: 12 % is no limit for 3,900, nor 0.12 for 12.4 %."""
    return figure.times > 0 and figure.percent == threshold.percent


def crosses(threshold: Threshold, before: Sequence[Figure], now: Sequence[Figure]) -> bool:
    """Whether the figure that is meant is on another side of the limit than people saw it last."""
    figure = figure_meant(threshold, now)
    if figure is None or not is_comparable(threshold, figure):
        return True  # nobody knows: people are told rather than not
    limit = threshold.limit / figure.times
    was = next((each.value for each in before if each.place == figure.place), None)
    is_above = figure.value > limit
    was_above = was is not None and was > limit
    if threshold.crossing == "above":
        return is_above and not was_above
    if threshold.crossing == "below":
        is_below = figure.value < limit
        return is_below and not (was is not None and was < limit)
    return is_above != was_above


def lines(changed: Sequence[Changed], language: Language) -> list[str]:
    """A line for each figure: old → new, with the change in percent."""
    shown = [_line(each, language) for each in changed[:MOST]]
    if len(changed) > MOST:
        shown.append(say("report_more", language, count=len(changed) - MOST))
    return shown


def _line(changed: Changed, language: Language) -> str:
    name = called(changed.figure, language)
    if changed.now is None:
        was = written(_number(changed.was or 0.0), language)
        return say("drift_figure", language, name=f"{name} ({was})")
    now = written(_number(changed.now), language)
    if changed.was is None:
        return f"{name}: {now}"
    share = f"{(changed.now - changed.was) / abs(changed.was):+.1%}" if changed.was else ""
    was = written(_number(changed.was), language)
    return f"{name}: {was} → {now}" + (f" ({written(share, language)})" if share else "")


def _number(value: float) -> str:
    return f"{value:,.10g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.3g}"
