"""The hand-over pack runs elsewhere: unpacked in an empty folder, with a Python of its own, by its one command."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from services import missing

from core.steps import CellRan
from workers.delivery.reports import ReportInput, render_report
from workers.delivery.reports.pack import PackInput, pack

pytestmark = pytest.mark.integration

SALES = b"region,units\nnorth,120\nsouth,100\nwest,30\n"
PLAIN = 'rows = open("sales.csv").read().split()\nprint(len(rows) - 1, "rows")'
WITH_PANDAS = (
    'import pandas as pd\n\nsales = pd.read_csv("sales.csv")\nprint(sales["units"].sum(), "units")\n'
    'sales.sort_values("units").to_csv("by_units.csv", index=False)'
)


def unpacked(code: str, folder: Path) -> Path:
    cell = CellRan(call_id="1", cell_id="c1", title="Look", code=code, status="ok", stdout="…")
    report = ReportInput(question="How many?", asker="Ana", language="en", report="See below.", cells=(cell,), files=())
    data = pack(PackInput(report, render_report(report).files, {"sales.csv": SALES}))
    zipfile.ZipFile(io.BytesIO(data)).extractall(folder)
    return folder


def make(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """`make` in that folder: nothing of our environment, but where packages come from."""
    python = Path(sys.base_prefix) / "bin" / "python3"
    known = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "NO_PROXY"))}
    known |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), **more}
    return subprocess.run(
        ["make", f"PYTHON={python}"], cwd=folder, env=known, capture_output=True, text=True, check=False
    )


def test_code_without_packages_runs_by_make_without_a_network(tmp_path: Path) -> None:
    folder = unpacked(PLAIN, tmp_path)
    assert (folder / "requirements.txt").read_text() == ""
    ran = make(folder, PIP_NO_INDEX="1")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "3 rows"


def test_code_with_pandas_installs_what_it_needs_and_gives_the_same(tmp_path: Path) -> None:
    folder = unpacked(WITH_PANDAS, tmp_path)
    assert (folder / "requirements.txt").read_text().startswith("pandas==")
    ran = make(folder)
    if ran.returncode != 0 and "No matching distribution" in ran.stderr:
        missing("a package index", ran.stderr.splitlines()[-1])
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "250 units"
    assert (folder / "work" / "by_units.csv").read_text().splitlines()[1] == "west,30"
    again = make(folder)
    assert again.stdout.splitlines() == ["cd work && ../.venv/bin/python ../analysis.py", "250 units"]
