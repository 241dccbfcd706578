"""What is easily answered wrong: numbers of a joined table, a value of several columns, one number against another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.long


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    """Twelve articles, and forty movements of them: each article stands in several rows of the second sheet."""
    names = [f"K{n:03d}" for n in range(12)]
    articles = pd.DataFrame(
        {
            "SKU": names,
            "Supplier": ["Acme", "Borealis", "Cobalt"] * 4,
            "On hand": range(10, 130, 10),
            "Reorder level": [50] * 12,
        }
    )
    moved = pd.DataFrame(
        {
            "Date": pd.date_range("2025-01-01", periods=40, freq="4D"),
            "SKU": names[:10] * 4,
            "Type": ["in", "out"] * 20,
            "Qty": range(1, 41),
        }
    )
    path = tmp_path / "stock.xlsx"
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        articles.to_excel(book, sheet_name="Stock", index=False)
        moved.to_excel(book, sheet_name="Movements", index=False)
    return path


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Two questions with the same answers, the second one answered otherwise."""
    path = tmp_path / "survey.csv"
    easy = ["Agree"] * 30 + ["Neutral"] * 20 + ["Disagree"] * 50
    helpful = ["Agree"] * 80 + ["Neutral"] * 13 + ["Disagree"] * 7
    pd.DataFrame({"Respondent": range(1, 101), "It is easy": easy, "Support was helpful": helpful}).to_csv(
        path, index=False
    )
    return path


@pytest.fixture
def campaigns(tmp_path: Path) -> Path:
    """The campaign that costs most in all is the cheapest per click."""
    numbers = np.random.default_rng(5)
    clicks = numbers.integers(50, 90, 200)
    frame = pd.DataFrame({"Campaign": ["Radio", "Web"] * 100, "Cost": clicks * 2.0, "Clicks": clicks})
    frame.loc[frame["Campaign"] == "Web", ["Cost", "Clicks"]] *= [2, 4]
    frame.to_csv(tmp_path / "campaigns.csv", index=False)
    return tmp_path / "campaigns.csv"


def test_what_stands_once_per_article_is_not_counted_once_per_movement(thread: Any, stock: Path) -> None:
    report = thread.ask("What is the stock on hand per supplier?", stock).report
    assert "Cobalt leads by Supplier with 300" in report
    assert "780" not in report.replace("rows", "")
    assert "Not used for this question: Movements" in report
    assert "“SK”" not in thread.ask("how many SKUs do we have?").report


def test_both_sheets_are_joined_for_what_needs_both(thread: Any, stock: Path) -> None:
    report = thread.ask("Qty by Supplier", stock).report
    moved, articles = pd.read_excel(stock, "Movements"), pd.read_excel(stock, "Stock")
    by_supplier = moved.merge(articles, on="SKU").groupby("Supplier")["Qty"].sum()
    assert f"{by_supplier.idxmax()} leads by Supplier with {by_supplier.max():,}" in report


def test_a_preposition_is_no_value_though_a_column_holds_in_and_out(thread: Any, stock: Path) -> None:
    report = thread.ask("total Qty out in 2025", stock).report
    moved = pd.read_excel(stock, "Movements")
    assert f"{moved['Qty'][moved['Type'] == 'out'].sum():,}" in report


def test_a_value_of_several_columns_is_that_of_the_one_that_is_named(thread: Any, survey: Path) -> None:
    report = thread.ask("What percentage of respondents disagree that support was helpful?", survey).report
    assert "Disagree makes 7.0% of all rows: 7 of 100" in report


@pytest.mark.parametrize(
    "question", ["which campaign has the lowest cost per click?", "how often was cost below clicks?"]
)
def test_one_number_against_another_is_refused_and_not_answered_with_the_first(
    thread: Any, campaigns: Path, question: str
) -> None:
    report = thread.ask(question, campaigns).report
    assert "beyond what I can do offline" in report
    assert "leads" not in report


def test_a_second_measure_that_no_analysis_uses_is_told(thread: Any, campaigns: Path) -> None:
    report = thread.ask("Cost and Clicks by Campaign", campaigns).report
    assert "“Clicks”" in report or "Clicks by Campaign" in report


def test_words_for_refunds_are_not_passed_over_where_the_data_has_none(thread: Any, campaigns: Path) -> None:
    assert "returned" in thread.ask("How many clicks were returned by Campaign?", campaigns).report


def test_an_average_counts_the_rows_that_have_a_value(thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"sensor": ["S1", "S2"] * 60, "temp_c": [20.0, 21.5] * 60})
    frame.loc[[1, 3, 5, 7], "temp_c"] = None
    frame.to_csv(tmp_path / "sensors.csv", index=False)
    report = thread.ask("average temp_c by sensor", tmp_path / "sensors.csv").report
    assert "56" in report
    assert "averaged over 116 rows" in report


def test_a_number_of_days_is_not_called_a_date_in_chinese(thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"department": ["Sales", "IT"] * 20, "days": [3, 5] * 20})
    frame.to_csv(tmp_path / "absences.csv", index=False)
    assert "日期" not in thread.ask("各department的days", tmp_path / "absences.csv").report
