"""What a critic is given, and what it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from workers.builder.critics.verdicts import Verdict
from workers.builder.packages.lock import Packages
from workers.builder.requirements.components import Component, Plan
from workers.builder.requirements.contract import Contract
from workers.builder.requirements.requirement import Case, CriticName, Requirement

Ask = Callable[[str, Mapping[str, object]], str]
"""Asks a model: the name of a prompt and its variables in, the reply's text out."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A version of one component, among the files of the whole program so far."""

    requirement: Requirement
    plan: Plan
    component: Component
    files: Mapping[str, str]
    """All files of the program that there are, those of this version among them."""
    contract: Contract = field(default_factory=Contract)
    cases: tuple[Case, ...] = ()
    """The tests of this component."""
    cut_off: bool = False
    """Whether the model's reply was cut off."""
    packages: Packages = field(default_factory=Packages)
    """What there is of the packages that the program needs."""

    @property
    def not_run(self) -> str:
        """Why a Python program cannot be run as it is meant: packages are missing; "" when none is."""
        if self.component.language.name != "python" or not self.packages.missing:
            return ""
        return f"it needs {', '.join(self.packages.missing)}: {self.packages.why}"

    def can_run(self, case: Case) -> bool:
        """Whether a test can be run: it needs no package that is missing, or has stand-ins."""
        return bool(case.fakes) or not self.not_run

    @property
    def own(self) -> dict[str, str]:
        """The files of this component that there are."""
        return {path: self.files[path] for path in self.component.files if path in self.files}

    def is_meant(self, package: str) -> bool:
        """Whether the requirement names a package: under `[run] packages`, or in its words."""
        folded = package.casefold()
        names = {re.split(r"[<>=!~;\[ ]", one)[0].replace("-", "_").casefold() for one in self.requirement.run.packages}
        words = " ".join((self.component.requirements, self.component.specs, self.component.hints)).casefold()
        return folded in names or bool(re.search(rf"\b{re.escape(folded)}\b", words))


class Critic(Protocol):
    """Judges one side of a version."""

    @property
    def name(self) -> CriticName:
        """Its name in the requirement file."""
        ...

    def judge(self, subject: Subject) -> Verdict:
        """What it says. Raises WallsGone, ModelError."""
        ...
