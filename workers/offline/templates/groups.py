"""The cells that set groups side by side, and columns against each other."""

# ruff: noqa: PLR0912, PLR0915 - a cell is read from top to bottom, so a template is one function
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats  # type: ignore[import-untyped]

from workers.offline.cell_functions import bars, fill, named, short, tell, tell_moved, written


def breakdown(
    work: Any, *, aggregate: Callable[[Any], Any], total: Any, column: str | None, additive: bool,
    rate: bool, averaged: bool, tested: bool, by: str, by_name: str, ordered: bool, banded: bool, days: list[str],
    whole_years: bool, date: str | None, ascending: bool, top: int | None, most: int, shown_rows: int,
    chart: str | None, title: str, measure_name: str, amount: str, axis_format: str, label_format: str,
    words: dict[str, str],
) -> Any:  # fmt: skip
    """A measure by groups, largest first, with shares and the change against the year before."""
    blank = words["blank"]
    groups = named(work[by_name], words)
    grouped = work.groupby(groups)
    table = pd.DataFrame({
        measure_name: aggregate(grouped), "rows": grouped[column].count() if column else grouped.size(),
    })  # fmt: skip
    if banded:
        table = table.reindex([band for band in work[by_name].cat.categories if band in table.index])
    elif days:
        table = table.reindex([day for day in [*days, blank] if day in table.index])
    elif ordered:
        table = table.sort_index(key=lambda names: names.map(lambda name: (name == blank, name)))
    else:
        table = table.sort_values(measure_name, ascending=ascending)
    if whole_years:
        last_day = work[date].max()
        if last_day.month < 12:
            tell("cut", year=last_day.year, until=str(last_day.date()))
    overall = total
    if additive:
        table["share"] = table[measure_name] / overall if overall and table[measure_name].min() >= 0 else np.nan
    if date and additive and not ordered and not banded:
        # The last twelve months against the twelve before, where the data is long enough.
        last_day = work[date].max()
        one_year, two_years = last_day - pd.DateOffset(years=1), last_day - pd.DateOffset(years=2)
        if work[date].min() <= two_years + pd.Timedelta(days=31):
            recent, before = work[work[date] > one_year], work[(work[date] > two_years) & (work[date] <= one_year)]
            table["last_12_months"] = aggregate(recent.groupby(groups))
            table["12_months_before"] = aggregate(before.groupby(groups))
            table["change"] = table["last_12_months"] - table["12_months_before"]
            moves = table["change"].drop(blank, errors="ignore").dropna().sort_values(key=lambda change: -change.abs())
            if len(moves):
                most_moved = [[name, change] for name, change in moves.head(5).items()]
                up, down = [moves.idxmax(), moves.max()], [moves.idxmin(), moves.min()]
                tell("changes", until=str(last_day.date()), most=most_moved, up=up, down=down)
    count = len(table)
    solid: Any = table[(table["rows"] >= 10) & table[measure_name].notna()]
    solid = (solid if len(solid) >= 2 else table.dropna(subset=[measure_name]))[measure_name]
    solid = solid.drop(blank) if blank in solid and len(solid) > 1 else solid
    if len(solid):
        high, low = [solid.idxmax(), solid.max()], [solid.idxmin(), solid.min()]
        rows = table["rows"].sum()
        tell("groups", digits=6, by=by_name, count=count, overall=overall, rows=rows, high=high, low=low)
    if tested and not rate and not column and count > 1:
        tell("test", digits=9, kind="even", p=stats.chisquare(table["rows"]).pvalue, effect=None)
    if rate:
        table["cases"] = grouped["is_target"].sum()
        counts = pd.crosstab(groups, work["is_target"])
        if min(counts.shape) > 1:
            test = stats.chi2_contingency(counts)
            effect = np.sqrt(test.statistic / counts.to_numpy().sum() / (min(counts.shape) - 1))
            tell("test", digits=9, p=test.pvalue, effect=round(effect, 4))
    for name, row in table.head(shown_rows).iterrows():
        others: Any = row.drop(measure_name).astype(float).to_dict()
        tell("group", digits=6, name=name, value=row[measure_name], **others)

    if averaged:
        tell_moved({str(name): part for name, part in grouped[column] if name in table.index[:shown_rows]})
    print(fill("row_count", words, rows=len(work)))

    shown = table[measure_name].head(shown_rows)
    if additive and not top and not ordered and not banded and not ascending and count > most:
        rest = {words["other"]: table[measure_name].iloc[most - 1 :].sum()}
        shown = pd.concat([table[measure_name].head(most - 1), pd.Series(rest)])
    names = short(shown.index)
    ticks, labels = written(axis_format, words), written(label_format, words)
    if chart == "pie" and additive:
        if shown.min() >= 0:
            _, ax = plt.subplots(figsize=(7.5, 5))
            ax.pie(shown, labels=names, autopct=written("{:.1f}%", words), startangle=90, counterclock=False,
                   pctdistance=0.78, wedgeprops={"width": 0.45, "edgecolor": "white"})  # fmt: skip
        else:  # a slice cannot be negative
            tell("no_pie", by=by_name, negative=int((shown < 0).sum()))
            ax = bars(names, shown, title, amount, by, ticks, labels)
        ax.set_title(title)
    elif ordered or banded:
        _, ax = plt.subplots()
        places = range(len(names))
        ax.bar_label(ax.bar(places, shown, color="#2563eb", width=0.65), fmt=labels, padding=3, fontsize=9)
        ax.set_xticks(places, names)
        ax.yaxis.set_major_formatter(ticks)
        ax.set(title=title, ylabel=amount, xlabel=by)
        ax.grid(axis="x", visible=False)
        ax.margins(y=0.12)
    else:
        ax = bars(names, shown, title, amount, by, ticks, labels)
    if rate:
        line = ax.axhline if ordered or banded else ax.axvline
        said = fill("all", words, share=written("{:.1%}", words)(overall))
        line(overall, color="#6b7280", linestyle="--", linewidth=1.2, label=said)
        ax.legend(loc="lower right")
    return table.reset_index()


