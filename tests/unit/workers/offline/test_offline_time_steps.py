"""Time is never cut finer than the dates are: what has no row is no value, and not 0."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import pandas as pd
import pytest

STEPS = {  # dates of a report that comes once per step
    "month": ["2023-11-30", "2023-12-31", "2024-01-31", "2024-02-29"],
    "quarter": ["2021-01-01", "2021-04-01", "2021-07-01", "2021-10-01", "2022-01-01", "2022-04-01", "2022-07-01"],
    "year": ["2018-12-31", "2019-12-31", "2020-12-31", "2021-12-31", "2022-12-31"],
    "week": ["2024-03-04", "2024-03-11", "2024-03-18", "2024-03-25", "2024-04-01"],
}
VALUES = [310, 275, 402, 188, 540, 333, 290]


def _written(folder: Path, dates: Sequence[str], **columns: Sequence[object]) -> tuple[Path, pd.DataFrame]:
    frame = pd.DataFrame({"period": dates, "turnover": VALUES[: len(dates)], **columns})
    frame.to_csv(folder / "report.csv", index=False)
    return folder / "report.csv", frame


@pytest.mark.parametrize("step", STEPS)
def test_the_weakest_period_is_one_that_the_data_has(step: str, thread: Any, tmp_path: Path) -> None:
    path, frame = _written(tmp_path, STEPS[step])
    report = thread.ask("How did turnover develop?", path).report
    periods = pd.to_datetime(frame["period"]).dt.to_period({"week": "W"}.get(step, step[0].upper())).astype(str)
    worst = periods[frame["turnover"].idxmin()].split("/")[0]
    assert f"weakest: {worst} with {frame['turnover'].min()}; on average {frame['turnover'].mean():,.5g}" in report
    assert f"per {step}" in report
    assert "incomplete" not in report


@pytest.mark.parametrize("step", ["month", "quarter", "year"])
def test_a_finer_step_than_that_of_the_dates_is_refused_and_the_coarser_one_shown(
    step: str, thread: Any, tmp_path: Path
) -> None:
    path, frame = _written(tmp_path, STEPS[step])
    report = thread.ask("turnover per week", path).report
    assert report.startswith("**There is nothing per week in this data")
    assert f"follow each other by the {step}" in report
    assert f"weakest: {pd.Timestamp(frame['period'][frame['turnover'].idxmin()]).year}" in report


def test_a_change_between_two_quarters_is_not_one_between_months(thread: Any, tmp_path: Path) -> None:
    path, frame = _written(tmp_path, STEPS["quarter"], branch=["Bonn", "Graz"] * 3 + ["Bonn"])
    report = thread.ask("Why did turnover drop?", path).report
    assert f"fell in 2022Q3: {frame['turnover'].iloc[-1]} against {frame['turnover'].iloc[-2]} in 2022Q2" in report
    without_groups = thread.ask("why did turnover drop in February 2022?").report
    assert "nothing per month" in without_groups


def test_why_of_data_without_groups_is_answered_without_a_crash(thread: Any, tmp_path: Path) -> None:
    path, _ = _written(tmp_path, STEPS["year"][:4])
    answer = thread.ask("why did turnover drop?", path)
    assert answer.failures == []
    assert "fell in 2021: 188 against 402 in 2020" in answer.report


def test_a_forecast_goes_on_in_the_step_of_the_data(thread: Any, tmp_path: Path) -> None:
    quarters = pd.period_range("2018Q1", periods=20, freq="Q")
    frame = pd.DataFrame({"day": quarters.to_timestamp(), "turnover": range(100, 120)})
    frame.to_csv(tmp_path / "q.csv", index=False)
    report = thread.ask("forecast turnover", tmp_path / "q.csv").report
    assert "2023Q1" in report
    assert "trials on known quarters" in report


def test_a_month_without_a_row_is_a_gap_and_told(thread: Any, tmp_path: Path) -> None:
    days = pd.date_range("2023-01-01", "2024-12-31")
    frame = pd.DataFrame({"day": days, "paid": range(len(days))})
    frame = frame[frame["day"].dt.strftime("%Y-%m") != "2023-08"]
    frame.to_csv(tmp_path / "gap.csv", index=False)
    report = thread.ask("paid per month", tmp_path / "gap.csv").report
    months = frame.groupby(frame["day"].dt.to_period("M"))["paid"].sum()
    assert f"weakest: {months.idxmin()} with {months.min():,}" in report
    assert "1 months in between have no row" in report


def test_when_all_fall_alike_nobody_held_up_best(thread: Any, tmp_path: Path) -> None:
    """Both old lines were given up for a new one after half of the time."""
    months = pd.date_range("2023-01-01", periods=12, freq="MS")
    line = [name for month in range(12) for name in (("Alpha", "Beta") if month < 6 else ("Gamma", "Gamma"))]
    frame = pd.DataFrame({"month": months.repeat(2), "line": line, "sold": range(10, 34)})
    frame.to_csv(tmp_path / "lines.csv", index=False)
    report = thread.ask("sold per month by line", tmp_path / "lines.csv").report
    assert "held up best" not in report
    assert "Beta, Alpha fell (-100.0%)" in report


def test_a_year_is_no_group_that_rises_or_falls(thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": pd.date_range("2022-01-01", "2023-12-31"), "paid": 2})
    frame.to_csv(tmp_path / "years.csv", index=False)
    report = thread.ask("paid by year as bars", tmp_path / "years.csv").report
    assert "-100.0%" not in report
    assert "2022 730" in report or "| 2022 | 730 |" in report


def test_rows_without_a_date_are_not_told_as_between_two_dates(thread: Any, tmp_path: Path) -> None:
    days = pd.Series(pd.date_range("2023-01-01", periods=300)).astype(str)
    frame = pd.DataFrame({"day": days, "fee": range(300)})
    frame.loc[[7, 70, 170], "day"] = None
    frame.to_csv(tmp_path / "fees.csv", index=False)
    report = thread.ask("How did the fee total develop?", tmp_path / "fees.csv").report
    dated, rest = frame.loc[frame["day"].notna(), "fee"].sum(), frame.loc[frame["day"].isna(), "fee"].sum()
    assert f"{dated:,} from 2023-01-01 to 2023-10-27 and {rest:,} in rows without a date." in report


def test_all_that_cells_leave_in_the_session_can_be_kept(thread: Any, tmp_path: Path) -> None:
    path, _ = _written(tmp_path, STEPS["month"])
    assert "tables" in thread.ask("turnover per month", path).cells[-1].code.splitlines()[0]
    left = {name: value for name, value in thread.notebook.names.items() if not name.startswith("__")}
    for name, value in left.items():
        assert cloudpickle.dumps(value), name
    assert not [name for name, value in left.items() if isinstance(value, pd.ExcelWriter)]
