"""What linters and the type checker say, inside the walls: ruff and mypy for Python, shellcheck for bash."""

from __future__ import annotations

import re
from typing import Any, Literal

from workers.builder.critics.subject import Subject
from workers.builder.critics.tool_output import number, rows_of
from workers.builder.critics.tools import Tools, command
from workers.builder.critics.verdicts import Finding, Verdict, failed, finding, passed, skipped
from workers.builder.requirements.requirement import Severity
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
    "E9,F,B,PLE",
    "--ignore",
    "B904,B905",
)
_SHELLCHECK = ("--format", "json", "--shell", "bash", "--norc", "--severity=warning")
_MYPY = (
    "--no-error-summary",
    "--no-color-output",
    "--ignore-missing-imports",
    "--cache-dir=/dev/null",
    "--no-incremental",
    "--no-site-packages",
    "--hide-error-context",
    "--show-error-codes",
    "--config-file=",
)
_MYPY_LINE = re.compile(
    r"^(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*?)(?:  \[(?P<rule>[\w-]+)\])?$", re.MULTILINE
)
_GRAVE = ("F821", "F811", "F823", "E9", "PLE", "F402", "F63", "F70", "invalid-syntax")


class LintCritic:
    """What a linter knows to be wrong. Matters of taste are not asked for."""

    name: Literal["lint"] = "lint"

    def __init__(self, walls: Walls, tools: Tools) -> None:
        self._walls = walls
        self._tools = tools

    def judge(self, subject: Subject) -> Verdict:
        """Only remarks, unless a name is undefined or the like."""
        language = subject.component.language.name
        tool = {"python": "ruff", "bash": "shellcheck"}.get(language)
        if tool is None:
            return skipped(self.name, f"no linter is known for {language}")
        if not self._tools.has(tool):
            return skipped(self.name, f"{tool} is not installed here")
        options = _RUFF if tool == "ruff" else _SHELLCHECK
        ran = self._walls.run(Job((*command(tool), *options, *subject.own), files=subject.own, timeout_s=60, tool=True))
        found = [_ruff(one) if tool == "ruff" else _shellcheck(one) for one in rows_of(ran.stdout)]
        found = [one for one in found if one.file in subject.own]
        grave = [one for one in found if one.severity == "high"]
        return failed(self.name, found) if grave else passed(self.name, findings=found)


class TypesCritic:
    """What the type checker says. Only remarks: a program may run well without annotations."""

    name: Literal["types"] = "types"

    def __init__(self, walls: Walls, tools: Tools) -> None:
        self._walls = walls
        self._tools = tools

    def judge(self, subject: Subject) -> Verdict:
        """Judges only Python."""
        if subject.component.language.name != "python":
            return skipped(self.name, f"no type checker is known for {subject.component.language.name}")
        if not self._tools.has("mypy"):
            return skipped(self.name, "mypy is not installed here")
        files = {path: text for path, text in subject.files.items() if path.endswith(".py")}
        ran = self._walls.run(Job((*command("mypy"), *_MYPY, *subject.own), files=files, timeout_s=120, tool=True))
        if ran.status != "ok" or ran.exit_code not in (0, 1):
            return skipped(self.name, f"mypy could not look at it ({ran.why or f'exit code {ran.exit_code}'})")
        found = [
            finding(match["text"], "low", file=match["file"], line=int(match["line"]), rule=match["rule"] or "")
            for match in _MYPY_LINE.finditer(ran.stdout)
            if match["file"] in subject.own
        ]
        return passed(self.name, findings=found)


def _ruff(row: dict[str, Any]) -> Finding:
    rule = str(row.get("code") or "invalid-syntax")
    severity: Severity = "high" if rule.startswith(_GRAVE) else "low"
    location = row.get("location")
    path = str(row.get("filename", "")).rpartition("/job-")[2].partition("/")[2] or str(row.get("filename", ""))
    return finding(
        str(row.get("message", "")),
        severity,
        file=path,
        line=number(location.get("row") if isinstance(location, dict) else 0),
        rule=rule,
    )


def _shellcheck(row: dict[str, Any]) -> Finding:
    severity: Severity = "high" if row.get("level") == "error" else "low"
    rule = f"SC{number(row.get('code'))}"
    return finding(
        str(row.get("message", "")), severity, file=str(row.get("file", "")), line=number(row.get("line")), rule=rule
    )
