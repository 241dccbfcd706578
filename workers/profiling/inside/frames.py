"""The profile of one table: shape, columns with type, missing values and samples, first rows. Always bounded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .bounds import Bounds


def describe_frame(
    frame: Any, name: str, bounds: Bounds, *, rows: int | None = None, sampled: bool = False
) -> dict[str, Any]:
    """The note of a DataFrame. `rows` is the table's true length when the frame is a sample, None if nobody counted."""
    labels = [str(label) for label in frame.columns]
    shown = min(len(labels), bounds.columns)
    return {
        "name": cut(name, bounds.name),
        "rows": rows if sampled else len(frame),
        "columns": [_column(frame.iloc[:, index], labels[index], bounds) for index in range(shown)],
        "more_columns": len(labels) - shown,
        "head": _head(frame.iloc[: bounds.head_rows, :shown], labels[:shown], bounds),
        "sampled": sampled,
    }


def cut(value: object, limit: int) -> str:
    """A value as one line of text, at most `limit` characters."""
    try:
        text = str(value)[: limit * 4]
    except Exception:
        # a cell may hold any object, and its __str__ may raise anything
        return "?"
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _column(values: Any, label: str, bounds: Bounds) -> dict[str, Any]:
    filled = values.dropna()
    return {
        "name": cut(label, bounds.name),
        "dtype": cut(values.dtype, 40),
        "missing": round(1 - len(filled) / len(values), 4) if len(values) else 0.0,
        "unique": _unique(filled),
        "samples": _samples(filled, bounds),
    }


def _unique(filled: Any) -> int | None:
    try:
        return int(filled.nunique())
    except TypeError:
        # lists and dicts cannot be counted apart
        return None


def _samples(filled: Any, bounds: Bounds) -> list[str]:
    """Values from all over the column. Differently written values come first, so dirt shows ("$79.80" among 359.00)."""
    spread = filled.iloc[:: max(1, len(filled) // _LOOKED_AT)]
    values = dict.fromkeys(cut(value, bounds.cell) for value in spread)
    looks: dict[str, str] = {}
    for value in values:
        looks.setdefault(_look(value), value)
    return list(dict.fromkeys([*looks.values(), *values]))[: bounds.samples if len(values) > _FEW else _FEW]


_LOOKED_AT = 2_000
_FEW = 8
"""Categories up to this number are shown completely."""
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")


def _look(value: str) -> str:
    """The pattern of a value: letters and digits, but not how many."""
    return _DIGITS.sub("9", _LETTERS.sub("a", value))


def _head(frame: Any, labels: Sequence[str], bounds: Bounds) -> list[str]:
    lines = [" | ".join(cut(label, bounds.cell) for label in labels)]
    for row in frame.astype(object).itertuples(index=False, name=None):
        lines.append(" | ".join("" if _is_missing(value) else cut(value, bounds.cell) for value in row))
    return lines


def _is_missing(value: object) -> bool:
    return value is None or str(value) in ("nan", "<NA>", "NaT")
