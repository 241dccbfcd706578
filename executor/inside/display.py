"""The value of a cell's last expression as text and a bounded table.

pandas is used only if the cell's process has it.
"""

from __future__ import annotations

import math
import reprlib
import sys
from typing import Any

from executor.inside.tracebacks import shorten

_TEXT_LIMIT = 20_000
_ROWS, _COLUMNS, _CELL_TEXT = 100, 50, 300
_QUIET_MODULES = ("matplotlib.", "seaborn.")
_LARGE = 2_000

_short = reprlib.Repr()
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = _short.maxdeque = 200
_short.maxstring = _short.maxother = _short.maxlong = 2_000
_short.maxlevel = 6


def show(value: object) -> dict[str, Any] | None:
    """The value as a Display in JSON.

    None for nothing worth showing (None itself, and the artists that plotting calls return).
    """
    if value is None or _is_drawing(value):
        return None
    frame = _as_frame(value)
    if frame is None:
        return {"text": shorten(_text(value), _TEXT_LIMIT), "table": None}
    return {"text": shorten(repr(value), _TEXT_LIMIT), "table": _table(frame)}


def _text(value: object) -> str:
    if isinstance(value, (list, tuple, dict, set, frozenset)) and len(value) > _LARGE:
        return f"{_short.repr(value)}\n({type(value).__name__} of {len(value):,})"
    if isinstance(value, (str, bytes)) and len(value) > _TEXT_LIMIT:
        return repr(value[: _TEXT_LIMIT // 2]) + " ... " + repr(value[-_TEXT_LIMIT // 2 :])
    return repr(value)


def _is_drawing(value: object, depth: int = 0) -> bool:
    if depth < 2 and isinstance(value, (list, tuple)) and value:
        return _is_drawing(value[0], depth + 1)
    if depth < 2 and type(value).__module__ == "numpy" and str(getattr(value, "dtype", "")) == "object":
        flat: Any = value
        return bool(flat.size) and _is_drawing(flat.flat[0], depth + 1)
    return (type(value).__module__ or "").startswith(_QUIET_MODULES)


def _as_frame(value: object) -> Any:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    if isinstance(value, pandas.DataFrame):
        return value
    if isinstance(value, pandas.Series):
        return value.to_frame(value.name if value.name is not None else "value")
    return None


def _table(frame: Any) -> dict[str, Any]:
    """The first rows and columns as JSON scalars; an index that carries meaning becomes the first columns."""
    rows, columns = frame.shape
    part = frame.iloc[:_ROWS, :_COLUMNS]
    index = part.index
    names = [_label(name) for name in part.columns]
    kinds = [str(kind)[:60] for kind in part.dtypes]
    cells = [[_scalar(item) for item in part.iloc[:, at].tolist()] for at in range(part.shape[1])]
    if type(index).__name__ != "RangeIndex":
        levels = range(index.nlevels)
        names[:0] = [_label(name) if name is not None else "" for name in index.names]
        kinds[:0] = [str(index.get_level_values(level).dtype)[:60] for level in levels]
        cells[:0] = [[_scalar(item) for item in index.get_level_values(level).tolist()] for level in levels]
        columns += index.nlevels
    return {
        "columns": names[:_COLUMNS],
        "dtypes": kinds[:_COLUMNS],
        "rows": [list(row) for row in zip(*cells[:_COLUMNS], strict=True)],
        "total_rows": rows,
        "total_columns": columns,
    }


def _label(name: object) -> str:
    text = " / ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)
    return text[:_CELL_TEXT]


def _scalar(item: Any) -> bool | int | float | str | None:
    if item is None or isinstance(item, bool):
        return item
    if isinstance(item, int):
        return item if abs(item) < 1 << 63 else str(item)[:_CELL_TEXT]
    if isinstance(item, float):
        return item if math.isfinite(item) else None if math.isnan(item) else str(item)
    if isinstance(item, str):
        return item[:_CELL_TEXT]
    if type(item).__name__ in ("NaTType", "NAType"):
        return None
    if hasattr(item, "isoformat"):
        return str(item.isoformat())[:_CELL_TEXT]
    return str(item)[:_CELL_TEXT]
