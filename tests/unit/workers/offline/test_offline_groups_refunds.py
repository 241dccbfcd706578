"""Refunds however they are marked, groups of a yes-no column, and filters that match nothing; numbers by pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROWS = 300


@pytest.fixture
def orders() -> pd.DataFrame:
    """Orders of three regions; about one in eight is refunded."""
    numbers = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "order_date": pd.date_range("2023-01-01", periods=ROWS).strftime("%Y-%m-%d"),
            "region": numbers.choice(["North", "South", "East"], ROWS),
            "revenue": numbers.gamma(2, 400, ROWS).round(2),
            "is_refunded": np.where(numbers.random(ROWS) < 0.13, "yes", "no"),
        }
    )


def _written(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path


def _holds_totals(report: str, amounts: pd.Series, groups: pd.Series) -> bool:
    return all(f"| {name} | {value:,.0f} |" in report for name, value in amounts.groupby(groups).sum().items())


def test_excluding_refunds_marked_by_a_flag_leaves_the_refunded_rows_out(
    orders: pd.DataFrame, thread: Any, tmp_path: Path
) -> None:
    thread.ask("What is the total revenue by region?", _written(orders, tmp_path / "orders.csv"))
    answer = thread.ask("Now exclude refunds")
    kept = orders[orders["is_refunded"] == "no"]
    assert _holds_totals(answer.report, kept["revenue"], kept["region"])
    assert "without refunds" in answer.report


def test_a_chinese_flag_of_refunds_is_left_out_when_asked(orders: pd.DataFrame, thread: Any, tmp_path: Path) -> None:
    frame = orders.set_axis(["日期", "地区", "销售额", "退款"], axis=1).replace({"yes": "是", "no": "否"})
    thread.ask("各地区的销售额是多少？", _written(frame, tmp_path / "订单.csv"))
    answer = thread.ask("去掉退款")
    kept = frame[frame["退款"] == "否"]
    assert _holds_totals(answer.report, kept["销售额"], kept["地区"])


@pytest.mark.parametrize("marked", ["flag", "boolean", "status"])
def test_a_refunded_order_counts_as_nothing_and_the_answer_says_so(
    orders: pd.DataFrame, thread: Any, tmp_path: Path, marked: str
) -> None:
    refunded = orders["is_refunded"] == "yes"
    if marked == "boolean":
        orders["is_refunded"] = refunded
    if marked == "status":
        orders = orders.drop(columns="is_refunded").assign(status=np.where(refunded, "refunded", "completed"))
    answer = thread.ask("What is the total revenue by region?", _written(orders, tmp_path / "orders.csv"))
    assert _holds_totals(answer.report, orders["revenue"][~refunded], orders["region"][~refunded])
    assumed = next(line for line in answer.report.splitlines() if line.startswith("Assumed"))
    assert f"a refunded order counts as 0: {refunded.sum()} marked as refunded are left out of amounts" in assumed
    assert "net of refunds" not in answer.report


def test_refunds_in_rows_of_their_own_are_subtracted(orders: pd.DataFrame, thread: Any, tmp_path: Path) -> None:
    refunded = orders["is_refunded"] == "yes"
    frame = orders.drop(columns="is_refunded").assign(type=np.where(refunded, "Refund", "Sale"))
    answer = thread.ask("What is the total revenue by region?", _written(frame, tmp_path / "ledger.csv"))
    net = frame["revenue"].where(~refunded, -frame["revenue"])
    assert _holds_totals(answer.report, net, frame["region"])
    assert "net of refunds" in answer.report


def test_the_share_of_refunds_is_asked_of_a_flag(orders: pd.DataFrame, thread: Any, tmp_path: Path) -> None:
    answer = thread.ask("Which region has the highest refund rate?", _written(orders, tmp_path / "orders.csv"))
    rates = (orders["is_refunded"] == "yes").groupby(orders["region"]).mean()
    assert all(f"| {name} | {rate:.1%} |" in answer.report for name, rate in rates.items())
