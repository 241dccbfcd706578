"""What ADBC reads from Postgres, as the types that we document. The traps of ADBC's reader are caught here.

It gives NUMERIC as text, an array of several dimensions as one long list, infinity as some date, and a type that it
does not know in the server's own bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from workers.sources.errors import StatementFailed

PLAIN: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "varchar": pa.string(),
    "bpchar": pa.string(),
    "name": pa.string(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "numeric": pa.float64(),
}
"""Arrow's type of each Postgres type that has one, but for timestamptz, which has the session's time zone.

Every other type comes as Postgres writes it, as text.
"""

UTC = frozenset({"UTC", "UCT", "GMT", "Zulu", "Universal"})
"""Names of UTC, also behind Etc/."""
FLOAT_DIGITS = 15
"""A float holds every whole number of so many digits."""
DAY_US = 24 * 60 * 60 * 1_000_000
BEFORE_ALL_DAYS = -2_500_000
"""Days before 1970. The first day of Postgres is later, and infinity arrives as an earlier one."""


@dataclass(frozen=True)
class Column:
    """A column of a result: its documented type, and how it is asked for."""

    name: str
    type: pa.DataType
    cast: str = ""
    """The type that the server is asked to give it in, where ADBC does not read its own."""

    @property
    def is_array(self) -> bool:
        """Whether its values are lists."""
        return bool(pa.types.is_list(self.type))


def columns_of(described: pa.Schema, zone: str = "UTC") -> tuple[Column, ...]:
    """The columns of a statement that Postgres has described. `zone` is where its days and months begin."""
    return tuple(_column(field, zone) for field in described)


def zone_of(told: str) -> str:
    """The session's time zone as pandas knows it; UTC for its other names, and for one that pandas does not know."""
    try:
        ZoneInfo(told)
    except (KeyError, ValueError, OSError):
        return "UTC"
    return "UTC" if told.rpartition("/")[2] in UTC else told


def as_sent(sql: str, columns: Sequence[Column]) -> str:
    """The statement itself, or the statement inside one that casts what ADBC does not read.

    The number of dimensions of each array comes along behind the columns. The order of the rows stays.
    """
    arrays = [at for at, column in enumerate(columns) if column.is_array]
    if not arrays and not any(column.cast for column in columns):
        return sql
    names = ", ".join(f"c{at}" for at in range(len(columns)))
    wanted = [f"q.c{at}{column.cast and f'::pg_catalog.{column.cast}'}" for at, column in enumerate(columns)]
    wanted += [f"pg_catalog.array_ndims(q.c{at})" for at in arrays]
    return f"SELECT {', '.join(wanted)} FROM ({sql}) AS q ({names})"  # noqa: S608  the checked statement itself


def converted(batches: Iterator[pa.RecordBatch], columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """The batches in the documented types. Raises StatementFailed with the column's name for a value that has none."""
    schema = pa.schema([pa.field(column.name, column.type) for column in columns])
    arrays = [column for column in columns if column.is_array]
    for batch in batches:
        for column, dimensions in zip(arrays, batch.columns[len(columns) :], strict=False):
            if (pc.max(dimensions).as_py() or 0) > 1:
                raise _misfit(column, "an array of several dimensions")
        made = [_converted(found, column) for found, column in zip(batch.columns, columns, strict=False)]
        yield pa.RecordBatch.from_arrays(made, schema=schema)


def _column(field: pa.Field, zone: str) -> Column:
    told = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    name = told.get("POSTGRESQL:type", "")
    if name == "numeric":
        return Column(field.name, _numeric(int(told.get("POSTGRESQL:typmod", "-1"))))
    if name == "oid":  # ADBC reads it with a sign
        return Column(field.name, pa.int64(), cast="int8")
    plain = PLAIN | {"timestamptz": pa.timestamp("us", zone)}
    if name in plain:
        return Column(field.name, plain[name])
    if name.startswith("_") and name[1:] in plain:
        return Column(field.name, pa.list_(plain[name[1:]]))
    return Column(field.name, pa.string(), cast="text")


def _numeric(typmod: int) -> pa.DataType:
    """NUMERIC(p, s) is exact. Without digits given, or with a scale that Arrow has not, it is a float."""
    if typmod < 4:
        return pa.float64()
    precision, scale = (typmod - 4) >> 16, (typmod - 4) & 0x7FF
    if scale > precision or precision > 76:
        return pa.float64()
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _converted(found: pa.Array, column: Column) -> pa.Array:
    if isinstance(found, pa.ExtensionArray):
        found = found.storage
    elif pa.types.is_list(found.type) and isinstance(found.values, pa.ExtensionArray):
        found = pa.ListArray.from_arrays(found.offsets, found.values.storage, mask=found.is_null())
    if "double" in str(column.type) and _is_rounded(found.flatten() if column.is_array else found):
        raise _misfit(
            column, "a whole number that a float would round", "text" if column.is_array else "numeric(38, 0)"
        )
    try:
        made = found if found.type == column.type else found.cast(column.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if pa.types.is_decimal(column.type):
            raise _misfit(column, "NaN among exact numbers", "double precision") from None
        raise _misfit(column, f"a value that does not fit {column.type}") from None
    values = made.flatten() if column.is_array else made
    if pa.types.is_temporal(values.type) and (what := _out_of_time(values)):
        raise _misfit(column, what)
    return made


def _is_rounded(values: pa.Array) -> bool:
    """Whether one of these texts of NUMERIC is a whole number that a float cannot hold, such as a long id."""
    if not pa.types.is_string(values.type):
        return False
    long = values.filter(pc.greater(pc.utf8_length(values), FLOAT_DIGITS))
    whole = long.filter(pc.match_substring_regex(long, r"^-?\d+$"))
    return any(int(each) != float(each) for each in whole.unique().to_pylist())


def _out_of_time(values: pa.Array) -> str:
    """The values among these dates or times that Arrow cannot represent; empty if there are none."""
    kind = values.type
    plain: Callable[[pa.DataType], pa.Array] = values.view
    if pa.types.is_time(kind):
        return "24:00" if (pc.max(plain(pa.int64())).as_py() or 0) >= DAY_US else ""
    is_date = pa.types.is_date(kind)
    least = pc.min(plain(pa.int32() if is_date else pa.int64())).as_py() or 0
    return "infinity" if least < BEFORE_ALL_DAYS * (1 if is_date else DAY_US) else ""


def _misfit(column: Column, what: str, cast: str = "text") -> StatementFailed:
    return StatementFailed(
        f"The column {column.name} holds {what}. Write CAST({column.name} AS {cast}) in the query, or leave it out."
    )
