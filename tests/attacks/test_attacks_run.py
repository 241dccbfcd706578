"""What a person sees who runs hostile files with `threadbook run`, as root and as an ordinary user (promise 7)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attack_kit import NEEDS_X86
from patience import PATIENCE_S
from services import missing
from situations import ROOT, command, lacking
from test_attacks_children import DEATHS
from test_attacks_limits import LIMITS_MET

from executor.attacks import FILES, POWERS, PROGRAMS, REACH, SOCKETS, given

SMALL = """
[limits]
cell_timeout_s = 4
cell_grace_s = 1
memory_mb = 400
processes = 12
workspace_mb = 64
workspace_files = 2000
"""
CLASSES = {"files": FILES, "sockets": SOCKETS, "programs": PROGRAMS, "powers": POWERS}
USERS = ("as-it-is", "ordinary-user")


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="threadbook-attack-"))
    made.chmod(0o777)
    (made / "threadbook.toml").write_text(SMALL)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def run(user: str, folder: Path, sources: Mapping[str, str], *words: str) -> str:
    """`threadbook run` on a file per source, each followed by one that says print(1 + 1)."""
    if why := lacking(user):
        missing(why, f"{user} cannot be played by this user")
    (folder / "sum.py").write_text("print(1 + 1)\n")
    files = []
    for number, source in enumerate(sources.values()):
        path = folder / f"{number}.py"
        path.write_text(source)
        files += [str(path), str(folder / "sum.py")]
    ran = subprocess.run(
        command(user, sys.executable, "-m", "threadbook", "run", *files, *words),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "THREADBOOK_CONFIG": str(folder / "threadbook.toml"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stderr
    return ran.stdout


def cells(user: str, folder: Path, sources: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What became of each source; that a sum follows each of them is seen to here."""
    outcome = json.loads(run(user, folder, sources, "--json"))
    hostile, sums = outcome["cells"][::2], outcome["cells"][1::2]
    assert [(cell["status"], cell["stdout"]) for cell in sums] == [("ok", "2\n")] * len(sources)
    return dict(zip(sources, hostile, strict=True))


@pytest.mark.parametrize("user", USERS)
def test_a_file_per_limit_prints_a_sentence_and_the_next_one_runs(user: str, folder: Path) -> None:
    found = cells(user, folder, {limit: code for limit, (code, _, _) in LIMITS_MET.items()})
    for limit, cell in found.items():
        said = cell["stdout"] if limit == "output" else cell["notice"]
        assert said, limit
        assert cell["status"] in (*LIMITS_MET[limit][1].split(), "timeout"), (limit, cell["notice"])


@pytest.mark.parametrize("user", USERS)
def test_a_file_per_way_to_die_prints_a_sentence_and_the_next_one_runs(user: str, folder: Path) -> None:
    found = cells(user, folder, {death: "kept = {'a': []}\n" + code for death, code in DEATHS.items()})
    for death, cell in found.items():
        assert cell["status"] != "ok", death
        assert cell["notice"], death


@NEEDS_X86
@pytest.mark.parametrize("user", USERS)
def test_a_file_per_attack_prints_that_it_was_held_and_the_next_one_runs(user: str, folder: Path) -> None:
    reach = REACH + given(HOST_PID=os.getpid())  # process 1 is a session's own in its namespace: this one is outside
    attacks = {name: reach + one.code for kind in CLASSES.values() for name, one in kind.items()}
    for name, cell in cells(user, folder, attacks).items():
        assert cell["status"] == "ok", (name, cell["error"])
        assert "held" in cell["stdout"] or not cell["stdout"], name  # a child that was refused has nothing to say
        assert "BREACHED" not in cell["stdout"], name


def test_a_person_reads_the_sentence_in_a_terminal(folder: Path) -> None:
    printed = run("as-it-is", folder, {"time": "while True: pass"})
    assert "the cell was stopped after 4 s in line 1: `while True: pass`. All variables are kept." in printed
    assert "sandbox: " in printed
