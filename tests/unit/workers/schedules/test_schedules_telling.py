"""The message about a run names each figure that changed, once."""

from __future__ import annotations

from core.schedules.values import Figure
from workers.schedules.telling import MOST, changes, lines


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


def test_a_figure_whose_row_is_gone_is_told_and_no_other_row_stands_for_it() -> None:
    before = [Figure(place=0, name="ACME", value=1), Figure(place=1, name="Beta", value=5)]
    now = [Figure(place=1, name="Beta", value=4)]
    assert lines(changes(before, now), "en") == ["ACME (1) is not shown any more", "Beta: 5 → 4 (-20.0%)"]


def test_a_figure_is_told_by_its_place_in_the_reports_table_or_by_the_reports_words() -> None:
    def figure(place: int, value: float, **called: str) -> Figure:
        return Figure(place=place, name="DE · net_eur", value=value, **called)

    before = [figure(0, 1, quote="Germany brought 1 EUR."), figure(1, 1, heading="Germany · Net (EUR)")]
    now = [each.model_copy(update={"value": 2.0}) for each in before]
    assert lines(changes(before, now), "en") == ["Germany · Net (EUR): 1 → 2 (+100.0%)"]
    assert lines(changes(before[:1], now[:1]), "fr") == ["« Germany brought 1 EUR. »: 1 → 2 (+100,0%)"]


def test_of_many_figures_the_rest_is_counted() -> None:
    now = [Figure(place=place, name=f"row {place}", value=place) for place in range(MOST + 7)]
    assert lines(changes([], now), "en")[-1] == "and 7 more"
