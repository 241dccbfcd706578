"""`threadbook build` as a person runs it: each example in the real walls, with recorded answers and no key."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builder_kit import FINE, code, covered
from chat_endpoint import endpoint, refuses, says
from patience import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.early]

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "examples" / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.toml") if not path.name.endswith(".tests.toml"))


def threadbook(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "threadbook.py"), *words],
        cwd=cwd,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "THREADBOOK_HOME": str(cwd / ".home")}
        | variables,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


def built(name: str, folder: Path) -> dict[str, Any]:
    done = threadbook("build", str(PROGRAMS / f"{name}.toml"), "-o", "out", "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("name", NAMES)
def test_each_example_builds_and_its_tests_pass_in_the_walls_and_outside(name: str, tmp_path: Path) -> None:
    result = built(name, tmp_path)
    assert (result["state"], result["model"]) == ("passed", "recorded answers")
    assert result["mutation"]["found"] * 2 >= result["mutation"]["tried"]
    for component in result["components"]:
        verdicts = component["versions"][-1]["verdicts"]
        assert "tests" not in {one["critic"] for one in verdicts if one["state"] == "skipped"}
        assert all(row["state"] in ("tested", "judged") for row in component["coverage"])
    needs_more_than_python = name in ("askllm", "migration")  # curl's stand-in is a function of bash; sqlite3
    if not needs_more_than_python:
        done = subprocess.run(
            [sys.executable, f"tests/test_{name}.py"], cwd=tmp_path / "out", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


def test_a_real_endpoint_builds_repairs_and_its_cost_is_shown(tmp_path: Path) -> None:
    """The endpoint is ours and speaks the protocol; the recordings are not read when a key is set."""
    (tmp_path / "threadbook.toml").write_text('[prices."m-1"]\ninput = 1000.0\noutput = 2000.0\n')
    answers = [
        says(code("helloworld.py", 'print("Hello, World")'), prompt=100, completion=50),
        says(code("helloworld.py", 'print("Hello, World!")'), prompt=200, completion=50),
        says(covered(("R1", True, "helloworld.py:1"))),
        says(FINE),
    ]
    with endpoint(*answers) as server:
        given = {"OPENAI_API_KEY": "k-4711-planted", "OPENAI_API_URL": server.url, "OPENAI_API_MODEL": "m-1"}
        done = threadbook("build", str(PROGRAMS / "helloworld.toml"), "-o", "out", cwd=tmp_path, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 calls of m-1, 322 + 114 tokens, 0.5500 USD; sandbox:" in done.stdout
    assert "✗ helloworld: version 1: tests: The test “it greets the world” fails" in done.stdout
    assert [asked["model"] for asked in server.asked] == ["m-1"] * 4
    kept = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert "k-4711-planted" not in kept + done.stdout + done.stderr


def test_an_endpoint_that_refuses_stops_the_build_and_says_how_to_go_on(tmp_path: Path) -> None:
    with endpoint(refuses(401, "bad key")) as server:
        given = {"OPENAI_API_KEY": "k-4711-planted", "OPENAI_BASE_URL": server.url}
        done = threadbook("build", str(PROGRAMS / "helloworld.toml"), "-o", "out", cwd=tmp_path, **given)
    assert done.returncode == 1
    assert "Stopped: 127.0.0.1 answered 401: bad key. What is done is kept; go on with --resume." in done.stdout


def test_a_file_with_faults_is_refused_with_lines(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("[file]\nnam = 'p'\n")
    done = threadbook("build", "--check", "p.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "p.toml:2:1: unknown key `file.nam`; did you mean `name`?",
    )


def test_without_a_key_and_without_a_recording_it_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("[project]\nrequirements = 'x'\n")
    done = threadbook("build", "p.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr


def test_a_folder_that_is_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    done = threadbook("build", str(PROGRAMS / "helloworld.toml"), "-o", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "Name another folder" in done.stderr
