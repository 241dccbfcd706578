"""What the analyst says when it cannot answer as asked; every part of a question gets an answer or a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from scipy import stats

pytestmark = pytest.mark.long

ROWS = 400


@pytest.fixture
def shop() -> pd.DataFrame:
    """Orders of two years; members spend more, and March 2024 is weak because the East sold little."""
    numbers = np.random.default_rng(11)
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(numbers.integers(0, 730, ROWS), unit="D")
    member = numbers.random(ROWS) < 0.4
    frame = pd.DataFrame(
        {
            "order_id": [f"A{n:04d}" for n in range(ROWS)],
            "day": days,
            "region": numbers.choice(["North", "East", "West"], ROWS),
            "customer": numbers.choice([f"Customer {n} Ltd" for n in range(60)], ROWS),
            "revenue": (numbers.gamma(4, 50, ROWS) + 60 * member).round(2),
            "member": np.where(member, "yes", "no"),
        }
    )
    weak = (frame["day"].dt.to_period("M") == "2024-03") & (frame["region"] == "East")
    frame.loc[weak, "revenue"] = 1.0
    return frame


@pytest.fixture
def asked(shop: pd.DataFrame, thread: Any, tmp_path: Path) -> Any:
    """The thread with the orders: `asked("question")` answers; the file goes with the first."""
    shop.to_csv(tmp_path / "shop.csv", index=False)
    files = [tmp_path / "shop.csv"]

    def ask(text: str) -> Any:
        return thread.ask(text, *([files.pop()] if files else []))

    return ask


def test_the_two_sides_of_a_flag_are_compared_by_their_means_and_tested(asked: Any, shop: pd.DataFrame) -> None:
    report = asked("Compare the average revenue of members and the rest").report
    yes, no = (shop["revenue"][shop["member"] == side] for side in ("yes", "no"))
    assert f"{yes.mean():,.2f} (member: yes) against {no.mean():,.2f} (member: no)" in report
    assert stats.ttest_ind(yes, no, equal_var=False).pvalue < 0.001
    assert "p < 0.001" in report


def test_whether_a_difference_is_significant_is_asked_of_the_groups_before(asked: Any, shop: pd.DataFrame) -> None:
    asked("revenue by region")
    answer = asked("is the difference significant?")
    p = stats.kruskal(*(part["revenue"] for _, part in shop.groupby("region"))).pvalue
    assert f"p = {p:.3f}" in answer.report
    assert "Sums cannot be tested" in answer.report
    asked("how many orders by region?")
    even = stats.chisquare(shop["region"].value_counts()).pvalue
    assert f"(p = {even:.3f})" in asked("is that significant?").report


def test_a_name_that_is_nowhere_is_said_and_nothing_computed_for_it(asked: Any) -> None:
    answer = asked("revenue by region, only Atlantis")
    assert "I find “Atlantis” in no column" in answer.report
    assert all(region in answer.report for region in ("North", "East", "West"))
    assert not re.search(r"\d[\d,]* rows", answer.report)
    assert [cell.title for cell in answer.cells][-1] == "Look for “Atlantis” in the data"
    assert "| North |" in asked("by region").report


def test_a_value_that_no_abstract_named_is_looked_up_in_the_data(asked: Any, shop: pd.DataFrame) -> None:
    asked("total revenue?")
    rare = shop["customer"].value_counts().index[-1]
    expected = shop.loc[shop["customer"] == rare, "revenue"].sum()
    assert f"{expected:,.2f}" in asked(f"only {rare}").report or f"{expected:,.0f}" in asked(f"only {rare}").report


def test_a_filter_that_leaves_nothing_is_named_with_what_there_is_and_not_carried_on(
    asked: Any, shop: pd.DataFrame
) -> None:
    asked("revenue by region")
    empty = asked("only 1999")
    assert "No row of the data matches: 1999" in empty.report
    assert f"runs from {shop['day'].min().date()} to {shop['day'].max().date()}" in empty.report
    assert "could not be computed" not in empty.report
    assert not empty.failures
    total = shop.groupby("region")["revenue"].sum()
    assert all(f"| {name} | {value:,.0f} |" in asked("by region again").report for name, value in total.items())


def test_of_several_filters_the_one_that_leaves_nothing_is_named(asked: Any) -> None:
    report = asked("total revenue of the North in 2024 above 1,000,000").report
    assert "No row of the data matches: revenue > 1,000,000" in report


def test_each_part_of_a_question_is_answered_or_refused_by_itself(asked: Any, shop: pd.DataFrame) -> None:
    report = asked("How many orders came from the East in 2024, and what's the weather in Rome?").report
    chosen = shop[(shop["region"] == "East") & (shop["day"].dt.year == 2024)]
    assert f": {len(chosen)}.**" in report
    assert "“what's the weather in Rome?”" in report
    assert "This part goes beyond what I can do offline" in report


def test_a_measure_that_is_not_there_is_declined_with_those_that_are(asked: Any) -> None:
    answer = asked("average discount by region")
    assert answer.report.startswith("**I cannot answer this as asked, so I computed nothing. Not used: “discount”.**")
    assert "revenue" in answer.report.splitlines()[0]
    assert not answer.has_tick


def test_why_something_fell_is_answered_by_where_it_fell(asked: Any, shop: pd.DataFrame) -> None:
    months = shop.groupby(shop["day"].dt.to_period("M"))["revenue"].sum()
    answer = asked("Why did revenue drop in March?")
    assert months["2024-03"] < months["2024-02"]
    assert f"Revenue fell in 2024-03: {months['2024-03']:,.0f}" in answer.report
    assert "By region: East" in answer.report
    assert "not what caused it" in answer.report
    other = asked("why did revenue drop in April 2024?")
    fell = months["2024-04"] < months["2024-03"]
    assert fell or "The question expects a fall, but there was none" in other.report
    assert "cannot be computed" in asked("why did revenue drop in March 1990?").report


def test_averages_are_never_drawn_as_a_pie(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pies: list[int] = []
    drawn = Axes.pie
    monkeypatch.setattr(Axes, "pie", lambda *given, **more: (pies.append(1), drawn(*given, **more))[1])
    assert "drawn as bars" in asked("average revenue by region as a pie chart").report
    assert not pies
    asked("total revenue by region as a pie chart")
    assert pies


def test_a_share_is_given_of_all_rows_and_not_of_itself(asked: Any, shop: pd.DataFrame) -> None:
    share = (shop["region"] == "West").mean()
    assert f"West makes {share:.1%} of all rows" in asked("What share of orders comes from the West?").report


def test_the_best_month_is_named_first(asked: Any, shop: pd.DataFrame) -> None:
    months = shop.groupby(shop["day"].dt.to_period("M"))["revenue"].sum()
    assert f"**{months.idxmax()} was the best month" in asked("Which month was best?").report


def test_numbers_that_stand_for_shops_are_grouped_by_and_never_added_up(thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"sale_id": range(300), "store_id": [3, 7, 7] * 100, "items": [2, 1, 1] * 100})
    frame.to_csv(tmp_path / "stores.csv", index=False)
    report = thread.ask("which store sells most items?", tmp_path / "stores.csv").report
    assert "3, 7 are level by store id with 200 each" in report
    assert "| 3 | 200 |" in report


def test_single_rows_are_listed_when_asked_for(asked: Any, shop: pd.DataFrame) -> None:
    report = asked("show the 3 largest orders").report
    top = shop.nlargest(3, "revenue")
    assert all(f"| {row.revenue:,.2f} |" in report and row.order_id in report for row in top.itertuples())


def test_a_table_without_rows_and_the_average_of_words_are_refused(
    thread: Any, new_thread: Any, tmp_path: Path
) -> None:
    (tmp_path / "headers.csv").write_text("a,b,c\n")
    assert "not a single row" in thread.ask("sum of a by b", tmp_path / "headers.csv").report
    pd.DataFrame({"name": ["x y", "z w"] * 30}).to_csv(tmp_path / "names.csv", index=False)
    assert "no column of numbers" in new_thread().ask("average name", tmp_path / "names.csv").report


def test_thanks_are_answered_without_a_computation(asked: Any) -> None:
    asked("total revenue?")
    thanks = asked("Thank you!")
    assert "You are welcome" in thanks.report
    assert not thanks.cells


def test_chinese_questions_get_the_same_honesty(shop: pd.DataFrame, thread: Any, tmp_path: Path) -> None:
    frame = shop.set_axis(["订单号", "日期", "地区", "客户", "销售额", "是否会员"], axis=1)
    frame = frame.replace({"North": "华北", "East": "华东", "West": "华西", "yes": "是", "no": "否"})
    frame.to_csv(tmp_path / "订单.csv", index=False)
    first = thread.ask("会员和非会员的平均销售额有差别吗？", tmp_path / "订单.csv").report
    assert "是否会员: 是" in first
    assert "p < 0.001" in first
    assert "数据的任何一列中都没有“华中”" in thread.ask("只看华中").report
    assert "没有符合条件的数据：1999" in thread.ask("1999年各地区销售额").report
    assert "显著" in thread.ask("各地区销售额").report or "差异" in thread.ask("差异显著吗？").report
    large = (frame["销售额"] > 300).sum()
    assert f"：{large}。**" in thread.ask("销售额大于300的订单有多少？").report


@pytest.mark.parametrize(
    ("question", "next_step"),
    [("how many revenues are missing?", "write “help”"), ("每个门店的利润是多少", "输入“帮助”")],
)
def test_a_refusal_says_what_to_do_next(
    thread: Any, shop: pd.DataFrame, tmp_path: Path, question: str, next_step: str
) -> None:
    shop.to_csv(tmp_path / "shop.csv", index=False)
    assert next_step in thread.ask(question, tmp_path / "shop.csv").report
