"""Data that stands in the message itself, and a second set of data after a first."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROWS = "branch,stock,price\nBonn,14,2.50\nGraz,3,10.00\nBonn,9,4.00\n"


def _frame(text: str = ROWS) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("fence", ["", "```\n"])
def test_a_table_in_the_message_is_read(separator: str, fence: str, thread: Any) -> None:
    table = ROWS.replace(",", separator)
    answer = thread.ask(f"What is the stock by branch?\n\n{fence}{table}{fence.strip()}")
    totals = _frame().groupby("branch")["stock"].sum()
    assert answer.failures == []
    assert all(f"| {name} | {value} |" in answer.report for name, value in totals.items())


def test_a_question_behind_the_table_and_a_follow_up_use_it(thread: Any) -> None:
    thread.ask(f"{ROWS}\nTotal stock?")
    assert f"Stock: {_frame()['stock'].sum()}**" in thread.turns[-1][-1].report
    assert f"| Graz | {_frame()['price'].max():.0f} |" in thread.ask("average price by branch").report


def test_a_further_table_in_a_message_takes_the_place_of_the_first(thread: Any) -> None:
    thread.ask(f"Total stock?\n{ROWS}")
    other = ROWS.replace("14", "40")
    assert f"Stock: {_frame(other)['stock'].sum()}**" in thread.ask(f"Total stock?\n{other}").report


def test_long_data_in_a_message_is_not_cut(thread: Any) -> None:
    frame = pd.DataFrame({"branch": ["Bonn", "Graz"] * 1500, "stock": range(3000)})
    assert f"{frame['stock'].sum():,}" in thread.ask("Total stock?\n" + frame.to_csv(index=False)).report


@pytest.mark.parametrize(
    "prose",
    [
        "Dear all,\nfirst, hello,\nsecond, the numbers,\nthird, thanks",
        "We have Bonn, 3 shops\nand Graz, 4 shops\nWhat does that mean?",
    ],
)
def test_prose_with_commas_is_no_table(prose: str, thread: Any) -> None:
    answer = thread.ask(prose)
    assert not answer.cells
    assert answer.question or "file" in answer.report


@pytest.fixture
def two_files(tmp_path: Path) -> tuple[Path, Path]:
    """Ledgers that share one name of a column, and no value of it."""
    days = pd.date_range("2024-01-01", periods=40)
    first = {"day": days, "kind": ["Sale", "Refund"] * 20, "branch": ["Bonn", "Graz"] * 20, "amount": range(40)}
    pd.DataFrame(first).to_csv(tmp_path / "ledger.csv", index=False)
    pd.DataFrame({"branch": ["Lyon", "Oslo"] * 30, "visits": range(60)}).to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path / "ledger.csv", tmp_path / "visits.csv"


def test_a_second_file_keeps_nothing_known_of_the_first(thread: Any, two_files: tuple[Path, Path]) -> None:
    ledger, visits = two_files
    assert "amount" in thread.ask("amount by kind", ledger).report
    answer = thread.ask("visits by branch", visits)
    totals = pd.read_csv(visits).groupby("branch")["visits"].sum()
    assert answer.failures == []
    assert all(f"| {name} | {value} |" in answer.report for name, value in totals.items())
    assert "Bonn" not in thread.ask("visits by branch, only Bonn").report.partition("Values that there are")[2]


def test_a_question_on_the_first_file_goes_back_to_it(thread: Any, two_files: tuple[Path, Path]) -> None:
    ledger, visits = two_files
    thread.ask("visits by branch", visits)
    thread.ask("amount by branch", ledger)
    sums = pd.read_csv(visits).groupby("branch")["visits"].sum()
    assert f"| Oslo | {sums['Oslo']} |" in thread.ask("visits by branch").report


def test_a_second_sheet_is_found_by_a_follow_up(thread: Any, tmp_path: Path) -> None:
    staff = pd.DataFrame({"team": ["A", "B"] * 20, "hours": range(40)})
    costs = pd.DataFrame({"vendor": ["Acme", "Blitz", "Corex"] * 10, "invoiced": range(30)})
    with pd.ExcelWriter(tmp_path / "book.xlsx", engine="openpyxl") as book:
        staff.to_excel(book, sheet_name="Staff", index=False)
        costs.to_excel(book, sheet_name="Costs", index=False)
    thread.ask("hours by team", tmp_path / "book.xlsx")
    answer = thread.ask("invoiced by vendor")
    assert answer.failures == []
    for vendor, value in costs.groupby("vendor")["invoiced"].sum().items():
        assert f"| {vendor} | {value} |" in answer.report
