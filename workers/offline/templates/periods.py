"""The cells that follow a measure over time."""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from workers.offline.cell_functions import (
    bars,
    by_period,
    covered,
    dates_below,
    ends_early,
    fill,
    last_season,
    name_of,
    named,
    short,
    tell,
    written,
)


def trend(
    work: Any, *, date: str, frequency: str, period: str, steps_of_a_year: int,
    aggregate: Callable[[Any], Any], total: Any, additive: bool, chart: str | None, title: str, measure_name: str,
    amount: str, axis_format: str, words: dict[str, str],
) -> Any:  # fmt: skip
    """A measure over time, per year against the same months of the year before, with its season."""
    dated = work.dropna(subset=[date])
    series: Any = by_period(dated, date, frequency, aggregate)
    every = series.index

    # A period that the data covers only in part would look like a fall.
    first_day, last_day = dated[date].min().normalize(), dated[date].max().normalize()
    length = (every.end_time - every.start_time).days + 1
    several = len(series) > 2
    skipped = int(several and (covered(dated[date])[0] - every[0].start_time).days > 0.15 * length[0])
    end = len(series) - int(several and ends_early(dated[date], every))
    empty = int(series.iloc[skipped:end].isna().sum())
    whole = series.iloc[skipped:end].dropna()
    partial = ", ".join(name_of(part) for part in [*every[:skipped], *every[end:]]) or None

    tell(
        "trend", first=name_of(whole.index[0]), first_value=whole.iloc[0], last=name_of(whole.index[-1]),
        last_value=whole.iloc[-1], best=name_of(whole.idxmax()), best_value=whole.max(), worst=name_of(whole.idxmin()),
        worst_value=whole.min(), average=whole.mean(), partial=partial, total=series.sum(), empty=empty,
        undated=len(work) - len(dated), undated_total=total - series.sum() if additive else None,
        from_day=str(first_day.date()), to_day=str(last_day.date()),
    )  # fmt: skip
    for year in sorted(set(whole.index.year)):
        now = whole[whole.index.year == year]
        before = whole[(whole.index.year == year - 1) & whole.index.month.isin(now.index.month)]
        comparable = set(before.index.month) == set(now.index.month) and before.sum() > 0
        value, earlier = (now.sum(), before.sum()) if additive else (now.mean(), before.mean())
        tell(
            "year", year=year, value=value, whole=len(now) >= steps_of_a_year, through=name_of(now.index[-1]),
            since=name_of(now.index[0]) if now.index[0].start_time.month > 1 else None,
            before=earlier if comparable else None, change=now.mean() / before.mean() - 1 if comparable else None,
        )  # fmt: skip
    if frequency == "M" and len(whole) >= 24:
        season = whole.groupby(whole.index.month).mean() / whole.mean()
        high, low = season.idxmax(), season.idxmin()
        tell("season", digits=3, high=high, high_ratio=season.max(), low=low, low_ratio=season.min())

    print(fill("row_count", words, rows=len(work)))

    _, ax = plt.subplots()
    if chart == "bar":
        colors = ["#2563eb" if part in whole.index else "#bfdbfe" for part in every]
        ax.bar(every.to_timestamp(), series, width=0.8 * length, color=colors, align="edge")
        ax.grid(axis="x", visible=False)
    else:
        if len(whole) + empty < len(series):
            partial = words["incomplete"]
            ax.plot(every.to_timestamp(), series, color="#93c5fd", linestyle=":", linewidth=1.5, label=partial)
        marker = "o" if len(whole) <= 40 or empty else None
        ax.plot(whole.index.to_timestamp(), whole, marker=marker, markersize=4, linewidth=2)
        ax.axhline(whole.mean(), color="#9ca3af", linewidth=1, linestyle="--", label=words["mean"])
        ax.legend(loc="upper left")
    if additive:
        ax.set_ylim(bottom=min(0, series.min() * 1.05))
    ax.set(title=title, ylabel=amount)
    ax.yaxis.set_major_formatter(written(axis_format, words))
    dates_below(ax, words)
    return series.rename(measure_name).rename_axis(period).reset_index().astype({period: str})


