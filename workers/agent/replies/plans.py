"""The plan of a turn: its steps, what each will show, and the state of each. Pure.

The model gives it with a cell, so it costs no call of its own. In staged review, people approve a plan of another kind
(`workers/agent/stages.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Literal, NamedTuple

from core.steps import Planned, PlanStep, Step
from workers.agent.actions import RunCell
from workers.agent.allowed_cells import last_runs, needs_a_yes
from workers.agent.replies.intents import Intent, RunPython
from workers.agent.stages import MOST_READ, MOST_STAGES, read_stages
from workers.agent.text import clean, one_line

MOST_STEPS = MOST_STAGES
_TITLE_CHARS, _SHOWS_CHARS, _WHY_CHARS, _REST_CHARS = 120, 200, 300, 300
_READ_CHARS = 8_000
_TITLE_KEYS = ("step", "title", "name", "what", "task", "description")
_SHOWS_KEYS = ("shows", "will_show", "show", "expected", "expects", "result", "output", "delivers")

State = Literal["open", "done", "failed"]
SIGNS: Mapping[State, str] = {"open": "○", "done": "✓", "failed": "✗"}


class PlanLine(NamedTuple):
    """A step of the plan with its number, from 1, and its state."""

    number: int
    step: PlanStep
    state: State


def planned(intent: Intent, plan: Any, why: Any, step: Any) -> Intent:
    """A cell with the plan that a model gave, in any shape. A list of fewer than two steps is no plan."""
    if not isinstance(intent, RunPython):
        return intent
    steps = read_plan(plan)
    steps = steps if len(steps) > 1 else ()
    return replace(intent, plan=steps, why=_line(why, _WHY_CHARS) if steps else "", step=_number(step))


def read_plan(value: Any) -> tuple[PlanStep, ...]:
    """The steps of a plan, at most `MOST_STEPS`: a list of objects or of lines, or a text with a list. The last step
    holds all that are left of a longer plan."""
    if isinstance(value, Mapping):
        value = next((inner for inner in value.values() if isinstance(inner, list | tuple)), ())
    if isinstance(value, str):
        stages = read_stages(clean(value[:_READ_CHARS]))
        return tuple(_step(stage.title, stage.delivers) for stage in stages)
    if not isinstance(value, list | tuple):
        return ()
    found = [step for each in islice(value, MOST_READ) if (step := _read_step(each)).title]
    if len(found) > MOST_STEPS:
        rest = found[MOST_STEPS - 1 :]
        shows = "; ".join(step.shows for step in rest if step.shows)
        title = one_line("; ".join(step.title for step in rest), _REST_CHARS)
        found[MOST_STEPS - 1 :] = [PlanStep(title=title, shows=one_line(shows, _REST_CHARS))]
    return tuple(found)


def plan_of(steps: Sequence[Step]) -> Planned | None:
    """The plan that holds now; None while there is none."""
    return next((step for step in reversed(steps) if isinstance(step, Planned)), None)


def lines_of(steps: Sequence[Step], running: RunCell | None = None) -> list[PlanLine]:
    """The plan's steps and their states; the step of a running cell counts as done.

    A cell says which step it does. If it does not say so, it does the first step that is not done.
    """
    plan = plan_of(steps)
    if plan is None:
        return []
    states: list[State] = ["open"] * len(plan.steps)
    behind = steps[max(place for place, step in enumerate(steps) if step is plan) :]
    ran = [(cell.plan_step, cell.status) for cell in last_runs(behind) if not cell.is_own and not needs_a_yes(cell)]
    for number, status in [*ran, *([(running.plan_step, "ok")] if running else [])]:
        at = number - 1 if 0 < number <= len(states) else _first_left(states)
        if at is not None and status != "undone":
            states[at] = "done" if status == "ok" else "failed"
    return [PlanLine(n, step, state) for n, (step, state) in enumerate(zip(plan.steps, states, strict=True), 1)]


def plan_text(lines: Sequence[PlanLine]) -> str:
    """A plan as people and models read it, a line for each step."""
    return "\n".join(
        f"{SIGNS[line.state]} {line.number}. {line.step.title}" + (f" — {line.step.shows}" if line.step.shows else "")
        for line in lines
    )


def _read_step(value: Any) -> PlanStep:
    if isinstance(value, Mapping):
        return _step(*(next((value[key] for key in keys if value.get(key)), "") for keys in (_TITLE_KEYS, _SHOWS_KEYS)))
    line = _line(value, _READ_CHARS)
    found = read_stages(line) or read_stages(f"- {line}")
    return _step(found[0].title, found[0].delivers) if found else PlanStep(title="")


def _step(title: Any, shows: Any) -> PlanStep:
    return PlanStep(title=_line(title, _TITLE_CHARS), shows=_line(shows, _SHOWS_CHARS))


def _line(value: Any, limit: int) -> str:
    return one_line(clean(str(value)[:_READ_CHARS]), limit) if isinstance(value, str | int | float) else ""


def _number(value: Any) -> int:
    """The number of a step as models write it (2, "2", "step 2"); 0 for anything else."""
    found = re.search(r"\d{1,2}", str(value)[:20]) if isinstance(value, str | int | float) else None
    return int(found[0]) if found else 0


def _first_left(states: Sequence[State]) -> int | None:
    return next((at for at, state in enumerate(states) if state != "done"), None)
