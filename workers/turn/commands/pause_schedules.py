"""pause_schedules: all schedules of the thread."""

from __future__ import annotations

from collections.abc import Sequence

from core.steps import Step
from workers.turn.commands.schedules import change_all
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Change them and say how many."""
    change_all(thread, "paused")
    return ()
