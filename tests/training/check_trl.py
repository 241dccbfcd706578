"""`make check-trl`: writes every format of `threadbook export` and has them used by datasets and TRL.

    python tests/training/check_trl.py PYTHON      PYTHON is that of an environment with datasets, trl and torch

The threads have failing and passing cells, edits and votes, in two languages. One record of the export is printed. Ends
with 1 when a file cannot be used.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from turn_kit import changed, write_turn

from core.settings import load_settings
from core.steps import Approval, Asked, CellRan, Changed, Decided, Finished, Questioned, Replied, Step, ToolCall
from core.store import Store
from tryout.commands import export

HERE = Path(__file__).parent
THREADS = 12
CELL = CellRan(call_id="c", cell_id="x", title="Totals", code="print(12)", status="ok", stdout="12\n")


def call(name: str, call_id: str, **arguments: str) -> Replied:
    """A reply with one call of a tool."""
    return Replied(purpose="act", calls=(ToolCall(id=call_id, name=name, arguments=json.dumps(arguments)),))


def thread(number: int) -> list[Step]:
    """A question whose first cell fails or is edited by a person, whose second one passes, and its report."""
    asked = ("What sold best in week {}?", "第{}周卖得最好的是什么？")[number % 2].format(number)
    begun: list[Step] = [
        Asked(user="U1", author="Ana", text=asked, ts="100.000001"),
        call("run_python", "c1", code="boom", title="Look"),
    ]
    if number % 3:
        failed = {"call_id": "c1", "cell_id": "xc1", "code": "boom", "status": "error"}
        begun.append(changed(CELL, **failed, stdout="", error_name="NameError", error="NameError: boom"))
    else:
        waits = Approval(what="python", title="Look", code="boom", call="c1")
        begun.append(Questioned(call_id="approve:1", question="Run?", approval=waits))
        begun.append(Decided(call_id="approve:1", outcome="edited", user="U2", author="Ben", code="print(11)"))
        begun.append(changed(CELL, call_id="c1", cell_id="xc1", code="print(11)", stdout="11\n"))
    report = f"**North**: {number} — “best”\n\n| region | units |\n| --- | --- |\n| north | {number} |"
    ended: list[Step] = [
        call("run_python", "c2", code="print(12)", title="Totals"),
        changed(CELL, call_id="c2", cell_id="xc2"),
        call("finish", "c3", report=report),
        Finished(report=report),
    ]
    if number % 4 == 0:
        ended.append(Changed(do="edit", target="report:1", text="North: more.", user="U2", author="Ben", ts="9.9"))
    return [*begun, *ended]


def write(folder: Path) -> None:
    """All formats of the export into `folder`, from a database of its own."""
    home = folder / "home"
    home.mkdir()
    (home / "threadbook.toml").write_text("[export]\ntest_percent = 30\n", encoding="utf-8")
    environment = {"THREADBOOK_HOME": str(home), "THREADBOOK_NODE_ID": "here", "REDIS_URL": "redis://127.0.0.1:1/0"}
    settings = load_settings(environment, home)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
        for number in range(THREADS):
            turn = write_turn(store, thread(number), channel=f"C{number}")
            store.save_vote(turn.id, "U2", "up")
    for kind in export.FORMATS:
        if export.run(settings, kind, out=folder / f"{kind}.jsonl"):
            raise SystemExit(f"{kind} was not exported")


def shown(record: str) -> str:
    """The first record, its long texts cut, to be looked at."""
    found = json.loads(record)
    found["tools"] = f"{found['tools'][:60]} …"
    for message in found["messages"]:
        message["content"] = message["content"] if len(message["content"]) < 90 else f"{message['content'][:80]} …"
    return json.dumps(found, ensure_ascii=False, indent=1)


def main(python: str) -> int:
    """Write, print a record, use. Returns the exit code of who used them."""
    with tempfile.TemporaryDirectory(prefix="training-") as made:
        folder = Path(made)
        write(folder)
        print(shown((folder / "sft.jsonl").read_text("utf-8").splitlines()[0]), flush=True)
        return subprocess.run([python, str(HERE / "trainers.py"), str(folder)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
