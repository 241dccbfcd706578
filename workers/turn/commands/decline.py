"""decline: the no to our question about a reset. Nothing changes and the turn ends."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Forgot, Step
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Say that everything is as it was."""
    command = thread.command
    text = say("reset_not", thread.language, author=command.author or command.user)
    return (Forgot(done=False, user=command.user, author=command.author, text=text),)
