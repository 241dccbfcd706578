"""A thread that asks a data source, with real processes: bot, queue, worker service, broker, sandbox."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from patience import PATIENCE_S

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
SECRET = "planted-p4ssw0rd"
ASK = """
frame = query("select region, sum(amount) as total from orders group by region order by region")
print(frame.to_dict("list"))
import os
print(os.environ)
"""
WRONG = "query('select amuont from orders')"


def call(name: str, **arguments: str) -> dict[str, object]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def test_a_question_is_answered_from_a_database_whose_url_no_step_and_no_log_has(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / f"{SECRET}.db")) as file:
        file.execute("CREATE TABLE orders (region text, amount int)")
        file.executemany("INSERT INTO orders VALUES (?, ?)", [("North", 10), ("South", 32), ("North", 8)])
        file.commit()
    (tmp_path / "threadbook.toml").write_text('[sources.shop]\nurl_env = "SHOP_URL"\n')
    script = [
        call("run_python", code=WRONG, title="Guess"),
        call("run_python", code=ASK, title="Sum"),
        call("finish", report="**South**"),
    ]
    (tmp_path / "script.json").write_text(json.dumps(script))
    environment = {name: os.environ[name] for name in ("HOME", "PATH")} | {
        "PYTHONPATH": str(ROOT),
        "THREADBOOK_MODEL": "scripted:script.json",
        "SHOP_URL": f"sqlite:///{tmp_path}/{SECRET}.db",
    }
    done = subprocess.run(
        [sys.executable, "-m", "threadbook", "ask", "Which region sold most?", "--json"],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (turn,) = json.loads(done.stdout)["turns"]
    guess, summed = turn["cells"]
    assert "Did you mean amount?" in guess["error"]
    assert summed["stdout"].startswith("{'region': ['North', 'South'], 'total': [18, 32]}\n")
    assert "Data sources" in turn["report"]["markdown"]
    for path in [*tmp_path.rglob("*.log"), *tmp_path.rglob("*.db-wal"), *tmp_path.rglob("threadbook.db")]:
        assert SECRET.encode() not in path.read_bytes(), path
    assert SECRET not in done.stdout + done.stderr
