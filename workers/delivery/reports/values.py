"""The input from which a report is made, and the finished report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import get_args

from core.clean_room import CleanRoom
from core.phrases import say
from core.rows import Spent
from core.second_route import SecondRoute
from core.slack.blocks import SlackMessage
from core.slack.sanitize import addresses, sanitize
from core.steps import (
    Asked,
    Briefed,
    CellRan,
    FigureSource,
    FileAbstract,
    FileProblem,
    Finished,
    Replied,
    Step,
    total_spent,
)
from core.thread_cells import NumberedCell, numbered_cells, since_reset
from core.values import Language
from workers.agent.about_steps import first_asked
from workers.agent.code.program import Part, program
from workers.agent.code.slicing import slice_cells
from workers.agent.redrawn import as_last_drawn
from workers.agent.report.rerun import code_to_slice

PAGE = "report.html"
"""The file that holds all of a report."""


@dataclass(frozen=True, slots=True)
class PastReport:
    """A question that the thread had before, its report ("" without one), and the ids of its cells."""

    question: str
    report: str
    cells: frozenset[str] = frozenset()


@dataclass(frozen=True)  # without slots, so that what is asked for each cell of a long thread is worked out once
class ReportInput:
    """A finished turn, as far as its report needs it.

    `report` is the model's Markdown. `earlier` are the cells of the thread's earlier turns, oldest first: the notebook
    and the script need them to run. `pictures` are PNG bytes of figures by their sha256; the notebook embeds those it
    is given. `unshown` are the ids of cells whose charts Slack did not take, `sources` where the report's figures come
    from, `clean_room` the outcome of running its code again (None: nobody does), `second` what a second way to its
    figures gave (None: nobody asked for one). `duration_s` is the whole turn, `spent` what its model calls took, its
    cost in `currency`. `author` is the person who wrote the report in the analyst's place. With a `turn_id` the report
    gets buttons. `past` are the thread's earlier answers, oldest first; `sections` the headings of its fixed layout.
    `new_files` are the paths of the files that came with this turn, `behind` the ids of the cells that the answer rests
    on, those of this turn among them; None where nobody looked.
    """

    question: str
    asker: str
    language: Language
    report: str
    cells: tuple[CellRan, ...] = ()
    earlier: tuple[CellRan, ...] = ()
    files: tuple[FileAbstract, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    model: str = ""
    duration_s: float = 0.0
    spent: Spent = field(default_factory=lambda: Spent(calls=0))
    currency: str = "USD"
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    unshown: frozenset[str] = frozenset()
    sources: tuple[FigureSource, ...] = ()
    author: str = ""
    clean_room: CleanRoom | None = None
    second: SecondRoute | None = None
    turn_id: str = ""
    past: tuple[PastReport, ...] = ()
    sections: tuple[str, ...] = ()
    new_files: frozenset[str] = frozenset()
    behind: frozenset[str] | None = None

    @property
    def asked(self) -> str:
        """What was asked, on one line: a mark stands between messages, and between their lines."""
        return " · ".join(" ".join(line.split()) for line in self.question.splitlines() if line.strip())

    @property
    def used(self) -> tuple[CellRan, ...]:
        """The cells that the answer rests on, oldest first."""
        cells = (*self.earlier, *self.cells)
        return cells if self.behind is None else tuple(cell for cell in cells if cell.cell_id in self.behind)

    @cached_property
    def numbered(self) -> Mapping[str, NumberedCell]:
        """The thread's cells by id, numbered as in the notebook."""
        return numbered_cells(((*self.earlier, *self.cells),))

    @cached_property
    def drawn(self) -> tuple[CellRan, ...]:
        """The cells of this answer for its charts: one that was drawn again counts as it was drawn last."""
        return as_last_drawn(self.cells)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The thread's code as a program."""
        return program((*self.earlier, *self.cells))

    @property
    def safe_report(self) -> str:
        """The report for a file that somebody opens, as `safe` makes it."""
        return self.safe(self.report)

    def safe(self, text: str) -> str:
        """Markdown for a file that somebody opens. Only the thread's charts and addresses of the questions are linked.

        Another image or link, of the model's or of the data's, would tell a stranger that the file was opened.
        """
        return sanitize(text, self._linked)

    @cached_property
    def _linked(self) -> frozenset[str]:
        """The charts and the addresses that a file may link."""
        charts = frozenset(figure.name for cell in (*self.earlier, *self.cells) for figure in cell.figures)
        return charts.union(*map(addresses, (self.question, *(one.question for one in self.past))))


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file that goes with the report. `note` says what of it people would miss; "" when it is whole."""

    name: str
    mimetype: str
    data: bytes
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The report, ready to post: `messages` in order, then those of the `files` that are `shown`, in one upload.

    The others are kept: people get them in the hand-over pack. `markdown` is the whole text, as in report.md.
    """

    messages: tuple[SlackMessage, ...]
    files: tuple[ReportFile, ...]
    markdown: str
    shown: frozenset[str] = frozenset()


