"""The results of a run: one line of JSON per answered question, appended, so that an interrupted run goes on."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tryout.evals.scoring import SCORED, Outcome
from tryout.evals.statistics import wilson


class Result(BaseModel):
    """One line: a question, asked once. `cost` is in the currency of `[budget]`, None when the model has no price.

    `sha` tells the question's text and golds, `data` the bytes of its files: a result counts only for both.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    repeat: Annotated[int, Field(ge=1)] = 1
    outcome: Outcome
    sha: str = ""
    data: str = ""
    model: str = ""
    style: Literal["tags", "plain"] = "tags"
    tags: tuple[str, ...] = ()
    expected: dict[str, str] = {}
    given: dict[str, str] = {}
    why: str = ""
    status: str = ""
    cells: int = 0
    failed_cells: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    transcript: str = ""

    @property
    def name(self) -> str:
        """The question with the number of its repeat, as runs are compared."""
        return f"{self.id}#{self.repeat}"


def read_results(path: Path) -> tuple[Result, ...]:
    """The results in a file, the last one for each question and repeat; () without a file.

    A line that is none, such as the half of one that an interrupted run left, is skipped.
    """
    if not path.exists():
        return ()
    found: dict[str, Result] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            result = Result.model_validate(json.loads(line))
        except (ValueError, ValidationError, RecursionError):
            continue
        found[result.name] = result
    return tuple(found.values())


def append_result(path: Path, result: Result) -> None:
    """Add a line, durably. A half line before it is ended first."""
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(result.model_dump_json().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in numbers. `accuracy` is over the questions that were scored: the mean of each one's repeats."""

    outcomes: dict[str, int]
    questions: int
    accuracy: float
    low: float
    high: float
    cost: float | None
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    by_tag: dict[str, tuple[int, int]]


def summary(results: Iterable[Result]) -> Summary:
    """Count the results. Repeats of a question are not independent, so the interval counts questions."""
    results = list(results)
    outcomes: dict[str, int] = defaultdict(int)
    shares: dict[str, list[bool]] = defaultdict(list)
    by_tag: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        outcomes[result.outcome] += 1
        if result.outcome in SCORED:
            shares[result.id].append(result.outcome == "right")
            for tag in result.tags:
                by_tag[tag].append(result.outcome == "right")
    right = sum(sum(each) / len(each) for each in shares.values())
    low, high = wilson(right, len(shares))
    costs = [result.cost for result in results if result.cost is not None]
    return Summary(
        outcomes=dict(outcomes),
        questions=len(shares),
        accuracy=right / len(shares) if shares else 0.0,
        low=low,
        high=high,
        cost=sum(costs) if costs else None,
        seconds=sum(result.seconds for result in results),
        prompt_tokens=sum(result.prompt_tokens for result in results),
        completion_tokens=sum(result.completion_tokens for result in results),
        by_tag={tag: (sum(hits), len(hits)) for tag, hits in sorted(by_tag.items())},
    )


def right_by_name(results: Iterable[Result]) -> dict[str, bool]:
    """Whether each question of a run was answered right; those that were not scored are left out."""
    return {result.name: result.outcome == "right" for result in results if result.outcome in SCORED}
