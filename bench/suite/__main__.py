"""`python -m bench.suite FOLDER`: write the files of the suite and `suite.jsonl`, the same bytes every time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.suite import generated, real, real_questions
from bench.suite.tables import WRITERS
from bench.suite.values import Item


def questions() -> list[Item]:
    """Every question, in the order of the file."""
    return [*generated.questions(), *real_questions.questions()]


def write(folder: Path) -> Path:
    """Write everything; returns the path of the suite."""
    folder.mkdir(parents=True, exist_ok=True)
    found = questions()
    for name in sorted({file for item in found for file in item.files}):
        WRITERS.get(name, real.write)(folder / name)
    suite = folder / "suite.jsonl"
    suite.write_text("".join(json.dumps(item.line(), ensure_ascii=False) + "\n" for item in found), encoding="utf-8")
    return suite


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m bench.suite FOLDER")
    print(write(Path(sys.argv[1])))
