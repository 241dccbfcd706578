"""What the numbers along an axis of matplotlib stand for: days, periods of pandas, or names, its marks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from datetime import datetime, time
from math import isfinite
from numbers import Real
from typing import Any


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
    """Whether some of the values have a name on the axis, and others a number that nobody sees there."""
    return _are_numbers(values) and bool(_names(axis)) and _are_numbers(stood_for(axis, values))


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


def _says(text: str, at: float) -> bool:
    """Whether a mark is the number of its place, however it is written."""
    try:
        return float(text.replace("\N{MINUS SIGN}", "-").replace(",", "")) == at
    except ValueError:
        return False


def _place(at: Any) -> float:
    return round(float(at), 6)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(at, Real) and type(at).__name__ != "timedelta64" and isfinite(at) for at in values)


def _is_of_pandas(axis: Any) -> bool:
    return type(axis.get_major_locator()).__module__.startswith("pandas.")