def compare(
    work: Any, *, column: str, by: str, by_name: str, shown_rows: int, title: str, amount: str,
    axis_format: str, words: dict[str, str],
) -> Any:  # fmt: skip
    """A number between groups, with the spread and a test of the difference."""
    data = work[[column, by_name]].dropna()
    groups, values = data[by_name].astype(str), data[column].astype(float)
    table = values.groupby(groups).agg(["size", "mean", "median", "std"]).sort_values("mean", ascending=False)
    table = table[table["size"] >= 2].head(shown_rows)
    tell("compared", rows=len(data), left_out=len(work) - len(data))
    for name, row in table.iterrows():
        tell("side", name=name, rows=int(row["size"]), mean=row["mean"], median=row["median"], sd=row["std"])

    samples = [values[groups == name] for name in table.index]
    tell_moved(dict(zip(map(str, table.index), samples, strict=True)))
    if len(samples) == 2 and values.nunique() > 1:
        pooled = np.sqrt((samples[0].var() + samples[1].var()) / 2)
        effect = round((samples[0].mean() - samples[1].mean()) / pooled, 3) if pooled > 0 else None
        p, rank_p = stats.ttest_ind(*samples, equal_var=False).pvalue, stats.mannwhitneyu(*samples).pvalue
        tell("test", digits=9, kind="welch", p=p, rank_p=rank_p, effect=effect)
    elif len(samples) > 2 and values.nunique() > 1:
        kruskal = stats.kruskal(*samples)
        rest = max(1, sum(map(len, samples)) - len(samples))
        explained = max(0.0, (kruskal.statistic - len(samples) + 1) / rest)
        tell("test", digits=9, kind="kruskal", p=kruskal.pvalue, effect=round(explained, 4))

    print(fill("rows_of", words, shown=len(values), rows=len(work)))

    fig, ax = plt.subplots(figsize=(9, max(2.6, 1.6 + 0.5 * len(samples))))
    names = [str(name)[:32] for name in table.index[::-1]]
    ax.boxplot(samples[::-1], orientation="horizontal", tick_labels=names, showfliers=False, widths=0.6,
               patch_artist=True, boxprops={"facecolor": "#bfdbfe", "edgecolor": "#2563eb"},
               medianprops={"color": "#1e3a8a", "linewidth": 2}, whiskerprops={"color": "#2563eb"},
               capprops={"color": "#2563eb"})  # fmt: skip
    ax.scatter(table["mean"][::-1], range(1, len(samples) + 1), marker="D", color="#dc2626", s=28, zorder=3,
               label=words["mean"])  # fmt: skip
    ax.set(title=title, xlabel=amount, ylabel=by)
    ax.xaxis.set_major_formatter(written(axis_format, words))
    ax.grid(axis="y", visible=False)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper right")
    return table


