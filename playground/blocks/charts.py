"""What the series of a chart have to keep to together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playground.blocks.rules import Complaint, Complaints


def one_value_each(chart: Any, pointer: str) -> Complaints:
    """No two series have one name, and each has one value for each category, in their order.

    Slack's documents ask for both. Its words for them are not known, so these are ours.
    """
    if not isinstance(chart, dict):
        return
    axis = chart.get("axis_config")
    categories = axis.get("categories") if isinstance(axis, dict) else None
    names: set[str] = set()
    for place, name, labels in _series(chart):
        if name in names:
            yield Complaint(f"series names must be unique: {name}", f"{pointer}/series/{place}/name")
        names.add(name)
        if labels != categories:
            yield Complaint("data must have one point for each category", f"{pointer}/series/{place}/data")


def _series(chart: dict[str, Any]) -> Iterator[tuple[int, str, list[Any]]]:
    """Place, name and labels of each series that is of the right form; the others have complaints of their own."""
    series = chart.get("series")
    for place, each in enumerate(series if isinstance(series, list) else ()):
        if isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get("data"), list):
            yield place, each["name"], [point.get("label") for point in each["data"] if isinstance(point, dict)]
