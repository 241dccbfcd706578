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

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workers.builder.history.hand_edits import merge, patch
from workers.builder.history.iterations import HANDED_OVER, History, Iteration, edited_by_hand, write
from workers.builder.history.program_pages import readme, security_report
from workers.builder.requirements.components import digest, plan
from workers.builder.requirements.requirement import Requirement, read
from workers.builder.testing.cases import test_file


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
