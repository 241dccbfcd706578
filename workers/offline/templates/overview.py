"""The cells that look at single values: the columns, single rows, one number, how a measure is spread."""

from __future__ import annotations

from typing import Any

import pandas as pd

from workers.offline.cell_functions import bars, copies_of, fill, histogram, tell, tell_moved, written


def profile(
    work: Any, *, numbers: list[str], dates: list[str], categories: list[str],
    shown: str | None, counted: bool, shown_title: str, amount: str, axis_format: str,
    words: dict[str, str],
) -> Any:  # fmt: skip
    """What is in the data, column by column."""
    table = pd.DataFrame({
        "dtype": work.dtypes.astype(str), "filled": work.notna().sum(), "missing": work.isna().mean().round(4),
        "unique": work.astype(str).nunique(),
        "example": [next((str(value)[:40] for value in work[column].dropna()), "") for column in work.columns],
    })  # fmt: skip
    empty = [column for column in work.columns if work[column].isna().all()][:20]
    missing = work.isna().sum()
    tell("profile", digits=6, rows=len(work), columns=work.shape[1], copies=copies_of(work).sum(),
         missing_cells=missing.sum(), missing_share=missing.sum() / work.size, empty_columns=empty)  # fmt: skip
    filled = [column for column in [*numbers, *dates, *categories] if missing[column] < len(work)]
    for column in filled:
        values = work[column].dropna()
        if column in numbers:
            tell("number", column=column, minimum=values.min(), median=values.median(), mean=values.mean(),
                 maximum=values.max(), missing=missing[column])  # fmt: skip
        elif column in dates:
            tell("span", column=column, first=str(values.min())[:10], last=str(values.max())[:10])
        else:
            counts = values.astype(object).astype(str).value_counts()
            top, share = counts.index[0][:40], counts.iloc[0] / counts.sum()
            tell("category", column=column, unique=len(counts), top=top, top_share=share, missing=missing[column])

    print(fill("row_count", words, rows=len(work)))

    if shown and counted:
        counts = work[shown].dropna().astype(str).str.slice(0, 32).value_counts().head(12)
        if len(counts):
            whole = written("{x:,.0f}", words)
            bars(counts.index, counts, shown_title, words["rows"], amount, whole, whole)
    elif shown:
        values = work[shown].dropna()
        if len(values):
            histogram(values, shown_title, amount, axis_format, words)
    return table


def rows(
    work: Any, *, column: str, columns: list[str], label: str, label_name: str, count: int,
    listed: bool, ascending: bool, title: str, amount: str, axis_format: str, words: dict[str, str],
) -> Any:  # fmt: skip
    """The single rows at the top or the bottom of a measure, or those that meet a condition."""
    ranked = work if listed else work.dropna(subset=[column])
    ranked = ranked.sort_values(column, ascending=ascending, kind="stable")
    shown = ranked[columns].head(count)
    ties = int((ranked[column] == shown[column].min()).sum()) if len(shown) == 1 and not listed else 1
    tell("ranked", rows=len(ranked), shown=len(shown), ties=ties)
    for _, row in shown.iterrows():
        value = row[column]
        others = row.drop(column).astype(str).str.slice(0, 40).to_dict()
        tell("row", value=None if pd.isna(value) else value, **others)
    print(fill("rows_of", words, shown=len(shown), rows=len(ranked)))
    if count > 1 and not listed:
        names = [f"{number}. {name}" for number, name in enumerate(shown[label].astype(str).str.slice(0, 32), start=1)]
        ticks = written(axis_format, words)
        bars(names, shown[column], title, amount, label_name, ticks, ticks)
    return ranked[columns] if listed else shown


def single_number(
    work: Any, *, total: Any, column: str | None, rate: bool, averaged: bool, words: dict[str, str]
) -> None:
    """One number."""
    more = {}
    if rate:
        more = {"cases": work["is_target"].sum()}
    elif column:
        more = {"missing": work[column].isna().sum()}
    tell("total", value=total if len(work) else None, rows=len(work), **more)
    if averaged:
        tell_moved({"": work[column]})
    print(fill("row_count", words, rows=len(work)))


def distribution(
    work: Any, *, column: str, columns: list[str], other: str | None, label: str, title: str,
    amount: str, axis_format: str, median_format: str, words: dict[str, str],
) -> Any:  # fmt: skip
    """How a measure is spread, and its values that stand far out."""
    values = work[column].dropna().astype(float)
    low, middle, high = values.quantile([0.25, 0.5, 0.75])
    fence = 1.5 * (high - low)
    far = values[(values < low - 2 * fence) | (values > high + 2 * fence)]
    outliers = ((values < low - fence) | (values > high + fence)).sum()
    tell("spread", count=len(values), minimum=values.min(), p5=values.quantile(0.05), q1=low, median=middle, q3=high,
         p95=values.quantile(0.95), maximum=values.max(), mean=values.mean(), skew=round(values.skew(), 2),
         outliers=outliers, far=len(far), negative=(values < 0).sum(), between=0.9)  # fmt: skip
    print(fill("rows_of", words, shown=len(values), rows=len(work)))
    table = work.loc[values.sub(middle).abs().nlargest(10).index, columns]
    for _, row in table.head(3).iterrows():
        others = row.drop(column).astype(str).str.slice(0, 40).to_dict()
        tell("extreme", value=row[column], **others)
    if other:
        largest = work[other].dropna().astype(float).nlargest(2)
        where = str(work.loc[largest.index[0], label])
        tell("other_extreme", digits=9, column=other, largest=largest.iloc[0], next=largest.iloc[-1], row=where)

    ax = histogram(values, title, amount, axis_format, words)
    median = fill("median", words, median=written(median_format, words)(middle))
    ax.axvline(middle, color="#dc2626", linewidth=1.5, linestyle="--", label=median)
    ax.legend()
    return table
