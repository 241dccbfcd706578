"""schedule_wish: somebody wants a schedule and did not say all of it, so nothing is scheduled yet."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Step
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Say that nothing is scheduled, and what to write."""
    thread.answer(say("schedule_wish", thread.language), done=False)
    return ()
