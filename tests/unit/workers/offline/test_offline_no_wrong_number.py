"""No confident wrong number: what was not read, not used or not understood is said, and gets no tick."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from workers.offline.cell_functions import to_number

pytestmark = pytest.mark.long

ROWS = 240


@pytest.fixture
def asked(thread: Any, tmp_path: Path) -> Callable[..., Any]:
    """`asked(frame, "question", …)` answers the last question about these rows."""

    def ask(frame: pd.DataFrame, *questions: str, header: bool = True) -> Any:
        if header:
            frame.to_csv(tmp_path / "data.csv", index=False)
            first = tmp_path / "data.csv"
        else:
            frame.to_excel(tmp_path / "data.xlsx", index=False, header=False)
            first = tmp_path / "data.xlsx"
        answer = thread.ask(questions[0], first)
        for question in questions[1:]:
            answer = thread.ask(question)
        return answer

    return ask


@pytest.fixture
def clinic() -> pd.DataFrame:
    """Visits of eighty patients to two clinics."""
    numbers = np.random.default_rng(29)
    return pd.DataFrame(
        {
            "visit_no": range(5000, 5000 + ROWS),
            "day": pd.date_range("2023-02-01", periods=ROWS).astype(str),
            "patient": numbers.choice([f"Patient Nr {n} of the list" for n in range(80)], ROWS),
            "clinic": numbers.choice(["Harbour", "Hill"], ROWS),
            "fee": numbers.gamma(3, 40, ROWS).round(2),
        }
    )


# --- amounts that are written short


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["8.4K", "2.1M", "700"], [8_400, 2_100_000, 700]),
        (["62k EUR", "2,5 Mio EUR", "4,1 Tsd. €"], [62_000, 2_500_000, 4_100]),
        (["$3.2bn", "$450 million"], [3.2e9, 4.5e8]),
        (["12 m", "3.5 m"], [12, 3.5]),
        (["4 kg", "6 kg", "300 g"], [4, 6, np.nan]),
        (["€9", "$5", "$7"], [np.nan, 5, 7]),
        (["1,5", "2.75", "3.25"], [np.nan, 2.75, 3.25]),
    ],
)
def test_a_number_is_read_as_meant_or_not_at_all(written: list[str], meant: list[float]) -> None:
    assert np.allclose(to_number(pd.Series(written)), meant, equal_nan=True)


def test_amounts_in_thousands_and_millions_are_added_up_as_such(asked: Any) -> None:
    frame = pd.DataFrame({"outlet": ["Radio", "Print"] * 3, "budget": ["8.4K", "2.1M", "35k", "900K", "1.5K", "700"]})
    exact = pd.Series([8_400, 2_100_000, 35_000, 900_000, 1_500, 700]).groupby(frame["outlet"]).sum()
    answer = asked(frame, "budget by outlet")
    assert all(f"| {name} | {value:,} |" in answer.report for name, value in exact.items())
    assert answer.has_tick


def test_many_cells_that_cannot_be_read_are_told_first_with_their_count(asked: Any) -> None:
    frame = pd.DataFrame({"outlet": ["Radio", "Print"] * 20, "budget": ["$10"] * 36 + ["€7"] * 4})
    answer = asked(frame, "budget by outlet")
    assert answer.report.startswith("**4 of 40 cells of budget cannot be read (€7)")
    assert "| Radio | $180" in answer.report
    assert not answer.has_tick


# --- totals and headers


@pytest.mark.parametrize("label", ["Total", "Grand total", "Summe", "合计"])
def test_a_row_of_totals_is_left_out_and_told(label: str, asked: Any) -> None:
    frame = pd.DataFrame({"depot": ["Kiel", "Ulm", "Hof", label], "crates": [31, 12, 7, 50]})
    report = asked(frame, "average crates").report
    assert f"Average crates: {frame['crates'][:3].mean():,.2f}" in report
    assert f"1 row is a total of other rows and is left out: {label}" in report


def test_subtotals_and_a_total_without_a_label_are_found_by_their_sums(asked: Any) -> None:
    frame = pd.DataFrame(
        {
            "land": ["A", "A", "A total", "B", "B", "B total", None],
            "depot": ["Kiel", "Ulm", None, "Linz", "Graz", None, None],
            "crates": [31, 12, 43, 20, 9, 29, 72],
        }
    )
    report = asked(frame, "crates by land").report
    assert "| A | 43 |" in report
    assert "| B | 29 |" in report
    assert "blank" not in report.partition("|")[2]
    assert "3 rows are totals" in report


def test_a_total_in_the_column_of_dates_is_no_month(asked: Any) -> None:
    frame = pd.DataFrame({"month": ["2024-04", "2024-05", "2024-06", "Total"], "crates": [31, 12, 7, 50]})
    report = asked(frame, "crates per month").report
    assert "Best month: 2024-04 with 31; weakest: 2024-06 with 7" in report


def test_a_customer_of_the_name_total_stays(asked: Any) -> None:
    frame = pd.DataFrame({"firm": ["Shell", "Total", "Aral"] * 20, "site": ["x", "y", "z"] * 20, "litres": range(60)})
    total = frame.groupby("firm")["litres"].sum()["Total"]
    assert f"| Total | {total:,} |" in asked(frame, "litres by firm").report


@pytest.mark.parametrize(
    "lines",
    [
        [
            ["Land", "2021", "2021", "2022", "2022"],
            [None, "H1", "H2", "H1", "H2"],
            ["A", 1, 2, 3, 4],
            ["B", 5, 6, 7, 8],
        ],
        [
            ["Stock list", None, None, None, None],
            [None, "2021", None, "2022", None],
            ["Land", "H1", "H2", "H1", "H2"],
            ["A", 1, 2, 3, 4],
        ],
    ],
)
def test_a_header_of_two_lines_is_declined(lines: list[list[object]], asked: Any) -> None:
    answer = asked(pd.DataFrame([*lines, ["C", 9, 10, 11, 12], ["D", 1, 1, 1, 1]]), "H1 by Land", header=False)
    assert "not sure which line of this table is its header" in answer.report
    assert not answer.has_tick


def test_a_title_above_the_header_is_no_data(asked: Any) -> None:
    lines = [["Crates 2024", None], [None, None], ["Land", "Crates"], ["A", 31], ["B", 12], ["A", 7]]
    report = asked(pd.DataFrame(lines), "Crates by Land", header=False).report
    assert "| A | 38 |" in report


# --- each word is used or named


def test_the_top_of_a_column_of_names_is_ranked(asked: Any, clinic: pd.DataFrame) -> None:
    answer = asked(clinic, "Top 4 patients by fee")
    best = clinic.groupby("patient")["fee"].sum().nlargest(4)
    assert f"{best.index[0]} leads by patient with {best.iloc[0]:,.0f}" in answer.report
    assert answer.report.count("| Patient Nr") == 4
    assert answer.has_tick


@pytest.mark.parametrize(
    ("question", "unused"),
    [
        ("How many patients do we have, and how many visits each on average?", "average"),
        ("average number of visits per clinic", "average"),
        ("margin by clinic", "margin"),
        ("how many patients do we have?", "patient"),
        ("Wie hoch ist die durchschnittliche fee nach clinic?", "durchschnittliche"),
    ],
)
def test_what_changes_the_question_and_is_not_understood_is_declined(
    question: str, unused: str, asked: Any, clinic: pd.DataFrame
) -> None:
    answer = asked(clinic, question)
    refusals = ("**I cannot answer this as asked, so I computed nothing.", "**So kann ich das nicht beantworten")
    assert answer.report.startswith(refusals)
    assert unused in answer.report.splitlines()[0]
    assert "|" not in answer.report
    assert not answer.has_tick


@pytest.mark.parametrize(
    ("questions", "unused"),
    [
        (["fee by clinic", "as a line chart"], "line chart"),
        (["fee by clinic with zebra stripes"], "zebra stripes"),
        (["total fee as a pie chart"], "pie chart"),
    ],
)
def test_a_part_that_is_not_used_stands_above_the_answer_without_a_tick(
    questions: list[str], unused: str, asked: Any, clinic: pd.DataFrame
) -> None:
    answer = asked(clinic, *questions)
    assert f"“{unused}”" in answer.report.splitlines()[0]
    assert not answer.has_tick


def test_a_question_that_is_wholly_understood_has_a_tick(asked: Any, clinic: pd.DataFrame) -> None:
    assert asked(clinic, "fee by clinic").has_tick


def test_small_words_of_a_german_question_are_not_listed(asked: Any, clinic: pd.DataFrame) -> None:
    answer = asked(clinic, "Bitte zeige uns die fee nach clinic")
    sums = clinic.groupby("clinic")["fee"].sum()
    assert f"| {sums.idxmax()} | {sums.max():,.0f} |".replace(",", ".") in answer.report
    assert "nicht verwendet" not in answer.report.casefold()


@pytest.mark.parametrize(
    "question", ["Umsatz nach Kanal", "Wie viele Leute sterben?", "How many patients die per clinic?"]
)
def test_what_names_nothing_of_the_data_gets_no_tick(question: str, asked: Any, clinic: pd.DataFrame) -> None:
    assert not asked(clinic, question).has_tick


def test_people_are_counted_by_group_and_not_paid(asked: Any) -> None:
    frame = pd.DataFrame({"team": ["Red", "Blue", "Red"] * 10, "salary": range(30)})
    assert "| Red | 20 |" in asked(frame, "headcount by team").report


def test_a_score_that_is_no_mean_is_declined(asked: Any) -> None:
    frame = pd.DataFrame({"reply": range(50), "nps": [0, 10, 9, 7, 6] * 10})
    answer = asked(frame, "What is our NPS?")
    assert "beyond what I can do offline" in answer.report
    assert not answer.has_tick
    assert f"{frame['nps'].mean():.3g}" not in answer.report.partition("## Findings")[0]


def test_the_highest_amount_is_one_value_and_no_group(asked: Any, clinic: pd.DataFrame) -> None:
    assert f"Highest fee: {clinic['fee'].max():,.2f}".rstrip("0") in asked(clinic, "What is the highest fee?").report


# --- means, charts, filters, files


def test_a_mean_that_one_value_moves_stands_beside_the_medians(asked: Any) -> None:
    numbers = np.random.default_rng(2)
    pay = numbers.normal(40_000, 3_000, 60).round()
    pay[4] = 1_200_000
    frame = pd.DataFrame({"gender": ["w", "m"] * 30, "salary": pay})
    report = asked(frame, "is there a gender pay difference?").report
    middle = frame.groupby("gender")["salary"].median()
    assert "One value moves a mean by more than 20 %" in report
    assert "1,200,000" in report
    assert all(f"{name} {value:,.0f}" in report for name, value in middle.items())
    assert "One value moves" not in asked(frame.drop(index=4), "average salary by gender").report


def test_two_long_names_that_begin_alike_are_two_bars(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"Institute for the Study of Coastal Waters, part {n}" for n in ("one", "two", "three")]
    frame = pd.DataFrame({"institute": names * 10, "grants": range(30)})
    drawn: list[int] = []
    close = plt.close
    monkeypatch.setattr(
        plt,
        "close",
        lambda what: (
            drawn.extend(len({bar.get_y() for bar in plt.gca().patches}) for _ in plt.get_fignums()),
            close(what),
        )[1],
    )
    asked(frame, "grants by institute")
    assert max(drawn) == 3


def test_a_filter_that_no_longer_holds_is_told(asked: Any, clinic: pd.DataFrame) -> None:
    report = asked(clinic, "total fee", "only Hill", "how many visits were there?").report
    assert f"Number of rows: {ROWS}" in report
    assert "all rows are counted again, no longer only Hill" in report


def test_that_alone_keeps_no_filter(asked: Any, clinic: pd.DataFrame) -> None:
    report = asked(clinic, "total fee", "only Hill", "what is the total fee that patients paid by clinic?").report
    assert "| Harbour |" in report


def test_export_saves_the_tables_and_says_so(asked: Any, clinic: pd.DataFrame, thread: Any) -> None:
    answer = asked(clinic, "fee by clinic", "export as Excel")
    assert answer.report.startswith("**The tables behind this answer are in the workbook tables-2.xlsx.**")
    saved = pd.read_excel(thread.notebook.folder / "tables-2.xlsx")
    assert np.allclose(saved["fee"], clinic.groupby("clinic")["fee"].sum().sort_values(ascending=False))
    assert answer.has_tick


def test_export_of_what_has_no_table_is_declined(asked: Any, clinic: pd.DataFrame) -> None:
    answer = asked(clinic, "total fee", "export as Excel")
    assert "no table behind this answer" in answer.report
    assert not answer.has_tick


def test_two_that_are_level_are_no_leader_and_a_second(asked: Any) -> None:
    wards = pd.DataFrame({"nurse": range(8), "ward": ["North", "South"] * 4})
    answer = asked(wards, "headcount by ward")
    assert "North, South are level by ward with 4 each" in answer.report
    assert "leads" not in answer.report


def test_growth_among_the_largest_is_said_to_be_only_that(asked: Any) -> None:
    days = pd.date_range("2024-01-01", periods=180).repeat(12)
    buyers = [f"Buyer {number}" for number in range(12)] * 180
    spent = pd.DataFrame({"day": days, "buyer": buyers, "amount": [100 - 8 * (at % 12) for at in range(len(days))]})
    spent.loc[(spent["buyer"] == "Buyer 11") & (spent["day"] >= "2024-04-01"), "amount"] *= 5
    answer = asked(spent, "Which buyer grew the most over time?")
    assert "largest of 12 were compared" in answer.report


@pytest.fixture
def gaps() -> pd.DataFrame:
    """Ten visits, of which three have no fee."""
    return pd.DataFrame(
        {"ward": ["Hill", "Lake"] * 5, "fee": [10.0, None, 30.0, None, 50.0, 60.0, None, 80.0, 95.0, 105.0]}
    )


@pytest.mark.parametrize(
    ("first", "question", "word"), [("total fee", "highest fee", "highest"), ("总fee是多少？", "最高fee", "最高")]
)
def test_the_highest_after_a_total_is_not_answered_with_the_total(
    asked: Any, gaps: pd.DataFrame, first: str, question: str, word: str
) -> None:
    report = asked(gaps, first, question).report
    assert "430" not in report
    assert f"“{word}”" in report


@pytest.mark.parametrize(
    "question",
    ["how many values are missing?", "number of missing fees by ward", "how many missing values per column?"],
)
def test_a_count_of_what_is_missing_is_not_answered_with_the_number_of_rows(
    asked: Any, gaps: pd.DataFrame, question: str
) -> None:
    report = asked(gaps, question).report
    assert "computed nothing" in report
    assert "“missing”" in report


def test_an_overview_still_says_what_is_missing(asked: Any, gaps: pd.DataFrame) -> None:
    assert "3 missing" in asked(gaps, "describe the missing values").report


@pytest.mark.parametrize(
    ("question", "said"), [("median fee", "from 7 of 10 rows"), ("fee的中位数是多少？", "10行中的7行")]
)
def test_a_number_says_how_many_rows_it_is_from(asked: Any, gaps: pd.DataFrame, question: str, said: str) -> None:
    assert said in asked(gaps, question).report


@pytest.mark.parametrize("question", ["describe the data", "distribution of fee"])
def test_a_share_that_the_analyst_computed_is_not_marked_as_computed_elsewhere(
    asked: Any, gaps: pd.DataFrame, question: str
) -> None:
    report = asked(gaps, question).report
    assert "%" in report
    assert "⚠" not in report


@pytest.mark.parametrize(
    ("questions", "word"),
    [
        (("did fees fall in March 2023?",), "fall"),
        (("fee per day and clinic", "share of Hill"), "share"),
    ],
)
def test_a_rise_or_a_share_that_is_asked_for_is_not_answered_with_a_sum(
    asked: Any, clinic: pd.DataFrame, questions: tuple[str, ...], word: str
) -> None:
    report = asked(clinic, *questions).report
    assert "computed nothing" in report
    assert f"“{word}”" in report


def test_words_of_a_forwarded_message_restrict_no_rows(clinic: pd.DataFrame, asked: Callable[..., Any]) -> None:
    quoted = "> Ben:\n> The fees of Harbour have fallen since March."
    plain, forwarded = asked(clinic, "total fee"), asked(clinic, f"total fee\n\n{quoted}")
    assert f"{clinic['fee'].sum():,.0f}" in plain.report
    assert forwarded.report.split("**")[1] == plain.report.split("**")[1]


def test_a_column_may_be_called_by_a_word_that_no_rule_answers(asked: Callable[..., Any]) -> None:
    seats = pd.DataFrame(
        {"flight": ["A", "B", "C", "A"] * 20, "empty_seats": range(80), "missing_bags": [1, 2, 3, 4] * 20}
    )
    assert "3,160" in asked(seats, "total empty seats").report
    assert "| A | 1,580 |" in asked(seats, "total empty seats by flight").report
    assert "200" in asked(seats, "total missing bags").report
    assert "Not used: “missing”" in asked(seats, "how many values are missing?").report
