"""The value index: which column holds a word of a question; bounded, and closest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.sources.knowledge.value_index import MOST_COLUMNS, MOST_FOUND, MOST_VALUES, ValueIndex
from workers.sources.values import TableName

ORDERS, SHOPS = TableName("public", "orders"), TableName("public", "shops")
INDEX = ValueIndex(
    {
        (ORDERS, "region"): ["NORTH", "SOUTH"],
        (ORDERS, "state"): ["CANCELLED", "IN TRANSIT", "Ok"],
        (SHOPS, "city"): ["Zürich", "São Paulo", "北京"],
        (SHOPS, "kind"): ["north", "2G", "month-to-month"],
    }
)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Sales in the north?", {("region", "NORTH"), ("kind", "north")}),
        ("orders in transit", {("state", "IN TRANSIT")}),
        ("What about zurich?", {("city", "Zürich")}),
        ("SAO PAULO.", {("city", "São Paulo")}),
        ("how many month to month contracts", {("kind", "month-to-month")}),
        ("cancelld orders", {("state", "CANCELLED")}),
        ("suoth", {("region", "SOUTH")}),
        ("the 2g cells", {("kind", "2G")}),
        ("the 3g cells", set()),
        ("北京的门店有多少", {("city", "北京")}),
        ("nothing of it", set()),
        ("", set()),
    ],
)
def test_a_value_is_found_by_how_people_write_it(question: str, found: set[tuple[str, str]]) -> None:
    assert {(each.column, each.value) for each in INDEX.find(question)} == found


def test_a_close_word_counts_less_than_the_same_word() -> None:
    assert [each.distance for each in INDEX.find("south and zurihc")] == [0, 1]


def test_what_is_beyond_the_limits_is_left_out_and_counted() -> None:
    wide = ValueIndex({(ORDERS, "note"): [f"value {at}" for at in range(MOST_VALUES + 1)]})
    assert (wide.left_out, wide.find("value 7")) == (1, ())
    many = ValueIndex({(ORDERS, f"c{at}"): ["red"] for at in range(MOST_COLUMNS + 5)})
    assert many.left_out == 5
    assert len(many.find("red")) == MOST_FOUND


@given(st.text(max_size=200))
def test_any_question_has_an_answer(question: str) -> None:
    assert len(INDEX.find(question)) <= MOST_FOUND
