"""A suite: a JSONL file of questions with their files and what a right answer holds (`docs/eval.md`)."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from core.errors import ThreadbookError

MAX_QUESTIONS = 100_000
MAX_LINE_CHARS = 200_000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
EXACT = 1e-6
"""Numbers that differ by less count as equal, as in InfiAgent-DABench."""


class SuiteError(ThreadbookError):
    """A suite cannot be used. The message names the file and the line."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Gold(_Strict):
    """One value of a right answer: text, a number within `tolerance`, or (`unknown`) that the data does not say."""

    value: float | str = ""
    tolerance: Annotated[float, Field(ge=0)] = EXACT
    unknown: bool = False

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.unknown == (self.value != ""):
            raise ValueError("needs either a value or unknown = true")
        if isinstance(self.value, float) and not math.isfinite(self.value):
            raise ValueError("a value must be finite")
        return self


class Question(_Strict):
    """One line of a suite. `answers` are checked by code, `rubric` by a model; a question has at least one of them."""

    id: str
    question: Annotated[str, Field(min_length=1, max_length=20_000)]
    format: Annotated[str, Field(max_length=5_000)] = ""
    files: tuple[str, ...] = ()
    answers: dict[str, Gold] = {}
    rubric: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @field_validator("id")
    @classmethod
    def _names_a_file(cls, value: str) -> str:
        if not _ID.fullmatch(value):
            raise ValueError("must be letters, digits, dots, dashes and underscores, at most 80")
        return value

    @field_validator("answers", mode="before")
    @classmethod
    def _short_golds(cls, value: object) -> object:
        """A bare value stands for an exact one."""
        if not isinstance(value, dict):
            return value
        return {name: {"value": gold} if isinstance(gold, str | int | float) else gold for name, gold in value.items()}

    @model_validator(mode="after")
    def _can_be_scored(self) -> Self:
        if not self.answers and not self.rubric:
            raise ValueError("needs answers or a rubric")
        if bad := [name for name in self.answers if not _NAME.fullmatch(name)]:
            raise ValueError(f"{bad[0]!r} is no name of an answer: letters, digits and underscores")
        return self

    @property
    def sha(self) -> str:
        """Tells whether the question is still the one that a result belongs to; the files' bytes are not in it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def asked(self, *, plain: bool) -> str:
        """What is said to the analyst; `plain` leaves the sentence about the form of the answer out."""
        return self.question if plain or not self.format else f"{self.question}\n\n{self.format}"


def read_suite(path: Path) -> tuple[Question, ...]:
    """The questions of a file. Raises SuiteError for a file that cannot be read, and for the first bad line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{path} cannot be read: {type(error).__name__}") from error
    if len(lines) > MAX_QUESTIONS:
        raise SuiteError(f"{path} has more than {MAX_QUESTIONS:,} lines")
    found: dict[str, Question] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        question = _question(line, f"{path}, line {number}")
        if question.id in found:
            raise SuiteError(f"{path}, line {number}: the id {question.id} is there twice")
        for name in question.files:
            if not (path.parent / name).is_file():
                raise SuiteError(f"{path}, line {number}: there is no file {name} beside the suite")
        found[question.id] = question
    if not found:
        raise SuiteError(f"{path} holds no question")
    return tuple(found.values())


def _question(line: str, where: str) -> Question:
    if len(line) > MAX_LINE_CHARS:
        raise SuiteError(f"{where}: longer than {MAX_LINE_CHARS:,} characters")
    try:
        return Question.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SuiteError(f"{where}: {place + ': ' if place else ''}{first['msg']}") from None
    except (ValueError, RecursionError):
        raise SuiteError(f"{where}: no JSON object") from None
