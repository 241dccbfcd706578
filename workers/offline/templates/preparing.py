"""The cells around an analysis: load, clean, look a name up, choose the rows, save the tables."""

from __future__ import annotations

import builtins
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from cycler import cycler

from workers.offline.cell_functions import fill, seek, spacing, tell


def style() -> None:
    """How charts look."""
    plt.rcParams.update({
        "figure.figsize": (9, 4.8), "figure.dpi": 120, "figure.constrained_layout.use": True, "text.parse_math": False,
        "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.unicode_minus": False,
        "axes.grid": True, "grid.color": "#e5e7eb", "axes.edgecolor": "#9ca3af", "axes.labelcolor": "#374151",
        "xtick.color": "#374151", "ytick.color": "#374151", "axes.titlelocation": "left", "axes.titlesize": 13,
        "axes.titlepad": 12, "legend.frameon": False,
        "axes.prop_cycle": cycler(
            color=["#2563eb", "#f59e0b", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#6b7280"]
        )
    })  # fmt: skip


def load(rows: int, *, first: Any, words: dict[str, str]) -> Any:
    """Says how much was read, after every table was loaded and looked at."""
    print(fill("row_count", words, rows=rows))
    return first.head()


def clean(
    df: Any, rows_read: int, *, date: str | None, dates: list[str], used: list[str], categories: list[str],
    words: dict[str, str],
) -> None:  # fmt: skip
    """Says what the clean data holds, after `df` was made."""
    missing = {column: int(count) for column, count in df[used].isna().sum().items() if count}
    span: dict[str, Any] = {"date_from": str(df[date].min())[:10], "date_to": str(df[date].max())[:10]} if date else {}
    tell("clean", rows_read=rows_read, rows=len(df), **span, missing=missing)
    for column in dates:
        tell("dates", column=column, step=spacing(df[column]))
    for column in categories:
        values = df[column].dropna().astype(str).value_counts().index[:15]
        tell("values", column=column, values=[value[:32] for value in values])
    print(fill("rows_of", words, shown=len(df), rows=rows_read))


def survey(*, source: str, words: dict[str, str]) -> None:
    """What each table of a data source holds, by its first rows."""
    rows = 0
    for name in builtins.tables(source)[:20]:  # type: ignore[attr-defined]
        frame = builtins.sample(name, 10_000, source)  # type: ignore[attr-defined]
        rows += len(frame)
        filled = {column: frame[column].dropna().astype(str) for column in frame}
        notes = [
            {"name": column, "dtype": str(frame[column].dtype), "missing": float(frame[column].isna().mean()),
             "unique": values.nunique(), "samples": [value[:80] for value in values.drop_duplicates()[:8]]}
            for column, values in filled.items()
        ]  # fmt: skip
        tell("table", digits=9, source=source, name=name, rows=len(frame), columns=notes)
    print(fill("row_count", words, rows=rows))


def look_up(df: Any, *, names: list[str], columns: list[str], words: dict[str, str]) -> None:
    """Where names that no known value holds stand in the data, if anywhere."""
    for name in names:
        seek(df, name, columns)
    print(fill("row_count", words, rows=len(df)))


def choose(df: Any, work: Any, steps: list[Any], *, of: list[Any], words: dict[str, str]) -> None:
    """How many rows each filter of the question left, and what there is instead when one left none."""
    tell("chosen", digits=9, of=of, steps=steps)
    print(fill("rows_of", words, shown=len(work), rows=len(df)))


def tables(*, file: str, sheets: dict[str, tuple[Any, bool]]) -> None:
    """Saves the tables behind an answer as one workbook, so that a report need not hold them whole."""
    with pd.ExcelWriter(file) as book:
        for sheet, (table, index) in sheets.items():
            table.to_excel(book, sheet_name=sheet, index=index)
    print(file)
