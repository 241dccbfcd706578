"""Nothing that a subprocess writes is ever unpickled outside a sandbox (promise 6).

Unpickling anything that could do harm raises the audit event `pickle.find_class`; hooks for it go into the trusted
processes: this one, which is a client and does a worker's part, the session host, and those of the whole product.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from attack_kit import wait_for
from patience import PATIENCE_S

from executor.client import HostUnavailable, SessionClient

ROOT = Path(__file__).parents[2]
HOOK = """
import os, sys

def hook(event, arguments):
    if event == "pickle.find_class":
        line = "%r in %s" % (arguments[1:], " ".join(sys.orig_argv))
        log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(log, line.encode() + b"\\n")
        os.close(log)

sys.addaudithook(hook)
"""
HOSTILE = """
class H:
    def __reduce__(self): return (print, ('unpickled',))
h = H()
import pandas as pd
frame = pd.DataFrame({"a": range(200_000)})
open("h.pickle", "wb").write(__import__("pickle").dumps(h))
h
"""
_seen: list[str] = []
_hooks: list[bool] = []


@pytest.fixture
def found_here() -> list[str]:
    """What this process unpickles while the test lasts."""
    if not _hooks:
        sys.addaudithook(
            lambda event, arguments: _seen.append(str(arguments)) if event == "pickle.find_class" else None
        )
        _hooks.append(True)
    _seen.clear()
    return _seen


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the hook of other processes writes; the hook is in `tmp_path`, to be put on their path."""
    (tmp_path / "sitecustomize.py").write_text(HOOK.format(log=str(tmp_path / "unpickled")))
    return tmp_path / "unpickled"


def test_neither_the_host_nor_its_client_unpickles(tmp_path: Path, log: Path, found_here: list[str]) -> None:
    """While hostile variables are kept, restored in another process, refused, exported and shown."""
    home = tmp_path / "home"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{tmp_path}:{ROOT}", "MPLCONFIGDIR": str(home)}
    command = [sys.executable, "-m", "executor.host", "--socket", str(tmp_path / "s"), "--home", str(home)]
    process = subprocess.Popen(command, env=environment)
    try:
        client = SessionClient(tmp_path / "s")
        assert wait_for(lambda: answers(client))
        assert client.run("t", "1", HOSTILE).status == "ok"
        assert client.run("t", "2", "import os\nos._exit(1)").status == "died"
        assert client.run("t", "3", "print(1 + 1, len(frame))").stdout.endswith("2 200000\n")
        assert client.vars("t")
        client.reset("t")
        assert client.run("t", "4", "print(1 + 1)").stdout == "2\n"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
    lines = log.read_text().splitlines() if log.exists() else []
    assert [line for line in lines if "executor.host" in line] == []
    assert found_here == []


def answers(client: SessionClient) -> bool:
    try:
        client.ping()
    except HostUnavailable:
        return False
    return True


def test_no_process_of_the_product_unpickles_while_it_answers_a_question(tmp_path: Path, log: Path) -> None:
    """Bot, worker service, RQ workers and their jobs, command line: all with the hook, through a whole question."""
    (tmp_path / "sales.csv").write_text("month,region,sales\n2024-01,north,10\n2024-02,south,20\n2024-03,north,30\n")
    asked = subprocess.run(
        [sys.executable, "-m", "threadbook", "ask", "Which region sold most?", "--file", str(tmp_path / "sales.csv")],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{tmp_path}:{ROOT}",
            "THREADBOOK_HOME": str(tmp_path / "home"),
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr[-2000:]
    assert "north" in asked.stdout
    assert not log.exists(), log.read_text()


def test_the_hooks_would_see_it(tmp_path: Path, log: Path, found_here: list[str]) -> None:
    code = "import pickle, pathlib\npickle.loads(pickle.dumps(pathlib.Path('x')))"
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)}, check=True, timeout=PATIENCE_S)
    assert "PurePosixPath" in log.read_text() or "PosixPath" in log.read_text()
    pickle.loads(pickle.dumps(Path("x")))
    assert found_here
