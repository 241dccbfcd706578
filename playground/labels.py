"""The app's answers that people judge on a page of their own: rate one, correct it, mark it as an example.

What there is, and the outcome of a judgement, says an object that whoever starts the playground hands in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from playground.workspace import Json

PER_PAGE, SHORT, REPORT = 20, 600, 80_000


class AppLabels(Protocol):
    """The app's side. It is called in a thread of its own and may take a second."""

    def answers(self, team: str, user: str) -> tuple[Sequence[Json], str]:
        """The answers that a person may see, the newest first, and why some are missing ("" when none are).

        Each has the fields of `Answer` that differ from their defaults.
        """

    def label(self, team: str, user: str, answer: str, do: str, text: str) -> str:
        """Keep a judgement: `do` is up, down, example, no_example or fix. Returns why it was not kept, or ""."""


@dataclass(frozen=True)
class Answer:
    """An answer of the app as one person sees it.

    `report` is Markdown as it counts now, `original` what it was before `editor` corrected it. `mine` is this person's
    vote with its `reason`. With `is_waiting` a correction is on its way.
    """

    id: str
    channel: str
    thread_ts: str
    question: str
    report: str
    author: str = ""
    at: float = 0.0
    original: str = ""
    editor: str = ""
    up: int = 0
    down: int = 0
    mine: str = ""
    reason: str = ""
    examples: int = 0
    is_example: bool = False
    can_fix: bool = False
    is_waiting: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether this person has judged it, or somebody has corrected it."""
        return bool(self.mine or self.is_example or self.original or self.is_waiting)

    @property
    def moment(self) -> datetime:
        """When it was given, in UTC."""
        return datetime.fromtimestamp(self.at, UTC)


SHOWS: Mapping[str, Callable[[Answer], bool]] = {
    "new": lambda answer: not answer.is_judged,
    "judged": lambda answer: answer.is_judged,
    "examples": lambda answer: bool(answer.examples),
    "all": lambda answer: True,
}
"""The lists of the page."""


@dataclass(frozen=True)
class Listed:
    """A page of a list. `counts` says how many there are in each list, `page` counts from 0."""

    show: str
    answers: tuple[Answer, ...]
    counts: Mapping[str, int]
    page: int
    pages: int
    trouble: str = ""


def listed(given: Sequence[Json], show: str, page: int, keep: str = "", trouble: str = "") -> Listed:
    """The answers of one list. `keep` stays in it although it was judged a moment ago: it does not jump away."""
    show = show if show in SHOWS else "new"
    answers = [_answer(each) for each in given]
    counts = {name: sum(map(wanted, answers)) for name, wanted in SHOWS.items()}
    wanted = [each for each in answers if SHOWS[show](each) or each.id == keep]
    pages = max(1, -(-len(wanted) // PER_PAGE))
    page = max(0, min(page, pages - 1))
    return Listed(show, tuple(wanted[page * PER_PAGE : (page + 1) * PER_PAGE]), counts, page, pages, trouble[:SHORT])


def _answer(given: Json) -> Answer:
    """An answer of the app, cut to what a page can show."""
    longest = {"report": REPORT, "original": REPORT}
    kept: dict[str, Any] = {
        name: value[: longest.get(name, SHORT)] if isinstance(value, str) else value for name, value in given.items()
    }
    return Answer(**kept)
