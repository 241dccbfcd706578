"""The commands as a person or a script runs them: real processes, their own embedded services, the offline analyst."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from notebooks import run_notebook
from patience import PATIENCE_S

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
LEDGER = "region,amount\nNorth,10\nSouth,32\nNorth,8\n"


def threadbook(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing in the environment but HOME and PATH."""
    environment = {name: os.environ[name] for name in ("HOME", "PATH")} | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "threadbook", *arguments],
        cwd=cwd,
        env=environment,
        text=True,
        capture_output=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `threadbook ask --json` prints for a question with a file and a follow-up."""
    folder = tmp_path_factory.mktemp("ask")
    (folder / "ledger.csv").write_text(LEDGER)
    question, follow_up = "What is the total amount by region?", "as a bar chart"
    done = threadbook("ask", question, "--file", "ledger.csv", "--follow-up", follow_up, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_ask_prints_the_thread_the_turns_and_the_model_as_json(asked: dict[str, Any]) -> None:
    assert set(asked) == {"thread", "turns", "model"}
    assert all(set(message) == {"ts", "author", "text", "files"} for message in asked["thread"])
    assert [turn["status"] for turn in asked["turns"]] == ["done", "done"]
    cell = asked["turns"][0]["cells"][0]
    assert {"id", "title", "code", "status", "stdout", "error", "artifacts", "tables", "charts"} == set(cell)
    assert asked["model"] == "offline-analyst"


def test_the_answer_holds_the_numbers_of_the_file(asked: dict[str, Any]) -> None:
    report = asked["turns"][0]["report"]["markdown"]
    assert "32" in report
    assert "18" in report


def test_the_tables_and_figures_of_an_answer_are_data(asked: dict[str, Any]) -> None:
    report = asked["turns"][0]["report"]
    assert report["tables"][0]["columns"][:2] == ["region", "amount"]
    assert {row[1] for row in report["tables"][0]["rows"]} == {"32", "18"}
    assert {one["figure"] for one in report["figures"]} >= {"32", "18"}
    charts = [chart for cell in asked["turns"][0]["cells"] for chart in cell["charts"]]
    assert {point[1] for point in charts[0]["series"][0]["points"]} == {32, 18}


def test_every_file_of_the_thread_lies_where_the_json_says(asked: dict[str, Any]) -> None:
    files = [file for message in asked["thread"] for file in message["files"]]
    assert {"ledger.csv", "report.html"} <= {file["name"] for file in files}
    kept = asked["turns"][-1]["report"]["files"]
    assert {"report.html", "report.md", "analysis.ipynb", "analysis.py"} <= {file["name"] for file in kept}
    for file in (*files, *kept):
        assert Path(file["path"]).stat().st_size == file["size"]


def test_the_attached_program_and_notebook_run_beside_the_file(asked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "ledger.csv").write_text(LEDGER)
    files = asked["turns"][-1]["report"]["files"]
    program = next(file["path"] for file in files if file["name"] == "analysis.py")
    ran = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    notebook = next(file["path"] for file in files if file["name"] == "analysis.ipynb")
    run_notebook(nbformat.read(notebook, as_version=4), tmp_path)


def test_run_keeps_the_session_over_files_and_says_how_each_ended(tmp_path: Path) -> None:
    cells = {
        "one.py": "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ndf.to_csv('made.csv')\ndf",
        "two.py": "raise ValueError(f'there are {len(df)} rows')",
        "three.py": "import os; os._exit(3)",
        "four.py": "print(1 + 1)",
    }
    for name, source in cells.items():
        (tmp_path / name).write_text(source)
    done = threadbook("run", *cells, "--json", cwd=tmp_path)
    assert done.returncode == 1
    outcome = json.loads(done.stdout)
    one, two, three, four = outcome["cells"]
    assert [cell["status"] for cell in outcome["cells"]] == ["ok", "error", "died", "ok"]
    assert [artifact["name"] for artifact in one["artifacts"]] == ["made.csv"]
    assert "there are 2 rows" in json.dumps(two["error"])
    assert three["notice"]
    assert four["stdout"] == "2\n"
    assert set(outcome["sandbox"]) == {"level", "layers"}
    expected = {
        "file",
        "status",
        "stdout",
        "stderr",
        "result",
        "error",
        "artifacts",
        "rejected",
        "duration_s",
        "notice",
    }
    assert set(one) == expected
    assert pd.DataFrame({"a": [1, 2]}).to_string() in json.dumps(one["result"]).replace("\\n", "\n")


def test_doctor_names_what_is_missing_with_a_fix_and_fails(tmp_path: Path) -> None:
    done = threadbook("doctor", "--json", cwd=tmp_path)
    findings = {finding["part"]: finding for finding in json.loads(done.stdout)}
    assert done.returncode == 1
    assert findings["Slack"]["state"] == "missing"
    assert findings["Slack"]["fix"]
    assert findings["Store"]["state"] == "ok"
    assert findings["Sandbox"]["state"] in ("ok", "note")
