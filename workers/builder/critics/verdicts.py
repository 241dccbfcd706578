"""A critic's verdict on a version of a program, as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from core.values import Value
from workers.builder.requirements.requirement import SEVERITIES, CriticName, Severity

MOST_FINDINGS = 30
MESSAGE_CHARS = 600


class Finding(Value):
    """One remark: where, how severe, and what would be right."""

    message: str = Field(max_length=MESSAGE_CHARS)
    severity: Severity = "medium"
    file: str = ""
    line: int = 0
    """From 1; 0: the whole file."""
    rule: str = ""
    about: str = ""
    """The number of a requirement, or the name of a test."""
    allowed: bool = False
    """The requirement file says that the program is meant to do this."""

    @property
    def where(self) -> str:
        """Its place, for people and for the model."""
        return f"{self.file}:{self.line}" if self.line else self.file


class CoverageRow(Value):
    """What is known of one requirement."""

    id: str
    text: str
    state: Literal["tested", "judged", "unclear", "not met"]
    where: str = ""
    why: str = ""


class Verdict(Value):
    """One critic's. `state`: "passed", "failed", or "skipped" with the reason in `note`."""

    critic: CriticName
    state: Literal["passed", "failed", "skipped"]
    findings: tuple[Finding, ...] = ()
    note: str = ""
    good: int = 0
    """How many of `total` checked things (tests, requirements) are right."""
    total: int = 0
    rows: tuple[CoverageRow, ...] = ()
    """From the critic of requirements: one row for each requirement."""


def passed(
    critic: CriticName, note: str = "", *, findings: Iterable[Finding] = (), good: int = 0, total: int = 0
) -> Verdict:
    """Nothing that has to be corrected; `findings` are remarks."""
    return Verdict(critic=critic, state="passed", note=note, findings=bounded(findings), good=good, total=total)


def failed(
    critic: CriticName, findings: Iterable[Finding], *, note: str = "", good: int = 0, total: int = 0
) -> Verdict:
    """Something has to be corrected."""
    return Verdict(critic=critic, state="failed", findings=bounded(findings), note=note, good=good, total=total)


def skipped(critic: CriticName, why: str) -> Verdict:
    """It was not looked at, and why."""
    return Verdict(critic=critic, state="skipped", note=why)


def finding(message: str, severity: Severity = "medium", **fields: object) -> Finding:
    """A finding whose message is bounded: programs and tools wrote it."""
    text = " ".join(message.split()) if len(message) > MESSAGE_CHARS else message.strip()
    text = text if len(text) <= MESSAGE_CHARS else text[: MESSAGE_CHARS - 2] + " …"
    return Finding.model_validate({"message": text, "severity": severity, **fields})


def bounded(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most severe findings, at most so many."""
    return tuple(sorted(findings, key=lambda one: -SEVERITIES.index(one.severity))[:MOST_FINDINGS])


def at_least(severity: Severity, limit: str) -> bool:
    """Whether a severity reaches a limit ("never" is reached by none)."""
    return limit in SEVERITIES and SEVERITIES.index(severity) >= SEVERITIES.index(limit)


_WEIGHTS: dict[CriticName, int] = {
    "format": 1_000_000,
    "interface": 100_000,
    "tests": 60_000,
    "run": 30_000,
    "security": 20_000,
    "review": 5_000,
    "coverage": 4_000,
    "types": 500,
    "lint": 500,
}
"""What a failure costs. A version that can be read is better than any that cannot, and so on down to the linters."""


def score(verdicts: Iterable[Verdict]) -> int:
    """How good a version is, 0 at best. Of two versions the one with the higher score is kept."""
    lost = 0
    for verdict in verdicts:
        weight = _WEIGHTS[verdict.critic]
        if verdict.state == "failed":
            share = (verdict.total - verdict.good) / verdict.total if verdict.total else 1.0
            lost += round(weight * (0.5 + 0.5 * share))
        remarks = [one for one in verdict.findings if not one.allowed]
        lost += sum(weight // 100 * (1 + SEVERITIES.index(one.severity)) for one in remarks[:10])
    return -lost


def failures(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts that ask for a repair."""
    return tuple(verdict for verdict in verdicts if verdict.state == "failed")
