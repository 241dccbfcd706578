"""A table in a message is found in one go, whatever else the message holds."""

from __future__ import annotations

import pytest

from tests.work import growth, instructions_in
from workers.profiling.pasted import pasted_lines

TABLE = "city,sales\nRome,12\nOslo,7\nBern,9\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{TABLE}",
        f"How much?\n\n{TABLE}\nIn euros, please.",
        f"a,b\nc,d\n1,2\n{TABLE}",
        f"x,y\n1,2\n\n{TABLE}",
        f"```\n{TABLE}```",
    ],
)
def test_the_longest_table_below_a_row_of_names_is_found(text: str) -> None:
    found = pasted_lines(text)
    assert found is not None
    assert (found[1], found[3]) == (TABLE, ",")


@pytest.mark.parametrize("text", ["", "a, b and c\nwell, yes\nno, not 1", "1,2\n3,4\n5,6", "a,b\n1,2", "a,a\n1,2\n3,4"])
def test_prose_and_numbers_without_names_are_no_table(text: str) -> None:
    assert pasted_lines(text) is None


@pytest.mark.parametrize("line", ["1,1\n", "a,1\n", "a,b\n", ",\n"])
def test_lines_that_are_no_table_are_read_once(line: str) -> None:
    assert growth(lambda size: pasted_lines(line * size), 50, instructions_in) < 6


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_message_of_blanks_is_read_in_one_go(blank: str) -> None:
    """A pattern that begins anew at each blank would go on past the suite's limit for a test."""
    assert pasted_lines(f"a{blank * 400_000}b") is None
