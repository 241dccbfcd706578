"""Files are joined by the key whose values they share, and not by a name that they happen to share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def rentals() -> pd.DataFrame:
    """Ninety rentals of thirty members; both are numbered from 1."""
    numbers = np.random.default_rng(8)
    return pd.DataFrame(
        {"id": range(1, 91), "member_id": numbers.integers(1, 31, 90), "paid": numbers.integers(5, 90, 90)}
    )


@pytest.fixture
def members() -> pd.DataFrame:
    return pd.DataFrame({"id": range(1, 31), "name": [f"M{n}" for n in range(30)], "harbour": ["Kiel", "Hull"] * 15})


def _files(folder: Path, **frames: pd.DataFrame) -> list[Path]:
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return [folder / f"{name}.csv" for name in frames]


@pytest.mark.parametrize("key", ["id", "member_no"])
def test_a_key_of_another_name_joins_what_it_numbers(
    key: str, rentals: pd.DataFrame, members: pd.DataFrame, thread: Any, tmp_path: Path
) -> None:
    theirs = members.rename(columns={"id": key})
    answer = thread.ask("paid by harbour", *_files(tmp_path, rentals=rentals, members=theirs))
    sums = rentals.merge(members, left_on="member_id", right_on="id").groupby("harbour")["paid"].sum()
    assert all(f"| {name} | {value:,} |" in answer.report for name, value in sums.items())


def test_two_tables_that_only_number_their_rows_alike_are_not_joined(
    rentals: pd.DataFrame, members: pd.DataFrame, thread: Any, tmp_path: Path
) -> None:
    files = _files(tmp_path, trips=rentals.drop(columns="member_id"), members=members)
    answer = thread.ask("paid by harbour", *files)
    assert "| Kiel |" not in answer.report
    assert not answer.has_tick


def test_a_shared_name_without_shared_values_is_no_key(thread: Any, tmp_path: Path) -> None:
    left = pd.DataFrame({"part_no": [f"A{n}" for n in range(40)], "price": range(40)})
    right = pd.DataFrame({"part_no": [f"X{n}" for n in range(40)], "maker": ["Acme", "Blitz"] * 20})
    answer = thread.ask("price by maker", *_files(tmp_path, parts=left, makers=right))
    assert "share hardly a value of 'part_no'" in answer.report
    assert not answer.has_tick
