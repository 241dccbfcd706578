"""Long outputs and reports are read in one go: a second look at all of a text for each part would take minutes."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import pytest

from workers.agent.provenance.claims.reading import read_report
from workers.agent.provenance.language.words import DOWN, FALL, UP
from workers.agent.provenance.outputs.grids import Reader


class Line(str):
    """A line that counts into how many words it was split."""

    __slots__ = ()
    counts: ClassVar[list[int]] = []

    def split(self, *given: Any, **named: Any) -> list[str]:
        """The words of the line."""
        words = super().split(*given, **named)
        self.counts.append(len(words))
        return words


def test_a_figure_on_a_long_line_takes_only_the_words_that_its_place_shows() -> None:
    place = Reader("output", 1, "c1", 0).place(1, Line("1   2\t" * 10_000))
    assert place.about == ("1 2 " * 30)[:120]
    assert max(Line.counts) < 200


@pytest.mark.timeout(120)
def test_a_report_of_empty_lines_of_windows_is_read_in_one_go() -> None:
    """Once, each reading took more than eight seconds, and a hundredth of that now."""
    for _ in range(16):
        assert read_report("\r\n" * 30_000).claims == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("cue", [DOWN, UP, FALL], ids=["down", "up", "fall"])
def test_blanks_behind_a_verb_in_two_parts_are_read_in_one_go(cue: re.Pattern[str]) -> None:
    """Once, 32,000 blanks took more than five seconds, and the time grew with their square."""
    assert cue.search("nahm um" + "\u00a0" * 400_000) is None
    assert cue.search("nahm um 1\u00a0559 ab, nahm um 1\u00a0559 zu") is not None
