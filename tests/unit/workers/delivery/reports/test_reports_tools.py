"""A notebook and a script carry the source of the attribution tools that their cells import."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from report_cases import case

from core.steps import CellRan
from workers.delivery.reports import notebook as notebooks
from workers.delivery.reports.pack import PackInput, requirements
from workers.delivery.reports.render import render_report
from workers.delivery.reports.tools import tools_setup

pytestmark = pytest.mark.process

CODE = "import threadbook_tools as tt\nprint(int(tt.sample_size_rates(0.10, 0.12)))"
CELL = CellRan(call_id="c", cell_id="t/c1", title="Size", code=CODE, status="ok", stdout="3835\n")


@pytest.mark.parametrize(
    "code",
    [
        CODE,
        "from threadbook_tools import sample_size_rates as size\nprint(size(0.10, 0.12))",
        "from threadbook_tools.experiment import sample_size_rates\nprint(sample_size_rates(0.10, 0.12))",
    ],
)
def test_code_that_imports_them_runs_where_they_are_not_installed(code: str, tmp_path: Path) -> None:
    (tmp_path / "analysis.py").write_text(f"{tools_setup(code)}\n{code}\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-I", "analysis.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "3835\n", ran.stderr


def test_only_the_modules_that_are_used_are_carried() -> None:
    assert "def sample_size_rates" in tools_setup(CODE)
    assert "def decompose_change" not in tools_setup(CODE)


def test_a_module_brings_those_that_it_imports(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "shop.zip", "w") as archive:
        archive.writestr("shop.py", "def total(): pass\n")
    code = "from threadbook_tools import Repository\nprint(Repository('shop.zip').outline())"
    (tmp_path / "analysis.py").write_text(f"{tools_setup(code)}\n{code}\n", encoding="utf-8")
    command = [sys.executable, "-I", "analysis.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout == "shop.py (1 line)\n  1: def total()\n", ran.stderr
    assert "def sample_size_rates" not in tools_setup(code)


@pytest.mark.parametrize("code", ["print('threadbook_tools')", "import pandas", "import threadbook_tools as", ""])
def test_other_code_carries_nothing(code: str) -> None:
    assert tools_setup(code) == ""


def test_the_notebook_shows_their_source_and_the_pack_needs_what_they_need() -> None:
    given = case("3,835 people.", cells=(CELL,), earlier=())
    assert "def sample_size_rates" in notebooks.notebook(given)
    files = render_report(given).files
    script = next(file.data.decode() for file in files if file.name == "analysis.py")
    assert ast.parse(script)
    needed = requirements(PackInput(given, files, packages=("pandas 2.2.3", "numpy 1.26.4", "scipy 1.14.0")))
    assert needed == "numpy==1.26.4\npandas==2.2.3\nscipy==1.14.0\n"
