"""A figure comes from the cell that ran to its end, where another one that was cut short showed it too."""

from __future__ import annotations

import pytest
from provenance_kit import first, shown

REFUSED = {
    "status": "error",
    "error": "RequestRefused: This statement on shop needs a person's yes.",
    "error_name": "RequestRefused",
    "ended_by": "question",
}
WRONG = {"status": "error", "error": "KeyError: 'area'", "error_name": "KeyError"}


@pytest.mark.parametrize("ended", [REFUSED, WRONG], ids=["it asked a person", "it failed"])
def test_of_two_cells_with_a_figure_the_one_that_ran_to_its_end_is_the_source(ended: dict[str, str]) -> None:
    cut = shown("region revenue\nNorth   4711\n", number=1, **ended)
    whole = shown("region revenue\nNorth   4711\n", number=2)
    assert [place.cell for place in first("North has 4,711.", cut, whole).places] == [2]


def test_a_figure_that_only_a_failed_cell_showed_has_its_source_there() -> None:
    cut = shown("region revenue\nNorth   4711\n", number=1, **WRONG)
    assert [place.cell for place in first("North has 4,711.", cut, "other 12\n").places] == [1]


def test_a_cell_that_stopped_to_ask_and_ran_again_is_no_source() -> None:
    cut = shown("region revenue\nNorth   4711\n", number=1, **REFUSED)
    again = shown("region revenue\nNorth   9999\n", number=2).model_copy(update={"call_id": cut.call_id})
    assert first("North has 4,711.", cut, again).state == "unsourced"
