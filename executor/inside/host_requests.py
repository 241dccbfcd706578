"""What a cell may ask of systems outside: data sources and tools of the team, where somebody is attached who answers.

Each function blocks until the answer is there. Rows come as an open file of Arrow batches and become a DataFrame here,
in the memory of the session.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Mapping
from typing import Any

Exchange = Callable[[str, Mapping[str, Any]], tuple[Any, int | None]]
"""(kind, payload) → the value of the reply, and the open file that came with it, which the caller closes."""

_DESCRIBED_ROWS = 10_000
_SAMPLE_ROWS = 1_000
_LOOKED_AT = 20_000
_WORDS = 4_000
_NUMPY_TIMES = ("M", "m")
"""The kinds of numpy's moments and spans."""


class RequestRefused(RuntimeError):
    """The request was answered with a refusal; the message says why and what to do."""


def request_functions(exchange: Exchange) -> dict[str, Callable[..., Any]]:
    """The functions that a cell finds among the built-ins when its requests are answered.

    `exchange` raises RequestRefused.
    """

    def ask(what: str, source: str, **more: Any) -> Any:
        value, file = exchange("query", {"ask": what, "source": str(source), **more})
        return value if file is None else _frame(file)

    def query(sql: str, source: str = "", params: Mapping[str, Any] | None = None) -> Any:
        """Run one SELECT on a data source of the team and return its rows as a DataFrame.

        `:name` in the statement stands for the value of that name in `params`; a list is written IN (:name).
        """
        values = {str(name): _plain(value) for name, value in dict(params or {}).items()}
        return ask("rows", source, sql=str(sql), params=values)

    def tables(source: str = "") -> Any:
        """The names of the tables of a source that may be read."""
        return ask("tables", source)

    def columns(table: str, source: str = "") -> Any:
        """The columns of a table with their types, as a DataFrame."""
        return _table(ask("columns", source, table=str(table)), ("column", "type"))

    def search_schema(words: str, source: str = "") -> Any:
        """The tables, columns and named metrics of a source that fit these words best, as text to print."""
        return ask("schema", source, words=str(words)[:_WORDS])

    def sample(table: str, n: int = 5, source: str = "") -> Any:
        """The first rows of a table, as the database gives them: at most 1,000."""
        return ask("sample", source, table=str(table), rows=max(1, min(int(n), _SAMPLE_ROWS)))

    def describe(table: str, source: str = "") -> Any:
        """Each column of a table over its first 10,000 rows: type, share of nulls, distinct values, least and most."""
        kinds = {row[0]: row[1] for row in ask("columns", source, table=str(table))}
        return _described(ask("sample", source, table=str(table), rows=_DESCRIBED_ROWS), kinds)

    numbers = itertools.count(1)

    def tool(name: str, /, **arguments: Any) -> Any:
        """Call a tool of another system, by "server.tool", and return what it gave: plain Python data or text."""
        given = {key: _as_json(value) for key, value in arguments.items()}
        return exchange("tool", {"name": str(name), "arguments": given, "number": next(numbers)})[0]

    functions = (tool, query, tables, columns, search_schema, sample, describe)
    return {function.__name__: function for function in functions}


