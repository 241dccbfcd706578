"""The folder that people get: code, tests, README, security report, and the requirement that all of it was made from.

NAME/
  NAME.py …              the code: one file for each that the requirement names
  tests/test_NAME.py     the tests, which run with Python alone
  README.md  SECURITY.md
  requirement.toml       what was asked for
  requirements.txt       the packages that it was tested with, each with its hash; where it needs any
  history/iter-n/        every build: requirement, code, calls of the model, verdicts, changes.diff, by-hand.patch
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from workers.builder.case_script import BUILT, compiler
from workers.builder.cases import test_file
from workers.builder.components import Plan, digest, plan
from workers.builder.hand_edits import merge, patch
from workers.builder.iterations import BuiltComponent, History, Iteration, edited_by_hand, write
from workers.builder.requirement import Requirement, read
from workers.builder.verdicts import Verdict

HANDED_OVER = ("passed", "failed")
"""States of an iteration whose program people get."""
_MARKS = {"passed": "✓", "failed": "✗", "skipped": "–"}


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What was written for people. `edited`: files whose changes by hand were found; `conflicts`: those put aside."""

    iteration: Iteration
    files: tuple[str, ...]
    edited: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def hand_over(history: History, iteration: Iteration, requirement: Requirement, text: str) -> HandedOver:
    """Write what a build has made into the program's folder. A program that is held back stays in the history."""
    folder = history.folder
    before = next((one for one in reversed(history.all()) if one.hashes and one.number < iteration.number), None)
    by_hand = edited_by_hand(folder, before) if before else {}
    conflicts: list[str] = []
    files = dict(iteration.files)
    if before and by_hand:
        write(
            history.of(iteration.number) / "by-hand.patch",
            patch({path: before.files[path] for path in by_hand}, by_hand),
        )
        for path in by_hand:
            if path in files:
                merged = merge(before.files[path], by_hand[path], files[path])
                files[path] = merged.text
                conflicts += [f"{path}:{line}: {said.rstrip() or '(removed)'}" for line, said in merged.conflicts]
            else:
                conflicts.append(f"{path}: the program no longer has this file")
    written: list[str] = []
    if iteration.state in HANDED_OVER:
        whole = {**files, **_beside(requirement, iteration, text)}
        _replace(folder, whole, before, by_hand)
        written += whole
        hashes = {path: digest(content) for path, content in iteration.files.items()}
        iteration = iteration.model_copy(update={"hashes": hashes})
    if iteration.components:
        write(folder / "SECURITY.md", security_report(requirement, iteration))
        written.append("SECURITY.md")
    iteration = iteration.model_copy(update={"conflicts": tuple(conflicts)})
    history.keep(iteration, text)
    return HandedOver(iteration, tuple(written), tuple(by_hand), tuple(conflicts))


def _beside(requirement: Requirement, iteration: Iteration, text: str) -> dict[str, str]:
    """What is written beside the code, but for the report on security."""
    made, cases = plan(requirement), (*requirement.tests.case, *iteration.cases)
    files = {"README.md": readme(requirement, made, iteration), "requirement.toml": text}
    if iteration.packages:
        files["requirements.txt"] = iteration.packages.requirements()
    if cases:
        files[f"tests/test_{requirement.file.name}.py"] = test_file(made, cases, requirement.run)
    return files


def _replace(folder: Path, files: Mapping[str, str], before: Iteration | None, by_hand: Mapping[str, str]) -> None:
    """Write the files of a program, and remove those of the iteration before that it no longer has."""
    for path, content in files.items():
        write(folder / path, content)
    gone = [*(before.hashes if before else ()), *(["requirements.txt"] if before and before.packages else ())]
    for path in gone:
        if path not in files and path not in by_hand:
            (folder / path).unlink(missing_ok=True)


def go_back(history: History, number: int) -> Iteration:
    """Make an earlier iteration the newest one: the folder is as that build wrote it.

    Changes by hand since the last build are kept as a patch in the history. Raises FileNotFoundError for one that was
    not handed over, RequirementWrong when its requirement cannot be read any more.
    """
    every = history.all()
    found = next((one for one in every if one.number == number), None)
    if found is None or not found.components:
        known = ", ".join(str(one.number) for one in every) or "none"
        raise FileNotFoundError(f"there is no iteration {number} with code; there are: {known}")
    if found.state not in HANDED_OVER:
        raise FileNotFoundError(f"iteration {number} was not handed over ({found.state}); its code is in the history")
    text = history.requirement(number)
    several = len(found.components) > 1
    requirement = read(text, f"{history.folder.absolute().name if several else found.components[0].name}.toml")
    fresh = found.model_copy(update={"number": history.next_number(), "why": f"back to iteration {number}"})
    last = next((one for one in reversed(every) if one.hashes), None)
    by_hand = edited_by_hand(history.folder, last) if last else {}
    hashes = {path: digest(content) for path, content in fresh.files.items()}
    fresh = fresh.model_copy(update={"hashes": hashes})
    history.keep(fresh, text)
    if last and by_hand:
        write(history.of(fresh.number) / "by-hand.patch", patch({path: last.files[path] for path in by_hand}, by_hand))
    _replace(history.folder, {**fresh.files, **_beside(requirement, fresh, text)}, last, by_hand)
    write(history.folder / "SECURITY.md", security_report(requirement, fresh))
    history.note_diff(fresh, last.files if last else {})
    return fresh


