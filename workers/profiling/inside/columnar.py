"""Files that hold a table column by column: Parquet, Feather (Arrow) and ORC."""

from __future__ import annotations

import os
from typing import Any

from .bounds import Bounds
from .frames import cut, describe_frame, holds_values, is_inexact
from .kinds import Unusable
from .lines import call, note

_MOST_CELLS = 5_000_000
"""A table with more of them is described by its first rows, as is one in a large file."""
_WHOLE = {"int64": "Int64", "uint64": "UInt64"}
"""Whole numbers to which pandas gives decimals where some are missing, and their types with gaps."""


def parquet(path: str, size: int, bounds: Bounds) -> dict[str, Any]:
    """The table of a Parquet file."""
    from pyarrow import ArrowException  # noqa: PLC0415 - where it is installed: inside the sandbox
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - as above

    try:
        with ParquetFile(path) as file:
            rows, columns = int(file.metadata.num_rows), len(file.schema_arrow.names)
            sampled = _is_large(rows, columns, size, bounds)
            content = next(file.iter_batches(batch_size=bounds.rows)) if sampled else file.read()
            return _described("parquet", path, content, rows, bounds)
    except (ArrowException, OSError, StopIteration) as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None


def feather(path: str, size: int, bounds: Bounds) -> dict[str, Any]:
    """The table of a Feather file, which is a file of Arrow."""
    from pyarrow.feather import read_table  # noqa: PLC0415 - as above

    return _read_whole("feather", path, size, bounds, read_table)


def orc(path: str, size: int, bounds: Bounds) -> dict[str, Any]:
    """The table of an ORC file."""
    from pyarrow.orc import read_table  # noqa: PLC0415 - as above

    return _read_whole("orc", path, size, bounds, read_table)


def _read_whole(kind: str, path: str, size: int, bounds: Bounds, read: Any) -> dict[str, Any]:
    """Only Parquet tells rows apart before they are read; the memory of a description is bounded."""
    from pyarrow import ArrowException  # noqa: PLC0415 - as above

    try:
        content = read(path)
        rows = int(content.num_rows)
        shown = content.slice(0, bounds.rows) if _is_large(rows, content.num_columns, size, bounds) else content
        return _described(kind, path, shown, rows, bounds)
    except (ArrowException, OSError) as error:
        raise Unusable("corrupt", detail=cut(error, 160)) from None


def _is_large(rows: int, columns: int, size: int, bounds: Bounds) -> bool:
    return rows > bounds.rows and (size > bounds.whole or rows * columns > _MOST_CELLS)


def _described(kind: str, path: str, content: Any, rows: int, bounds: Bounds) -> dict[str, Any]:
    """`content`: the table of Arrow, or its first part."""
    frame = content.to_pandas()
    loses_digits = frame.columns.is_unique and any(
        str(field.type) in _WHOLE and field.name in frame and is_inexact(frame[field.name]) for field in content.schema
    )
    if loses_digits:
        frame = content.to_pandas(types_mapper=_with_gaps)
    names_rows = holds_values(frame.index) and not {*frame.index.names} & {*frame.columns}
    if names_rows:
        frame = frame.reset_index()
    stem = os.path.splitext(os.path.basename(path))[0]
    sampled = len(frame) < rows
    read = call(f"pd.read_{kind}", path, {"dtype_backend": "numpy_nullable"} if loses_digits else {})
    if kind == "parquet" and not frame.columns.is_unique:
        read = f"pyarrow.parquet.ParquetFile({path!r}).read().to_pandas()"  # pandas refuses one name for two columns
    return {
        "format": kind,
        "tables": [describe_frame(frame, stem, bounds, rows=rows, sampled=sampled)],
        "read_hint": read + (".reset_index()" if names_rows else ""),
        "notes": [note("first_rows", rows=len(frame))] if sampled else [],
    }


def _with_gaps(kind: Any) -> Any:
    import pandas as pd  # noqa: PLC0415 - as above

    return pd.api.types.pandas_dtype(_WHOLE[str(kind)]) if str(kind) in _WHOLE else None
