"""Suggested questions fit the columns at hand, whatever they are called."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.steps import ColumnNote, FileAbstract, Level, TableNote
from core.suggesting import COUNT, suggestions


def file(*columns: ColumnNote, path: str = "sales.csv") -> FileAbstract:
    tables = (TableNote(name="sales", rows=9, columns=columns),) if columns else ()
    return FileAbstract(path=path, format="csv", size=9, sha256="0" * 64, tables=tables)


ID = ColumnNote(name="order_id", dtype="int64", unique=9)
REGION = ColumnNote(name="Region", dtype="str", unique=4, levels=(Level(value="North", rows=3),))
UNITS = ColumnNote(name="weight", dtype="int64", unique=9)
REVENUE = ColumnNote(name="Revenue", dtype="float64", unique=9)
DAY = ColumnNote(name="ordered", dtype="str", samples=("2025-01-06", "2025-01-13"))
NOTE = ColumnNote(name="note", dtype="str", unique=400)


def test_a_measure_a_group_and_a_date_make_the_questions() -> None:
    assert suggestions([file(ID, REGION, UNITS, REVENUE, DAY, NOTE)], "en") == (
        "Which Region has the most Revenue?",
        "How did Revenue develop by ordered?",
        "How is Revenue related to weight?",
    )


def test_money_comes_before_counts_and_counts_before_the_rest() -> None:
    units = ColumnNote(name="units", dtype="int64")
    assert suggestions([file(UNITS, units, REVENUE, REGION)], "en")[0] == "Which Region has the most Revenue?"
    assert suggestions([file(UNITS, units, REGION)], "en")[0] == "Which Region has the most units?"


def test_they_are_in_the_language_of_the_thread() -> None:
    assert suggestions([file(REGION, REVENUE)], "zh")[0] == "哪个 Region 的 Revenue 最多？"


def test_words_alone_and_numbers_alone_have_questions_too() -> None:
    assert suggestions([file(REGION)], "en")[0] == "How many rows are there for each Region?"
    assert suggestions([file(REVENUE)], "en")[0] == "Which rows have an unusual Revenue?"
    assert len(suggestions([file(NOTE, ID)], "en")) == COUNT


def test_the_newest_table_is_asked_about() -> None:
    later = file(ColumnNote(name="Clicks", dtype="int64"), path="ads.csv")
    assert "Clicks" in suggestions([file(REVENUE), later, file(path="readme.txt")], "en")[0]


def test_without_a_table_nothing_is_suggested() -> None:
    assert suggestions([], "en") == ()
    assert suggestions([file(path="readme.txt")], "en") == ()


@given(
    st.lists(
        st.builds(
            ColumnNote,
            name=st.text(max_size=300),
            dtype=st.sampled_from(["int64", "str", "datetime64[ns]", "bool", ""]),
            unique=st.none() | st.integers(0, 99),
        ),
        max_size=8,
    )
)
def test_any_columns_give_three_different_lines_or_none(columns: list[ColumnNote]) -> None:
    found = suggestions([file(*columns, path="a\nb.csv")], "en")
    assert len(found) in (0, COUNT)
    assert len(set(found)) == len(found)
    assert all("\n" not in each and 0 < len(each) <= 300 for each in found)
