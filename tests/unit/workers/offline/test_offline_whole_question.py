"""The whole question and the whole table: what an answer did not use or could not trust is said, without a tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

pytestmark = pytest.mark.long

ROWS = 300


@pytest.fixture
def invoices() -> pd.DataFrame:
    """Invoices of twelve suppliers to three plants."""
    numbers = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "invoice_no": range(9000, 9000 + ROWS),
            "booked": pd.date_range("2022-01-03", periods=ROWS, freq="2D").astype(str),
            "supplier": numbers.choice([f"Supplier {letter}" for letter in "ABCDEFGHIJKL"], ROWS),
            "plant": numbers.choice(["Ulm", "Hof", "Jena"], ROWS),
            "spend": numbers.gamma(2, 300, ROWS).round(2),
        }
    )


@pytest.fixture
def asked(new_thread: Any, tmp_path: Path) -> Callable[..., Any]:
    """`asked(frame, "question", …)` answers the last question about these rows, in a thread of its own."""

    def ask(frame: pd.DataFrame, *questions: str) -> Any:
        frame.to_csv(tmp_path / "data.csv", index=False)
        thread = new_thread()
        answer = thread.ask(questions[0], tmp_path / "data.csv")
        for question in questions[1:]:
            answer = thread.ask(question)
        return answer

    return ask


def _workbook(path: Path, sheets: dict[str, Sequence[Sequence[object]]], *merged: str) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, lines in sheets.items():
        sheet = book.create_sheet(name)
        for line in lines:
            sheet.append(list(line))
        for cells in merged:
            sheet.merge_cells(cells)
    book.save(path)
    return path


# --- words that change the question


@pytest.mark.parametrize(
    ("question", "unused"),
    [
        ("Which plant has the second highest spend?", "second highest"),
        ("spend by plant, year over year", "year over year"),
        ("spend of the last quarter compared with the same quarter a year ago", "same quarter"),
        ("How much do we spend on average per month?", "on average per month"),
        ("spend by plant sorted by name", "sorted"),
        ("spend by plant, but not for Ulm", "not"),
        ("top 3 suppliers per plant", "plant"),
        ("average spend by plant as a pie chart", "pie chart"),
        ("各plant的spend同比", "同比"),
    ],
)
def test_a_word_that_no_rule_reads_stands_above_the_answer(
    question: str, unused: str, asked: Any, invoices: pd.DataFrame
) -> None:
    answer = asked(invoices, question)
    assert f"“{unused}”" in answer.report.splitlines()[0]
    assert not answer.has_tick


@pytest.mark.parametrize(
    ("question", "unused"),
    [
        ("what was the biggest increase in spend from one month to the next?", "increase"),
        ("how did the spend per invoice develop?", "per invoice"),
        ("percentage of invoices above 500", "percentage"),
        ("spend by plant excluding the top supplier", "excluding"),
    ],
)
def test_a_question_that_no_rule_answers_is_declined(
    question: str, unused: str, asked: Any, invoices: pd.DataFrame
) -> None:
    answer = asked(invoices, question)
    assert answer.report.startswith("**I cannot answer this as asked, so I computed nothing.")
    assert f"“{unused}”" in answer.report.splitlines()[0]
    assert not answer.has_tick


def test_a_median_of_counted_rows_is_declined(asked: Any, invoices: pd.DataFrame) -> None:
    answer = asked(invoices, "how many invoices by plant?", "median instead")
    assert "“median”" in answer.report.splitlines()[0]
    assert not answer.has_tick


def test_a_year_behind_two_months_is_that_of_both(asked: Any, invoices: pd.DataFrame) -> None:
    answer = asked(invoices, "spend by plant in March and April 2022")
    days = pd.to_datetime(invoices["booked"])
    meant = invoices[(days >= "2022-03-01") & (days < "2022-05-01")].groupby("plant")["spend"].sum()
    assert f"{meant.idxmax()} leads by plant with {meant.max():,.0f}" in answer.report


@pytest.mark.parametrize(
    ("question", "first", "behind"),
    [
        ("spend from February 2022 to June 2022", "2022-02-01", "2022-07-01"),
        ("spend in Q3 2022", "2022-07-01", "2022-10-01"),
        ("spend since March 2023", "2023-03-01", "2100-01-01"),
        ("spend after March 2023", "2023-04-01", "2100-01-01"),
        ("spend until June 2022", "2000-01-01", "2022-07-01"),
        ("spend before 2022-06-15", "2000-01-01", "2022-06-15"),
    ],
)
def test_a_time_selects_its_first_and_last_day(
    question: str, first: str, behind: str, asked: Any, invoices: pd.DataFrame
) -> None:
    days = pd.to_datetime(invoices["booked"])
    total = invoices["spend"][(days >= first) & (days < behind)].sum()
    assert f"{total:,.0f}" in asked(invoices, f"total {question}").report


def test_the_most_rows_are_counted_and_their_numbers_not_added_up(asked: Any) -> None:
    frame = pd.DataFrame({"visit": range(200), "clinic": ["Hill"] * 80 + ["Sea"] * 70 + ["Dale"] * 50})
    report = asked(frame, "which clinic has the most visits?").report
    assert "Hill leads by clinic with 80" in report


# --- files


def test_a_question_with_the_wish_for_a_workbook_is_answered_and_saved(asked: Any, invoices: pd.DataFrame) -> None:
    answer = asked(invoices, "average spend by plant", "spend by supplier, as Excel please")
    sums = invoices.groupby("supplier")["spend"].sum()
    assert answer.report.startswith("**The tables behind this answer are in the workbook")
    assert f"{sums.idxmax()} leads by supplier with {sums.max():,.0f}" in answer.report


def test_another_format_than_the_workbook_is_said(asked: Any, invoices: pd.DataFrame) -> None:
    answer = asked(invoices, "spend by plant", "export as csv")
    assert "not used: “csv”" in answer.report
    assert not answer.has_tick


def test_files_whose_keys_share_values_and_no_name_are_joined(thread: Any, tmp_path: Path) -> None:
    orders = pd.DataFrame({"place": range(60), "kunde": [f"K{n % 10:03d}" for n in range(60)], "value": range(60)})
    clients = pd.DataFrame({"code": [f"K{n:03d}" for n in range(10)], "segment": ["Gold", "Silver"] * 5})
    orders.to_csv(tmp_path / "orders.csv", index=False)
    clients.to_csv(tmp_path / "clients.csv", index=False)
    report = thread.ask("value by segment", tmp_path / "orders.csv", tmp_path / "clients.csv").report
    sums = orders.merge(clients, left_on="kunde", right_on="code").groupby("segment")["value"].sum()
    assert f"| Silver | {sums['Silver']:,}" in report
    assert f"| Gold | {sums['Gold']:,}" in report


# --- amounts, totals, headers


def test_amounts_behind_a_code_of_currency_are_read(asked: Any) -> None:
    frame = pd.DataFrame({"depot": ["Kiel", "Ulm"] * 6, "budget": ["CHF 3.1k", "CHF 1.2M", "CHF 900", "CHF 45k"] * 3})
    report = asked(frame, "budget by depot").report
    assert f"| Ulm | {3 * (1_200_000 + 45_000):,}" in report
    assert f"| Kiel | {3 * (3_100 + 900):,}" in report


def test_amounts_that_cannot_be_read_are_no_groups(asked: Any) -> None:
    frame = pd.DataFrame(
        {"depot": ["Kiel", "Ulm"] * 6, "budget": ["about 1.2M", "1.5M+", "300k-500k", "2 million"] * 3}
    )
    answer = asked(frame, "budget by depot")
    assert "“budget”" in answer.report.splitlines()[0]
    assert "|" not in answer.report
    assert not answer.has_tick


@pytest.mark.parametrize("label", ["Insgesamt", "All depots", "Durchschnitt"])
def test_a_row_that_sums_up_is_found_by_its_label_or_by_its_value(label: str, asked: Any) -> None:
    crates = [31, 12, 7, 18]
    last = sum(crates) if label != "Durchschnitt" else sum(crates) / 4
    frame = pd.DataFrame({"depot": ["Kiel", "Ulm", "Hof", "Graz", label], "crates": [*crates, last]})
    report = asked(frame, "average crates").report
    assert f"Average crates: {sum(crates) / 4:g}" in report
    assert f"left out: {label}" in report


def test_a_row_of_sums_above_the_others_is_found_too(asked: Any) -> None:
    frame = pd.DataFrame({"depot": ["Company", "Kiel", "Ulm", "Hof", "Graz"], "crates": [68, 31, 12, 7, 18]})
    assert "| Company" not in asked(frame, "crates by depot").report


def test_groups_of_merged_cells_are_not_trusted(thread: Any, tmp_path: Path) -> None:
    lines = [["Land", "Store", "Crates"], *([("A" if n == 0 else None), f"S{n}", 10 + n] for n in range(6))]
    answer = thread.ask("Crates by Land", _workbook(tmp_path / "merged.xlsx", {"All": lines}, "A2:A7"))
    assert answer.report.startswith("**5 of 6 rows have no Land")
    assert not answer.has_tick


def test_a_second_table_below_the_first_is_declined(thread: Any, tmp_path: Path) -> None:
    lines = [["depot", "crates"], *([f"D{n % 3}", n] for n in range(12)), [None, None], ["truck", "km"], ["T1", 40]]
    answer = thread.ask("crates by depot", _workbook(tmp_path / "two.xlsx", {"All": lines}))
    assert "not sure which line of this table is its header" in answer.report
    assert not answer.has_tick


def test_a_follow_up_finds_the_other_sheet(thread: Any, tmp_path: Path) -> None:
    fuel = [["pump", "litres"], *([f"P{n % 3}", n] for n in range(30))]
    staff = [["badge", "shift", "wage"], *([f"B{n}", "early" if n % 2 else "late", 100 + n] for n in range(20))]
    thread.ask("litres by pump", _workbook(tmp_path / "station.xlsx", {"Fuel": fuel, "Staff": staff}))
    assert "| early | 110 | 10 |" in thread.ask("wage by shift").report
