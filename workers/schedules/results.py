"""Describes the rows of a data source like a file: columns, types, and the distribution of values.

The rows are a stream in Arrow's format that the broker wrote. They are read in place, without a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.steps import ColumnNote, Level, TableNote

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_ROWS = 8
"""How values lie is said of so many rows at least: a single total may double."""
MOST_LEVELS = 20
REPEATED = 3
"""Text values are levels if each occurs this often on average. A column with group keys has no levels."""


def described(rows: int | bytes) -> TableNote:
    """Describe a result: the open file of its rows, or their bytes. Raises pyarrow.ArrowException for other bytes."""
    import pyarrow as pa  # noqa: PLC0415 - large, and only runs that ask data sources need it

    with pa.memory_map(f"/proc/self/fd/{rows}") if isinstance(rows, int) else pa.BufferReader(rows) as file:
        table = pa.ipc.open_stream(file).read_all()
        columns = tuple(_column(name, column) for name, column in zip(table.column_names, table.columns, strict=True))
        return TableNote(name="", rows=table.num_rows, columns=columns)


def _column(name: str, column: pa.ChunkedArray) -> ColumnNote:
    import pyarrow as pa  # noqa: PLC0415 - as above

    dtype = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    missing = column.null_count / len(column) if len(column) else 0.0
    note = ColumnNote(name=name, dtype=str(dtype), missing=missing)
    if len(column) - column.null_count < LEAST_ROWS:
        return note
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return note.model_copy(update={"spread": _spread(column)})
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
        return note.model_copy(update={"levels": _levels(column)})
    return note


def _spread(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Minimum, quartiles and maximum. Whole numbers that are all different are keys: they have none."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    if pa.types.is_integer(column.type) and pc.count_distinct(column).as_py() == len(column) - column.null_count:
        return ()
    found = pc.quantile(column.cast(pa.float64(), safe=False), q=[0, 0.25, 0.5, 0.75, 1]).to_pylist()
    return tuple(f"{value:.12g}" for value in found)


def _levels(column: pa.ChunkedArray) -> tuple[Level, ...]:
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    counted = pc.value_counts(column.drop_null())
    if len(counted) > MOST_LEVELS or len(counted) * REPEATED > len(column) - column.null_count:
        return ()
    return tuple(Level(value=str(each["values"]), rows=each["counts"]) for each in counted.to_pylist())
