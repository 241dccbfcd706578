"""What one build was: stored beside the program as `history/iter-n/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from core.values import Value
from workers.builder.critics.verdicts import CoverageRow, Verdict
from workers.builder.history.hand_edits import patch
from workers.builder.packages.lock import Lock
from workers.builder.requirements.components import digest
from workers.builder.requirements.contract import Contract
from workers.builder.requirements.requirement import Case, checked_path

HISTORY = "history"
HANDED_OVER = ("passed", "failed")
"""States of an iteration whose program people get."""
_FILE_BYTES = 1 << 20
_MARKS = {"passed": "✓", "failed": "✗", "skipped": "–"}


class Version(Value):
    """One try at a component: how good it was, whether it was kept, and what each critic said."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    number: int
    score: int
    kept: bool
    why: str = ""
    verdicts: tuple[Verdict, ...] = ()


class BuiltComponent(Value):
    """A component as it was built in an iteration."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: str
    fingerprint: str
    """A hash. It stays the same while the same is asked of the component."""
    checked: str = ""
    """A hash. It stays the same while the component has the same tests and rules."""
    files: dict[str, str]
    versions: tuple[Version, ...] = ()
    coverage: tuple[CoverageRow, ...] = ()
    kept_from: int = 0
    """The iteration that it was taken over from without a call of the model; 0: built again."""

    @property
    def best(self) -> Version | None:
        """The version that was kept."""
        return next((one for one in reversed(self.versions) if one.kept), None)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the critics said of the version that was kept."""
        return self.best.verdicts if self.best else ()

    @property
    def passed(self) -> bool:
        """Whether no critic asks for a repair of it."""
        return self.best is not None and all(verdict.state != "failed" for verdict in self.best.verdicts)

    @property
    def summary(self) -> str:
        """One line on its checks: ✓ format, ✗ tests 3/4, – types."""
        parts = []
        for verdict in self.verdicts:
            counted = f" {verdict.good}/{verdict.total}" if verdict.total else ""
            parts.append(f"{_MARKS[verdict.state]} {verdict.critic}{counted}")
        return " · ".join(parts)


class Mutation(Value):
    """How the tests fared with broken programs."""

    tried: int = 0
    found: int = 0
    survivors: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Further tests by a model that the program fails."""


class Call(Value):
    """One call of the model."""

    purpose: str
    component: str
    prompt: str
    reply: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_micros: int | None = None


class Iteration(Value):
    """One build. `state` is "open" while it goes on, and also after a crash."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    number: int
    state: Literal["open", "passed", "failed", "held back", "stopped"] = "open"
    began: datetime = Field(default_factory=lambda: datetime.now(UTC))
    ordered_by: str = ""
    """What asked for it, so that nobody builds it again for the same order; empty when nobody says."""
    requirement: str
    """The hash of the requirement file."""
    model: str
    sandbox: str = ""
    contract: Contract = Contract()
    contract_of: str = ""
    cases: tuple[Case, ...] = ()
    """Tests that a model made of prose."""
    cases_of: str = ""
    components: tuple[BuiltComponent, ...] = ()
    mutation: Mutation = Mutation()
    touched: tuple[str, ...] = ()
    packages: Lock | None = None
    """The wheels that were installed for its runs."""
    missing: tuple[str, ...] = ()
    """Packages that it needs and that were not there, so that it was not run."""
    missing_why: str = ""
    hashes: dict[str, str] = Field(default={})
    """The hash of each file that was written, so that changes by hand are found."""
    conflicts: tuple[str, ...] = ()
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_micros: int | None = None
    why: str = ""

    def component(self, name: str) -> BuiltComponent | None:
        """A component of it, by name."""
        return next((one for one in self.components if one.name == name), None)

    @property
    def files(self) -> dict[str, str]:
        """All files that it built."""
        return {path: text for one in self.components for path, text in one.files.items()}

    @property
    def skipped_checks(self) -> tuple[tuple[str, Verdict], ...]:
        """(component, verdict) of every check that was skipped."""
        every = ((built.name, verdict) for built in self.components for verdict in built.verdicts)
        return tuple((name, verdict) for name, verdict in every if verdict.state == "skipped")

    @property
    def lacks_packages(self) -> bool:
        """Whether the program was not run, or not wholly, because packages are missing."""
        return bool(self.missing) and any(verdict.critic in ("run", "tests") for _, verdict in self.skipped_checks)

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """The components that the security rules have not judged: their code cannot be read, or the rules are off."""
        return tuple(
            built.name
            for built in self.components
            if not any(verdict.critic == "security" and verdict.state != "skipped" for verdict in built.verdicts)
        )


