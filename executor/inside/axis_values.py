"""What the numbers along an axis of matplotlib stand for: days, periods of pandas, or names, its marks."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from datetime import datetime, time
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import Any

_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")


def stood_for(axis: Any, values: Sequence[Any]) -> list[Any]:
    """The values as people read them on the axis. What is no number, or stands for itself, stays."""
    if not _are_numbers(values):
        return list(values)
    if (freq := getattr(axis, "freq", None)) is not None and _is_of_pandas(axis):
        # pandas draws a regular series of dates by the numbers of its periods: January 2024 is 648
        return _periods(values, freq)
    if counts_days(axis):
        return days(values)
    names = _names(axis)
    return [names[_place(at)] for at in values] if names and all(_place(at) in names for at in values) else list(values)


def is_renamed(axis: Any, values: Sequence[Any]) -> bool:
    """Whether the axis shows names or other numbers for its values, and some of them stay numbers here."""
    if not _are_numbers(values) or not _are_numbers(stood_for(axis, values)):
        return False
    return bool(_names(axis)) or other_numbers(axis) is not None


def other_numbers(axis: Any) -> tuple[str, float] | None:
    """A mark of the axis that says something else than the number at its place, with that number: ("5.0", 5000000).

    Its code divides by a million, perhaps, or makes shares percents. None where the marks are the numbers themselves,
    with a unit at most that the axis is named after.
    """
    is_plain = type(axis.get_major_formatter()).__name__ == "ScalarFormatter" or axis.get_scale() != "linear"
    if is_plain or counts_days(axis) or _is_of_pandas(axis):
        return None
    places = [float(at) for at in axis.get_majorticklocs()]
    texts = axis.get_major_formatter().format_ticks(places)
    others = [(text, at) for text, at in zip(texts, places, strict=False) if text and not _is_number(text, at, axis)]
    return others[-1] if others else None


def counts_days(axis: Any) -> bool:
    """Whether the numbers of this axis are days since 1970."""
    dates = sys.modules.get("matplotlib.dates")
    return dates is not None and isinstance(axis.get_major_locator(), dates.DateLocator)


def _periods(values: Sequence[Any], freq: object) -> list[str]:
    """The periods with these numbers; of a week its last day, by which pandas names it."""
    period = sys.modules["pandas"].Period
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of days of business, whose end pandas announces
        return [str(period(ordinal=int(at), freq=freq)).rpartition("/")[2] for at in values]


def days(values: Sequence[float]) -> list[str]:
    """These days, with the time of day where it is not midnight."""
    return [_day(sys.modules["matplotlib.dates"].num2date(at)) for at in values]


def _day(moment: datetime) -> str:
    moment = moment.replace(tzinfo=None)
    return moment.isoformat(sep=" ") if moment.time() != time.min else moment.date().isoformat()


def _names(axis: Any) -> dict[float, str]:
    """The marks that somebody set along the axis by their place; none where they are its numbers."""
    if type(axis.get_major_locator()).__name__ not in ("FixedLocator", "StrCategoryLocator"):
        return {}
    labels = [label.get_text() for label in axis.get_ticklabels()]
    marks = {_place(at): text for at, text in zip(axis.get_majorticklocs(), labels, strict=False) if text}
    return {} if all(_says(text, at) for at, text in marks.items()) else marks


def names_near(axis: Any, values: Sequence[float]) -> list[str]:
    """The mark that each value stands next to, where somebody set as many marks and each has one value; else []."""
    names = _names(axis)
    marks = sorted(names)
    if len(marks) < 2 or len(marks) != len(values):
        return []
    reach = min(after - before for before, after in pairwise(marks)) / 2
    near = [min(marks, key=lambda mark: abs(mark - at)) for at in values]
    are_beside = all(abs(mark - at) < reach for mark, at in zip(near, values, strict=True))
    return [names[mark] for mark in near] if are_beside and len(set(near)) == len(near) else []


def _says(text: str, at: float) -> bool:
    """Whether a mark is the number of its place, however it is written."""
    try:
        return float(_plain(text)) == at
    except ValueError:
        return False


def _is_number(text: str, at: float, axis: Any) -> bool:
    """Whether a mark is the number of its place, rounded perhaps, and a unit from the name of the axis."""
    digits = _DIGITS.findall(_plain(text))
    if len(digits) != 1 or _DIGITS.sub("", _plain(text)).strip() not in axis.get_label_text():
        return False
    step = 10.0 ** -len(digits[0].partition(".")[2])
    return abs(float(digits[0]) - at) <= step / 2 + 1e-9 * abs(at)


def _plain(text: str) -> str:
    return text.replace("\N{MINUS SIGN}", "-").replace(",", "")


def _place(at: Any) -> float:
    return round(float(at), 6)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(at, Real) and type(at).__name__ != "timedelta64" and isfinite(at) for at in values)


def _is_of_pandas(axis: Any) -> bool:
    return type(axis.get_major_locator()).__module__.startswith("pandas.")
