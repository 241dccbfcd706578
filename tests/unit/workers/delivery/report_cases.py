"""Finished turns to render: the small one of a real thread, and the extremes."""

from __future__ import annotations

from core.rows import Spent
from core.steps import CellRan, ColumnNote, FileAbstract, FileProblem, TableNote
from core.values import StoredFile
from workers.delivery.reports import ReportInput

CHART = StoredFile(name="revenue_by_region.png", mimetype="image/png", size=9, sha256="a" * 64)
MADE = StoredFile(name="summary.csv", mimetype="text/csv", size=9, sha256="c" * 64)
SALES = FileAbstract(
    path="sales.csv",
    format="csv",
    size=100,
    sha256="b" * 64,
    tables=(TableNote(name="sales", rows=1_234, columns=(ColumnNote(name="region", dtype="str"),)),),
)
UNUSED = FileAbstract(path="notes.md", format="md", size=10, sha256="d" * 64, text="Hello")

LOAD = CellRan(
    call_id="1",
    cell_id="c1",
    title="Load the ledger",
    code='import pandas as pd\n\nsales = pd.read_csv("sales.csv")\nprint(len(sales))',
    status="ok",
    stdout="3\n",
    files_read=("sales.csv",),
)
FAILED = CellRan(
    call_id="2",
    cell_id="c2",
    title="Sum by area",
    code='by_region = sales.groupby("region")\nprint(by_region["amont"].sum())',
    status="error",
    error_name="KeyError",
    error="KeyError: 'Column not found: amont'",
    error_line=2,
    files_read=(),
)
SUMMED = CellRan(
    call_id="3",
    cell_id="c3",
    title="Sum by region",
    code='from __future__ import annotations\nimport matplotlib.pyplot as plt\ntotals = by_region["amount"].sum()\n'
    'totals.plot.bar(title="销售额")\ntotals.to_csv("summary.csv")\ntotals',
    status="ok",
    stdout="",
    result="region\nNorth    3\nSouth    3",
    figures=(CHART,),
    files=(MADE,),
    files_read=(),
)
TIMED_OUT = CellRan(
    call_id="4",
    cell_id="c4",
    title="Try everything",
    code="while True:\n    pass",
    status="timeout",
    notice="This cell was stopped after 120 s; all variables are kept.",
)


def case(report: str, **changes: object) -> ReportInput:
    """A finished turn with this report."""
    given: dict[str, object] = {
        "question": "Which region sold most?\nSee https://example.com/wiki",
        "asker": "Ana",
        "language": "en",
        "report": report,
        "cells": (LOAD, FAILED, SUMMED),
        "files": (SALES, UNUSED),
        "model": "gpt-x",
        "duration_s": 75.2,
        "spent": Spent(prompt_tokens=12_000, completion_tokens=345),
        "turn_id": "T1:C1:100.000001/t1",
    }
    return ReportInput(**(given | changes))  # type: ignore[arg-type]


def table(rows: int, columns: int) -> str:
    """A Markdown table of this many rows below its header."""
    head = "| " + " | ".join(f"column {n}" for n in range(columns)) + " |\n|" + "---|" * columns + "\n"
    return head + "".join("| " + " | ".join(f"{r * n:,}" for n in range(columns)) + " |\n" for r in range(rows))


SHORT = case(
    "**North** sold most: 3 of 6 units (50 %).\n\n## Findings\n\n- North: 3\n- South: 3\n\n"
    "| Region | Units | Share |\n|---|---|---|\n| North | 3 | 50 % |\n| South | 3 | 50 % |\n\n"
    "See [the wiki](https://example.com/wiki) and [this](http://evil.example/x). <!channel>\n"
)
CHINESE = case(
    "**北方**销量最高：6 件中的 3 件（50 %）。\n\n## 发现\n\n| 地区 | 数量 |\n|---|---|\n| 北方 | 3 |\n\n"
    "## 分析方法\n\n按地区求和。",
    question="哪个地区卖得最多？",
    asker="小李",
    language="zh",
    cells=(LOAD, SUMMED, TIMED_OUT),
    problems=(FileProblem(name="old.pdf", why="我无法读取这种文件（.pdf）。"),),
)
LONG = case("\n\n".join(f"## Part {n}\n\n" + f"Sentence {n} says something. " * 60 for n in range(14)))
WIDE_TABLE = case("The answer is below.\n\n" + table(5, 30) + "\nThat is all.")
LONG_TABLE = case("The answer is below.\n\n" + table(250, 4) + "\nThat is all.")
MANY_TABLES = case("\n\n".join(f"Table {n}:\n\n{table(3, 3)}" for n in range(9)))
FENCES = case(
    "Short.\n\n"
    + "\n\n".join(
        f"```python\n# part {n}\n" + "\n".join(f"x_{k} = {k}" for k in range(250)) + "\n```" for n in range(5)
    )
    + "\n\n```text\n"
    + "\n".join(f"row {n}: {'=' * 60}" for n in range(300))
    + "\n```\n"
)
CASES = {
    "short": SHORT,
    "zh": CHINESE,
    "long": LONG,
    "wide_table": WIDE_TABLE,
    "long_table": LONG_TABLE,
    "many_tables": MANY_TABLES,
    "fences": FENCES,
}
