"""Data that is not the examples: other names, languages, formats, sizes. Every number is computed here again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

pytestmark = pytest.mark.long

ROWS = 600


@pytest.fixture
def numbers() -> np.random.Generator:
    """Repeatable chance."""
    return np.random.default_rng(1)


@pytest.fixture
def staff(numbers: np.random.Generator) -> pd.DataFrame:
    """People of a company; whether they left hangs on their rating and not on their department."""
    rating = numbers.integers(1, 6, ROWS)
    left = numbers.random(ROWS) < np.array([0.7, 0.5, 0.25, 0.1, 0.05])[rating - 1]
    return pd.DataFrame(
        {
            "Employee No": range(1, ROWS + 1),
            "Dept": numbers.choice(["Sales", "IT", "HR"], ROWS),
            "Salary": numbers.normal(50_000, 8_000, ROWS).round(0) + 1_000 * rating,
            "Rating": rating,
            "Age": numbers.integers(20, 60, ROWS),
            "Left": np.where(left, "yes", "no"),
        }
    )


@pytest.fixture
def chinese(numbers: np.random.Generator) -> pd.DataFrame:
    """A ledger with Chinese names, dates and currency."""
    return pd.DataFrame(
        {
            "日期": pd.date_range("2023-01-01", periods=ROWS).strftime("%Y年%m月%d日"),
            "地区": numbers.choice(["华东", "华南", "华北 "], ROWS),
            "产品": numbers.choice(["手机", "电脑", "耳机"], ROWS),
            "销售额": [f"￥{value:,.2f}" for value in numbers.gamma(2, 500, ROWS)],
            "数量": numbers.integers(1, 9, ROWS),
        }
    )


def _amounts(frame: pd.DataFrame) -> pd.Series:
    return frame["销售额"].str.replace("￥", "").str.replace(",", "").astype(float)


def test_chinese_columns_in_an_old_encoding_are_answered_in_chinese(
    chinese: pd.DataFrame, thread: Any, tmp_path: Path
) -> None:
    chinese.to_csv(tmp_path / "销售.csv", index=False, encoding="gb18030")
    answer = thread.ask("各地区的销售额对比，哪个最高？每月趋势如何？", tmp_path / "销售.csv")
    by_region = _amounts(chinese).groupby(chinese["地区"].str.strip()).sum()
    best = by_region.idxmax()
    assert f"| {best} | ¥{by_region[best]:,.0f} |" in answer.report
    assert f"合计¥{_amounts(chinese).sum():,.0f}" in answer.report
    assert "## 发现" in answer.report
    phones = thread.ask("只看手机")
    assert f"¥{_amounts(chinese)[chinese['产品'] == '手机'].sum():,.0f}" in phones.report
    top = thread.ask("前2名产品")
    by_product = _amounts(chinese).groupby(chinese["产品"]).sum().nlargest(2)
    assert all(f"| {name} | ¥{value:,.0f} |" in top.report for name, value in by_product.items())


def test_decimal_commas_and_euros_are_read(numbers: np.random.Generator, thread: Any, tmp_path: Path) -> None:
    values = numbers.gamma(2, 700, ROWS).round(2)
    written = [f"{value:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".") for value in values]
    days = pd.date_range("2022-01-01", periods=ROWS)
    frame = pd.DataFrame({"Datum": days.strftime("%d.%m.%Y"), "Umsatz": written, "Filiale": ["Köln", "München"] * 300})
    frame.to_csv(tmp_path / "umsatz.csv", index=False, sep=";", encoding="cp1252")
    answer = thread.ask("Umsatz per month and by Filiale?", tmp_path / "umsatz.csv")
    assert f"€{values[1::2].sum():,.0f}" in answer.report
    forecast = thread.ask("forecast the next 3 months")
    assert re.search(r"2023-08 €[\d,]+ \(€[\d,]+ to €[\d,]+\), 2023-09 ", forecast.report)
    assert "baseline" in forecast.report


def test_groups_are_compared_with_a_test_of_the_difference(staff: pd.DataFrame, thread: Any, tmp_path: Path) -> None:
    staff.to_excel(tmp_path / "staff.xlsx", index=False)
    answer = thread.ask("Is there a difference in salary between departments?", tmp_path / "staff.xlsx")
    means = staff.groupby("Dept")["Salary"].mean()
    p = stats.kruskal(*(part["Salary"] for _, part in staff.groupby("Dept"))).pvalue
    assert f"**{means.idxmax()} has the highest mean Salary ({means.max():,.0f})" in answer.report
    assert f"p = {p:.3f}" in answer.report
    assert "do not prove causes" in answer.report


def test_two_numbers_are_correlated_as_asked(staff: pd.DataFrame, thread: Any, tmp_path: Path) -> None:
    staff.to_parquet(tmp_path / "staff.parquet")
    answer = thread.ask("How is salary related to rating?", tmp_path / "staff.parquet")
    expected = stats.spearmanr(staff["Salary"], staff["Rating"]).statistic
    assert (
        f"rank correlation {expected:.3g}" in answer.report
        or f"rank correlation {round(expected, 4):.3g}" in answer.report
    )
    matrix = thread.ask("What are the correlations?")
    assert "The strongest relation is between Salary and Rating" in matrix.report


def test_a_prediction_says_what_it_is_worth_and_finds_the_real_driver(
    staff: pd.DataFrame, thread: Any, tmp_path: Path
) -> None:
    staff.to_csv(tmp_path / "staff.csv", index=False)
    answer = thread.ask("Who left, and what drives it?", tmp_path / "staff.csv")
    auc = float(re.search(r"AUC (0\.\d+) on 150 unseen rows", answer.report)[1])
    assert 0.65 < auc < 0.95
    assert "It relies most on Rating" in answer.report
    assert f"{(staff['Left'] == 'yes').mean():.1%}" in answer.report
    assert "baseline" in answer.report


def test_noise_is_not_sold_as_a_prediction(staff: pd.DataFrame, thread: Any, tmp_path: Path) -> None:
    staff["Left"] = np.random.default_rng(5).permutation(staff["Left"])
    staff.to_csv(tmp_path / "staff.csv", index=False)
    answer = thread.ask("Can you predict who left?", tmp_path / "staff.csv")
    assert "can hardly be predicted from these columns" in answer.report


def test_a_column_that_gives_the_answer_away_is_left_out_and_named(
    staff: pd.DataFrame, thread: Any, tmp_path: Path
) -> None:
    staff["Exit interview"] = np.where(staff["Left"] == "yes", "held", None)
    staff.to_csv(tmp_path / "staff.csv", index=False)
    answer = thread.ask("What drives leaving? Can you predict it?", tmp_path / "staff.csv")
    assert "known only afterwards: Exit interview" in answer.report


def test_a_number_is_predicted_against_the_median_as_baseline(staff: pd.DataFrame, thread: Any, tmp_path: Path) -> None:
    staff.to_json(tmp_path / "staff.json", orient="records")
    answer = thread.ask("Can you predict salary?", tmp_path / "staff.json")
    assert re.search(r"mean error [\d,]+", answer.report)
    assert "always guessing the median errs by" in answer.report


def test_the_sheets_of_a_workbook_are_joined_by_their_key(
    numbers: np.random.Generator, thread: Any, tmp_path: Path
) -> None:
    customers = pd.DataFrame({"customer_id": range(100), "segment": numbers.choice(["A", "B"], 100)})
    orders = pd.DataFrame(
        {
            "order_id": range(500),
            "customer_id": numbers.integers(0, 100, 500),
            "revenue": numbers.gamma(2, 50, 500).round(2),
            "ordered on": pd.date_range("2024-01-01", periods=500, freq="12h"),
        }
    )
    with pd.ExcelWriter(tmp_path / "shop.xlsx", engine="openpyxl") as book:
        customers.to_excel(book, sheet_name="Customers", index=False)
        orders.to_excel(book, sheet_name="Orders", index=False)
    answer = thread.ask("Revenue by segment?", tmp_path / "shop.xlsx")
    expected = orders.merge(customers, on="customer_id").groupby("segment")["revenue"].sum()
    assert all(
        f"| {name} | ${value:,.0f} |" in answer.report or f"| {name} | {value:,.0f} |" in answer.report
        for name, value in expected.items()
    )
    only_a = thread.ask("total revenue for segment A")
    assert f"{expected['A']:,.0f}" in only_a.report
    weekdays = thread.ask("by weekday")
    assert "| Mon |" in weekdays.report


def test_files_that_are_alike_are_put_under_each_other(thread: Any, tmp_path: Path) -> None:
    for year in (2022, 2023):
        days = pd.date_range(f"{year}-01-01", periods=50, freq="7D")
        pd.DataFrame({"day": days, "city": ["Rome", "Oslo"] * 25, "sales": range(50)}).to_csv(
            tmp_path / f"sales_{year}.csv", index=False
        )
    answer = thread.ask("Sales by city?", tmp_path / "sales_2022.csv", tmp_path / "sales_2023.csv")
    assert f"| Oslo | {2 * sum(range(1, 50, 2)):,} |" in answer.report
    assert "alike tables" in answer.report


def test_a_wide_table_is_profiled_within_bounds(numbers: np.random.Generator, thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(numbers.normal(size=(200, 60)), columns=[f"sensor_{n}" for n in range(60)])
    frame.to_csv(tmp_path / "wide.csv", index=False)
    answer = thread.ask("Describe this data", tmp_path / "wide.csv")
    assert "200 rows and 60 columns" in answer.report
    assert len(answer.report) < 3_000
    assert max(len(cell.stdout) for cell in answer.cells) < 8_000
    spread = thread.ask("distribution of sensor_7")
    assert f"the median is {frame['sensor_7'].median():.3g}" in spread.report


def test_what_the_data_has_not_is_said_and_not_made_up(thread: Any, tmp_path: Path) -> None:
    pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}).to_csv(tmp_path / "tiny.csv", index=False)
    assert "3 rows and 2 columns" in thread.ask("What is in here?", tmp_path / "tiny.csv").report
    assert "no column of dates" in thread.ask("trend over time?").report
    assert "cannot be predicted honestly" in thread.ask("predict a").report


def test_a_question_beyond_rules_gets_an_honest_answer_and_the_profile(thread: Any, tmp_path: Path) -> None:
    texts = [f"This is comment number {n} with some words" for n in range(50)]
    pd.DataFrame({"comment": texts, "author": ["ann", "bob"] * 25}).to_csv(tmp_path / "text.csv", index=False)
    answer = thread.ask("What is the sentiment of the comments?", tmp_path / "text.csv")
    assert "goes beyond what I can do offline" in answer.report
    assert "OPENAI_API_KEY" in answer.report
    assert "50 rows" in answer.report
    counted = thread.ask("how many comments by author")
    assert "| ann | 25 |" in counted.report


def test_winners_and_losers_are_those_of_all_groups_and_not_of_the_listed_ones(
    numbers: np.random.Generator, thread: Any, tmp_path: Path
) -> None:
    days = pd.Timestamp("2022-01-01") + pd.to_timedelta(numbers.integers(0, 1000, 5000), unit="D")
    stores = numbers.choice([f"Store {n}" for n in range(40)], 5000)
    frame = pd.DataFrame({"day": days, "store": stores, "sales": numbers.gamma(2, 50, 5000).round(2)})
    frame.loc[(frame["store"] == "Store 7") & (frame["day"] > "2023-10-01"), "sales"] /= 20
    frame.to_csv(tmp_path / "stores.csv", index=False)
    answer = thread.ask("Which stores lead our sales?", tmp_path / "stores.csv")
    last = frame["day"].max()
    recent = frame[frame["day"] > last - pd.DateOffset(years=1)].groupby("store")["sales"].sum()
    before = frame[(frame["day"] > last - pd.DateOffset(years=2)) & (frame["day"] <= last - pd.DateOffset(years=1))]
    change = recent - before.groupby("store")["sales"].sum()
    assert change.idxmin() == "Store 7"
    assert "Store 7 lost most" in answer.report
    assert f"{change.idxmax()} gained most" in answer.report
    assert "12 of 40 are listed" in answer.report
    assert any(cell.title == "Save the tables" for cell in answer.cells)
    saved = pd.read_excel(thread.notebook.folder / "tables-1.xlsx")
    assert len(saved) == 40


def test_averages_over_a_handful_of_rows_do_not_win(thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"city": ["Rome"] * 50 + ["Oslo"] * 50 + ["Bonn"] * 2, "score": [*range(100), 1000, 1001]})
    frame.to_csv(tmp_path / "scores.csv", index=False)
    answer = thread.ask("average score by city", tmp_path / "scores.csv")
    assert "highest for Oslo (74.5) and lowest for Rome (24.5)" in answer.report
    assert "Few rows stand behind Bonn" in answer.report


def test_a_filter_that_leaves_no_row_is_answered_plainly(thread: Any, tmp_path: Path) -> None:
    days = pd.date_range("2023-01-01", periods=60, freq="7D")
    pd.DataFrame({"day": days, "city": ["Rome", "Oslo"] * 30, "sales": range(60)}).to_csv(
        tmp_path / "s.csv", index=False
    )
    thread.ask("Sales per month?", tmp_path / "s.csv")
    assert "No row of the data matches: 1999" in thread.ask("only 1999").report
    assert f"{sum(range(60)):,}" in thread.ask("all data again").report
