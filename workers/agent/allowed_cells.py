"""Cells and the yes that they wait for: which ones people let run, which one stopped to ask, and runs again. Pure.

Two rules ask people. The team's policy asks before a cell (`decide.py`). A data source or a tool can ask about a single
statement or call: then the cell has begun, is told that a person is asked, and ends. After the yes it runs again.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.steps import CONFIRM_CALL, CellRan, Corrected, Decided, Forgot, Moved, Questioned, Replied, Step, Undone


def needs_a_yes(cell: CellRan) -> bool:
    """Whether a cell ended only because a person is asked about its statement or its call."""
    return cell.ended_by == "question"


def runs_again(steps: Sequence[Step]) -> dict[str, str]:
    """The calls of a reply whose cell is to run once more without the model, each with the id of the run that stopped:
    a person was asked about its statement, and they said yes since.

    A cell that called a tool before it stopped is left to the model, because a tool is not called twice by itself. So
    is one after which somebody ran own code, took a cell back, or moved the session with a loss.
    """
    again: dict[str, str] = {}
    stopped: CellRan | None = None
    is_allowed = False
    for step in steps:
        if isinstance(step, Questioned) and step.call_id.startswith(CONFIRM_CALL):
            is_allowed = False
        elif isinstance(step, Decided) and step.call_id.startswith(CONFIRM_CALL):
            is_allowed = step.outcome == "run"
            again |= {stopped.call_id: stopped.cell_id} if is_allowed and stopped else {}
            stopped = None
        elif isinstance(step, CellRan) and not step.is_own:
            again.pop(step.call_id, None)
            stopped = step if _may_run_again(step) else None
            # Somebody may have said yes before the cell had ended.
            again |= {step.call_id: step.cell_id} if is_allowed and stopped else {}
            is_allowed = False
        elif isinstance(step, Corrected):
            again.pop(step.call_id or "", None)
        elif isinstance(step, CellRan | Undone | Forgot) or (isinstance(step, Moved) and not step.is_whole):
            again.clear()
            stopped, is_allowed = None, False
    return again


def _may_run_again(cell: CellRan) -> bool:
    is_asked = needs_a_yes(cell) and cell.language == "python"
    return is_asked and not cell.tool_calls and not cell.left_out


def asking_cell(steps: Sequence[Step], call_id: str) -> CellRan | None:
    """The cell that had people asked the last question of this id: it ended behind the question."""
    asked = (n for n, step in enumerate(steps) if isinstance(step, Questioned) and step.call_id == call_id)
    place = max(asked, default=len(steps))
    return next((step for step in steps[place:] if isinstance(step, CellRan) and not step.is_own), None)


def last_runs(steps: Sequence[Step]) -> list[CellRan]:
    """The cells among these steps, without those that stopped to ask and that ran again for the same call."""
    gone = _ran_again(steps)
    return [step for step in steps if isinstance(step, CellRan) and step.cell_id not in gone]


def stopped_runs(steps: Sequence[Step]) -> set[str]:
    """The ids of the cells that stopped to ask and that ran again for the same call, or are to run again."""
    return {*_ran_again(steps), *runs_again(steps).values()}


def _ran_again(steps: Sequence[Step]) -> set[str]:
    gone: set[str] = set()
    asked: dict[str, str] = {}
    for step in steps:
        if isinstance(step, Replied):  # a later reply may give its calls the same ids
            asked.clear()
        elif isinstance(step, CellRan):
            gone |= {asked.pop(step.call_id)} if step.call_id in asked else set()
            asked |= {step.call_id: step.cell_id} if needs_a_yes(step) else {}
    return gone


def approved_cells(steps: Sequence[Step]) -> list[CellRan]:
    """The cells of a turn that ran because a person let them run."""
    return _let_run(steps)[0]


def is_let_run(steps: Sequence[Step], code: str) -> bool:
    """Whether a yes to this code still counts: see `_let_run`."""
    return code in _let_run(steps)[1]


def _let_run(steps: Sequence[Step]) -> tuple[list[CellRan], set[str]]:
    """The cells that ran on a person's yes, and the code whose yes still counts.

    It counts once more when the cell ended because a person was asked about its statement or its call, and that person
    said yes, too. Each command of a shell is asked about.
    """
    asked = {step.call_id: step.approval for step in steps if isinstance(step, Questioned) and step.approval}
    said: set[str] = set()
    stopped, again = "", set[str]()
    found: list[CellRan] = []
    for step in steps:
        if isinstance(step, Decided) and step.outcome in ("run", "edited") and (on := asked.get(step.call_id)):
            said.add(on.call)
            if on.what == "statement" and stopped:
                again.add(stopped)
        elif isinstance(step, CellRan) and not step.is_own:
            is_approved = (bool(step.call_id) and step.call_id in said) or step.code in again
            if is_approved:
                found.append(step)
            again.discard(step.code)
            stopped = step.code if is_approved and needs_a_yes(step) and step.language == "python" else ""
    return found, again