def _frame(descriptor: int) -> Any:
    """The DataFrame of an open file of Arrow batches; closes it. What it holds is the session's own memory."""
    import pandas as pd  # noqa: PLC0415  a library of cells: imported long ago, or not there
    import pyarrow as pa  # noqa: PLC0415

    with os.fdopen(descriptor, "rb") as file, pa.ipc.open_stream(file) as stream:
        table = stream.read_all()
    exact = {
        at: _decimals(column)
        for at, column in enumerate(table.columns)
        if pa.types.is_decimal(column.type) and column.type.scale > 0 and _repeats(column)
    }
    for at in exact:  # only its place is kept
        table = table.set_column(at, table.field(at).name, pa.nulls(table.num_rows, pa.int8()))
    frame = table.to_pandas(date_as_object=False)
    for at, values in exact.items():
        frame.isetitem(at, values)
    if table.num_rows == 0 or any(c.num_chunks == 1 for at, c in enumerate(table.columns) if at not in exact):
        frame = frame.copy()  # else a column in one piece would be a view that cannot be written
    whole = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype(), pa.int32(): pd.Int32Dtype()}
    for at, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:  # sums of whole numbers, in DuckDB and MySQL
            with contextlib.suppress(pa.ArrowInvalid):  # too large: they stay Decimals
                frame.isetitem(
                    at, column.cast(pa.int64()).to_pandas(types_mapper=whole.get if column.null_count else None)
                )
        if column.null_count and field.type in whole:  # as floats large numbers would be wrong
            frame.isetitem(at, column.to_pandas(types_mapper=whole.get))
        if pa.types.is_nested(field.type) and any(map(_misses_whole, column.chunks)):
            frame.isetitem(at, pd.Series(column.to_pylist(), dtype=object))
    return frame


def _misses_whole(values: Any) -> bool:
    """Whether whole numbers are missing among others, also inside of lists and structs: pandas makes floats of them."""
    import pyarrow as pa  # noqa: PLC0415  as in `_frame`

    kind = values.type
    if pa.types.is_struct(kind):
        return any(map(_misses_whole, values.flatten()))
    if pa.types.is_map(kind):
        return _misses_whole(values.items)
    if pa.types.is_nested(kind) and hasattr(values, "flatten"):
        return _misses_whole(values.flatten())
    return bool(pa.types.is_integer(kind) and values.null_count)


def _repeats(column: Any) -> bool:
    """Whether many values of a column are likely to be equal, as amounts and prices are."""
    import numpy as np  # noqa: PLC0415  as in `_frame`

    if len(column) < _LOOKED_AT:
        return False
    some = column.take(np.random.default_rng(0).integers(0, len(column), _LOOKED_AT))
    return len(some.unique()) < 0.97 * _LOOKED_AT


def _decimals(column: Any) -> Any:
    """The Decimals of a column in which values repeat. Equal ones are one object: to make an object takes long."""
    import numpy as np  # noqa: PLC0415  as in `_frame`

    encoded = column.combine_chunks().dictionary_encode()
    values = np.empty(len(encoded.dictionary) + 1, dtype=object)  # the last one stays None
    values[:-1] = encoded.dictionary.to_pandas().to_numpy()
    return values[encoded.indices.fill_null(len(encoded.dictionary)).to_numpy()]


def _plain(value: Any) -> Any:
    """A parameter as a frame can carry it: dates as text, numbers of numpy as Python's own, what is missing as None."""
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [_plain(each) for each in value]
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, (bytes, bytearray, Mapping)):
        raise RequestRefused(f"a parameter cannot be {type(value).__name__}: give text, a number, a date or a list")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "isoformat"):
        return str(value)
    if type(value).__module__ == "numpy" and value.dtype.kind in _NUMPY_TIMES:
        value = value.astype(f"{value.dtype.kind}8[us]")  # nanoseconds would become whole numbers
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return str(value)


def _as_json(value: Any) -> Any:
    """An argument of a tool as a frame can carry it, dicts and lists in each other too."""
    if isinstance(value, Mapping):
        return {str(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [_as_json(each) for each in value]
    return _plain(value)


def _table(rows: Any, names: tuple[str, ...]) -> Any:
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame([tuple(row) for row in rows], columns=list(names))


def _described(frame: Any, kinds: Mapping[str, str]) -> Any:
    import pandas as pd  # noqa: PLC0415

    found = []
    for name in frame.columns:
        values = frame[name].dropna()
        try:
            least, most, distinct = values.min(), values.max(), values.nunique()
        except TypeError:  # lists, or kinds that do not compare
            least = most = distinct = None
        nulls = round(float(frame[name].isna().mean()), 4) if len(frame) else None
        found.append((name, kinds.get(name, str(frame[name].dtype)), nulls, distinct, least, most))
    return pd.DataFrame(found, columns=["column", "type", "nulls", "distinct", "min", "max"], dtype=object)
