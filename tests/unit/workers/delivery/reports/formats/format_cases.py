"""A report with all that a format has to take: charts of each kind, tables of numbers, hostile text, sources."""

from __future__ import annotations

import struct
import zlib

from report_cases import FAILED, LOAD, SUMMED, case

from core.steps import CellRan, ChartData, FigureSource, SeriesData, SourcePlace, TableData
from core.values import StoredFile


def png(width: int = 64, height: int = 36) -> bytes:
    """A small blue picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x2f\x6d\xb5" * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def chart(name: str, kind: str, points: list[tuple[object, object]], *more: str, total: int = 0) -> ChartData:
    """A chart of one series, or of one for each further name."""
    series = [
        SeriesData(kind=kind, name=each, points=tuple(points), total_points=total or len(points))  # type: ignore[arg-type]
        for each in (more or ("",))
    ]
    return ChartData(figure=f"{name}.png", title=name, x="along", y="EUR", series=tuple(series))


MONTHS = [(f"2024-{month:02d}-01T00:00:00", month * 1000) for month in range(1, 13)]
CHARTS = (
    chart("Revenue by month", "line", list(MONTHS), "North", "South"),
    chart("Revenue by region", "bar", [("North", 1_234_567), ("South with a long name", 765_432), ("West", None)]),
    chart("Share", "pie", [("North", 0.6), ("South", 0.4)]),
    chart("Price and volume", "scatter", [(number * 1.5, number**2) for number in range(20)]),
    chart("Cut", "line", list(MONTHS), total=9_000),
)
HOSTILE = TableData(
    columns=("region", "day", "amount", "=cmd|x", "year"),
    dtypes=("str", "datetime64[ns]", "float64", "str", "int64"),
    rows=(("North", "2024-01-01T00:00:00", 1234.5, "=1+1", 2024), ("South", "2024-02-01T00:00:00", -3.25, "@x", 2023)),
    total_rows=5_000,
    total_columns=5,
)


def _stored(name: str) -> StoredFile:
    return StoredFile(name=name, mimetype="image/png", size=9, sha256=name)


CELL: CellRan = SUMMED.model_copy(
    update={
        "charts": CHARTS,
        "tables": (HOSTILE,),
        "figures": tuple(_stored(f"{name}.png") for name in (*(each.title for each in CHARTS), "heatmap")),
    }
)
REPORT = """**North sold most: 1,234,567 EUR, 62 % of all revenue.** South follows with 765,432 EUR.

## Findings

- North: **1,234,567 EUR**, of which 50 % came in one month
- South: 765,432 EUR

| Region | Revenue | Share | Growth | When | Price | Key |
|---|---:|---:|---|---|---|---|
| North | 1,234,567 | 61.7 % | +3.5 % | 2024-01-01 | $13.7K | 007 |
| South | 765,432 | 38.3 % | −2.1 % | 2024-02-01 | $1.2K | 008 |
| =HYPERLINK("http://x") | – | – | – | | | |

## Recommendation

1. Look at the South
"""
SOURCES = (
    FigureSource(
        figure="1,234,567",
        state="sourced",
        places=(SourcePlace(what="table", cell_id="c3", line=1, about="North · amount", value="1234567"),),
    ),
    FigureSource(figure="50 %", state="unsourced"),
)
FULL = case(
    REPORT,
    cells=(LOAD, FAILED, CELL),
    sources=SOURCES,
    pictures={figure.sha256: png() for figure in CELL.figures},
)