class History:
    """The iterations of one program's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[Iteration]:
        """Every iteration, the oldest first. One whose file cannot be read is left out."""
        found = []
        for path in (self.folder / HISTORY).glob("iter-*/iteration.json"):
            try:
                found.append(Iteration.model_validate_json(path.read_bytes()))
            except (OSError, ValidationError):
                continue
        return sorted(found, key=lambda one: one.number)

    def next_number(self) -> int:
        """The number of the next iteration."""
        numbers = [int(path.name[5:]) for path in (self.folder / HISTORY).glob("iter-*") if path.name[5:].isdigit()]
        return max(numbers, default=0) + 1

    def keep(self, iteration: Iteration, requirement: str) -> Path:
        """Write an iteration, also while it is open. Returns its folder."""
        own = self.of(iteration.number)
        own.mkdir(parents=True, exist_ok=True)
        write(own / "requirement.toml", requirement)
        for path, text in iteration.files.items():
            write(own / "files" / path, text)
        write(own / "iteration.json", iteration.model_dump_json(indent=1) + "\n")
        return own

    def note_call(self, number: int, call: Call) -> None:
        """Add one call of the model to the iteration's `calls.jsonl`."""
        own = self.of(number)
        own.mkdir(parents=True, exist_ok=True)
        with (own / "calls.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(call.model_dump(mode="json"), ensure_ascii=False) + "\n")

    def counted(self, iteration: Iteration) -> Iteration:
        """An iteration with all calls of the model that were written down for it. A crash may have left some uncounted.

        The numbers that it has stay where nothing was written down, or something that cannot be read.
        """
        try:
            lines = (self.of(iteration.number) / "calls.jsonl").read_bytes().splitlines()
            calls = [Call.model_validate_json(line) for line in lines if line.endswith(b"}")]  # the last may be cut
        except (OSError, ValidationError):
            return iteration
        if len(calls) <= iteration.calls:
            return iteration
        costs = [call.cost_micros for call in calls if call.cost_micros is not None]
        counted = {
            "calls": len(calls),
            "prompt_tokens": sum(call.prompt_tokens for call in calls),
            "completion_tokens": sum(call.completion_tokens for call in calls),
            "cost_micros": sum(costs) if costs else None,
        }
        return iteration.model_copy(update=counted)

    def note_diff(self, iteration: Iteration, before: Mapping[str, str]) -> str:
        """Write what changed since an earlier iteration; returns the diff."""
        text = patch(before, iteration.files)
        write(self.of(iteration.number) / "changes.diff", text)
        return text

    def of(self, number: int) -> Path:
        """The folder of an iteration."""
        return self.folder / HISTORY / f"iter-{number}"

    def requirement(self, number: int) -> str:
        """The requirement file of an iteration. Raises FileNotFoundError."""
        return (self.of(number) / "requirement.toml").read_text(encoding="utf-8")


def edited_by_hand(folder: Path, iteration: Iteration) -> dict[str, str]:
    """The text of the program's files that differ now from what this iteration wrote. Files that are gone are left
    out."""
    found = {}
    for path, sha256 in iteration.hashes.items():
        text = read(folder, path)
        if text is not None and digest(text) != sha256:
            found[path] = text
    return found


def read(folder: Path, path: str) -> str | None:
    """A file below the folder; None when there is none of a size that we wrote. Links are not followed."""
    target = folder / checked_path(path)
    if target.is_symlink() or not target.is_file() or target.stat().st_size > _FILE_BYTES:
        return None
    return target.read_text(encoding="utf-8", errors="replace")


def write(path: Path, text: str) -> None:
    """Replace a file by a whole one: a crash leaves the old or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, encoding="utf-8", newline="")
    fresh.replace(path)
