"""What ADBC reads becomes the documented types; what it would get wrong in silence is refused."""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa
import pytest

from workers.sources.drivers.postgres_arrow import as_sent, columns_of, converted, zone_of
from workers.sources.errors import StatementFailed

STRING = pa.string()


def described(name: str, of: str, kind: pa.DataType = STRING, typmod: int | None = None) -> pa.Field:
    told = {"POSTGRESQL:type": of} | ({} if typmod is None else {"POSTGRESQL:typmod": str(typmod)})
    return pa.field(name, kind, metadata=told)


def read(field: pa.Field, *found: pa.Array) -> list[Any]:
    columns = columns_of(pa.schema([field]))
    batch = pa.RecordBatch.from_arrays(list(found), [str(at) for at in range(len(found))])
    return [value.as_py() for got in converted(iter([batch]), columns) for value in got.column(0)]


def test_a_numeric_with_digits_is_exact_and_one_without_is_a_float() -> None:
    typmod = (12 << 16 | 2) + 4
    assert columns_of(pa.schema([described("a", "numeric", typmod=typmod)]))[0].type == pa.decimal128(12, 2)
    assert columns_of(pa.schema([described("a", "numeric", typmod=(60 << 16 | 2) + 4)]))[0].type == pa.decimal256(60, 2)
    assert read(described("a", "numeric", typmod=typmod), pa.array(["1.10", None])) == [decimal.Decimal("1.10"), None]
    plain = read(
        described("a", "numeric", typmod=-1), pa.array(["1.5", "inf", None, "9007199254740992", "0." + "3" * 40])
    )
    assert plain == [1.5, float("inf"), None, 2.0**53, 1 / 3]


@pytest.mark.parametrize("value", ["9007199254740993", "-12345678901234567891", "1" + "0" * 400])
def test_a_whole_number_that_a_float_would_round_is_refused(value: str) -> None:
    said = r"column id holds a whole number that a float would round\. Write CAST\(id AS numeric\(38, 0\)\) "
    with pytest.raises(StatementFailed, match=said):
        read(described("id", "numeric", typmod=-1), pa.array(["1", None, value]))
    found = pa.array([["1", value], None]), pa.array([1, None], pa.int32())
    with pytest.raises(StatementFailed, match=r"CAST\(ids AS text\)"):
        read(described("ids", "_numeric", pa.list_(STRING), typmod=-1), *found)


def test_a_scale_that_arrow_has_not_is_a_float() -> None:
    negative = (4 << 16 | (-2 & 0x7FF)) + 4
    assert columns_of(pa.schema([described("a", "numeric", typmod=negative)]))[0].type == pa.float64()


def test_a_value_that_is_no_number_in_a_column_of_exact_numbers_is_refused() -> None:
    with pytest.raises(StatementFailed, match=r"column amount holds NaN.*CAST\(amount AS double precision\)"):
        read(described("amount", "numeric", typmod=(5 << 16 | 2) + 4), pa.array(["nan"]))


def test_what_adbc_does_not_read_is_asked_for_as_text_and_the_rest_is_sent_as_it_is() -> None:
    fields = [described("id", "int4", pa.int32()), described("when", "interval", pa.month_day_nano_interval())]
    assert as_sent("SELECT 1", columns_of(pa.schema(fields[:1]))) == "SELECT 1"
    sent = as_sent("SELECT x", columns_of(pa.schema([*fields, described("o", "oid", pa.int32())])))
    assert sent == (
        "SELECT q.c0, q.c1::pg_catalog.text, q.c2::pg_catalog.int8 FROM (SELECT x) AS q (c0, c1, c2)"
    )  # fmt: skip


def test_arrays_keep_their_nulls_and_those_of_several_dimensions_are_refused() -> None:
    field = described("tags", "_int4", pa.list_(pa.int32()))
    values = pa.array([[1, None], None, []], pa.list_(pa.int32()))
    assert read(field, values, pa.array([1, None, None], pa.int32())) == [[1, None], None, []]
    with pytest.raises(StatementFailed, match="column tags holds an array of several dimensions"):
        read(field, values, pa.array([2, None, None], pa.int32()))


@pytest.mark.parametrize(
    ("kind", "type_", "value", "said"),
    [
        (pa.timestamp("us", "UTC"), "timestamptz", -9222425352054775809 + 1, "infinity"),
        (pa.timestamp("us"), "timestamp", -9222425352054775808, "infinity"),
        (pa.date32(), "date", -2147472692, "infinity"),
        (pa.time64("us"), "time", 86_400_000_000, "24:00"),
    ],
)
def test_a_time_that_arrow_has_not_is_refused(kind: pa.DataType, type_: str, value: int, said: str) -> None:
    whole = pa.array([value], pa.int32() if kind == pa.date32() else pa.int64())
    with pytest.raises(StatementFailed, match=f"column until holds {said}"):
        read(described("until", type_, kind), whole.cast(kind) if kind == pa.date32() else whole.view(kind))
    assert read(described("until", type_, kind), pa.array([None], kind)) == [None]


def test_a_day_before_christ_passes() -> None:
    columns = columns_of(pa.schema([described("day", "date", pa.date32())]))
    day = pa.array([-735_000], pa.int32()).view(pa.date32())
    (batch,) = converted(iter([pa.RecordBatch.from_arrays([day], ["day"])]), columns)
    assert batch.column(0).view(pa.int32()).to_pylist() == [-735_000]


@pytest.mark.parametrize(
    ("told", "known"),
    [("Europe/Berlin", "Europe/Berlin"), ("Etc/UTC", "UTC"), ("GMT", "UTC"), ("<+03>-03", "UTC"), ("", "UTC")],
)
def test_a_time_zone_is_one_that_pandas_knows(told: str, known: str) -> None:
    assert zone_of(told) == known
