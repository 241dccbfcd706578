"""analysis.ipynb and analysis.py run on their own beside the input files, and give what the thread gave."""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import nbformat
import pytest
from notebooks import run_notebook
from report_cases import CHART, FAILED, LOAD, SHORT, SUMMED, TIMED_OUT, case

from core.steps import CellRan, StatementRan
from workers.agent.code.program import program
from workers.delivery.reports import render_report
from workers.delivery.reports.pack import PackInput, pack
from workers.delivery.reports.values import PastReport

pytestmark = pytest.mark.process

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def cell(code: str, **changes: Any) -> CellRan:
    return CellRan(**({"call_id": "x", "cell_id": "x", "title": "T", "code": code, "status": "ok"} | changes))


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder with the input file."""
    (tmp_path / "sales.csv").write_text("region,amount\nNorth,1\nSouth,3\nNorth,2\n")
    return tmp_path


def written(folder: Path, **changes: Any) -> Path:
    report = render_report(case("**North** sold most.", **changes))
    for file in report.files:
        (folder / file.name).write_bytes(file.data)
    return folder


def test_a_program_that_asked_a_data_source_asks_it_at_the_url_of_whoever_runs_it(beside: Path) -> None:
    with closing(sqlite3.connect(beside / "shop.db")) as file:
        file.execute("CREATE TABLE orders AS SELECT 1 AS id, 2.5 AS amount UNION ALL SELECT 2, 4.0")
        file.commit()
    sql = "SELECT sum(amount) AS s FROM orders WHERE id IN (:ids) AND id > :least"
    code = f"print(query({sql!r}, params={{'ids': [1, 2], 'least': 0}}).s[0], tables(), len(sample('orders', 1)))"
    ran = StatementRan(source="shop", sql="SELECT 1", rows=1, seconds=0.25)
    failed = StatementRan(source="shop", sql="SELECT x", error="no such column")
    report = render_report(case("**6.5**.", cells=(cell(code, statements=(failed, ran)),)))
    for file in report.files:
        (beside / file.name).write_bytes(file.data)
    assert "shop, 1 rows in 0.2 s: `SELECT 1`" in (beside / "report.md").read_text()
    assert "SELECT x" not in (beside / "report.md").read_text()
    assert "- shop, 1 rows" in (beside / "analysis.ipynb").read_text()
    without = run_script(beside)
    assert "set SHOP_DATABASE_URL" in without.stderr
    done = run_script(beside, SHOP_DATABASE_URL=f"sqlite:///{beside}/shop.db")
    assert (done.returncode, done.stdout) == (0, "6.5 ['orders'] 1\n"), done.stderr


def test_a_program_gets_the_rows_of_a_data_source_as_the_thread_got_them(beside: Path) -> None:
    with closing(sqlite3.connect(beside / "shop.db")) as file:
        file.execute("CREATE TABLE orders (id INTEGER, parent INTEGER, day DATE, name TEXT)")
        rows = [
            (1, None, "2024-01-31", "a"),
            (2, 9007199254740993, None, "b"),
            (3, 9007199254740995, "2024-03-01", "c"),
        ]
        file.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
        file.commit()
    code = (
        "orders = query('SELECT * FROM orders ORDER BY id')\n"
        "print(orders.parent.sum(), orders.parent.isna().sum(), orders.day.dt.month.sum(), orders.name.tolist())\n"
        "print(query('SELECT * FROM orders WHERE id < 0').columns.tolist())\n"
        "print(query('SELECT :x AS x, \\' :y\\' AS y, \\'{\"a\":1}\\' AS z', params={'x': 5}).values.tolist())"
    )
    ran = StatementRan(source="shop", sql="SELECT 1", rows=1, seconds=0.25)
    written(beside, cells=(cell(code, statements=(ran,)),))
    done = run_script(beside, SHOP_DATABASE_URL=f"sqlite:///{beside}/shop.db?detect_types=1")
    whole = f"{9007199254740993 + 9007199254740995} 1 4.0 ['a', 'b', 'c']\n['id', 'parent', 'day', 'name']\n"
    whole += "[[5, ' :y', '{\"a\":1}']]\n"
    assert (done.returncode, done.stdout) == (0, whole), done.stderr


def run_script(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "MPLCONFIGDIR": str(folder), "PYTHONUTF8": "1"}
    environment |= more
    return subprocess.run(
        [sys.executable, "analysis.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_script_runs_with_the_cells_of_earlier_turns(beside: Path) -> None:
    written(beside, earlier=(LOAD,), cells=(FAILED, SUMMED, TIMED_OUT))
    done = run_script(beside)
    assert done.returncode == 0, done.stderr
    assert "North    3" in done.stdout
    assert "saved revenue_by_region.png" in done.stdout
    assert (beside / "revenue_by_region.png").read_bytes().startswith(b"\x89PNG")
    assert (beside / "summary.csv").exists()


def test_the_notebook_is_valid_and_runs(beside: Path) -> None:
    written(beside, earlier=(LOAD,), cells=(FAILED, SUMMED, TIMED_OUT))
    book = nbformat.read(beside / "analysis.ipynb", as_version=4)
    nbformat.validate(book)
    run_notebook(book, beside)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("North    3" in str(output.get("data", {}).get("text/plain")) for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_the_notebook_of_a_pack_runs_where_it_lies(tmp_path: Path) -> None:
    given = case("There are 3.", cells=(LOAD,))
    data = pack(PackInput(given, render_report(given).files, {"sales.csv": b"region\nNorth\n"}))
    zipfile.ZipFile(io.BytesIO(data)).extractall(tmp_path)
    book = nbformat.read(tmp_path / "analysis.ipynb", as_version=4)
    nbformat.validate(book)
    run_notebook(book, tmp_path)
    assert [output.text for cell in book.cells for output in cell.get("outputs", ())] == ["1\n"]


def test_the_notebook_shows_what_the_thread_showed() -> None:
    book = json.loads(
        next(f for f in render_report(case("R", pictures={CHART.sha256: PNG})).files if f.name.endswith("ipynb")).data
    )
    outputs = [output for cell in book["cells"] if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} == {"stream", "execute_result", "display_data"}
    picture = next(output["data"]["image/png"] for output in outputs if output["output_type"] == "display_data")
    assert base64.b64decode(picture) == PNG
    assert "".join(book["cells"][0]["source"]).startswith("> Which region sold most?")
    assert "".join(book["cells"][-1]["source"]) == "R"


def test_in_the_notebook_each_question_stands_before_its_cells_and_its_answer_behind_them() -> None:
    before = [cell(f"n = {n}", cell_id=f"c{n}", title=f"Step {n}") for n in (1, 2, 3)]
    past = (
        PastReport("How many rows?\nCount doubles once.", "**3**.", frozenset({"c1"})),
        PastReport("Stopped?", "", frozenset({"c2"})),
        PastReport(" ", "A playbook ran.", frozenset({"c3"})),
    )
    now = cell("n = 4", cell_id="c4", title="Step 4")
    report = render_report(case("R", past=past, earlier=tuple(before), cells=(now,)))
    book = json.loads(next(f for f in report.files if f.name.endswith("ipynb")).data)
    assert ["".join(each["source"]) for each in book["cells"]][:14] == [
        "> How many rows?\n> Count doubles once.",
        *("### 1. Step 1", "n = 1", "**3**."),
        *("> Stopped?", "### 2. Step 2", "n = 2"),
        *("### 3. Step 3", "n = 3", "A playbook ran."),
        *("> Which region sold most?\n> See https://example.com/wiki", "### 4. Step 4", "n = 4", "R"),
    ]


def test_the_same_turn_gives_the_same_files() -> None:
    assert render_report(SHORT).files == render_report(SHORT).files


def test_of_a_failed_cell_only_what_later_code_needs_is_kept() -> None:
    kept = program((LOAD, FAILED, SUMMED))
    assert [part.kept for part in kept] == ["whole", "partly", "whole"]
    assert kept[1].code == 'by_region = sales.groupby("region")'
    assert [part.kept for part in program((LOAD, FAILED))] == ["whole", "not"]


@pytest.mark.parametrize("status", ["killed", "timeout"])
def test_of_a_cell_that_was_stopped_in_a_line_what_later_code_needs_is_kept(status: str) -> None:
    stopped = cell("a = 1\nfor n in range(9):\n    a + n", status=status, error_name="KeyboardInterrupt", error_line=3)
    part, _ = program((stopped, cell("print(a)")))
    assert (part.code, part.kept) == ("a = 1", "partly")


def test_of_a_cell_whose_process_was_killed_nothing_is_kept() -> None:
    part, _ = program((cell("a = 1\nwhile True:\n    pass", status="killed"), cell("print(a)")))
    assert (part.code, part.kept) == ("", "not")


@pytest.mark.parametrize(
    ("code", "line", "kept"),
    [
        ("a = 1\nb = 1 / 0", 2, "a = 1"),
        ("a = 1; b = 1 / 0", 1, ""),
        ("import math\na = math.pi\nfor x in [1]:\n    y = a / 0", 4, "import math\na = math.pi"),
        ("a = {}\na['x'] = 1\nboom()", 3, "a = {}\na['x'] = 1"),
        ("def f():\n    return 1 / 0\na = 1\nf()", 2, ""),
        ("b = 2\nc = 1 / 0", 2, ""),
        ("a = (1,\n  1 / 0)", 2, ""),
    ],
)
def test_the_statements_before_the_error_are_found(code: str, line: int, kept: str) -> None:
    failed = cell(code, status="error", error_name="ZeroDivisionError", error_line=line)
    part, _ = program((failed, cell("print(a)")))
    assert part.code == kept


@pytest.mark.parametrize(
    ("later", "kept"),
    [
        ("a = 3\nprint(a)", "not"),
        ("print(a)\na = 3", "partly"),
        ("if True:\n    a = 3\nprint(a)", "partly"),
        ("a += 1", "partly"),
        ("def f():\n    return a\na = 3\nprint(f())", "not"),
        ("def f():\n    return a\nprint(f())", "partly"),
        ("a['x'] = 1", "partly"),
        ("import math as a", "not"),
    ],
)
def test_what_later_code_sets_itself_is_not_needed_from_a_failed_cell(later: str, kept: str) -> None:
    failed = cell("a = {}\nboom()", status="error", error_line=2)
    assert program((failed, cell(later)))[0].kept == kept


def test_code_that_only_a_session_understands_is_left_out_and_said(beside: Path) -> None:
    written(beside, cells=(cell("!pip install x"), cell("%matplotlib inline"), cell("print('end')")))
    source = (beside / "analysis.py").read_text()
    assert source.count("Left out") == 2
    assert run_script(beside).stdout == "end\n"


def test_last_values_are_printed_and_drawings_are_not(beside: Path) -> None:
    cells = (
        cell("x = 2\nx * 21  # the answer", result="42"),
        cell("(\n    'a'\n    'b'\n)", result="'ab'"),
        cell("None"),
        cell("'销售额' ; 7 ;", result=""),
        cell("[n for n in range(3)]", result="[0, 1, 2]"),
        cell("x.bit_length", result="<matplotlib.axes object>"),
    )
    written(beside, cells=cells)
    done = run_script(beside)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "42\nab\n[0, 1, 2]\n"


def test_future_imports_move_to_the_top(beside: Path) -> None:
    written(
        beside, cells=(cell("x = 1"), cell('"""doc"""\nfrom __future__ import annotations\ny: Missing = x\nprint(y)'))
    )
    done = run_script(beside)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"


@pytest.mark.parametrize("text", ['"""', "a\rb", "a\u2028import os", "x\n# y\nraise SystemExit(1)", "\\", "${x}{y}%s"])
def test_words_of_people_and_models_cannot_become_code(beside: Path, text: str) -> None:
    written(beside, question=text, cells=(cell("print('end')", title=text),), files=())
    ast.parse((beside / "analysis.py").read_bytes())
    assert run_script(beside).stdout == "end\n"


def test_a_flood_of_output_does_not_bloat_the_notebook() -> None:
    report = render_report(case("R", cells=(cell("print('x' * 10**6)", stdout="x" * 10**6),)))
    (book,) = [file.data for file in report.files if file.name == "analysis.ipynb"]
    assert len(book) < 100_000


def test_a_command_of_the_shell_is_named_and_not_run_again(beside: Path) -> None:
    """It was approved for its thread, not for the place where somebody runs the notebook."""
    written(beside, cells=(LOAD, cell("touch made_by_bash", language="bash"), FAILED, SUMMED))
    done = run_script(beside)
    assert done.returncode == 0, done.stderr
    assert not (beside / "made_by_bash").exists()
    script, notebook = (beside / "analysis.py").read_text(), json.loads((beside / "analysis.ipynb").read_text())
    sentence = "Left out: this step was a shell command, and it was approved for its thread only: touch made_by_bash"
    assert f"# {sentence}" in script
    assert sum(sentence in "".join(one["source"]) for one in notebook["cells"]) == 1
    assert not any("made_by_bash" in "".join(one["source"]) for one in notebook["cells"] if one["cell_type"] == "code")