def differences(history: History) -> str:
    """What the last build changed, in the requirement and in the code, and what was changed by hand since."""
    every = [one for one in history.all() if one.state != "open"]
    if not every:
        return ""
    last = every[-1]
    before = every[-2] if len(every) > 1 else None
    old = {"requirement.toml": history.requirement(before.number)} if before else {}
    changes = patch(old, {"requirement.toml": history.requirement(last.number)}) if before else ""
    changes += patch(before.files if before else {}, last.files)
    by_hand = edited_by_hand(history.folder, last) if last.hashes else {}
    if by_hand:
        changes += "\n# changed by hand since\n" + patch({path: last.files[path] for path in by_hand}, by_hand)
    return changes


def readme(requirement: Requirement, made: Plan, iteration: Iteration) -> str:
    """What the program is, how it is run, and how much of it is checked."""
    file, entry = requirement.file, made.entry
    state = {"passed": "All checks pass.", "failed": "**Some checks fail**, see below."}.get(
        iteration.state, iteration.state
    )
    if lacks_packages(iteration):
        state = "All checks that could be made pass." if iteration.state == "passed" else state
        needs = f"it needs {', '.join(iteration.missing)}, and {_cell(iteration.missing_why)}"
        state += f" **It was not run as it is meant**: {needs}."
    lines = [
        f"# {file.name}",
        "",
        file.description,
        "",
        state,
        "",
        "## Run it",
        "",
        "```sh",
        how_to_run(made),
        "```",
        "",
    ]
    if requirement.run.packages:
        lines += [f"It needs these packages: {', '.join(requirement.run.packages)}.", ""]
    if iteration.packages:
        lines += [
            "It was run and tested with exactly the wheels of `requirements.txt`, which fit the kind of machine that "
            "built it:",
            "",
            "```sh",
            "pip install --only-binary :all: --require-hashes -r requirements.txt",
            "```",
            "",
            "| package | version | licence |",
            "| --- | --- | --- |",
            *(
                f"| {one.name} | {one.version} | {_cell(one.licence) or 'not named'} |"
                for one in iteration.packages.packages
            ),
            "",
        ]
    if requirement.tests.case or iteration.cases:
        lines += ["Its tests:", "", "```sh", f"python tests/test_{file.name}.py", "```", ""]
    lines += [
        "## What was asked, and what is known of it",
        "",
        "| requirement | text | state | where |",
        "| --- | --- | --- | --- |",
    ]
    for built in iteration.components:
        prefix = f"{built.name}." if len(iteration.components) > 1 else ""
        for row in built.coverage:
            lines.append(f"| {prefix}{row.id} | {_cell(row.text)} | {row.state} | {_cell(row.where or row.why)} |")
    lines += ["", "## Checks", "", "| component | check | state | remarks |", "| --- | --- | --- | --- |"]
    for built in iteration.components:
        for verdict in built.best.verdicts if built.best else ():
            lines.append(f"| {built.name} | {verdict.critic} | {verdict.state} | {_cell(_remark(verdict))} |")
    if entry.language.not_run:
        lines += ["", f"It was not run here: {entry.language.not_run}."]
    if iteration.mutation.tried:
        found = f"The tests find {iteration.mutation.found} of {iteration.mutation.tried} broken programs."
        lines += ["", found, *(f"* not found: {one}" for one in iteration.mutation.survivors)]
    if entry.entry and iteration.touched:
        lines += [
            "",
            "While it ran it tried to use: " + ", ".join(f"`{_cell(one)}`" for one in iteration.touched) + ".",
        ]
    made_by = (
        f"Built by Threadbook from `requirement.toml`, iteration {iteration.number}, with the model {iteration.model}"
    )
    lines += [
        "",
        f"{made_by}; programs ran in a sandbox of level “{iteration.sandbox}”. Change the requirement, not the code.",
    ]
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def security_report(requirement: Requirement, iteration: Iteration) -> str:
    """A report of fixed form: what was looked for, by whom, and what was found."""
    rows, looked = [], []
    for built in iteration.components:
        for verdict in built.best.verdicts if built.best else ():
            if verdict.critic not in ("security", "review"):
                continue
            looked.append(
                f"* {built.name}, {verdict.critic}: {verdict.state}" + (f" ({verdict.note})" if verdict.note else "")
            )
            for one in verdict.findings:
                held = "meant, by `[security] allow`" if one.allowed else "open"
                rows.append(f"| {one.severity} | {one.where} | {one.rule} | {_cell(one.message)} | {held} |")
    outcome = {
        "held back": f"**Held back**: a finding of severity {requirement.security.fail_on} or more is open. "
        f"The code is in `history/iter-{iteration.number}/files/` and was not handed over.",
        "stopped": "**Not complete**: the build stopped.",
    }.get(iteration.state, f"Nothing of severity {requirement.security.fail_on} or more is open.")
    if iteration.state in HANDED_OVER and (unseen := not_looked_at(iteration)):
        outcome = f"**Not complete**: the security rules have not judged {', '.join(unseen)}."
    lines = ["# Security report", "", outcome, "", "## Who looked", "", *looked, "", "## Findings", ""]
    lines += (
        ["| severity | where | rule | finding | state |", "| --- | --- | --- | --- | --- |", *rows]
        if rows
        else ["None."]
    )
    lines += ["", "## What it tried to use while it ran", ""]
    lines += [f"* {_cell(one)}" for one in iteration.touched] or [
        "Nothing beyond its own folder was seen. Only runs of Python are watched."
    ]
    lines += ["", "A report without findings is no proof that there are none."]
    return "\n".join(lines) + "\n"


