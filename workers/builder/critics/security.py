"""Dangerous code: our own rules, and bandit and ruff's security rules if they are installed."""

from __future__ import annotations

from typing import Literal

from workers.builder.critics.security_rules import KINDS, look
from workers.builder.critics.subject import Subject
from workers.builder.critics.tool_output import number, rows_of
from workers.builder.critics.tools import Tools, command
from workers.builder.critics.verdicts import Finding, Verdict, at_least, failed, finding, passed
from workers.builder.requirements.requirement import SEVERITIES, Severity
from workers.builder.sandbox.walls import Job, Walls

_RUFF = (
    "check",
    "--isolated",
    "--no-cache",
    "--quiet",
    "--ignore-noqa",
    "--output-format",
    "json",
    "--select",
    "S",
    "--ignore",
    "S101",
)
_SEVERITIES: dict[str, Severity] = {"LOW": "low", "MEDIUM": "medium", "HIGH": "high"}
_OF_TOOLS = {
    "network": ("S113", "S310", "S323", "S501", "B113", "B310", "B323", "B501"),
    "processes": (
        "S404",
        "S602",
        "S603",
        "S604",
        "S605",
        "S606",
        "S607",
        "B404",
        "B602",
        "B603",
        "B604",
        "B605",
        "B606",
        "B607",
    ),
    "files": ("S103", "S108", "S306", "B103", "B108", "B306"),
    "secrets": ("S105", "S106", "S107", "B105", "B106", "B107"),
}


class SecurityCritic:
    """Fails on a finding that `[security] fail_on` holds back; tells the others."""

    name: Literal["security"] = "security"

    def __init__(self, walls: Walls, tools: Tools) -> None:
        self._walls = walls
        self._tools = tools

    def judge(self, subject: Subject) -> Verdict:
        """Every language has our rules; Python has the tools too."""
        language = subject.component.language.name
        found = [one for path, text in subject.own.items() for one in look(path, text, language)]
        notes = []
        if language == "python":
            for tool in ("bandit", "ruff"):
                if not self._tools.has(tool):
                    notes.append(f"{tool} is not installed here")
                else:
                    found += self._bandit(subject) if tool == "bandit" else self._ruff(subject)
        else:
            notes.append(f"only our own rules look at {language}")
        return held(subject, self.name, _once(found), "; ".join(notes))

    def _bandit(self, subject: Subject) -> list[Finding]:
        words = (*command("bandit"), "--quiet", "--ignore-nosec", "--format", "json", *subject.own)
        found = []
        for row in rows_of(self._walls.run(Job(words, files=subject.own, timeout_s=60, tool=True)).stdout, "results"):
            severity = _SEVERITIES.get(str(row.get("issue_severity")))
            path = str(row.get("filename", "")).removeprefix("./")
            if severity and path in subject.own:
                line, rule = number(row.get("line_number")), str(row.get("test_id", ""))[:10]
                found.append(finding(str(row.get("issue_text", "")), severity, file=path, line=line, rule=rule))
        return found

    def _ruff(self, subject: Subject) -> list[Finding]:
        ran = self._walls.run(Job((*command("ruff"), *_RUFF, *subject.own), files=subject.own, timeout_s=60, tool=True))
        found = []
        for row in rows_of(ran.stdout):
            path = next((own for own in subject.own if str(row.get("filename", "")).endswith(own)), "")
            location, rule = row.get("location"), str(row.get("code", ""))[:10]
            if path and rule.startswith("S"):
                line = number(location.get("row")) if isinstance(location, dict) else 0
                found.append(finding(str(row.get("message", "")), "low", file=path, line=line, rule=rule))
        return found


def held(subject: Subject, name: Literal["security", "review"], found: list[Finding], note: str = "") -> Verdict:
    """The verdict on findings, by what the requirement file allows and on what it fails."""
    security = subject.requirement.security
    marked = [one.model_copy(update={"allowed": _kind(one) in security.allow}) for one in found]
    grave = [one for one in marked if at_least(one.severity, security.fail_on) and not one.allowed]
    return failed(name, marked, note=note) if grave else passed(name, note, findings=marked)


def _kind(one: Finding) -> str:
    return KINDS.get(one.rule) or next((kind for kind, rules in _OF_TOOLS.items() if one.rule in rules), "")


def _once(found: list[Finding]) -> list[Finding]:
    """One finding per line and subject: bandit's B602 and ruff's S602 are the same, and so are our own on that line."""
    kept: dict[tuple[str, int, str], Finding] = {}
    for one in sorted(found, key=lambda each: (-SEVERITIES.index(each.severity), each.rule[:1].isupper())):
        number = one.rule[1:] if one.rule[:1] in "SB" and one.rule[1:].isdigit() else one.rule
        on_line = [key for key in kept if key[:2] == (one.file, one.line)]
        same_kind = any(_kind(kept[key]) == _kind(one) != "" for key in on_line)
        if not same_kind:
            kept.setdefault((one.file, one.line, number), one)
    return list(kept.values())
