"""Rows of MySQL's text protocol are read by columns: every length, nulls, and what Arrow cannot read one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.sources.drivers.mysql_rows import converted, numbers_of_bits, texts_of

VALUES = st.one_of(st.none(), st.binary(max_size=5), st.sampled_from([b"x" * 250, b"y" * 251, b"z" * 70_000]))


def packet(*values: bytes | None) -> bytes:
    """A row as a server sends it."""
    return b"".join(
        b"\xfb" if value is None
        else bytes([len(value)]) + value if len(value) < 251
        else b"\xfc" + len(value).to_bytes(2, "little") + value if len(value) < 1 << 16
        else b"\xfd" + len(value).to_bytes(3, "little") + value
        for value in values
    )  # fmt: skip


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=6))
def test_values_of_any_length_and_nulls_come_back(rows: list[tuple[bytes | None, ...]]) -> None:
    found = texts_of([packet(*row) for row in rows], 3)
    assert [each.to_pylist() for each in found] == [list(column) for column in zip(*rows, strict=True)]


def test_the_longest_form_of_a_length_is_read() -> None:
    (values,) = texts_of([b"\xfe" + (3).to_bytes(8, "little") + b"abc"], 1)
    assert values.to_pylist() == [b"abc"]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int64(), b"-5", -5),
        (pa.uint64(), b"18446744073709551615", 18446744073709551615),
        (pa.float64(), b"1.5e10", 1.5e10),
        (pa.string(), "é中".encode(), "é中"),
        (pa.binary(), b"\x00\xff", b"\x00\xff"),
    ],
)
def test_a_value_is_read_as_its_type(kind: pa.DataType, text: bytes, value: object) -> None:
    def one_by_one(values: object) -> pa.Array:
        raise AssertionError(values)

    assert converted(pa.array([text, None], pa.binary()), kind, one_by_one).to_pylist() == [value, None]


def test_what_arrow_cannot_read_is_read_one_by_one() -> None:
    days = pa.array([b"0000-00-00", b"2024-01-02"], pa.binary())
    assert converted(days, pa.date32(), lambda values: pa.array([len(values)])).to_pylist() == [2]
    assert converted(pa.array([b"\xff"], pa.binary()), pa.string(), lambda values: pa.array(["?"])).to_pylist() == ["?"]


def test_bits_are_numbers() -> None:
    sent = [b"\x01", None, b"\x00", b"1", b"\xff" * 8, b"\x01"]
    assert numbers_of_bits(pa.array(sent, pa.binary())).to_pylist() == [1, None, 0, 49, 2**64 - 1, 1]
