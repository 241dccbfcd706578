"""The profile of one table: shape, columns with their values, first rows, rows of totals. Always bounded.

Names and values keep their blanks: code that looks for 'North' does not find ' North'.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from .bounds import Bounds


def describe_frame(
    frame: Any,
    name: str,
    bounds: Bounds,
    *,
    rows: int | None = None,
    sampled: bool = False,
    above: Iterable[str] = (),
) -> dict[str, Any]:
    """The note of a DataFrame. `rows` is the table's true length when the frame is a sample, None if nobody counted.

    `above` are the lines above its header: titles, dates, units.
    """
    labels = [exact(label, bounds.name) for label in frame.columns]
    shown = min(len(labels), bounds.columns)
    return {
        "name": exact(name, bounds.name),
        "rows": rows if sampled else len(frame),
        "columns": [_column(frame.iloc[:, index], labels[index], bounds) for index in range(shown)],
        "more_columns": len(labels) - shown,
        "more_names": labels[shown : shown + bounds.more_names],
        "head": _head(frame.iloc[: bounds.head_rows, :shown], labels[:shown], bounds),
        "above": [line for raw in above if (line := exact(raw, bounds.line)).strip()][: bounds.above],
        "totals": [] if sampled else _totals(frame, bounds),
        "sampled": sampled,
        "read": "",
    }


def holds_values(index: Any) -> bool:
    """Whether the names of rows are values of the file, such as countries or days, and no count of rows."""
    from pandas.api import types  # noqa: PLC0415 - imported where it is installed: inside the sandbox

    return any(name is not None for name in index.names) or not types.is_integer_dtype(index.dtype)


LARGEST = 2**53
"""Numbers with decimals hold whole ones up to this exactly."""


def is_inexact(values: Any) -> bool:
    """Whether a column of numbers with decimals has ones so large that whole ones among them have lost digits."""
    return str(values.dtype) == "float64" and bool(values.abs().max() >= LARGEST)


def exact(value: object, limit: int) -> str:
    """A value as text with all its blanks, at most `limit` characters."""
    text = _text(value, limit)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cut(value: object, limit: int) -> str:
    """A value as one line of text, at most `limit` characters."""
    text = " ".join(_text(value, limit).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _text(value: object, limit: int) -> str:
    try:
        return str(value)[: limit * 4]
    except Exception:
        # a cell may hold any object, and its __str__ may raise anything
        return "?"


def _column(values: Any, label: str, bounds: Bounds) -> dict[str, Any]:
    filled = values.dropna()
    unique = _unique(filled)
    return {
        "name": label,
        "dtype": cut(values.dtype, 40),
        "missing": round(1 - len(filled) / len(values), 4) if len(values) else 0.0,
        "unique": unique,
        "samples": _samples(filled, bounds),
        "spread": _spread(filled),
        "levels": _levels(filled, unique, bounds),
        "dates": _dates(filled, unique),
    }


def _spread(filled: Any) -> list[str]:
    """Minimum, quartiles and maximum of numbers; first and last of dates; nothing for other values."""
    from pandas.api import types  # noqa: PLC0415 - imported where it is installed: inside the sandbox

    try:
        if not len(filled) or types.is_bool_dtype(filled):
            return []
        if types.is_datetime64_any_dtype(filled) or types.is_timedelta64_dtype(filled):
            return [cut(filled.min(), 40), cut(filled.max(), 40)]
        if types.is_numeric_dtype(filled):
            return [_figure(value) for value in filled.quantile([0, 0.25, 0.5, 0.75, 1])]
    except (TypeError, ValueError, ArithmeticError):
        pass  # complex numbers have no order, and types of other packages may lack one
    return []


_DATE = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?:[ T,].*)?")
_MONTHS, _DAYS = 12, 31
_FIRST_LOOK, _MOST = 20, 0.9


def _dates(filled: Any, unique: int | None) -> str:
    """Whether the day or the month stands first in dates that are text; nothing for other values."""
    from pandas.api import types  # noqa: PLC0415 - as above

    if not unique or types.is_numeric_dtype(filled) or types.is_datetime64_any_dtype(filled):
        return ""
    if filled.dtype != object and not any(map(_date, filled.iloc[:_FIRST_LOOK])):
        return ""
    values = filled.unique()
    dates = [parts for value in values if (parts := _date(value))]
    real = sum(isinstance(value, datetime) for value in values)
    if not dates or len(dates) + real < _MOST * len(values):
        return ""
    day_first = any(first > _MONTHS for first, _, _ in dates)
    month_first = any(second > _MONTHS for _, second, _ in dates)
    order = "day first" if day_first else "month first" if month_first else "day or month first, nothing tells which"
    if day_first and month_first:
        order = "some day first, some month first"
    elif day_first and all(first > _MONTHS and is_short for first, _, is_short in dates) and not real:
        return ""  # the first two digits may be the year
    # a spreadsheet of another country makes dates of 03/04/2024 and leaves 13/04/2024 as text
    return f"some are text ({order}), some dates whose day and month may be swapped" if real else order


def _date(value: object) -> tuple[int, int, bool] | None:
    """The first two numbers of a date such as 03/04/2024, and whether its year has two digits."""
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        return None
    first, second = int(found[1]), int(found[3])
    is_date = 0 < min(first, second) <= _MONTHS and max(first, second) <= _DAYS
    return (first, second, len(found[4]) == 2) if is_date else None


def _figure(value: Any) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.10g}"


def _levels(filled: Any, unique: int | None, bounds: Bounds) -> list[dict[str, Any]]:
    """All values of a column of words that has few of them, with their number of rows, the commonest first."""
    from pandas.api import types  # noqa: PLC0415 - as above

    if unique is None or not 0 < unique <= bounds.levels or unique == len(filled):
        return []
    if (types.is_numeric_dtype(filled) and not types.is_bool_dtype(filled)) or _spread(filled):
        return []
    counts = filled.value_counts().head(unique)
    return [{"value": exact(value, bounds.cell), "rows": int(rows)} for value, rows in counts.items()]


def _unique(filled: Any) -> int | None:
    try:
        return int(filled.nunique())
    except TypeError:
        # lists and dicts cannot be counted apart
        return None


def _samples(filled: Any, bounds: Bounds) -> list[str]:
    """Values from all over the column. Differently written values come first, so dirt shows ("$79.80" among 359.00)."""
    spread = filled.iloc[:: max(1, len(filled) // _LOOKED_AT)]
    values = dict.fromkeys(exact(value, bounds.cell) for value in spread)
    looks: dict[str, str] = {}
    for value in values:
        looks.setdefault(_look(value), value)
    return list(dict.fromkeys([*looks.values(), *values]))[: bounds.samples if len(values) > _FEW else _FEW]


_LOOKED_AT = 2_000
_FEW = 15
"""Categories up to this number are shown completely."""
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")


def _look(value: str) -> str:
    """The pattern of a value: letters and digits, but not how many."""
    return _DIGITS.sub("9", _LETTERS.sub("a", value))


def _head(frame: Any, labels: Sequence[str], bounds: Bounds) -> list[str]:
    lines = [" | ".join(_shown(label, bounds.cell) for label in labels)]
    for row in frame.astype(object).itertuples(index=False, name=None):
        lines.append(" | ".join("" if _is_missing(value) else _shown(value, bounds.cell) for value in row))
    return lines


def _shown(value: object, limit: int) -> str:
    """A value for a line of a table: quoted where its blanks would not be seen."""
    text = exact(value, limit)
    return text if text == " ".join(text.split()) else repr(text)


TOTAL = re.compile(
    r"(?:(?:grand|sub|overall)?[\s-]*total(?:s|e|en)?|(?:zwischen|gesamt)?summe)(?:\s+\S+)?(?:\s+\d{2,4})?"
    r"|\S+\s+(?:sub|grand\s)?total|gesamt"
    r"|insgesamt|total\s+g[ée]n[ée]ral|sous-total|合\s*计|总\s*计|小\s*计|總\s*計|合\s*計|小\s*計",
    re.IGNORECASE,
)
"""The labels of rows that add up others."""
_LABELS = 3
"""A row of totals is named in one of the first columns of words."""


def _totals(frame: Any, bounds: Bounds) -> list[dict[str, Any]]:
    """Rows whose label says that they are totals, by their place in the frame as the read line gives it."""
    from pandas.api import types  # noqa: PLC0415 - as above

    words = [index for index in range(frame.shape[1]) if not types.is_numeric_dtype(frame.dtypes.iloc[index])][:_LABELS]
    found: dict[int, str] = {}
    for index in words:
        column = frame.iloc[:, index]
        for row, value in enumerate(column) if _has_totals(column, bounds) else ():
            if _is_total(value, bounds):
                found.setdefault(row, value)
    return [{"row": row, "label": exact(found[row], bounds.cell)} for row in sorted(found)[: bounds.totals]]


def _has_totals(column: Any, bounds: Bounds) -> bool:
    """Whether one of the different values is a label of totals: most values of a long table repeat."""
    try:
        different = column.unique()
    except TypeError:
        return True  # lists and dicts cannot be told apart
    return any(_is_total(value, bounds) for value in different)


def _is_total(value: object, bounds: Bounds) -> bool:
    return isinstance(value, str) and len(value) < bounds.cell and bool(TOTAL.fullmatch(value.strip().rstrip(":")))


def _is_missing(value: object) -> bool:
    return value is None or str(value) in ("nan", "<NA>", "NaT")
