"""run: a person's own code. The turn has run it as a cell before this (`workers/agent/decide.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import RUN, argument_of
from core.phrases import say
from core.steps import OWN_CALL, CellRan, Step
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Put the outcome on the person's message, or say why nothing ran."""
    command = thread.command
    call_id = f"{OWN_CALL}{command.ts}"
    cells = (step for step in thread.turns[-1] if isinstance(step, CellRan) and step.call_id == call_id)
    cell = next(cells, None)
    if cell is not None:
        thread.sign(done=cell.status == "ok")
    elif argument_of(RUN, command.text).strip():
        thread.answer(say("run_stopped", thread.language), done=False)
    else:
        thread.answer(say("run_empty", thread.language), done=False)
    return ()
