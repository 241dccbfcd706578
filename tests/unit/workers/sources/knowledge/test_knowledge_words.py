"""Words and tokens: what counts as the same word, what a part of a name may stand for, how much a text takes."""

from __future__ import annotations

import pytest

from workers.sources.knowledge.tokens import estimated_tokens
from workers.sources.knowledge.words import Phrases, abbreviates, abbreviates_both, spoken_initials, telling, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("custOrder_id2", ["cust", "order", "id", "2"]),
        ("HTTPServer", ["http", "serv"]),
        ("orders ordered", ["order", "order"]),
        ("Zürich", ["zurich"]),
        ("客户订单", ["客户", "户订", "订单"]),
        ("a 店 b", ["a", "店", "b"]),
        ("各地区 sales", ["各地", "地区", "sale"]),
        ("", []),
    ],
)
def test_names_are_split_endings_go_and_chinese_is_read_in_pairs(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_one_word_with_different_endings_is_the_same() -> None:
    for alike in (("charge", "charges", "charged"), ("category", "categories"), ("route", "routes"), ("bus", "bus"),
                  ("KPI", "KPIs", "kpis"), ("SKU", "SKUs", "skus"), ("ID", "IDs")):  # fmt: skip
        assert len({tuple(words(each)) for each in alike}) == 1, alike


def test_words_that_only_hold_a_sentence_together_do_not_tell() -> None:
    assert telling("What is the average price of these orders per customer?") == words("average price order customer")
    assert "多少" not in telling("订单有多少")


@pytest.mark.parametrize(
    ("short", "word", "may"),
    [
        ("cust", "customer", True),
        ("shpmt", "shipment", True),
        ("acct", "account", True),
        ("rte", "route", True),
        ("cu", "customer", False),
        ("cust", "shipment", False),
        ("customer", "cust", False),
        ("客户", "客户订", False),
    ],
)
def test_a_short_form_has_the_first_letter_and_the_others_in_their_order(short: str, word: str, may: bool) -> None:
    assert abbreviates(short, word) is may


@pytest.mark.parametrize(
    ("short", "first", "second", "may"),
    [
        ("salord", "sales", "order", True),
        ("gdsrc", "goods", "receipt", True),
        ("salord", "order", "sales", False),
        ("sal", "sales", "order", False),
        ("salord", "sales", "report", False),
    ],
)
def test_a_short_form_of_two_words_has_letters_of_both(short: str, first: str, second: str, may: bool) -> None:
    assert abbreviates_both(short, first, second) is may


def test_chinese_characters_have_the_initials_that_they_are_spoken_with() -> None:
    assert spoken_initials("供应商的订单 AB, 門") == "gysddd      "
    assert spoken_initials("啊芭座") == "abz"


def test_a_phrase_is_found_word_for_word_and_the_longest_comes_first() -> None:
    phrases = Phrases([("churn", 1), ("churn rate", 2), ("流失率", 3), ("rate of churn", 4)])
    assert list(phrases.found_in("What are the churn rates?")) == [2, 1]
    assert list(phrases.found_in("上月流失率是多少")) == [3]
    assert list(phrases.found_in("the rate and the churning")) == [1]


def test_tokens_are_estimated_by_letters_digits_and_signs() -> None:
    assert estimated_tokens("") == 0
    assert estimated_tokens("cust_acct 12345") == 1 + 1 + 1 + 2
    assert estimated_tokens("客户\n") == 3
    assert estimated_tokens("a longer sentence of ordinary words") >= 7
