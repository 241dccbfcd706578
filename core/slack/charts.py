"""Slack's own charts: blocks with small series, which people read value by value. Not every workspace has them.

Slack has limits for charts. Its documents name several numbers; this module uses the smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from core.slack.text import clip

Block = dict[str, Any]

CHART: Final = "data_visualization"
"""The kind of block."""
CHARTS: Final = 2
"""In one message."""
SERIES: Final = 6
POINTS: Final = 20
LABEL: Final = 20
UNNAMED: Final = "1"
"""The name of a lone series without one: Slack wants some."""
_TITLE: Final = 50

ChartKind = Literal["bar", "line"]


def chart(
    kind: ChartKind,
    title: str,
    categories: Sequence[str],
    series: Sequence[tuple[str, Sequence[float]]],
    *,
    x: str = "",
    y: str = "",
) -> Block:
    """Bars or lines: each series has a value for each category. The caller keeps to SERIES, POINTS and LABEL."""
    drawn = [
        {
            "name": name,
            "data": [{"label": each, "value": value} for each, value in zip(categories, values, strict=True)],
        }
        for name, values in series
    ]
    axes: Block = {"categories": list(categories)}
    axes |= {name: clip(text, _TITLE) for name, text in (("x_label", x.strip()), ("y_label", y.strip())) if text}
    return _titled(title, {"type": kind, "series": drawn, "axis_config": axes})


def pie(title: str, segments: Sequence[tuple[str, float]]) -> Block:
    """Slices, each above nothing. The caller keeps to SERIES and LABEL."""
    return _titled(title, {"type": "pie", "segments": [{"label": name, "value": value} for name, value in segments]})


def without_charts(blocks: Sequence[Block]) -> list[Block]:
    """The same blocks for a workspace without charts: their pictures are in the thread."""
    return [block for block in blocks if block.get("type") != CHART]


def chart_faults(block: Block) -> list[str]:
    """Every limit that a chart breaks; empty when Slack would take it."""
    drawn = block["chart"]
    series = drawn.get("series") or [{"name": "-", "data": drawn.get("segments", [])}]
    categories = drawn.get("axis_config", {}).get("categories", [point["label"] for point in series[0]["data"]])
    most = SERIES if drawn["type"] == "pie" else POINTS
    faults = {
        "/title: its length": not 0 < len(block["title"]) <= _TITLE,
        "/chart/series: too many, or a name twice": len({each["name"] for each in series}) < len(series)
        or len(series) > SERIES,
        "/chart: too many points": not 0 < len(categories) <= most,
        "/chart: a label's length": not all(
            0 < len(text) <= LABEL for text in (*categories, *(each["name"] for each in series))
        ),
        "/chart: points that are no categories": any(
            [point["label"] for point in each["data"]] != list(categories) for each in series
        ),
    }
    return [fault for fault, is_broken in faults.items() if is_broken]


def _titled(title: str, drawn: Block) -> Block:
    return {"type": CHART, "title": clip(" ".join(title.split()) or "…", _TITLE), "chart": drawn}
