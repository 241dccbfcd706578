"""What still counts of a thread's steps. The Store keeps all that happened; people may have called some of it back."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workers.agent.steps import Asked, CellRan, Forgot, GaveUp, Questioned, Resumed, Step, Undone

RESET_CALL = "reset"
"""The call id of our own question whether a session is to be reset: no model has asked it."""


def as_it_stands(turns: Sequence[Sequence[Step]]) -> tuple[tuple[Step, ...], ...]:
    """The same turns without the ends that a person resumed from, with the cells that were taken back as "undone", and
    without questions about a reset that did not come to be. A turn of which nothing is left is empty."""
    undone = {step.cell_id for steps in turns for step in steps if isinstance(step, Undone)}
    return tuple(_standing(steps, undone) for steps in turns)


def _standing(steps: Sequence[Step], undone: Collection[str]) -> tuple[Step, ...]:
    if steps and isinstance(last := steps[-1], Forgot) and not last.done:
        return ()
    kept: list[Step] = []
    for step in _without_reset(steps):
        if isinstance(step, Resumed):
            end = max((place for place, before in enumerate(kept) if isinstance(before, GaveUp)), default=None)
            if end is not None:
                del kept[end]
        elif isinstance(step, CellRan) and step.cell_id in undone:
            kept.append(step.model_copy(update={"status": "undone"}))
        else:
            kept.append(step)
    return tuple(kept)


def _without_reset(steps: Sequence[Step]) -> Sequence[Step]:
    """A question of ours that was answered by something else altogether is left out, with what brought it up."""
    place = next(
        (n for n, step in enumerate(steps) if isinstance(step, Questioned) and step.call_id == RESET_CALL), None
    )
    if place is None or isinstance(steps[-1], Forgot) or not any(isinstance(step, Asked) for step in steps[place:]):
        return steps
    return steps[place + 1 :]
