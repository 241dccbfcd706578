"""The tests of a program: run inside the walls, and written as a file that runs anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workers.builder.requirements.components import Component, Plan
from workers.builder.requirements.languages import BUILT, START
from workers.builder.requirements.requirement import Case, RunTable
from workers.builder.sandbox.walls import Job, Ran, Walls
from workers.builder.testing import case_script

_MATCH_S = 5.0
_MATCH = """
import re, sys
def read(name):
    with open(name, encoding="utf-8", errors="surrogatepass", newline="") as file:
        return file.read()
sys.exit(0 if re.search(read("pattern"), read("output"), re.MULTILINE) else 1)
"""
_MATCHED_CHARS = 100_000


def job_of(case: Case, component: Component, files: Mapping[str, str], run: RunTable, *, observed: bool) -> Job:
    """The job that runs a test of a component. `files` are the program's."""
    data = case.model_dump(mode="json")
    language = component.language.name
    words, stdin = case_script.command(language, component.main_file, data, "python")
    fakes, environment = case_script.fake_files(language, case.fakes)
    prepare, start, more = native(component, files, case.arguments)
    return Job(
        words=start or tuple(words),
        files={**files, **case.files, **fakes, **more},
        prepare=prepare,
        stdin=stdin,
        environment={**case.environment, **environment},
        wanted=tuple(case.expect.files),
        timeout_s=run.timeout_s,
        observed=observed and language == "python",
    )


def native(
    component: Component, files: Mapping[str, str], arguments: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """How a compiled program is made and started: the compiler's words, those of the start, and a file that it needs.

    All of it is empty for a language that is not compiled.
    """
    if not component.language.compile:
        return (), (), {}
    source = _native_start()
    words = component.language.compile_words(component.main_file, files)
    return words, ("python", "-I", START, BUILT, *arguments), {START: source}


@cache
def _native_start() -> str:
    """What starts a compiled program. Its package is not imported here: it would bring pandas into every worker."""
    spec = find_spec("threadbook_tools")
    assert spec is not None and spec.origin is not None  # noqa: S101, PT018 - it is installed together with us
    return Path(spec.origin).with_name("native_start.py").read_text(encoding="utf-8")


def compile_errors(ran: Ran) -> list[str]:
    """What a compiler says is wrong, the first three lines of it."""
    said = [line.strip() for line in (ran.stderr or ran.stdout).splitlines() if line.strip()]
    return ([line for line in said if "error" in line] or said or [ran.why])[:3]


def faults(case: Case, ran: Ran, walls: Walls) -> list[str]:
    """What of a run is not as the test wants it. Raises WallsGone.

    A pattern is looked for inside the walls: whoever writes both it and the program can make that take for ever.
    """
    if not ran.prepared:
        return [f"it does not compile: {' '.join(compile_errors(ran))}"]
    data = {"status": ran.status, "exit_code": ran.exit_code, "stdout": ran.stdout, "stderr": ran.stderr}
    wanted, pattern = case.model_dump(mode="json"), case.expect.stdout_matches
    wanted["expect"]["stdout_matches"] = ""
    found = case_script.differences(wanted, data | {"files": ran.files})
    if pattern and ran.status == "ok" and not case.call:
        files = {"pattern": pattern, "output": ran.stdout[:_MATCHED_CHARS]}
        looked = walls.run(Job(("python", "-I", "-c", _MATCH), files=files, timeout_s=_MATCH_S, tool=True))
        if looked.status != "ok":
            found.append(f"whether the output matches {case_script.shown(pattern)} took longer than {_MATCH_S:g} s")
        elif looked.exit_code != 0:
            found.append(f"the output does not match {case_script.shown(pattern)}")
    return [f"{found[0]}: {ran.why}", *found[1:]] if found and ran.why else found


def blamed(ran: Ran, plan: Plan) -> tuple[str, int]:
    """The file of the program, and the line, in which an error arose; ("", 0) when the error output does not say."""
    for path, line in reversed(re.findall(r'File "(?:\./|[^"\n]*/)?([^"/\n]+)", line (\d+)', ran.stderr[-20_000:])):
        if own := next((name for name in plan.files if name.rpartition("/")[2] == path), None):
            return own, int(line)
    for name, line in re.findall(r"^([\w./-]+): line (\d+):", ran.stderr[-20_000:], re.MULTILINE)[:1]:
        return (name.removeprefix("./"), int(line)) if name.removeprefix("./") in plan.files else ("", 0)
    for name, line in re.findall(r"panicked at ([\w./-]+):(\d+):", ran.stderr[-20_000:])[:1]:
        return (name, int(line)) if name in plan.files else ("", 0)
    return "", 0


def test_file(plan: Plan, cases: Iterable[Case], run: RunTable) -> str:
    """The tests as a Python script that needs nothing but Python: `tests/test_NAME.py`."""
    listed = [case.model_dump(mode="json") | {"component": case.component or plan.entry.name} for case in cases]
    parts = {one.name: {"language": one.language.name, "file": one.main_file} for one in plan.components}
    program: dict[str, Any] = {"files": list(plan.files), "components": parts, "timeout_s": run.timeout_s}
    source = resources.files("workers.builder.testing").joinpath("case_script.py").read_text(encoding="utf-8")
    for name, value in (("PROGRAM: dict[str, Any] = {}", program), ("CASES: list[dict[str, Any]] = []", listed)):
        left = name.rpartition(" = ")[0]
        literal = json.dumps(json.dumps(value, ensure_ascii=True))
        source = source.replace(f"{name}\n", f"{left} = json.loads(\n    {literal}\n)\n", 1)
    return source
