"""The message about a run names each figure that changed, once."""

from __future__ import annotations

from core.schedules import Figure
from workers.schedules.telling import changes, lines


def figures(total: float, north: float) -> list[Figure]:
    """A report gives the total in its first line and again in its table."""
    named = [("All regions · customers", total), ("North · customers", north), ("All regions · customers", total)]
    return [Figure(place=place, name=name, value=value) for place, (name, value) in enumerate(named)]


def test_a_figure_that_the_report_gives_twice_is_told_once() -> None:
    told = changes(figures(2249, 988), figures(2256, 988))
    assert lines(told, "en") == ["All regions · customers: 2,249 → 2,256 (+0.3%)"]


def test_two_figures_of_one_name_and_other_values_are_both_told() -> None:
    before = [Figure(place=0, name="North", value=1), Figure(place=1, name="North", value=5)]
    now = [Figure(place=0, name="North", value=2), Figure(place=1, name="North", value=4)]
    assert lines(changes(before, now), "en") == ["North: 1 → 2 (+100.0%)", "North: 5 → 4 (-20.0%)"]
