"""Two ways of writing one heading are found equal, and different headings are not."""

from __future__ import annotations

import pytest

from core.headings import heading_key


@pytest.mark.parametrize(
    "written",
    ["Findings", "FINDINGS", " findings: ", "**Findings**", "3. Findings", "3) Findings", "Findings 📈", "Ｆindings"],
)
def test_case_numbers_marks_and_punctuation_do_not_count(written: str) -> None:
    assert heading_key(written) == "findings"


@pytest.mark.parametrize("written", ["Finding", "Findings by region", "3 Findings", "发现"])
def test_other_words_are_another_heading(written: str) -> None:
    assert heading_key(written) != "findings"


def test_a_heading_without_a_letter_has_no_key() -> None:
    assert heading_key("## … ##") == ""
