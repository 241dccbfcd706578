"""plan: the analyst's plan and its progress."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import CellRan, Questioned, Replied, Step, draft_of, open_question
from core.thread_cells import undone_cells
from workers.agent import stages
from workers.agent.about_steps import asks_analyst, cells
from workers.agent.replies import plans
from workers.agent.text import clip, one_line
from workers.turn.commands.thread import CommandThread

_PLAN_CHARS = 1_200
_MOST_CELLS = 20


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Say it: the approved stages or the analyst's plan with their state, else its own words and the cells that ran."""
    language = thread.language
    steps = next((each for each in reversed(thread.turns) if asks_analyst(each)), None)
    if steps is None:
        thread.answer(say("plan_none", language))
        return ()
    if (question := _proposed(steps)) is not None and question.approval is not None:
        proposed = stages.plan_text(stages.read_stages(question.approval.code))
        waits = say("status_is_waiting", language, question=question.question)
        thread.answer("\n".join(filter(None, [proposed, waits])))
        return ()
    if listed := stages.plan_of(steps):
        thread.answer("\n".join(_stages(steps, listed)))
        return ()
    steps = _with_undone(steps, thread.turns)
    if (plan := plans.plan_of(steps)) is not None:
        thread.answer("\n".join(filter(None, [plan.why, plans.plan_text(plans.lines_of(steps))])))
        return ()
    said = (each.text for each in steps if isinstance(each, Replied) and each.purpose == "act" and not each.user)
    first = next((text for text in said if text.strip()), "")
    ran = [f"{_sign(cell)} {one_line(cell.title, 120)}" for cell in cells(steps)[-_MOST_CELLS:]]
    thread.answer("\n".join([clip(first.strip(), _PLAN_CHARS), *ran]).strip() or say("plan_empty", language))
    return ()


def _proposed(steps: Sequence[Step]) -> Questioned | None:
    """The question about a plan, with the plan as it reads now, while nobody has decided it."""
    asked = open_question(steps)
    if asked is None or asked.approval is None or asked.approval.what != "plan":
        return None
    return draft_of(steps, asked).question


def _with_undone(steps: Sequence[Step], turns: Sequence[Sequence[Step]]) -> list[Step]:
    """The steps of a turn, where cells that somebody took back have the status "undone"."""
    undone = undone_cells(turns)
    return [
        step.model_copy(update={"status": "undone"}) if isinstance(step, CellRan) and step.cell_id in undone else step
        for step in steps
    ]


def _stages(steps: Sequence[Step], listed: Sequence[stages.Stage]) -> list[str]:
    done = stages.results(steps)
    signs = ["–" if result.skipped else "✓" for result in done]
    signs += ["◐"] * min(1, len(listed) - len(done))
    signs += ["○"] * (len(listed) - len(signs))
    lines = stages.plan_text(listed).splitlines()
    return [f"{sign} {line}" for sign, line in zip(signs, lines, strict=True)]


def _sign(cell: CellRan) -> str:
    return {"ok": "✓", "undone": "–"}.get(cell.status, "✗")
