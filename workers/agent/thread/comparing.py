"""Two threads side by side: the figures of their reports that differ, and their code as a diff. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff

from core.schedules.values import Figure
from core.steps import Finished
from core.thread_cells import since_reset
from workers.agent.about_steps import Turns, cells
from workers.agent.code.program import program
from workers.agent.report.rerun import plan
from workers.agent.report.stated_figures import figures_now
from workers.agent.text import one_line
from workers.agent.thread.effective_steps import effective_steps


@dataclass(frozen=True, slots=True)
class FigurePair:
    """A figure of two reports; None where one of them has no such figure."""

    name: str
    here: float | None
    there: float | None

    @property
    def differs(self) -> bool:
        """Whether the two are not the same number."""
        return self.here != self.there


@dataclass(frozen=True, slots=True)
class Compared:
    """`reports` are the last ones of both threads, "" where there is none. `diff` leads from the code there to ours."""

    figures: tuple[FigurePair, ...]
    diff: str
    reports: tuple[str, str]


def compare_threads(here: Turns, there: Turns) -> Compared:
    """What differs between two threads. `here` and `there` are steps as they are stored."""
    ours, theirs = effective_steps(here), effective_steps(there)
    diff = unified_diff(_code(theirs), _code(ours), "there", "here", lineterm="")
    return Compared(
        figures=tuple(_pairs(_figures(ours), _figures(theirs))),
        diff="\n".join(diff),
        reports=(_report(ours), _report(theirs)),
    )


def _upto_report(turns: Turns) -> Turns:
    ends = [n for n, steps in enumerate(turns, start=1) if any(isinstance(step, Finished) for step in steps)]
    return turns[: ends[-1]] if ends else ()


def _report(turns: Turns) -> str:
    ended = [step.report for steps in turns for step in steps if isinstance(step, Finished)]
    return ended[-1] if ended else ""


def _figures(turns: Turns) -> list[Figure]:
    upto = _upto_report(turns)
    made = plan(upto) if upto else None
    return figures_now(upto, made, {}) if made is not None else []


def _pairs(ours: Sequence[Figure], theirs: Sequence[Figure]) -> list[FigurePair]:
    """Pairs of figures. Figures of the same name are paired in their order."""
    left: dict[str, list[float]] = defaultdict(list)
    for figure in theirs:
        left[figure.name].append(figure.value)
    found = []
    for figure in ours:
        other = left[figure.name].pop(0) if left[figure.name] else None
        found.append(FigurePair(figure.name, figure.value, other))
    found += [FigurePair(name, None, value) for name, values in left.items() for value in values]
    return list(dict.fromkeys(found))


def _code(turns: Turns) -> list[str]:
    ran = [cell for steps in since_reset(turns) for cell in cells(steps)]
    lines: list[str] = []
    for part in program(ran):
        if part.code:
            lines += [f"# {one_line(part.cell.title, 100)}", *part.code.splitlines(), ""]
    return lines
