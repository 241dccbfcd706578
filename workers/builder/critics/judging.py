"""A model's judgement of a version: is every requirement met, and is the code safe?

A judge reads what another model wrote, so its word alone is never enough. It may add findings, but not remove any. A
requirement counts as judged only with a line of the program as evidence. The judge does not see comments and
docstrings, because these could contain instructions for it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field, TypeAdapter

from core.values import Value
from workers.agent.code.source import tree
from workers.builder.critics.security import held
from workers.builder.critics.subject import Ask, Subject
from workers.builder.critics.verdicts import CoverageRow, Verdict, failed, finding, passed, skipped
from workers.builder.fences import quoted
from workers.builder.requirements.contract import ReplyUnreadable, read_as
from workers.builder.requirements.numbered import Numbered
from workers.builder.requirements.requirement import Severity

_PLACE = re.compile(r"(?P<file>[\w./-]+):(?P<line>\d+)")


class _Judged(Value):
    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str = Field(max_length=10)
    met: bool
    where: str = Field(default="", max_length=200)
    why: str = Field(default="", max_length=1_000)


class _Coverage(Value):
    model_config = ConfigDict(frozen=True, extra="ignore")
    requirements: tuple[_Judged, ...] = Field(max_length=200)


class _Risk(Value):
    model_config = ConfigDict(frozen=True, extra="ignore")
    severity: Severity
    where: str = Field(default="", max_length=200)
    problem: str = Field(max_length=1_000)
    fix: str = Field(default="", max_length=1_000)


class _Review(Value):
    model_config = ConfigDict(frozen=True, extra="ignore")
    findings: tuple[_Risk, ...] = Field(max_length=100)
    touches: tuple[str, ...] = Field(default=(), max_length=20)


class CoverageCritic:
    """Every numbered requirement: tested, judged with a line as evidence, unclear, or not met."""

    name: Literal["coverage"] = "coverage"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def judge(self, subject: Subject) -> Verdict:
        """Fails if the judge finds that a requirement is not met. An unclear requirement does not fail."""
        if not subject.component.numbered:
            return skipped(self.name, "no requirements are written for it")
        try:
            rows = self.rows(subject)
        except ReplyUnreadable as error:
            return skipped(self.name, f"the judge's reply could not be read: {error}")
        wrong = [
            finding(f"{row.id} is not met: {row.text[:200]} — {row.why}", "medium", about=row.id, rule="requirement")
            for row in rows
            if row.state == "not met"
        ]
        unclear = [row.id for row in rows if row.state == "unclear"]
        good = len(rows) - len(wrong) - len(unclear)
        note = f"unclear: {', '.join(unclear)}" if unclear else ""
        verdict = (
            failed(self.name, wrong, note=note, good=good, total=len(rows))
            if wrong
            else passed(self.name, note, good=good, total=len(rows))
        )
        return verdict.model_copy(update={"rows": rows})

    def rows(self, subject: Subject) -> tuple[CoverageRow, ...]:
        """What the judge says of each requirement. Raises ReplyUnreadable."""
        component = subject.component
        variables = {
            "component": component.name,
            "language": component.language.name,
            "requirements": [{"id": one.id, "text": quoted(one.text)} for one in component.numbered],
            "specs": quoted(component.specs) if component.specs.strip() else "",
            "files": [
                {"path": path, "text": quoted(numbered_lines(without_talk(text, path)))}
                for path, text in subject.own.items()
            ],
        }
        said = {
            one.id: one for one in read_as(self._ask("build_coverage", variables), TypeAdapter(_Coverage)).requirements
        }
        return tuple(_row(one, said.get(one.id), subject) for one in component.numbered)


class ReviewCritic:
    """A model's look at what the static rules cannot know, as a fixed report."""

    name: Literal["review"] = "review"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def judge(self, subject: Subject) -> Verdict:
        """Findings with place and severity. An empty list is no proof, so the static rules stand beside it."""
        component = subject.component
        purpose = filter(str.strip, (component.description, component.requirements))
        variables = {
            "component": component.name,
            "language": component.language.name,
            "description": quoted("\n\n".join(purpose)),
            "allowed": list(subject.requirement.security.allow),
            "files": [
                {"path": path, "text": quoted(numbered_lines(without_talk(text, path)))}
                for path, text in subject.own.items()
            ],
        }
        try:
            review = read_as(self._ask("build_review", variables), TypeAdapter(_Review))
        except ReplyUnreadable as error:
            return skipped(self.name, f"the reviewer's reply could not be read: {error}")
        found = []
        for risk in review.findings:
            path, line = _place(risk.where, subject)
            text = f"{risk.problem} {risk.fix}".strip()
            severity = risk.severity if line else "low"  # without a line nobody can look at it
            found.append(finding(text, severity, file=path, line=line, rule="reviewed"))
        return held(subject, self.name, found)


def without_talk(text: str, path: str) -> str:
    """Python without comments and docstrings, with the same line numbers; other languages as they are."""
    parsed = tree(text) if path.endswith(".py") else None
    if parsed is None:
        return text
    lines = text.split("\n")  # as Python counts them: a form feed ends no line
    for start, end in _docstrings(parsed, lines):
        for number in range(start, end + 1):
            lines[number - 1] = ""
    try:
        tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return "\n".join(lines)
    for token in tokens:
        row, column = token.start
        lines[row - 1] = lines[row - 1][:column].rstrip()
    return "\n".join(lines)


def numbered_lines(text: str) -> str:
    """The text with the number before each line, so that a judge can point at one."""
    return "\n".join(f"{number:>4} {line}" for number, line in enumerate(text.removesuffix("\n").split("\n"), 1))


def _docstrings(module: ast.Module, lines: Sequence[str]) -> list[tuple[int, int]]:
    """The first and last lines of docstrings. Where code stands on one of them, all of them have to stay in sight."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            doc = node.body[0]
            start, end = doc.lineno, doc.end_lineno or doc.lineno
            before = lines[start - 1].encode()[: doc.col_offset]  # Python counts columns in bytes
            behind = lines[end - 1].encode()[doc.end_col_offset :]
            if not before.strip() and not behind.strip():
                found.append((start, end))
    return found


def _row(one: Numbered, said: _Judged | None, subject: Subject) -> CoverageRow:
    if said is None:
        return CoverageRow(id=one.id, text=one.text, state="unclear", why="the judge said nothing of it")
    if not said.met:
        return CoverageRow(id=one.id, text=one.text, state="not met", why=said.why[:500])
    path, line = _place(said.where, subject)
    if not line:
        return CoverageRow(id=one.id, text=one.text, state="unclear", why="the judge names no line that shows it")
    return CoverageRow(id=one.id, text=one.text, state="judged", where=f"{path}:{line}")


def _place(where: str, subject: Subject) -> tuple[str, int]:
    """A file and line of the component that a judge named; ("", 0) when there is no such line."""
    for match in _PLACE.finditer(where):
        path, line = match["file"].removeprefix("./"), int(match["line"])
        if path in subject.own and 1 <= line <= subject.own[path].count("\n") + 1:
            return path, line
    return "", 0
