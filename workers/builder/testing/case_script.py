"""How a test of a program is run and judged. Needs the standard library alone: a program's test file is this text.

python tests/test_NAME.py        runs every test of the program that lies one folder above; exit code 0 if all pass
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROGRAM: dict[str, Any] = {}
"""What is tested: {"files": [...], "components": {name: {"language", "file"}}, "timeout_s"}; filled in a test file."""
CASES: list[dict[str, Any]] = []
RUN = {"python": [sys.executable], "bash": ["bash"], "javascript": ["node"], "typescript": ["tsx"], "sql": ["sqlite3"]}
BUILT = ".built/program"
COMPILE = {
    "c": ["cc", "-std=gnu17", "-O1", "-o", BUILT],
    "rust": ["rustc", "--edition", "2021", "-o", BUILT],
    "go": ["go", "build", "-o", BUILT],
}
AFTER = {"c": ["-lm"]}
CALL = (
    "import importlib, json, sys; module = importlib.import_module(sys.argv[1]); "
    "print(json.dumps(eval(sys.argv[2], vars(module)), default=str))"
)
"""Prints what an expression over a module's names gives, as the last line."""
FAKES = ".fakes"
SHOWN = 300


def command(language: str, path: str, case: Mapping[str, Any], python: str) -> tuple[list[str], str]:
    """The words that start a program for a test, and what it reads."""
    if case["call"]:
        return [python, "-c", CALL, module_of(path), case["call"]], ""
    if language == "sql":
        scripts = [f".read {name}" for name in (*case["arguments"], path)]
        return ["sqlite3", "-batch", "-bail", ":memory:"], "\n".join([*scripts, case["stdin"], ""])
    if language in COMPILE:
        return [f"./{BUILT}", *case["arguments"]], case["stdin"]
    words = [python] if language == "python" else RUN[language]
    return [*words, path, *case["arguments"]], case["stdin"]


def module_of(path: str) -> str:
    """The name under which Python imports a file of the program."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def compiler(language: str, path: str, files: Sequence[str]) -> list[str]:
    """The words that make a program of its files; none for a language that is not compiled."""
    if language not in COMPILE:
        return []
    end = f".{path.rpartition('.')[2]}"
    others = [name for name in files if name.endswith(end) and name != path and language != "rust"]
    return [*COMPILE[language], path, *others, *AFTER.get(language, [])]


def fake_files(language: str, fakes: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Stand-ins for a test: the files to put into its folder, and environment variables that make them found.

    bash: a function for each command, which prints the text. Python: a module for each name.
    """
    if not fakes:
        return {}, {}
    if language == "python":
        return {f"{FAKES}/{name}.py": source for name, source in fakes.items()}, {"PYTHONPATH": FAKES}
    names = [name for name in fakes if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name)]
    files = {f"{FAKES}/{name}.txt": fakes[name] for name in names}
    here = '"$(dirname "$BASH_ENV")"'
    files[f"{FAKES}/bash_env"] = "".join(f"{name}() {{ cat {here}/{name}.txt; }}\n" for name in names)
    return files, {"BASH_ENV": f"./{FAKES}/bash_env"}


def differences(case: Mapping[str, Any], ran: Mapping[str, Any]) -> list[str]:
    """What of a run is not as it should be. `ran` has status, exit_code, stdout, stderr and files."""
    expect, found = case["expect"], list[str]()
    if ran["status"] != "ok":
        return [f"it was stopped ({ran['status']})"]
    code = expect["exit_code"]
    if code is None and not expect["stderr_contains"]:
        code = 0
    if code is not None and ran["exit_code"] != code:
        last = ran["stderr"].strip().splitlines()[-1:] or [""]
        found.append(f"exit code {ran['exit_code']}, expected {code}. {last[0][:SHOWN]}".strip())
    if case["call"]:
        return found or _value_differs(expect["value"], ran["stdout"])
    if expect["stdout"] is not None and _plain(ran["stdout"]) != _plain(expect["stdout"]):
        found.append(f"it printed {shown(ran['stdout'])}, expected {shown(expect['stdout'])}")
    found += [f"{shown(text)} is not in the output" for text in expect["stdout_contains"] if text not in ran["stdout"]]
    if expect["stdout_matches"] and not re.search(expect["stdout_matches"], ran["stdout"][:100_000], re.MULTILINE):
        found.append(f"the output does not match {shown(expect['stdout_matches'])}")
    for text in expect["stderr_contains"]:
        if text not in ran["stderr"]:
            found.append(f"{shown(text)} is not in the error output")
    for name, content in expect["files"].items():
        if name not in ran["files"]:
            found.append(f"it left no file {name}")
        elif _plain(ran["files"][name]) != _plain(content):
            found.append(f"{name} holds {shown(ran['files'][name])}, expected {shown(content)}")
    return found


def _value_differs(expected: Any, stdout: str) -> list[str]:
    lines = stdout.strip().splitlines()
    try:
        value = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        return [f"it gave no value but {shown(stdout)}"]
    return [] if value == expected else [f"it gave {shown(json.dumps(value))}, expected {shown(json.dumps(expected))}"]


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).rstrip("\n")


def shown(text: str) -> str:
    """A text as it is quoted in a fault, bounded."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def _run(case: Mapping[str, Any], root: Path) -> list[str]:
    """Run one test here, in a folder of its own. Returns what is wrong."""
    part = PROGRAM["components"][case["component"]]
    fakes, environment = fake_files(part["language"], case["fakes"])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {
            **{name: (root / name).read_text("utf-8") for name in PROGRAM["files"]},
            **case["files"],
            **fakes,
        }.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(text, encoding="utf-8")
        if compile_words := compiler(part["language"], part["file"], PROGRAM["files"]):
            (Path(folder) / BUILT).parent.mkdir(exist_ok=True)
            made = subprocess.run(compile_words, cwd=folder, capture_output=True, text=True, check=False)
            if made.returncode:
                return [f"it does not compile: {made.stderr.strip()[:SHOWN]}"]
        words, stdin = command(part["language"], part["file"], case, sys.executable)
        variables = {"PYTHONDONTWRITEBYTECODE": "1", **case["environment"], **environment}
        try:
            ran = subprocess.run(
                ["env", *(f"{name}={value}" for name, value in variables.items()), *words],  # noqa: S607  by PATH, as they
                cwd=folder,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=PROGRAM["timeout_s"],
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [f"it did not end within {PROGRAM['timeout_s']:g} s"]
        left = {name: Path(folder) / name for name in case["expect"]["files"]}
        files = {name: path.read_text("utf-8", "replace") for name, path in left.items() if path.is_file()}
    seen = {"status": "ok", "exit_code": ran.returncode, "stdout": ran.stdout, "stderr": ran.stderr, "files": files}
    return differences(case, seen)


def main() -> int:
    """Run all tests; print one line for each."""
    wrong = 0
    for case in CASES:
        faults = _run(case, Path(__file__).resolve().parent.parent)
        wrong += bool(faults)
        print(f"{'FAILED' if faults else 'ok    '} {case['name']}", *faults, sep="\n       ")
    print(f"{len(CASES) - wrong} of {len(CASES)} tests pass")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
