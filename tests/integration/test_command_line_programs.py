"""A program made from a thread runs inside the real walls and gives the thread's numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.settings import load_settings
from core.steps import CellRan, FileAbstract, TableData
from core.values import StoredFile
from executor.launch import running_host
from workers.agent.code.program import Part
from workers.builder.requirements.requirement import RunTable
from workers.builder.sandbox.walls import Job
from workers.delivery.reports.command_line import Program, differences, expected
from workers.turn.building import walls_for
from workers.turn.commands.program import made_by, sandbox_code

pytestmark = pytest.mark.integration

CODE = """\
import pandas as pd
import matplotlib.pyplot as plt
frame = pd.read_csv("sales.csv")
frame.plot.bar(x="region", y="units")
print("total units", frame["units"].sum())
frame.groupby("region").sum()"""
CELL = CellRan(
    call_id="c1",
    cell_id="x1",
    title="Totals",
    code=CODE,
    status="ok",
    stdout="total units 220\n",
    result="        units\nregion\nnorth 120\n",
    tables=(
        TableData(
            columns=("region", "units"),
            dtypes=("object", "int64"),
            rows=(("north", 120), ("south", 100)),
            total_rows=2,
            total_columns=2,
        ),
    ),
    figures=(StoredFile(name="figure-1.png", mimetype="image/png", size=1, sha256="0" * 64),),
)
PROGRAM = Program(
    question="How many?",
    language="en",
    parts=[(1, Part(CELL, CODE, "whole"))],
    wanted=frozenset({"x1"}),
    inputs=[FileAbstract(path="sales.csv", format="csv", size=1, sha256="0" * 64)],
)


def test_a_program_runs_inside_the_walls_with_its_table_and_its_chart(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("region,units\nnorth,120\nsouth,100\n")
    with running_host() as client:
        client.put("T1:C1:1.0", "sales.csv", tmp_path / "sales.csv")
        ran = client.run("T1:C1:1.0", "program", sandbox_code(PROGRAM), timeout_s=120)
        assert ran.status == "ok", ran.error
        left = made_by(ran)
    assert differences(expected(PROGRAM), ran.stdout, left) == []
    assert left["figure-1.png"] == ""


def test_a_build_of_a_thread_has_walls_with_the_limits_of_the_thread(tmp_path: Path) -> None:
    reaching = (
        "import socket\ntry:\n    socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError:\n    print('no')"
    )
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    with walls_for(settings, "T1:C1:1.0", RunTable(memory_mb=512)) as walls:
        assert walls.level != "none"
        assert walls.run(Job(("python", "a.py"), {"a.py": "print('hello')"})).stdout == "hello\n"
        assert walls.run(Job(("python", "a.py"), {"a.py": reaching})).stdout == "no\n"
        large = walls.run(Job(("python", "a.py"), {"a.py": "print(len(bytearray(2_000_000_000)))"}))
        assert "2000000000" not in large.stdout
