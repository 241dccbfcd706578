"""Files that one plain line does not load: nested JSON, pages of several tables, loading lines that fail."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

pytestmark = pytest.mark.long

COUNTRIES = ("DE", "FR", "DE", "IT")
EVENTS = [
    {"user": {"country": COUNTRIES[n % 4], "id": n}, "minutes": n % 7, "at": f"2024-{n % 6 + 1:02}-{n % 28 + 1:02}"}
    for n in range(240)
]
MINUTES = sum(event["minutes"] for event in EVENTS if event["user"]["country"] == "DE")


def _written(folder: Path, form: str) -> Path:
    """The events in a file: records, records under a key, or one record per line."""
    texts = {
        "records.json": json.dumps(EVENTS),
        "keyed.json": json.dumps({"version": 1, "events": EVENTS}),
        "lines.jsonl": "\n".join(map(json.dumps, EVENTS)),
    }
    (folder / form).write_text(texts[form])
    return folder / form


@pytest.mark.parametrize("form", ["records.json", "keyed.json", "lines.jsonl"])
def test_nested_json_is_grouped_by_its_inner_fields(form: str, thread: Any, tmp_path: Path) -> None:
    answer = thread.ask("Total minutes by country?", _written(tmp_path, form))
    assert answer.failures == []
    assert f"| DE | {MINUTES:,} |" in answer.report


@pytest.mark.parametrize("form", ["records.json", "lines.jsonl"])
def test_nested_json_has_a_trend(form: str, thread: Any, tmp_path: Path) -> None:
    answer = thread.ask("Trend of minutes by country", _written(tmp_path, form))
    assert answer.failures == []
    assert f"DE: **{MINUTES:,}**" in answer.report
    assert thread.notebook.figures


@pytest.mark.parametrize("form", ["records.json", "lines.jsonl"])
def test_a_loading_line_that_fails_is_replaced_by_the_plain_reader(form: str, thread: Any, tmp_path: Path) -> None:
    thread.tamper = lambda file: file.model_copy(
        update={"read_hint": f"pd.json_normalize(pd.read_json({file.path!r})['nothing'])"}
    )
    answer = thread.ask("Total minutes by country?", _written(tmp_path, form))
    assert len(answer.failures) == 1
    assert f"| DE | {MINUTES:,} |" in answer.report


def test_a_file_that_nothing_loads_is_said_once_and_then_differently(thread: Any, tmp_path: Path) -> None:
    path = _written(tmp_path, "records.json")
    first_question = "Total minutes by country?"
    thread.tamper = lambda file: _broken(thread.notebook.folder, file)
    first = thread.ask(first_question, path)
    second = thread.ask(first_question)
    assert first.report.startswith("**I could not read the data.**")
    assert second.report.startswith("**I still cannot read the data.**")
    path.write_text(json.dumps(EVENTS))
    thread.tamper = lambda file: file
    assert f"| DE | {MINUTES:,} |" in thread.ask(first_question, path).report


def _broken(folder: Path, file: Any) -> Any:
    """The file, broken after it was described."""
    (folder / file.path).write_text("[{")
    return file


def test_each_table_of_a_page_is_read_at_its_own_place(thread: Any, tmp_path: Path) -> None:
    menu = pd.DataFrame({"page": ["home", "about"]})
    sales = pd.DataFrame({"city": ["Rome", "Oslo"] * 30, "sales": range(60)})
    (tmp_path / "page.html").write_text(menu.to_html(index=False) + sales.to_html(index=False))
    answer = thread.ask("Total sales by city?", tmp_path / "page.html")
    assert answer.failures == []
    assert f"| Oslo | {sum(range(1, 60, 2)):,} |" in answer.report or f"${sum(range(1, 60, 2)):,}" in answer.report


def test_months_without_days_are_whole_months(thread: Any, tmp_path: Path) -> None:
    months = [f"{year}-{month:02}" for year in (2022, 2023, 2024) for month in range(1, 13)]
    pd.DataFrame({"month": months, "sales": range(100, 136)}).to_csv(tmp_path / "months.csv", index=False)
    trend = thread.ask("Trend of sales per month", tmp_path / "months.csv")
    assert trend.failures == []
    assert f"2024: **{sum(range(124, 136)):,}**" in trend.report.replace("$", "")
    assert "incomplete" not in trend.report
    assert 'history: {"periods": 36,' in thread.ask("Forecast sales").cells[-1].stdout


def test_a_month_that_has_days_but_not_all_is_still_incomplete(thread: Any, tmp_path: Path) -> None:
    days = pd.date_range("2023-01-01", "2024-03-05")
    pd.DataFrame({"day": days, "sales": 1}).to_csv(tmp_path / "days.csv", index=False)
    report = thread.ask("Trend of sales per month", tmp_path / "days.csv").report
    assert "incomplete and left out of comparisons: 2024-03" in report


@pytest.mark.parametrize("name", ["temp_c", "humidity", "wind_speed", "pressure", "rating", "湿度", "气压"])
def test_what_is_measured_at_a_moment_is_averaged(name: str, thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"station": ["north", "south"] * 30, name: [10, 20, 14, 30] * 15})
    frame.to_csv(tmp_path / "weather.csv", index=False)
    report = thread.ask(f"{name} by station", tmp_path / "weather.csv").report
    assert "| south | 25 |" in report
    assert "| north | 12 |" in report


def test_figures_of_all_rows_are_not_told_as_those_of_a_filter(thread: Any, examples: Path) -> None:
    whole = thread.ask("How have our sales developed?", examples / "sales/sales.csv").report
    english = thread.ask("only 2023").report
    chinese = thread.ask("只看2023年，按地区").report
    assert "The data holds 203 refunds (" in whole
    assert "203 refunds in the whole file (" in english
    assert "Missing after cleaning, in the whole file: order_date 31" in english
    assert "整个文件中有203笔退款" in chinese
    assert "清洗后的缺失值（整个文件）" in chinese


def test_a_profile_of_several_files_speaks_of_several(thread: Any, tmp_path: Path) -> None:
    ids = range(1, 61)
    pd.DataFrame({"customer_id": ids, "city": ["Rome", "Oslo"] * 30}).to_csv(tmp_path / "people.csv", index=False)
    pd.DataFrame({"customer_id": ids, "paid": ids}).to_csv(tmp_path / "payments.csv", index=False)
    one = thread.ask("Describe this", tmp_path / "people.csv").report
    two = thread.ask("Describe these", tmp_path / "people.csv", tmp_path / "payments.csv").report
    assert "people.csv holds 60 rows" in one
    assert "payments.csv hold 60 rows" in two or "people.csv hold 60 rows" in two


@pytest.mark.parametrize(("copies", "said"), [(20, True), (1, False)])
def test_many_removed_copies_are_said_in_the_answer(copies: int, said: bool, thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"order_id": range(100), "city": ["Rome", "Oslo"] * 50, "sales": range(100)})
    pd.concat([frame, frame.iloc[:copies]]).to_csv(tmp_path / "orders.csv", index=False)
    report = thread.ask("Total sales by city", tmp_path / "orders.csv").report
    answer, _, method = report.partition("## Method")
    assert ("20 of the 120 rows (16.7%) are exact copies" in answer) is said
    assert "of a row removed" in method


def test_names_of_columns_with_blanks_around_them_are_read(thread: Any, tmp_path: Path) -> None:
    (tmp_path / "fees.csv").write_text(" Ward  Name , Fee ,Status\nHill,10,open\nLake,20,open\nHill,30,closed\n")
    answer = thread.ask("Total fee by ward name?", tmp_path / "fees.csv")
    assert answer.failures == []
    assert "| Hill | 40 |" in answer.report


def test_each_table_of_a_zip_can_be_asked(thread: Any, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.writestr("visits.csv", "month,visitors\n" + "".join(f"2024-{n:02},{n}\n" for n in range(1, 13)))
        archive.writestr("fees.csv", "ward,fee\n" + "Hill,10\nLake,20\n" * 20)
    assert "78" in thread.ask("Trend of visitors", tmp_path / "both.zip").report
    assert "| Lake | 400 |" in thread.ask("Total fee by ward?").report


@pytest.mark.parametrize(
    ("question", "said"),
    [("What does this chart show?", "I can only analyse tables offline"), ("这张图说明什么？", "离线时我只能分析表格")],
)
def test_a_thread_with_a_picture_alone_says_that_tables_are_needed(
    thread: Any, tmp_path: Path, question: str, said: str
) -> None:
    Image.new("RGB", (64, 48)).save(tmp_path / "chart.png")
    answer = thread.ask(question, tmp_path / "chart.png")
    assert said in answer.report
    assert (answer.gave_up, answer.has_tick) == ("", False)