def trend_by(
    work: Any, *, date: str, frequency: str, period: str, by_name: str, aggregate: Callable[[Any], Any],
    additive: bool, most: int, chart: str | None, title: str, amount: str, axis_format: str, words: dict[str, str],
) -> Any:  # fmt: skip
    """A measure over time, one line for each of the largest groups."""
    dated = work.dropna(subset=[date])
    dated = dated[dated[by_name].notna()]
    groups = dated[by_name].astype(str)
    wide = aggregate(dated.groupby([dated[date].dt.to_period(frequency), groups])).unstack()
    every = pd.period_range(wide.index.min(), wide.index.max(), freq=frequency)
    wide = (wide.fillna(0) if additive else wide).reindex(every)
    whole = wide.iloc[:-1] if len(wide) > 2 and ends_early(dated[date], every) else wide
    sizes = wide.sum() if additive else wide.mean()
    largest = sizes.nlargest(most).index

    partial = name_of(every[-1]) if len(whole) < len(wide) else None
    tell("trend_by", groups=groups.nunique(), shown=len(largest), partial=partial, left_out=len(work) - len(dated))
    known = whole.dropna(how="all")
    half = len(known) // 2
    for name in largest:
        line = known[name]
        early, late = line.iloc[:half].mean(), line.iloc[-half:].mean() if half else line.mean()
        grown = late / early - 1 if half and early > 0 else None
        tell("line", name=name, value=sizes[name], best=name_of(line.idxmax()), change=grown)

    print(fill("rows_of", words, shown=len(dated), rows=len(work)))

    fig, ax = plt.subplots()
    if chart == "bar":
        many, step = len(whole) > 8, max(1, len(whole) // 12)
        stacked = additive and many and bool((whole[largest] >= 0).all(axis=None))
        whole[largest].plot.bar(ax=ax, stacked=stacked, width=0.8, legend=False, xlabel="")
        names = [name_of(part) for part in whole.index[::step]]
        ax.set_xticks(range(0, len(whole), step), names, rotation=45 if many else 0, ha="right" if many else "center")
        ax.grid(axis="x", visible=False)
    else:
        marker = "o" if len(whole) <= 40 else None
        for name in largest:
            ax.plot(whole.index.to_timestamp(), whole[name], linewidth=2, marker=marker, markersize=3.5, label=name)
        dates_below(ax, words)
    if additive:
        ax.set_ylim(bottom=min(0, np.nanmin(whole[largest].to_numpy()) * 1.05))
    ax.set(title=title, ylabel=amount)
    ax.yaxis.set_major_formatter(written(axis_format, words))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=min(len(largest), 6))
    return wide.rename_axis(period).reset_index().astype({period: str})


def change(
    work: Any, *, date: str, frequency: str, season: int, asked_for: str,
    asked: Callable[[Any], Any] | None, by: str, splits: list[str], aggregate: Callable[[Any], Any], additive: bool,
    column: str | None, title: str, amount: str, axis_format: str, change_format: str, words: dict[str, str],
) -> None:  # fmt: skip
    """A period against the one before, and which groups the change comes from."""
    dated = work.dropna(subset=[date])
    periods = dated[date].dt.to_period(frequency)
    series: Any = by_period(dated, date, frequency, aggregate)
    every = series.index
    incomplete = ends_early(dated[date], every)
    last = len(every) - 1 - int(incomplete)
    print(fill("row_count", words, rows=len(work)))
    now = asked(every) if asked else every[last] if last >= 0 else None
    if now is None or pd.isna(series.get(now)) or pd.isna(series.get(now - 1)):
        tell("no_change", asked=asked_for, first=name_of(every[0]), last=name_of(every[-1]))
    else:
        here, before = dated[periods == now], dated[periods == now - 1]
        value, earlier = float(series[now]), float(series[now - 1])
        year_ago = series.get(now - season) if season > 1 else None
        tell("change", period=name_of(now), before=name_of(now - 1), value=value, earlier=earlier,
             change=value - earlier, share=value / earlier - 1 if earlier > 0 else None,
             partial=bool(incomplete and now == every[-1]),
             year_ago=year_ago if year_ago and year_ago > 0 else None)  # fmt: skip
        if season > 1:
            same = [other for other in every[1:] if other != now and (other - now).n % season == 0]
            steps = [[name_of(other), series[other] / series[other - 1] - 1] for other in same if series[other - 1] > 0]
            if steps:
                tell("same_step", steps=steps[-5:])
        if column and additive:
            for rows, when in ((here, now), (before, now - 1)):
                if len(rows):
                    amounts = rows[column]
                    tell("single", period=name_of(when), rows=len(rows), mean=amounts.mean(), largest=amounts.max(),
                         total=amounts.sum())  # fmt: skip

        parts = {}
        for group in splits:
            groups = named(dated[group], words)
            part = pd.DataFrame({"now": aggregate(here.groupby(groups)), "before": aggregate(before.groupby(groups))})
            part = part.fillna(0) if additive else part.dropna()
            part["change"] = part["now"] - part["before"]
            parts[group] = part.sort_values("change", ascending=value < earlier)
            for name, row in parts[group].head(4).iterrows():
                tell("part", by=group, name=name, **row)

        near = series[:-1] if incomplete and now != every[-1] else series
        near = near[(near.index >= now - 12) & (near.index <= now + 2)]
        _, ax = plt.subplots()
        marked = {now: "#2563eb", now - 1: "#93c5fd"}
        ax.bar(near.index.astype(str), near, color=[marked.get(when, "#d1d5db") for when in near.index])
        ax.set(title=title, ylabel=amount)
        ax.yaxis.set_major_formatter(written(axis_format, words))
        ax.tick_params(axis="x", rotation=45)
        ax.grid(axis="x", visible=False)

        shown = parts[splits[0]]["change"] if splits else pd.Series(dtype=float)
        shown = shown[shown.abs().nlargest(12).index].sort_values(ascending=False)
        if len(shown) > 1:
            heading = fill("change_by", words, now=str(now), before=str(now - 1))
            ticks, labels = written("{x:,.10g}", words), written(change_format, words)
            colors = ["#dc2626" if moved < 0 else "#059669" for moved in shown]
            ax = bars(short(shown.index), shown, heading, amount, by, ticks, labels, colors)
            ax.axvline(0, color="#6b7280", linewidth=1)


