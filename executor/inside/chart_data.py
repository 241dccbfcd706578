"""What a figure shows, as data.

Kind, title, labels and the points of each series, bounded. For whoever cannot see it, and for who draws it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from executor.inside.axis_values import counts_days, days, is_renamed, names_near, other_numbers, stood_for

_AXES, _SERIES, _POINTS, _TEXT = 4, 10, 200, 200


def describe_chart(figure: Any) -> list[dict[str, Any]]:
    """One entry per pair of axes that shows lines, bars, points or slices; the rest of matplotlib has none."""
    found = []
    for axes in figure.axes[:_AXES]:
        series = [*_lines(axes), *_bars(axes), *_scatters(axes), *_slices(axes)][:_SERIES]
        if series:
            names = [_text(axes.get_xlabel()), _text(axes.get_ylabel())]
            if _lies(axes):
                names.reverse()  # what the bars are of stands beside them, and their length below
            if other := other_numbers(_amounts(axes)):
                names[1] = f"{names[1]} [{_text(other[0])} = {other[1]:.15g}]".strip()
            found.append(
                {
                    "title": _text(axes.get_title() or axes.get_title(loc="left")),
                    "x": names[0],
                    "y": names[1],
                    "series": series,
                    "more": _shows_more(axes),
                }
            )
    return found


def _lies(axes: Any) -> bool:
    return any(getattr(container, "orientation", "vertical") == "horizontal" for container in axes.containers)


def _amounts(axes: Any) -> Any:
    """The axis along which the amounts stand."""
    return axes.xaxis if _lies(axes) else axes.yaxis


def _series(kind: str, name: object, xs: Iterable[Any], ys: Iterable[Any]) -> dict[str, Any]:
    pairs = [[_scalar(x), _scalar(y)] for x, y in zip(xs, ys, strict=False)]
    label = "" if str(name).startswith("_") else _text(name)
    return {"kind": kind, "name": label, "points": pairs[:_POINTS], "total_points": len(pairs)}


def _lines(axes: Any) -> list[dict[str, Any]]:
    return [
        _series(
            "line",
            line.get_label(),
            stood_for(axes.xaxis, list(line.get_xdata(orig=True))[:10_000]),
            list(line.get_ydata(orig=True))[:10_000],
        )
        for line in _own_lines(axes)[:_SERIES]
    ]


def _own_lines(axes: Any) -> list[Any]:
    """The lines whose points lie where their numbers say: a line across all of the axes (axhline) has no points."""
    return [line for line in axes.lines if line.get_transform() == axes.transData]


def _bars(axes: Any) -> list[dict[str, Any]]:
    found = []
    grouped = sum(hasattr(container, "patches") for container in axes.containers) > 1
    for container in axes.containers[:_SERIES]:
        bars = [patch for patch in getattr(container, "patches", []) if hasattr(patch, "get_height")]
        if not bars:
            continue
        if getattr(container, "orientation", "vertical") == "horizontal":
            bars = sorted(bars, key=lambda bar: bar.get_y(), reverse=not axes.yaxis_inverted())  # from the top
            xs = _labels(axes.yaxis, [(bar.get_y(), bar.get_height()) for bar in bars], grouped=grouped)
            ys = [bar.get_width() for bar in bars]
        else:
            xs = _labels(axes.xaxis, [(bar.get_x(), bar.get_width()) for bar in bars], grouped=grouped)
            ys = [bar.get_height() for bar in bars]
        found.append(_series("bar", container.get_label(), xs, ys))
    return found


def _labels(axis: Any, places: list[tuple[float, float]], *, grouped: bool) -> list[Any]:
    """What each bar is of, given where it begins and how wide it is: marks of the axis, else dates, else places.

    `grouped`: bars of several series stand side by side, so that a bar may stand beside its mark.
    """
    middles = [round(begin + width / 2, 6) for begin, width in places]
    marks = {
        round(float(at), 6): label.get_text()
        for at, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False)
    }
    if all(named := [marks.get(at, "") for at in middles]):
        return named
    if grouped and (named := names_near(axis, middles)):
        return named
    if not counts_days(axis):
        return middles  # some have a mark: as labels beside places they would be misread
    begins = [round(begin, 6) for begin, _ in places]
    return days(begins if all(at % 1 == 0 for at in begins) and any(at % 1 for at in middles) else middles)


def _scatters(axes: Any) -> list[dict[str, Any]]:
    found = []
    for collection in axes.collections[:_SERIES]:
        if type(collection).__name__ == "PathCollection":
            points = collection.get_offsets()[:10_000].tolist()
            xs = stood_for(axes.xaxis, [x for x, _ in points])
            found.append(_series("scatter", collection.get_label(), xs, (y for _, y in points)))
    return found


def _slices(axes: Any) -> list[dict[str, Any]]:
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    if not wedges:
        return []
    shares = [(wedge.theta2 - wedge.theta1) / 360 for wedge in wedges]
    return [_series("pie", "", [wedge.get_label() for wedge in wedges], shares)]


def _shows_more(axes: Any) -> bool:
    """Whether the axes show what the series do not say, so that nobody draws the same chart from these alone.

    That is: bars on top of others, error bars, areas, pictures, lines and spans across the axes, a scale that is not
    even or runs backwards, marks that say other numbers than the points, and names of some of the points along a line.
    Words beside the points are not looked at.
    """
    if axes.get_xscale() != "linear" or axes.get_yscale() != "linear" or axes.images:
        return True
    if axes.xaxis_inverted() or (axes.yaxis_inverted() and not _lies(axes)):
        return True
    if other_numbers(_amounts(axes)):
        return True
    if any(type(each).__name__ != "PathCollection" for each in axes.collections):
        return True
    along = [line.get_xdata(orig=True) for line in axes.lines[:_SERIES]]
    along += [points.get_offsets()[:, 0] for points in axes.collections[:_SERIES]]
    if any(is_renamed(axes.xaxis, list(each)[:10_000]) for each in along):
        return True
    if len(_own_lines(axes)) < len(axes.lines):
        return True
    known: set[int] = set()
    for container in axes.containers:
        bars = [patch for patch in getattr(container, "patches", []) if hasattr(patch, "get_height")]
        lies = getattr(container, "orientation", "vertical") == "horizontal"
        if any((bar.get_x() if lies else bar.get_y()) != 0 for bar in bars):
            return True
        known.update(map(id, bars))
    return any(id(patch) not in known and type(patch).__name__ != "Wedge" for patch in axes.patches)


def _text(value: object) -> str:
    return str(value)[:_TEXT]


def _scalar(value: Any) -> float | int | str | None:
    if type(value).__name__ == "MaskedConstant":  # pandas leaves out a missing value so
        return None
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        # nanoseconds would come out as a number
        value = value.astype("datetime64[us]").item() if type(value).__name__ == "datetime64" else value.item()
    if isinstance(value, bool) or value is None:
        return None if value is None else int(value)
    if isinstance(value, (int, float)):
        return value if math.isfinite(value) and abs(value) < 1 << 62 else None
    return str(value.isoformat() if hasattr(value, "isoformat") else value)[:_TEXT]
