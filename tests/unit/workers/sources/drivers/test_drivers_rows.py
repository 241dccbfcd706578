"""Rows of Python values become batches: exact, or refused with the column's name, and never too many at once."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from workers.sources.drivers import rows
from workers.sources.errors import StatementFailed


def test_the_first_batch_is_small_and_the_others_grow_to_four_megabytes() -> None:
    asked: list[int] = []

    def fetch(count: int) -> list[tuple[str]]:
        asked.append(count)
        return [("x" * 100_000,)] * count if len(asked) < 4 else []

    sizes = [batch.nbytes for batch in rows.batches(fetch, pa.schema([("a", pa.string())]))]
    assert asked[0] <= 16
    assert max(sizes) < 2 * rows.BATCH_BYTES


def test_narrow_rows_soon_come_in_large_batches() -> None:
    asked: list[int] = []

    def fetch(count: int) -> list[tuple[int]]:
        asked.append(count)
        return [(1,)] * count if len(asked) < 6 else []

    list(rows.batches(fetch, pa.schema([("a", pa.int64())])))
    assert asked[-1] == rows.MOST_ROWS


def test_numbers_of_a_list_come_as_those_of_a_column() -> None:
    schema = pa.schema([("a", pa.list_(pa.float64()))])
    batch = rows.as_batch([([Decimal("1.5"), None],), (None,)], schema)
    assert batch.to_pylist() == [{"a": [1.5, None]}, {"a": None}]


def test_a_fraction_does_not_fit_a_column_of_whole_numbers() -> None:
    with pytest.raises(StatementFailed, match="column a"):
        rows.as_batch([(1,), (1.5,)], pa.schema([("a", pa.int64())]))


def test_bytes_among_texts_are_text_or_refused() -> None:
    schema = pa.schema([("a", pa.string())])
    assert rows.as_batch([(1,), ("é".encode(),)], schema).to_pylist() == [{"a": "1"}, {"a": "é"}]
    with pytest.raises(StatementFailed, match=r"column a holds bytes that are no text\. Write hex\(a\)"):
        rows.as_batch([("x",), (b"\xff",), (b"\xfe",)], schema)
