"""Files of Stata, SPSS and SAS, read by ReadStat: columns with their labels, values with theirs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .bounds import Bounds
from .frames import cut, describe_frame, exact
from .kinds import Unusable
from .lines import call, note

_READERS = {
    "dta": ("read_dta", "stata"),
    "sav": ("read_sav", "spss"),
    "zsav": ("read_sav", "spss"),
    "por": ("read_por", "spss"),
    "sas7bdat": ("read_sas7bdat", "sas"),
    "xpt": ("read_xport", "sas"),
}
_MARKS_MISSING = frozenset({"dta", "sav", "zsav", "por", "sas7bdat"})
"""Formats in which a value such as 99 or .a may be marked as "no answer". It is read as missing unless asked for."""
_MOST_LABELS = 30
_MOST_VALUES = 12


def statistics_file(path: str, size: int, bounds: Bounds) -> dict[str, Any]:
    """The one table of the file. Labels of columns and of coded values stand in its text."""
    import pyreadstat  # noqa: PLC0415 - where it is installed: inside the sandbox

    extension = os.path.splitext(path)[1].lower().lstrip(".")
    function, kind = _READERS[extension]
    read = getattr(pyreadstat, function)
    try:
        _, meta = read(path, metadataonly=True)
        rows, columns = int(meta.number_rows or -1), len(meta.column_names)
        if columns > bounds.columns_most:
            raise Unusable("too_much", detail=f"{columns:,} columns")
        limit = max(1, min(bounds.rows, bounds.cells // 20 // max(1, columns)))
        frame, _ = read(path, row_limit=limit)
        kept = read(path, row_limit=limit, user_missing=True)[0] if extension in _MARKS_MISSING else frame
    except MemoryError:
        raise
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, ValueError, OverflowError) as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None
    sampled = len(frame) >= limit and (rows < 0 or rows > len(frame))
    counted = rows if rows >= 0 else None
    stem = os.path.splitext(os.path.basename(path))[0]
    table = describe_frame(frame, stem, bounds, rows=counted, sampled=sampled)
    notes = [note("first_rows", rows=len(frame))] if sampled else []
    if marked := ", ".join(_marked_missing(frame, kept)):
        notes.append(note("marked_missing", names=cut(marked, 200)))
    return {
        "format": kind,
        "encoding": cut(meta.file_encoding, 40) if meta.file_encoding else None,
        "tables": [table],
        "text": _labels(meta, bounds),
        "read_hint": call(f"pyreadstat.{function}", path, {}) + "[0]",
        "notes": notes,
    }


def _marked_missing(frame: Any, kept: Any) -> Iterator[str]:
    """Each column with the values that the file marks as missing: what only `kept` has."""
    for name in frame.columns:
        lost = kept[name][frame[name].isna()].dropna()
        values = sorted({_code(value) for value in lost if value != ""})
        if values:
            yield f"{exact(name, 60)} ({', '.join(values[:_MOST_VALUES])})"


def _labels(meta: Any, bounds: Bounds) -> str:
    """What the file says of its columns: its own label, theirs, and the words behind coded values."""
    lines = [exact(meta.file_label, bounds.line)] if meta.file_label else []
    named = meta.column_names_to_labels or {}
    coded = meta.variable_value_labels or {}
    for name in meta.column_names:
        label, values = named.get(name), coded.get(name)
        if label or values:
            told = "; ".join(
                f"{_code(key)} = {exact(words, 40)}" for key, words in list((values or {}).items())[:_MOST_VALUES]
            )
            lines.append(f"{exact(name, 60)}: {exact(label or '', bounds.line)}" + (f" ({told})" if told else ""))
        if len(lines) > _MOST_LABELS:
            break
    return "\n".join(lines)[: bounds.text]


def _code(value: object) -> str:
    return exact(int(value) if isinstance(value, float) and value.is_integer() else value, 20)
