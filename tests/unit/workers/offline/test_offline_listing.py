"""Rows that are asked for one by one are shown one by one, and counted; what only sounds like it is not listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """Twenty orders of four customers; the amounts are 100, 200 ... 2,000, and one is blank."""
    frame = pd.DataFrame(
        {
            "order_id": range(1, 21),
            "date": pd.date_range("2025-01-01", periods=20, freq="5D"),
            "customer": ["Ann", "Bob", "Cy", "Di"] * 5,
            "region": ["North"] * 12 + ["South"] * 8,
            "quantity": [1, 2, 3, 4, 5] * 4,
            "amount": [100.0 * n for n in range(1, 20)] + [None],
        }
    )
    path = tmp_path / "orders.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "question",
    [
        "list orders above 1600",
        "which orders are above 1600?",
        "show me all orders above 1600",
        "List the orders > 1600",
    ],
)
def test_rows_that_meet_a_condition_are_listed_with_the_largest_first(thread: Any, orders: Path, question: str) -> None:
    report = thread.ask(question, orders).report
    assert "**3 rows: amount > 1,600.**" in report
    shown = [line.split("|")[1].strip() for line in report.splitlines() if line.startswith("| 1")]
    assert shown == ["19", "18", "17"]


def test_rows_are_listed_in_chinese(thread: Any, orders: Path) -> None:
    assert "**共3行：金额 > 1,600。**" in thread.ask("列出金额超过1600的订单", orders).report


def test_a_long_list_is_cut_in_the_report_and_whole_in_a_workbook(thread: Any, orders: Path) -> None:
    answer = thread.ask("list all orders above 400", orders)
    assert "**15 rows: amount > 400.** The 12 with the highest amount are in the table below" in answer.report
    saved = next(path for path in thread.notebook.folder.glob("*.xlsx"))
    assert len(pd.read_excel(saved)) == 15


def test_a_row_without_the_measure_is_listed_too(thread: Any, orders: Path) -> None:
    report = thread.ask("list the orders with quantity above 4", orders).report
    assert "**4 rows: quantity > 4.**" in report
    assert "–" in next(line for line in report.splitlines() if line.startswith("| 20 |"))


def test_a_follow_up_narrows_the_list(thread: Any, orders: Path) -> None:
    thread.ask("list orders above 1000", orders)
    assert "South" in (report := thread.ask("only the South").report)
    assert "**7 rows: amount > 1,000, South.**" in report


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("show me the number of orders above 1600", "Number of rows (amount > 1,600): 3"),
        ("list customers in the South", "by customer"),
        ("show me orders by region", "by region"),
        ("list the 2 largest orders", "highest amount of a single row"),
    ],
)
def test_what_only_sounds_like_a_list_is_none(thread: Any, orders: Path, question: str, says: str) -> None:
    report = thread.ask(question, orders).report
    assert says in report
    assert "rows: " not in report.split("##")[0]
