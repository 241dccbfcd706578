"""Rows of Python values as Arrow batches, for the databases that do not speak Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from workers.sources.errors import StatementFailed

BATCH_BYTES = 4 * 1024 * 1024
FIRST_ROWS = 500
MOST_ROWS = 20_000
WIDE_ROWS = 16
"""Rows of the first batch. Each batch may have this many times the rows of the one before."""

Rows = Sequence[Sequence[Any]]


def batches(fetch: Callable[[int], Rows], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Batches of about 4 MB. The first one is small, so that wide rows do not fill the memory before they are seen."""
    count = WIDE_ROWS
    while rows := fetch(count):
        batch = as_batch(rows, schema)
        count = max(1, min(MOST_ROWS, count * WIDE_ROWS, int(BATCH_BYTES / max(1.0, batch.nbytes / batch.num_rows))))
        yield batch


def as_batch(rows: Rows, schema: pa.Schema) -> pa.RecordBatch:
    """One batch. Raises StatementFailed, naming the column, when a value does not fit the column's type."""
    columns = list(zip(*rows, strict=True))
    arrays = [as_array(values, field) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def named(names: Sequence[str], types: Sequence[pa.DataType]) -> pa.Schema:
    """The schema of a result; names may repeat, as in SQL."""
    return pa.schema([pa.field(name, kind) for name, kind in zip(names, types, strict=True)])


def guessed(values: Sequence[Any]) -> pa.DataType | None:
    """The type of a column without a declared one: None while only nulls were seen; text when kinds are mixed."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return None
    for of, kind in ({int}, pa.int64()), ({int, float}, pa.float64()), ({bytes}, pa.binary()):
        if kinds <= of:
            return kind
    return pa.string()


def as_array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    """The values of one column. Raises StatementFailed, naming it, when one does not fit its type."""
    if pa.types.is_floating(field.type):
        values = [_float(value) for value in values]
    if pa.types.is_list(field.type) and pa.types.is_floating(field.type.value_type):
        values = [value if value is None else [_float(each) for each in value] for value in values]
    try:
        if pa.types.is_string(field.type):
            values = [value if value is None or isinstance(value, str) else _text(value) for value in values]
        if pa.types.is_integer(field.type) and any(isinstance(value, float) for value in values):
            raise TypeError("pyarrow would cut off the fraction")  # noqa: TRY301  said below as every other misfit
        return pa.array(values, type=field.type)
    except pa.ArrowMemoryError:
        raise
    except UnicodeDecodeError:
        raise StatementFailed(
            f"The column {field.name} holds bytes that are no text. "
            f"Write hex({field.name}) in the query, or leave it out."
        ) from None
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        raise StatementFailed(
            f"A value of the column {field.name} does not fit its type {field.type}. "
            f"Write CAST({field.name} AS …) in the query: to text if kinds are mixed."
        ) from None


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _text(value: object) -> str:
    """The value as text. Raises UnicodeDecodeError for bytes that are none: two of them could become the same text."""
    return value.decode() if isinstance(value, bytes) else str(value)