def forecast(
    work: Any, *, date: str, frequency: str, steps_ahead: int, steps_of_season: int,
    aggregate: Callable[[Any], Any], additive: bool, title: str, amount: str, axis_format: str,
    words: dict[str, str],
) -> None:  # fmt: skip
    """The next periods of a measure, by the simple method that did best on the periods already known."""
    dated = work.dropna(subset=[date])
    series: Any = by_period(dated, date, frequency, aggregate).astype(float)
    empty = int(series.isna().sum())
    series = series.fillna(0) if additive else series.interpolate()
    if ends_early(dated[date], series.index):
        series = series.iloc[:-1]  # the last period is not over yet
    ahead, season = steps_ahead, steps_of_season

    methods = {
        "last value": lambda known: np.repeat(known.iloc[-1], ahead),
        "average of the last four": lambda known: np.repeat(known.iloc[-4:].mean(), ahead),
    }
    if len(series) >= season + 6:
        methods["same period of last year, scaled by growth"] = lambda known: last_season(known, season, ahead)

    # Each method forecasts the known past from what was known before.
    needed = season + 2 if len(methods) == 3 else 4
    origins = range(max(needed, len(series) - 12), len(series))
    errors: dict[str, list[float]] = {name: [] for name in methods}
    for origin in origins:
        actual = series.iloc[origin : origin + ahead].to_numpy()
        for name, method in methods.items():
            errors[name].extend(method(series.iloc[:origin])[: len(actual)] - actual)
    tell("history", periods=len(series), tries=len(origins), empty=empty)
    print(fill("row_count", words, rows=len(dated)))
    if len(origins) >= 3:
        mean_errors = {name: float(np.mean(np.abs(found))) for name, found in errors.items()}
        for name, error in mean_errors.items():
            tell("method", name=name, mae=error)
        best = min(mean_errors, key=lambda name: mean_errors[name])
        width = float(np.quantile(np.abs(errors[best]), 0.8))
        coming = pd.period_range(series.index[-1] + 1, periods=ahead, freq=frequency)
        future: Any = pd.Series(methods[best](series), index=coming)
        tell("forecast", method=best, mae=mean_errors[best], naive_mae=mean_errors["last value"], total=future.sum(),
             typical=series.iloc[-season:].mean())  # fmt: skip
        for when, value in future.items():
            tell("next", period=name_of(when), value=value, low=value - width, high=value + width)

        fig, ax = plt.subplots()
        marker = "o" if len(series) <= 40 else None
        ax.plot(series.index.to_timestamp(), series, linewidth=2, marker=marker, markersize=4, label=words["so_far"])
        joined = pd.concat([series.iloc[-1:], future])
        ax.plot(joined.index.to_timestamp(), joined, linewidth=2, linestyle="--", marker="o", markersize=4,
                color="#f59e0b", label=words["forecast"])  # fmt: skip
        ax.fill_between(coming.to_timestamp(), future - width, future + width, color="#fde68a", alpha=0.6,
                        label=words["covered"])  # fmt: skip
        ax.set(title=title, ylabel=amount)
        ax.yaxis.set_major_formatter(written(axis_format, words))
        dates_below(ax, words)
        fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        if additive:
            ax.set_ylim(bottom=min(0, series.min(), (future - width).min()))
