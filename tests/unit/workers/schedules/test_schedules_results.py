"""Rows of a data source are described as a file is, and only where that says something."""

from __future__ import annotations

import io
import os
from typing import Any

import pyarrow as pa

from workers.schedules.drift import table_drift
from workers.schedules.results import described


def rows(**columns: Any) -> bytes:
    table = pa.table(columns)
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    return file.getvalue()


def test_an_open_file_is_described_as_its_bytes_are() -> None:
    data = rows(amount=[1.5] * 10, plan=["free", "pro"] * 5)
    descriptor = os.memfd_create("rows")
    os.write(descriptor, data)
    assert described(descriptor) == described(data)
    os.close(descriptor)
    amount, plan = described(data).columns
    assert (amount.spread, [level.value for level in plan.levels]) == (("1.5",) * 5, ["free", "pro"])


def test_a_single_total_may_become_any_other_number() -> None:
    assert table_drift(described(rows(total=[4])), described(rows(total=[4_000_000]))) == []


def test_keys_are_no_quantities_and_groups_are_no_levels() -> None:
    before = rows(id=list(range(100)), day=[f"2026-03-{n:02}" for n in range(100)])
    now = rows(id=list(range(90_000, 90_100)), day=[f"2026-04-{n:02}" for n in range(100)])
    assert table_drift(described(before), described(now)) == []


def test_a_column_without_a_value_has_no_type() -> None:
    before, now = rows(note=pa.array([None] * 3, pa.null()), n=[1, 2, 3]), rows(note=["a", "b", "c"], n=[1, 2, 3])
    assert table_drift(described(before), described(now)) == []
    assert "are missing" in table_drift(described(now), described(before))[0]


def test_levels_that_are_gone_and_another_unit_are_told() -> None:
    before, now = rows(plan=["free", "pro"] * 6), rows(plan=["basic", "gold"] * 6)
    assert table_drift(described(before), described(now)) == ["column 'plan': no 'free', 'pro' any more"]
    cents = table_drift(described(rows(eur=[1.0, 2.5, 3.0] * 4)), described(rows(eur=[100.0, 250.0, 300.0] * 4)))
    assert cents == ["column 'eur': the middle value was 2.5 and is 250"]


def test_what_differs_is_said_in_the_language_of_the_schedule() -> None:
    before, now = described(rows(plan=["free", "pro"] * 4)), described(rows(tarif=["free", "pro"] * 4))
    assert table_drift(before, now, "de") == ["keine Spalte 'plan' (neu: 'tarif')"]
    assert table_drift(before, now, "fr") == ["pas de colonne 'plan' (nouvelles : 'tarif')"]
