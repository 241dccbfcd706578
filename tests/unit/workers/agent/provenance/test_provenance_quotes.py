"""The sentence that the model is shown with an unsourced figure."""

from __future__ import annotations

import pytest
from provenance_kit import first


@pytest.mark.parametrize(
    "sentence",
    [
        "The column net_margin_pct has a mean of 77.",
        "The column `net_margin_pct` of sales_2024.csv has a mean of 77.",
        "The **top 2** regions of [the file](https://example.com/a) have 77 orders.",
    ],
)
def test_a_sentence_is_quoted_as_the_report_has_it(sentence: str) -> None:
    assert first(sentence, "a 1\n").sentence == sentence


def test_a_row_of_a_table_is_quoted_with_its_underscores() -> None:
    assert first("| column | mean |\n|---|---|\n| net_margin_pct | 77 |\n", "a 1\n").sentence == "net_margin_pct | 77"


def test_a_quote_has_no_token() -> None:
    assert first("The mean of a_b is 77 [=1:78].", "a 1\n").sentence == "The mean of a_b is 77."
