"""Runs all critics on one version of a component, in order of importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workers.builder.critics.format import FormatCritic
from workers.builder.critics.interface import InterfaceCritic
from workers.builder.critics.judging import CoverageCritic, ReviewCritic
from workers.builder.critics.linters import LintCritic, TypesCritic
from workers.builder.critics.running import RunCritic, Seen, TestsCritic
from workers.builder.critics.security import SecurityCritic
from workers.builder.critics.subject import Ask, Critic, Subject
from workers.builder.critics.tools import Tools
from workers.builder.critics.verdicts import Verdict, failures, score, skipped
from workers.builder.requirements.requirement import CriticName
from workers.builder.sandbox.walls import Walls


@dataclass(frozen=True, slots=True)
class Judged:
    """A version of a component and what the critics say of it."""

    files: Mapping[str, str]
    """All files of the program, with those of this version."""
    verdicts: tuple[Verdict, ...]
    breaks: str = ""
    """What a repair has broken in the components below; such a version is not kept."""

    @property
    def score(self) -> int:
        """How good it is, 0 at best."""
        return score(self.verdicts)

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """What has to be corrected."""
        return failures(self.verdicts)


class Jury:
    """The critics of a build. Critics that ask a model come last, and only if all tools pass."""

    def __init__(self, walls: Walls, ask: Ask, without: Sequence[CriticName] = ()) -> None:
        tools = Tools(walls)
        self.seen = Seen()
        self._without = frozenset(without)
        self._format = FormatCritic(walls, tools)
        self._security = SecurityCritic(walls, tools)
        self._tools: tuple[Critic, ...] = (
            InterfaceCritic(walls),
            LintCritic(walls, tools),
            TypesCritic(walls, tools),
            self._security,
            RunCritic(walls, tools, self.seen),
            TestsCritic(walls, tools, self.seen),
        )
        self._models: tuple[Critic, ...] = (CoverageCritic(ask), ReviewCritic(ask))

    def judge(self, subject: Subject, *, models: bool = True) -> tuple[Verdict, ...]:
        """The verdict of every critic, the skipped ones among them. Raises WallsGone, ModelError, BudgetSpent."""
        first = self._format.judge(subject)
        if first.state == "failed":
            return (first, self._unread(subject))
        verdicts = [first, *(self._one(critic, subject) for critic in self._tools)]
        for critic in self._models if models else ():
            if failures(verdicts):
                verdicts.append(skipped(critic.name, "the tools have to be content first"))
            else:
                verdicts.append(self._one(critic, subject))
        return tuple(verdicts)

    def _unread(self, subject: Subject) -> Verdict:
        """The security of code that cannot be read: what is found counts, and nothing found is no pass."""
        verdict = self._one(self._security, subject)
        if verdict.state != "passed":
            return verdict
        return skipped(self._security.name, "what cannot be read was not looked at")

    def _one(self, critic: Critic, subject: Subject) -> Verdict:
        if critic.name in self._without:
            return skipped(critic.name, "switched off in the requirement file")
        return critic.judge(subject)
