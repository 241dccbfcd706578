"""Actions that are only a step: they follow from a reply, and nothing is done or asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.steps import (
    Checked,
    Closed,
    Compacted,
    Corrected,
    Finished,
    GaveUp,
    Planned,
    Questioned,
    Replied,
    RouteRan,
    Step,
)
from workers.agent.actions import (
    Action,
    AskHuman,
    Close,
    Compact,
    CorrectModel,
    Finish,
    GiveUp,
    RecordPlan,
    RecordRoute,
    RecordVerdict,
)
from workers.agent.decide import decide
from workers.agent.replies.revisions import whole_reports
from workers.agent.turn import Turn

IsStep = AskHuman | CorrectModel | RecordPlan | RecordVerdict | RecordRoute | Compact | Finish | GiveUp | Close


def step_of(action: IsStep) -> Step:
    """The step that such an action is."""
    match action:
        case AskHuman(call_id, question, options):
            return Questioned(call_id=call_id, question=question, options=options)
        case CorrectModel(reason, text, call_id):
            return Corrected(reason=reason, text=text, call_id=call_id)
        case RecordPlan(steps, why, call_id):
            return Planned(steps=steps, why=why, call_id=call_id)
        case RecordVerdict(is_final, reason):
            return Checked(is_final=is_final, reason=reason)
        case RecordRoute(cell_id, status):
            return RouteRan(cell_id=cell_id, status=status)
        case Compact(context_chars):
            return Compacted(context_chars=context_chars)
        case Finish(report, partial, sources, author, second, sections):
            return Finished(
                report=report, partial=partial, sources=sources, author=author, second=second, sections=sections
            )
        case GiveUp(reason, text, fault):
            return GaveUp(reason=reason, text=text, fault=fault)
        case Close():
            return Closed()


def follow_up(turn: Turn, step: Step) -> list[Step]:
    """The steps that follow from this one, the next of `turn`, if nobody says anything meanwhile.

    No steps when there are budgets: what the step took is not in their sums yet.
    """
    if turn.allowance is not None:
        return []
    if isinstance(step, Replied) and step.purpose == "act":  # it gets the number that it will have among the steps
        step = step.model_copy(update={"gone": _gone(turn.steps)})
    steps = tuple(whole_reports((*turn.steps, step)))  # as it is read from the store
    found: list[Step] = []
    while True:
        action: Action = decide(replace(turn, steps=(*steps, *found)))
        if not isinstance(action, IsStep):
            return found
        found.append(step_of(action))


def _gone(steps: Sequence[Step]) -> int:
    """How many replies of these steps are left out with their feedback."""
    return next((step.gone for step in reversed(steps) if isinstance(step, Replied) and step.purpose == "act"), 0)
