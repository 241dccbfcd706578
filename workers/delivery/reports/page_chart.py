"""A chart of the page, drawn from its data as SVG: sharp at any size, in the colours of the page, values on hover.

The page's policy allows no style inside a drawing, so colours are classes of `page.css`. A drawing is made for a width,
because its letters grow with it: the page shows the one that fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import NamedTuple

from core.phrases import written
from core.steps import ChartData, Scalar, SeriesData
from core.values import Language
from workers.delivery.reports.whole_charts import along_keys, bars_lie, is_whole, is_xy, labels_along, places

WIDE, NARROW = 720, 350
"""The widths in pixels: of a desk, and of a phone."""
_AIR = 0.1
"""How much wider than its values an axis of lines is, on either side."""
_LETTER, _LINE = 7.2, 18.0
"""The width of a letter and the height of a line, at the size that `page.css` gives them."""
_PLOT, _BAR = 300.0, 24.0
_GAP, _HEAD, _END = 8.0, 8.0, 14.0
_TICKS = 5
_LONGEST = 28
"""Letters of a label that lies; a longer one is cut."""
_SAME = 1e-12
"""Values that are nearer to each other than this, in parts of themselves, are one value to the eye."""
_DOTS = 60
"""A line of more points has no dots."""


class _Place(NamedTuple):
    """Where a value stands: a number of pixels, and what is written there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class _Axis:
    """A scale from values to pixels. `ticks` are what is written along it."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[_Place, ...]

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)


def svg(chart: ChartData, language: Language, width: int, name: str) -> str:
    """The drawing of a chart, as HTML; "" for slices, and if its data is incomplete. `name` is read out to people who
    do not see it.
    """
    if not is_whole(chart) or chart.series[0].kind == "pie" or not _amounts(chart):
        return ""
    head, top = _legend(chart, width)
    labels = labels_along([x for x, _ in chart.series[0].points])
    if chart.series[0].kind == "bar":
        lies = bars_lie(labels) or width < len(labels) * len(chart.series) * _BAR * 1.5
        body, height = (_lying if lies else _standing)(chart, labels, language, width, top)
    else:
        body, height = _lines(chart, labels, language, width, top)
    size = f'viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}"'
    return f'<svg {size} role="img" aria-label="{escape(name)}">{head}{body}</svg>'


def ticks(low: float, high: float, most: int = _TICKS) -> list[float]:
    """Round values from below `low` to above `high`, about `most` of them."""
    if high - low <= _SAME * max(abs(low), abs(high), 1e-250):
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    raw = (high - low) / max(1, most)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(times * power for times in (1.0, 2.0, 2.5, 5.0, 10.0) if times * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


# --- bars


def _standing(chart: ChartData, labels: Sequence[str], language: Language, width: int, top: float) -> tuple[str, float]:
    up, left = _upwards(chart, language, top, from_zero=True)
    band = (width - left - _END) / len(labels)
    room = max(3, int(band / _LETTER))
    parts = [_grid_up(up, left, width), _name_up(chart, up)]
    thick = min(64.0, band * 0.72) / len(chart.series)
    for place, label in enumerate(labels):
        middle = left + band * (place + 0.5)
        parts.append(_text(middle, up.start + _LINE, _cut(label, room), "middle"))
        for number, one in enumerate(chart.series):
            if (amount := _amount(one.points[place][1])) is not None:
                x = middle + (number - len(chart.series) / 2) * thick
                ends = sorted((up.at(0.0), up.at(amount)))
                box = (x, ends[0], thick - 1, ends[1] - ends[0])
                parts.append(_box(box, number, _said(chart, one, place, label, language)))
    parts.append(_zero_line(left, width - _END, up.at(0.0)))
    return "".join(parts) + _name_along(chart, left, width, up.start + 2 * _LINE), up.start + _below(chart, 2)


def _lying(chart: ChartData, labels: Sequence[str], language: Language, width: int, top: float) -> tuple[str, float]:
    shown = [_cut(label, min(_LONGEST, int(width * 0.4 / _LETTER))) for label in labels]
    left = max(map(places, shown)) * _LETTER + 2 * _GAP
    thick = max(9.0, _BAR * 0.8 / len(chart.series))
    band = thick * len(chart.series) + 7
    amounts = [*_amounts(chart), 0.0]
    values = ticks(min(amounts), max(amounts), 3 if width < WIDE else _TICKS)
    bottom = top + band * len(labels)
    along = _axis(values, left, width - 3 * _END, language)
    parts = [f'<path class="grid" d="M{tick.at:.1f} {top:.1f}V{bottom:.1f}"/>' for tick in along.ticks]
    longest = (max(places(tick.label) for tick in along.ticks) + 1) * _LETTER
    apart = along.ticks[1].at - along.ticks[0].at if len(along.ticks) > 1 else longest
    some = along.ticks[:: math.ceil(longest / apart)]  # long numbers on a phone would overlap
    parts += [_text(tick.at, bottom + _LINE, tick.label, "middle") for tick in some]
    for place, label in enumerate(shown):
        upper = top + band * place
        parts.append(_text(left - _GAP, upper + band / 2 + 4, label, "end"))
        for number, one in enumerate(chart.series):
            if (amount := _amount(one.points[place][1])) is not None:
                ends = sorted((along.at(0.0), along.at(amount)))
                box = (ends[0], upper + 3 + number * thick, ends[1] - ends[0], thick - 1)
                parts.append(_box(box, number, _said(chart, one, place, labels[place], language)))
    zero = along.at(0.0)
    parts.append(f'<path class="axis" d="M{zero:.1f} {top:.1f}V{bottom:.1f}"/>')
    name = _text((left + width) / 2, bottom + 2 * _LINE, chart.y, "middle", "name") if chart.y.strip() else ""
    return "".join(parts) + name, bottom + (2 + bool(name)) * _LINE - 4


def _box(box: tuple[float, float, float, float], number: int, said: str) -> str:
    x, y, width, height = box
    size = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}"'
    return f'<rect class="s{number}" {size}><title>{escape(said)}</title></rect>'


# --- lines and points


def _lines(chart: ChartData, labels: Sequence[str], language: Language, width: int, top: float) -> tuple[str, float]:
    up, left = _upwards(chart, language, top, from_zero=False)
    along = _along(chart, labels, language, left + _GAP, width - 2 * _END)
    parts = [_grid_up(up, left, width), _name_up(chart, up)]
    parts += [_text(tick.at, up.start + _LINE, tick.label, "middle") for tick in along.ticks]
    is_scatter = chart.series[0].kind == "scatter"
    for number, one in enumerate(chart.series):
        spots = [
            None if (y := _amount(value)) is None or at is None else (along.at(at), up.at(y))
            for (_, value), at in zip(one.points, _values_along(chart, one), strict=True)
        ]
        if not is_scatter:
            parts.append(f'<path class="line s{number}" d="{_path(spots)}"/>')
        few = is_scatter or len(spots) <= _DOTS
        names = (
            labels if not is_xy(chart) else _names_along(chart, [_amount(x) or 0.0 for x, _ in one.points], language)
        )
        for place, spot in enumerate(spots):
            if spot is not None:
                kind = "dot" if few else "spot"
                said = escape(_said(chart, one, place, names[place], language))
                at = f'cx="{spot[0]:.1f}" cy="{spot[1]:.1f}" r="{3.2 if few else 5}"'
                parts.append(f'<circle class="{kind} s{number}" {at}><title>{said}</title></circle>')
    if up.low <= 0.0 <= up.high:
        parts.append(_zero_line(left, width - _END, up.at(0.0)))
    return "".join(parts) + _name_along(chart, left, width, up.start + 2 * _LINE), up.start + _below(chart, 2)


def _path(spots: Sequence[tuple[float, float] | None]) -> str:
    """A line through the points; where one is missing, it is broken."""
    found, is_down = [], False
    for spot in spots:
        if spot is not None:
            found.append(f"{'L' if is_down else 'M'}{spot[0]:.1f} {spot[1]:.1f}")
        is_down = spot is not None
    return "".join(found)


def _values_along(chart: ChartData, one: SeriesData) -> list[float | None]:
    """Where the points of a series stand: by their number, by their time, or one after the other."""
    if is_xy(chart):
        return [_amount(x) for x, _ in one.points]
    times = [_time(x) for x, _ in chart.series[0].points]
    if None not in times:
        return [_time(x) for x, _ in one.points]
    return [float(place) for place in range(len(one.points))]


def _along(chart: ChartData, labels: Sequence[str], language: Language, start: float, end: float) -> _Axis:
    known = [at for one in chart.series for at in _values_along(chart, one) if at is not None]
    low, high = min(known), max(known)
    if high - low <= _SAME * max(abs(low), abs(high)):
        low, high = low - 1, high + 1
    if is_xy(chart):
        axis = _Axis(low, high, start, end, ())
        most = 8 if end - start > NARROW else 4
        shown = [value for value in ticks(low, high, most) if low <= value <= high] or [low]
        if along_keys(chart):
            shown = [value for value in shown if value.is_integer()] or [low]
        names = _names_along(chart, shown, language)
        return _Axis(low, high, start, end, tuple(map(_Place, map(axis.at, shown), names)))
    axis = _Axis(low, high, start, end, ())
    spots = [axis.at(at or 0.0) for at in _values_along(chart, chart.series[0])]
    room = max(map(places, labels)) * _LETTER + 2 * _GAP
    found: list[_Place] = []
    for at, label in zip(spots, labels, strict=True):
        if not found or at - found[-1].at >= room:
            found.append(_Place(at, _cut(label, _LONGEST)))
    return _Axis(low, high, start, end, tuple(found))


def _time(value: Scalar) -> float | None:
    """A day or a moment as seconds; None for what is none."""
    if not isinstance(value, str) or len(value) < len("2024-01-01"):
        return None
    try:
        return (datetime.fromisoformat(value).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
    except ValueError:
        return None


# --- what all have


def _upwards(chart: ChartData, language: Language, top: float, *, from_zero: bool) -> tuple[_Axis, float]:
    """The axis of the values, and where the plot begins on the left of it."""
    amounts = [*_amounts(chart), *([0.0] if from_zero else [])]
    top += _LINE if chart.y.strip() else 0
    ends = (min(amounts), max(amounts)) if from_zero else _with_air(min(amounts), max(amounts))
    axis = _axis(ticks(*ends), top + _PLOT, top, language)
    return axis, max(places(tick.label) for tick in axis.ticks) * _LETTER + 2 * _GAP


def _with_air(low: float, high: float) -> tuple[float, float]:
    """A wider range: a line whose lowest point lies on the axis looks like a fall to nothing. It does not pass zero."""
    air = (high - low) * _AIR
    return (low - air if low < 0 else max(low - air, 0.0)), (high + air if high > 0 else min(high + air, 0.0))


def _axis(values: Sequence[float], start: float, end: float, language: Language) -> _Axis:
    bare = _Axis(values[0], values[-1], start, end, ())
    return _Axis(
        values[0], values[-1], start, end, tuple(map(_Place, map(bare.at, values), _numbers(values, language)))
    )


def _legend(chart: ChartData, width: int) -> tuple[str, float]:
    """The names of the series where there are several, and where the plot may begin below them."""
    if len(chart.series) < 2:
        return "", _HEAD
    x, y, parts = 0.0, _LINE - 4, []
    for number, one in enumerate(chart.series):
        name = _cut(one.name or chart.y or str(number + 1), int((width - 40) / _LETTER))
        wide = places(name) * _LETTER + 34
        if x and x + wide > width:
            x, y = 0.0, y + _LINE
        parts.append(f'<rect class="s{number}" x="{x:.1f}" y="{y - 10:.1f}" width="11" height="11"/>')
        parts.append(_text(x + 16, y, name, "start"))
        x += wide
    return "".join(parts), y + _LINE


def _grid_up(up: _Axis, left: float, width: int) -> str:
    lines = (f'<path class="grid" d="M{left:.1f} {tick.at:.1f}H{width - _END:.1f}"/>' for tick in up.ticks)
    return "".join(lines) + "".join(_text(left - _GAP, tick.at + 4, tick.label, "end") for tick in up.ticks)


def _zero_line(left: float, right: float, at: float) -> str:
    return f'<path class="axis" d="M{left:.1f} {at:.1f}H{right:.1f}"/>'


def _name_up(chart: ChartData, up: _Axis) -> str:
    return _text(0, up.end - _LINE + 2, chart.y, "start", "name") if chart.y.strip() else ""


def _name_along(chart: ChartData, left: float, width: int, at: float) -> str:
    return _text((left + width) / 2, at, chart.x, "middle", "name") if chart.x.strip() else ""


def _below(chart: ChartData, lines: int) -> float:
    return (lines + bool(chart.x.strip())) * _LINE - 14


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    of = f' class="{kind}"' if kind else ""
    return f'<text{of} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _said(chart: ChartData, one: SeriesData, place: int, along: str, language: Language) -> str:
    """What a point says on hover; `along` is its label."""
    y = one.points[place][1]
    name = one.name or chart.y
    return f"{along} · {name}: {_exactly(y, language)}" if name else f"{along}: {_exactly(y, language)}"


def _exactly(value: Scalar, language: Language) -> str:
    return written(f"{value:,.10g}", language) if isinstance(value, int | float) else ""


def _numbers(values: Sequence[float], language: Language) -> Iterator[str]:
    """Values of an axis, as they are written there."""
    for value in values:
        yield written(f"{value:,.10g}", language)


def _names_along(chart: ChartData, values: Sequence[float], language: Language) -> list[str]:
    """Numbers along the chart, as they are written there."""
    return [f"{value:.0f}" for value in values] if along_keys(chart) else list(_numbers(values, language))


def _amounts(chart: ChartData) -> list[float]:
    return [amount for one in chart.series for _, y in one.points if (amount := _amount(y)) is not None]


def _amount(value: Scalar) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _cut(label: str, most: int) -> str:
    if places(label) <= most:
        return label
    kept = label
    while kept and places(kept) > most - 1:
        kept = kept[:-1]
    return kept + "…"
