"""The versions of a message: as it was written, changed in Slack by its author, and changed by people for the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from core.steps import CellRan, Changed, Finished, Step

MESSAGE, REPORT, CELL = "message:", "report:", "cell:"
"""How `Changed.target` begins."""

What = Literal["written", "slack", "edit", "leave_out", "put_back"]
TimedTurns = Sequence[Sequence[tuple[datetime, Step]]]


@dataclass(frozen=True, slots=True)
class MessageVersion:
    """One version. `what` led to it. `who` is a name, or "" for the analyst; `is_own`: only its author may read it."""

    what: What
    text: str
    who: str
    at: datetime
    is_own: bool = False


def written_versions(ts: str, author: str, earlier: Sequence[tuple[str, datetime]], text: str) -> list[MessageVersion]:
    """What a person wrote, and each later text from Slack. Only the author may see the replaced texts."""
    texts = [*(each for each, _ in earlier), text]
    times = [datetime.fromtimestamp(float(ts), UTC), *(until for _, until in earlier)]
    return [
        MessageVersion("slack" if n else "written", each, author, at, is_own=n < len(earlier))
        for n, (each, at) in enumerate(zip(texts, times, strict=True))
    ]


def made_versions(turns: TimedTurns, target: str) -> list[MessageVersion]:
    """What the analyst made: the report of a turn, or the code of a cell."""
    for number, steps in enumerate(turns, start=1):
        for at, step in reversed(steps):
            if isinstance(step, Finished) and target == f"{REPORT}{number}":
                return [MessageVersion("written", step.report, step.author, at)]
            if isinstance(step, CellRan) and target == f"{CELL}{step.cell_id}":
                return [MessageVersion("written", step.code, "", at)]
    return []


def changed_versions(turns: TimedTurns, target: str, first: Sequence[MessageVersion]) -> list[MessageVersion]:
    """All versions in their order: the first ones, and what people left out, put back and edited for the model."""
    found = [*first, *_changes(turns, target)]
    return sorted(found, key=lambda version: version.at)


def _changes(turns: TimedTurns, target: str) -> Iterator[MessageVersion]:
    for at, step in (each for steps in turns for each in steps):
        if isinstance(step, Changed) and step.target == target:
            yield MessageVersion(step.do, step.text, step.author or step.user, at)
