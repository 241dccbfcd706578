"""continue: the last turn goes on from where it gave up or was stopped."""

from __future__ import annotations

from collections.abc import Sequence

from core.steps import Resumed, Step
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """The step from which on the turn's end does not count any more."""
    command = thread.command
    return (Resumed(user=command.user, author=command.author, text=command.text, ts=command.ts),)