def how_to_run(made: Plan) -> str:
    """The command line that starts the program."""
    entry = made.entry
    if entry.language.name == "sql":
        return f"sqlite3 DATABASE.db < {entry.main_file}"
    if entry.language.name == "html":
        return f"open {entry.main_file}"
    if words := compiler(entry.language.name, entry.main_file, made.files):
        return " ".join("program" if word == BUILT else word for word in words) + " && ./program"
    return " ".join((*entry.language.run, entry.main_file))


def summary(built: BuiltComponent) -> str:
    """One line on a component's checks: ✓ format, ✗ tests 3/4, – types."""
    parts = []
    for verdict in built.best.verdicts if built.best else ():
        counted = f" {verdict.good}/{verdict.total}" if verdict.total else ""
        parts.append(f"{_MARKS[verdict.state]} {verdict.critic}{counted}")
    return " · ".join(parts)


def lacks_packages(iteration: Iteration) -> bool:
    """Whether the program was not run, or not wholly, because packages are missing."""
    skipped = (verdict.critic for _, verdict in skipped_checks(iteration))
    return bool(iteration.missing) and any(critic in ("run", "tests") for critic in skipped)


def skipped_checks(iteration: Iteration) -> Iterable[tuple[str, Verdict]]:
    """(component, verdict) of every check that was skipped."""
    for built in iteration.components:
        for verdict in built.best.verdicts if built.best else ():
            if verdict.state == "skipped":
                yield built.name, verdict


def not_looked_at(iteration: Iteration) -> tuple[str, ...]:
    """The components that the security rules have not judged: their code cannot be read, or the rules are off."""
    judged = {
        built.name
        for built in iteration.components
        for verdict in (built.best.verdicts if built.best else ())
        if verdict.critic == "security" and verdict.state != "skipped"
    }
    return tuple(built.name for built in iteration.components if built.name not in judged)


def to_json(handed: HandedOver, folder: Path) -> Mapping[str, object]:
    """What `threadbook build --json` prints."""
    iteration = handed.iteration
    return {
        "folder": str(folder),
        "state": iteration.state,
        "why": iteration.why,
        "iteration": iteration.number,
        "model": iteration.model,
        "sandbox": iteration.sandbox,
        "files": list(handed.files),
        "edited_by_hand": list(handed.edited),
        "conflicts": list(handed.conflicts),
        "calls": iteration.calls,
        "prompt_tokens": iteration.prompt_tokens,
        "completion_tokens": iteration.completion_tokens,
        "cost": None if iteration.cost_micros is None else iteration.cost_micros / 1e6,
        "mutation": iteration.mutation.model_dump(mode="json"),
        "touched": list(iteration.touched),
        "components": [
            {
                "name": one.name,
                "passed": one.passed,
                "kept_from": one.kept_from,
                "versions": [version.model_dump(mode="json") for version in one.versions],
                "coverage": [row.model_dump(mode="json") for row in one.coverage],
            }
            for one in iteration.components
        ],
    }


def _remark(verdict: Verdict) -> str:
    counted = f"{verdict.good} of {verdict.total}" if verdict.total else ""
    first = verdict.findings[0] if verdict.findings else None
    said = f"{first.where}: {first.message}" if first else ""
    more = f"and {len(verdict.findings) - 1} more" if len(verdict.findings) > 1 else ""
    return "; ".join(filter(None, (counted, verdict.note, said, more)))


def _cell(text: str) -> str:
    """A text in one cell of a Markdown table: one line, bounded, no markup of its own."""
    line = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
    return line if len(line) <= 200 else line[:199] + "…"
