"""The start-up code of a thread: which one counts, and whether its session still has to run it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from core.phrases import say
from core.steps import OWN_CALL, STARTUP_CALL, CellRan, Forgot, Moved, Startup, Step
from workers.agent.actions import RunCell
from workers.agent.prompt.step_blocks import sanitize_name
from workers.agent.turn import Turn


def startup_of(steps: Iterable[Step]) -> Startup | None:
    """The start-up code that counts after these steps; None if there is none."""
    found = [step for step in steps if isinstance(step, Startup)]
    return found[-1] if found and found[-1].code else None


def startup_cell(turn: Turn) -> RunCell | None:
    """The cell with the start-up code, if the session began again since it last ran; None otherwise."""
    script: Startup | None = None
    runs, is_due = 0, False
    for step in turn.thread_steps:
        if isinstance(step, Startup):
            script, is_due = step if step.code else None, False
        elif (isinstance(step, Forgot) and step.done) or (isinstance(step, Moved) and not step.came):
            is_due = True
        elif isinstance(step, CellRan) and step.call_id.startswith(STARTUP_CALL):
            runs, is_due = runs + 1, False
    if script is None or not is_due:
        return None
    own = sum(isinstance(step, CellRan) and step.call_id.startswith(OWN_CALL) for step in turn.steps)
    author = script.author or script.user
    return RunCell(
        f"{STARTUP_CALL}{script.ts}:{runs + 1}",
        f"{turn.id}/p{own + 1}",
        say("startup_cell", turn.language, author=sanitize_name(author)),
        script.code,
        user=script.user,
        author=author,
    )