def _past(steps: Sequence[Step], language: Language) -> PastReport:
    """An earlier turn. One that was stopped has no answer."""
    finished = [step.report for step in steps if isinstance(step, Finished)]
    ran = frozenset(step.cell_id for step in steps if isinstance(step, CellRan))
    return PastReport("\n".join(_questions(steps, language)), finished[-1] if finished else "", ran)


_COMPARED_CHARS = 1_000
_CHANGED = tuple(say("message_changed", language, text="").strip() for language in get_args(Language))


def _questions(steps: Sequence[Step], language: Language) -> list[str]:
    """What people asked in a turn. Where somebody changed a message in Slack, only its new text."""
    found: list[tuple[str, str]] = []
    for step in steps:
        if not isinstance(step, Asked) or not (text := _text(step, language).strip()):
            continue
        if changed := next((words for words in _CHANGED if text.startswith(words)), ""):
            text = text.removeprefix(changed).strip()
            own = [place for place, (user, _) in enumerate(found) if user == step.user]
            old = max(own, key=lambda place: (_likeness(found[place][1], text), place), default=len(found))
            del found[old : old + 1]
        found.append((step.user, text))
    return [text for _, text in found]


def _likeness(one: str, other: str) -> float:
    """How much of two messages is the same, from 0 to 1: a changed message does not say which one it was."""
    return SequenceMatcher(None, one[:_COMPARED_CHARS], other[:_COMPARED_CHARS], autojunk=False).ratio()


def _text(asked: Asked, language: Language) -> str:
    return (
        say("context_left_out_message", language, author=asked.author or asked.user) if asked.left_out else asked.text
    )


def _behind(earlier: Sequence[CellRan], own: Sequence[CellRan], finished: Finished) -> frozenset[str]:
    """The ids of the cells that a report rests on: those of its turn, those that show its figures, and what these
    need."""
    ids = {cell.cell_id for cell in own}
    shown = {place.cell_id for source in finished.sources for place in source.places}
    codes = [(part.cell.cell_id, code_to_slice(part)) for part in program((*earlier, *own))]
    return frozenset(ids.union(slice_cells(codes, ids | shown).cells))


def report_input(
    steps: Sequence[Step],
    language: Language,
    *,
    earlier: Sequence[Sequence[Step]] = (),
    model: str = "",
    duration_s: float = 0.0,
    currency: str = "USD",
    pictures: Mapping[str, bytes] | None = None,
    unshown: Collection[str] = (),
    turn_id: str = "",
) -> ReportInput:
    """The input that a turn's steps hold. Files of earlier turns count: they are still in the workspace.

    Raises ValueError when the steps hold no report.
    """
    finished = next((step for step in reversed(steps) if isinstance(step, Finished)), None)
    if finished is None:
        raise ValueError("this turn has no report yet: its steps hold no Finished")
    briefed = [step for turn in (*earlier, steps) for step in turn if isinstance(step, Briefed)]
    own = tuple(step for step in steps if isinstance(step, CellRan))
    before = tuple(step for turn in since_reset(earlier) for step in turn if isinstance(step, CellRan))
    return ReportInput(
        question="\n".join(_questions(steps, language)),
        asker=first.author or first.user if (first := first_asked(steps)) is not None else "",
        language=language,
        report=finished.report,
        sources=finished.sources,
        author=finished.author,
        second=finished.second,
        sections=finished.sections,
        cells=own,
        earlier=before,
        files=tuple({file.path: file for step in briefed for file in step.files}.values()),
        problems=tuple(problem for step in steps if isinstance(step, Briefed) for problem in step.problems),
        model=model,
        duration_s=duration_s,
        spent=total_spent([step for step in steps if isinstance(step, Replied)]),
        currency=currency,
        pictures=pictures or {},
        unshown=frozenset(unshown),
        turn_id=turn_id,
        past=tuple(_past(turn, language) for turn in earlier),
        new_files=frozenset(file.path for step in steps if isinstance(step, Briefed) for file in step.files),
        behind=_behind(before, own, finished),
    )
