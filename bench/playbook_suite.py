"""`python -m bench.playbook_suite FOLDER [EVERY]`: the choice among 200 playbooks as a suite for `threadbook eval`.

Writes `suite.jsonl`, the folder `memory` with the playbooks of `bench.playbooks`, and `script.json`: a model that knows
an answer only when the right procedure stands in its prompt. It runs a cell that prints the name in the procedure, and
reports that name. Where no procedure stands, it reports `none`. EVERY takes one question in so many, drawn with a
fixed seed.

    threadbook eval FOLDER/suite.jsonl --memory FOLDER/memory --model scripted:FOLDER/script.json --plain
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

from bench.playbooks import SEED, Question, world
from workers.memory.playbooks.page import PlaybookStage, write_playbook

NONE = "none"
_CELL = """import os
print(open("data.csv").read() if os.path.exists("data.csv") else "no file")
print("chosen: {name}")"""


def names() -> list[str]:
    """The names of the procedures, without a digit: figures of a report are looked up in outputs."""
    index, _ = world()
    return [each.playbook.name.casefold().replace(": ", "-").replace(" ", "-") for each in index.candidates]


def script(known: list[str]) -> dict[str, object]:
    """The model: what it runs and reports follows from the procedure in its prompt."""
    cells = [{"when": f'procedure = "{name}"', "calls": [_run(name)]} for name in known]
    ends = [{"when": f"chosen: {name}\n", "calls": [_finish(name)]} for name in known]
    return {"turns": [[[*cells, {"calls": [_run(NONE)]}], [*ends, {"calls": [_finish(NONE)]}]]]}


def _run(name: str) -> dict[str, object]:
    return {"name": "run_python", "arguments": {"code": _CELL.format(name=name), "title": "Follow the procedure"}}


def _finish(name: str) -> dict[str, object]:
    return {"name": "finish", "arguments": {"report": f"Done by the procedure {name}."}}


def line(number: int, question: Question, known: list[str], folder: Path) -> dict[str, object]:
    """A line of the suite, and its file beside it."""
    right = NONE if question.right is None else known[question.right]
    wanted = {"id": f"q{number:04}", "question": question.text, "answers": {"procedure": right}}
    kind = "needs none" if question.right is None else "needs one"
    if not question.files:
        return {**wanted, "tags": [kind, "without a file"]}
    columns = [column.name for table in question.files[0].tables for column in table.columns]
    name = f"q{number:04}/data.csv"
    (folder / name).parent.mkdir(exist_ok=True)
    rows = [",".join(columns), *(",".join(f"{letter}{place}" for place in range(len(columns))) for letter in "ab")]
    (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return {**wanted, "files": [name], "tags": [kind, "with a file"]}


def write(folder: Path, every: int = 1) -> Path:
    """Write everything; returns the path of the suite."""
    index, questions = world()
    known = names()
    pages = folder / "memory" / "everyone" / "playbooks"
    pages.mkdir(parents=True, exist_ok=True)
    for name, each in zip(known, index.candidates, strict=True):
        first, *others = each.playbook.stages
        stages = (PlaybookStage(first.title, "rows", f'procedure = "{name}"'), *_runnable(others))
        (pages / f"{name}.md").write_text(write_playbook(replace(each.playbook, stages=stages)), encoding="utf-8")
    (folder / "script.json").write_text(json.dumps(script(known)), encoding="utf-8")
    asked = list(enumerate(questions))
    random.Random(SEED).shuffle(asked)
    lines = [line(number, question, known, folder) for number, question in asked[::every]]
    suite = folder / "suite.jsonl"
    suite.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return suite


def _runnable(stages: list[PlaybookStage]) -> list[PlaybookStage]:
    return [replace(stage, code="print(procedure)") for stage in stages]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m bench.playbook_suite FOLDER [EVERY]")
    print(write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 1))
