"""Which part of a thread a fork begins with, and which of its cells run again for it. Pure.

`cut_at` finds the place in the steps that a message or a command means. `replay` says which cells restore variables and
files: all that ran, except cells with effects outside of the session, and cells that depend on those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.steps import (
    Asked,
    Briefed,
    CellRan,
    Commanded,
    Finished,
    Moved,
    Noted,
    NotRebuilt,
    Preferred,
    RebuildWhy,
    Recalled,
    Step,
)
from core.thread_cells import since_reset
from workers.agent.about_steps import Turns, cells, ending
from workers.agent.code.program import Part, program
from workers.agent.code.slicing import slice_cells
from workers.agent.report.rerun import code_to_slice, effects_in
from workers.agent.text import one_line
from workers.agent.thread.changes import CELL, MESSAGE, REPORT

TURN, COMMAND = "turn:", "command:"
"""How two more places begin (`changes.py` has the others): the number of a turn, the ts of a command."""
_COMES_ALONG = (Briefed, Recalled, Preferred)
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Cut:
    """A place in the steps of a thread: behind the first `steps` of turn `turn`, which counts from 1."""

    turn: int
    steps: int


def cut_at(turns: Turns, target: str) -> Cut | None:
    """The place behind what a target names; None when it is not among the steps."""
    for number, steps in enumerate(turns, start=1):
        for place, step in enumerate(steps, start=1):
            if _is_meant(step, number, target):
                return Cut(number, _with_what_came_along(steps, place))
        if target == f"{TURN}{number}" and steps:
            return Cut(number, _end_of(steps))
    return None


def cut_before(turns: Turns, command: Commanded) -> Cut | None:
    """The place of the last step before a command; None when nothing stands there."""
    for number, steps in enumerate(turns, start=1):
        at = next((place for place, step in enumerate(steps) if step == command), len(steps))
        if at < len(steps):
            return Cut(number, at) if at else _last(turns[: number - 1])
    return _last(turns)


def until(turns: Turns, cut: Cut) -> list[Sequence[Step]]:
    """The steps up to a place."""
    return [*turns[: cut.turn - 1], turns[cut.turn - 1][: cut.steps]]


def belongs(step: Step) -> bool:
    """Whether a new thread takes this step over. It does not need to know where the session of the old one was."""
    return not isinstance(step, Moved)


@dataclass(frozen=True, slots=True)
class Replay:
    """The code that is run again, in order, and the cells that are not. Numbers are those of the notebook."""

    parts: tuple[tuple[int, Part], ...]
    left_out: tuple[NotRebuilt, ...]
    made: tuple[tuple[int, CellRan], ...]
    """Cells that are not run; their files are put in place instead."""
    needs: Mapping[str, frozenset[str]]
    """The cells that each cell needs, itself included, by their ids."""


def replay(turns: Turns) -> Replay:
    """What is run again for a session that should have what these turns left. `turns` are effective steps."""
    ran = [cell for steps in since_reset(turns) for cell in cells(steps)]
    parts = program(ran, whole_state=True)
    numbered = {part.cell.cell_id: number for number, part in enumerate(parts, start=1)}
    why: dict[str, RebuildWhy] = dict(effects_in(turns, [part for part in parts if part.cell.status != "undone"]))
    sliced = slice_cells([(part.cell.cell_id, code_to_slice(part)) for part in parts], set(numbered))
    for part in parts:
        cell_id = part.cell.cell_id
        if cell_id in why or part.cell.status == "undone":
            continue
        if part.cell.status in ("timeout", "killed") and not part.code:
            why[cell_id] = "stopped"
        elif part.code and any(why.get(each, "stopped") not in ("stopped", "rests") for each in sliced.needs[cell_id]):
            why[cell_id] = "rests"
    return Replay(
        parts=tuple(
            (numbered[part.cell.cell_id], part) for part in parts if part.code and part.cell.cell_id not in why
        ),
        left_out=tuple(not_rebuilt(number, part.cell, why[part.cell.cell_id]) for number, part in _of(parts, why)),
        made=tuple((number, part.cell) for number, part in _of(parts, why) if part.cell.status == "ok"),
        needs=sliced.needs,
    )


def not_rebuilt(number: int, cell: CellRan, why: RebuildWhy) -> NotRebuilt:
    """The cell as people and the model are told of it."""
    return NotRebuilt(cell=number, title=one_line(cell.title, _TITLE_CHARS) or str(number), why=why)


def _of(parts: Sequence[Part], why: dict[str, RebuildWhy]) -> list[tuple[int, Part]]:
    return [(number, part) for number, part in enumerate(parts, start=1) if part.cell.cell_id in why]


def _is_meant(step: Step, turn: int, target: str) -> bool:
    match step:
        case Asked() | Noted():
            return target == f"{MESSAGE}{step.ts}"
        case CellRan():
            return target == f"{CELL}{step.cell_id}"
        case Finished():
            return target == f"{REPORT}{turn}"
        case _:
            ts = getattr(step, "ts", "")
            return bool(ts) and target == f"{COMMAND}{ts}"


def _with_what_came_along(steps: Sequence[Step], place: int) -> int:
    """The place behind a message and its files, or behind all steps of a command."""
    first = steps[place - 1]
    if isinstance(first, Commanded):
        done = (n for n, step in enumerate(steps, start=1) if step.kind == "acknowledged" and step.ts == first.ts)
        return next(done, place)
    while isinstance(first, Asked) and place < len(steps) and isinstance(steps[place], _COMES_ALONG):
        place += 1
    return place


def _end_of(steps: Sequence[Step]) -> int:
    """The place behind the end of a turn: commands that came later are not part of it."""
    return next((place for place in range(len(steps), 0, -1) if ending(steps[:place])), len(steps))


def _last(turns: Turns) -> Cut | None:
    number = next((n for n in range(len(turns), 0, -1) if turns[n - 1]), None)
    return None if number is None else Cut(number, len(turns[number - 1]))
