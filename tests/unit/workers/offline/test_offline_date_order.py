"""Dates such as 03/04/2023: which number is the month is found in the data, or it is said to be a guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from workers.offline.cell_functions import to_dates

MONTHS = [f"2024-{month:02d}-01" for month in range(1, 7)]
VALUES = [310, 275, 402, 188, 540, 333]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["03/04/2023", "25/04/2023"], ["2023-04-03", "2023-04-25"]),
        (["03/04/2023", "04/25/2023"], ["2023-03-04", "2023-04-25"]),
        (["03.04.2023", "05.06.2023"], ["2023-04-03", "2023-06-05"]),
        (["04/04/2023", "05/05/2023"], ["2023-04-04", "2023-05-05"]),
        (["2023-04-03", "2023-06-05"], ["2023-04-03", "2023-06-05"]),
    ],
)
def test_what_the_dates_show_is_no_guess(written: list[str], read: list[str], capsys: Any) -> None:
    assert to_dates(pd.Series(written)).dt.strftime("%Y-%m-%d").tolist() == read
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["01/01/2024", "01/02/2024", "01/03/2024"], ["2024-01-01", "2024-02-01", "2024-03-01"]),
        (["01/01/2024", "02/01/2024", "03/01/2024"], ["2024-01-01", "2024-02-01", "2024-03-01"]),
        (["11/02/2024", "12/01/2024", "12/03/2024"], ["2024-11-02", "2024-12-01", "2024-12-03"]),
        (["02/11/2024", "01/12/2024", "03/12/2024"], ["2024-11-02", "2024-12-01", "2024-12-03"]),
        (["03/04/2023", "04/05/2023"], ["2023-04-03", "2023-05-04"]),
    ],
)
def test_a_guess_is_printed_with_an_example(written: list[str], read: list[str], capsys: Any) -> None:
    assert to_dates(pd.Series(written, name="day")).dt.strftime("%Y-%m-%d").tolist() == read
    guess = next((one, other) for one, other in zip(written, read, strict=True) if one[:2] != one[3:5])
    said = capsys.readouterr().out
    assert said == f'guessed_dates: {{"column": "day", "example": "{guess[0]}", "read": "{guess[1]}"}}\n'


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"])
def test_months_stay_months_in_each_way_to_write_their_first_day(form: str, thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"period": pd.to_datetime(MONTHS).strftime(form), "turnover": VALUES})
    frame.to_csv(tmp_path / "report.csv", index=False)
    report = thread.ask("How did turnover develop?", tmp_path / "report.csv").report
    assert "per month" in report
    assert "weakest: 2024-04 with 188" in report
    example = pd.Timestamp(MONTHS[1]).strftime(form)
    guessed = f"period: {example} is read as 2024-02-01; no date shows whether the day or the month comes first"
    assert (guessed in report) == ("/" in form)


def test_a_guess_is_told_in_the_language_of_the_question(thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"日期": ["01/01/2024", "01/02/2024", "01/03/2024"], "销售额": VALUES[:3]})
    frame.to_csv(tmp_path / "sales.csv", index=False)
    report = thread.ask("每个月的销售额是多少？", tmp_path / "sales.csv").report
    assert "日期：01/02/2024 按 2024-02-01 读取" in report
