"""Compares what a program made from a thread gives with what the thread's own cells gave.

Needs the standard library alone: the `tests/test_program.py` of such a program is this text, with EXPECTED filled in.

python tests/test_program.py             runs it on the thread's files in tests/data; exit code 0 when all is the same
python tests/test_program.py sales.csv   the same with the files named
"""

from __future__ import annotations

import csv
import io
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

EXPECTED: dict[str, Any] = {}
"""{"inputs": [names], "steps": [{"heading", "lines", "table", "charts"}]}"""
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MIDNIGHT = re.compile(r"[T ]00:00:00(?:\.0+)?$")
SHOWN = 160
SENTENCES = {
    "not_run": "it did not run",
    "not_printed": "it does not print {text}",
    "no_file": "there is no {file}",
    "other_rows": "{file} has {rows} rows, not {expected}",
    "other_row": "row {number} of {file} is {row}",
}
Difference = tuple[str, str, dict[str, object]]
"""The heading of a step, which of SENTENCES says what is not the same, and what is put in there."""


def differences(expected: Mapping[str, Any], stdout: str, files: Mapping[str, str]) -> list[Difference]:
    """What is not the same, step by step. `files` are the text of tables and the names of the others."""
    found: list[Difference] = []
    parts = _parts(stdout, [one["heading"] for one in expected["steps"]])
    for one in expected["steps"]:
        heading, lines = one["heading"], parts.get(one["heading"])
        if lines is None:
            found.append((heading, "not_run", {}))
            continue
        rest = iter(lines)
        missing = next((line for line in one["lines"] if not any(_same_line(line, other) for other in rest)), None)
        if missing is not None:
            found.append((heading, "not_printed", {"text": _short(missing)}))
        if (table := one["table"]) is not None:
            found += [(heading, *said) for said in _table_differs(table, files.get(table["file"]))]
        found += [(heading, "no_file", {"file": name}) for name in one["charts"] if name not in files]
    return found


def _parts(stdout: str, headings: Sequence[str]) -> dict[str, list[str]]:
    """The lines below each heading; a heading counts only behind the one before it."""
    found: dict[str, list[str]] = {}
    ahead, current = list(headings), list[str]()
    for line in stdout.splitlines():
        if ahead and line.rstrip() in ahead:
            del ahead[: ahead.index(line.rstrip()) + 1]
            current = found[line.rstrip()] = []
        else:
            current.append(line)
    return found


def _same_line(one: str, other: str) -> bool:
    return _words(one) == _words(other) and all(map(_same_number, _NUMBER.findall(one), _NUMBER.findall(other)))


def _words(line: str) -> str:
    return " ".join(_NUMBER.sub("0", line).split())


def _same_number(one: str, other: str) -> bool:
    return math.isclose(float(one.replace(",", "")), float(other.replace(",", "")), rel_tol=1e-9, abs_tol=1e-12)


def _table_differs(table: Mapping[str, Any], text: str | None) -> Iterator[tuple[str, dict[str, object]]]:
    """The first difference of a table, if there is one."""
    name = table["file"]
    if text is None:
        yield "no_file", {"file": name}
        return
    rows = list(csv.reader(io.StringIO(text)))[1:]
    if len(rows) != table["total"]:
        yield "other_rows", {"file": name, "rows": len(rows), "expected": table["total"]}
        return
    for number, (wanted, row) in enumerate(zip(table["rows"], rows, strict=False), start=1):
        if len(wanted) > len(row) or not all(map(_same_item, wanted, row)):
            yield "other_row", {"number": number, "file": name, "row": _short(", ".join(row))}
            return


def _same_item(wanted: Any, text: str) -> bool:
    if wanted is None:
        return text in ("", "nan", "NaN", "None", "<NA>", "NaT")
    if isinstance(wanted, bool) or not isinstance(wanted, int | float):
        return _MIDNIGHT.sub("", str(wanted)).replace("T", " ") == _MIDNIGHT.sub("", text).replace("T", " ")
    try:
        return math.isclose(wanted, float(text), rel_tol=1e-9, abs_tol=1e-12)
    except ValueError:
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def main() -> int:
    """Run the program on the thread's files; print what came out otherwise."""
    root = Path(__file__).resolve().parent.parent
    given = [Path(word).resolve() for word in sys.argv[1:]] or [
        root / "tests" / "data" / name for name in EXPECTED["inputs"]
    ]
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, str(root / "main.py"), *map(str, given), "--out", folder]
        ran = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", cwd=folder, check=False)
        left = {path.relative_to(folder).as_posix(): path for path in Path(folder).rglob("*") if path.is_file()}
        files = {
            name: path.read_text("utf-8", "replace") if name.endswith(".csv") else "" for name, path in left.items()
        }
    if ran.returncode:
        print(f"main.py ended with exit code {ran.returncode}.", ran.stderr[-2_000:], sep="\n")
        return 1
    found = differences(EXPECTED, ran.stdout, files)
    said = [f"{heading}: {SENTENCES[kind].format(**values)}" for heading, kind, values in found]
    print(*said, sep="\n" if said else "")
    steps = len(EXPECTED["steps"])
    print(f"{steps - len({heading for heading, *_ in found})} of {steps} steps give the same")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