def correlate(
    work: Any, *, x: str, y: str, x_amount: str, y_amount: str, x_axis_format: str, y_axis_format: str, title: str,
    words: dict[str, str],
) -> None:  # fmt: skip
    """How two numbers go together."""
    pair = work[[x, y]].dropna().astype(float)
    print(fill("rows_of", words, shown=len(pair), rows=len(work)))
    if len(pair) >= 3 and (pair.nunique() > 1).all():
        pearson, spearman = stats.pearsonr(pair[x], pair[y]), stats.spearmanr(pair[x], pair[y])
        slope, start = np.polyfit(pair[x], pair[y], 1)
        tell("pair", digits=9, x=x, y=y, rows=len(pair), pearson=round(pearson.statistic, 4),
             spearman=round(spearman.statistic, 4), p=spearman.pvalue, slope=round(slope, 6),
             left_out=len(work) - len(pair))  # fmt: skip

        _, ax = plt.subplots()
        shown = pair.sample(min(len(pair), 3000), random_state=0)
        ax.scatter(shown[x], shown[y], s=14, alpha=0.35, color="#2563eb", edgecolors="none")
        ends = np.array([pair[x].min(), pair[x].max()])
        ax.plot(ends, start + slope * ends, color="#dc2626", linewidth=2, label=words["linear_fit"])
        ax.set(title=title, xlabel=x_amount, ylabel=y_amount)
        ax.xaxis.set_major_formatter(written(x_axis_format, words))
        ax.yaxis.set_major_formatter(written(y_axis_format, words))
        ax.legend()


def correlations(work: Any, *, columns: list[str], title: str, words: dict[str, str]) -> Any:
    """Which numbers go together, all against all."""
    numbers = work[columns].astype(float)
    numbers = numbers.loc[:, (numbers.nunique() > 1) & (numbers.notna().sum() >= 10)]
    table = numbers.corr(method="spearman")
    upper = table.where(np.triu(np.ones(table.shape, dtype=bool), k=1)).stack().dropna()
    strongest = upper.reindex(upper.abs().sort_values(ascending=False).index)
    tell("correlations", pairs=len(upper))
    for (one, other), value in strongest.head(8).items():
        tell("pair", x=one, y=other, spearman=value, rows=len(numbers[[one, other]].dropna()))

    print(fill("row_count", words, rows=len(work)))

    if len(table) >= 2:
        size = 2.6 + 0.62 * len(table)
        fig, ax = plt.subplots(figsize=(size + 1.8, size))
        image = ax.imshow(table, cmap="RdBu_r", vmin=-1, vmax=1)
        names = [name.replace("_", " ")[:24] for name in table.columns]
        ax.set_xticks(range(len(names)), names, rotation=40, ha="right")
        ax.set_yticks(range(len(names)), names)
        coefficient = written("{:.2f}", words)
        for (row, column), value in np.ndenumerate(table.to_numpy()):
            color = "white" if abs(value) > 0.6 else "#374151"
            ax.text(column, row, coefficient(round(value, 2) + 0), ha="center", va="center", fontsize=8, color=color)
        fig.colorbar(image, ax=ax, shrink=0.8, label=words["rank_correlation"])
        ax.set_title(title)
        ax.grid(visible=False)
    return table.round(3)
