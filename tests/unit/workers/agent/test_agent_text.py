"""Texts that others wrote, made short and clean."""

from __future__ import annotations

from workers.agent.text import shown_line, spoken_line, without_repeats

WARNED = """\
/opt/venv/lib/python3.11/site-packages/statsmodels/tsa/base.py:473: EstimationWarning: the model did not converge
  self._init_dates(dates, freq)
"""


def test_a_warning_is_told_once_with_its_count_and_without_the_machine_s_paths() -> None:
    told = without_repeats(WARNED * 15 + "done\n")
    assert (
        told
        == "base.py: EstimationWarning: the model did not converge\n  self._init_dates(dates, freq)\n(15 times)\ndone"
    )


def test_lines_that_are_no_warnings_stay_as_often_as_they_came() -> None:
    assert without_repeats("step\nstep\n") == "step\nstep"
    assert without_repeats("") == ""


def test_different_warnings_stay_apart() -> None:
    other = WARNED.replace("did not converge", "has no trend")
    assert without_repeats(WARNED + other + WARNED).count("EstimationWarning") == 2


def test_what_help_prints_is_not_the_line_that_people_see() -> None:
    printed = "region  Q1  Q2\nWest    12  15\nHelp on function trend in module tools:\n\n"
    printed += "trend(values)\n    The line.\n\n    More.\n"
    assert shown_line(printed, "") == "West    12  15"
    assert shown_line(printed + "rows 12\n", "") == "rows 12"
    assert shown_line("→ 12 rows\n" + printed, "") == "12 rows"


def test_people_see_no_row_of_a_table_without_its_table() -> None:
    table = "By region:\nregion  Q1  Q2\nWest    12  15\n(total)   30  40\n"
    assert spoken_line("rows read 12\n" + table, "") == "rows read 12"
    assert spoken_line(table, "") == ""
    assert spoken_line("", table) == ""
    assert spoken_line("West    12  15\n", "") == "West    12  15", "one line is no table"
    assert spoken_line(table + "Total  1,234.50\n", "") == "Total  1,234.50"
    assert spoken_line(table + "→ West leads:  12  15\n" + table, "") == "West leads:  12  15"
    assert spoken_line(f"rows read 12\n{table}[3 rows x 3 columns]\n", "") == "rows read 12"


def test_the_name_of_a_tables_index_stands_for_nothing() -> None:
    table = "         sheet   rows  kept\nmonth                      \n2024-01   7.5    7.5   7.5\n"
    assert spoken_line(f"last date: 2025-10-28\n{table}", "") == "last date: 2025-10-28"
    assert spoken_line(f"done\n{table}", "") == "done"


def test_a_number_between_a_heading_and_a_table_is_what_people_see() -> None:
    table = "   a   b   c\n0  1   2   3"
    assert spoken_line(f"Total:\n42\n{table}", "") == "42"
    assert spoken_line(f"Total:\nnone\n{table}", "") == "none"
    assert spoken_line(f"{table}\n1,234.5\n{table}", "") == "1,234.5"
    assert spoken_line(f"{table}\n-12%\n{table}", "") == "-12%"


def test_the_end_of_a_printed_series_stands_for_nothing() -> None:
    series = "Triage\n3    41.4\n4    45.5\nName: Kosten (EUR), dtype: float64"
    assert spoken_line(f"rows read 12\n{series}", "") == "rows read 12"
    assert spoken_line("North    1\nSouth    2\ndtype: int64", "") == ""
    assert spoken_line("", "North    1\nSouth    2\nLength: 2, dtype: int64") == ""
    assert spoken_line("dtype: none of it", "") == "dtype: none of it"
