"""unfollow: a person does not want the running turn to follow a playbook. The next reply of the model is without it."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Step, Unfollowed
from workers.agent.playbooks import playbook_of
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """The step that says so. What ran already stays."""
    command = thread.command
    note = playbook_of(thread.turns[-1]) if thread.turns else None
    if note is None:
        return ()
    author = command.author or command.user
    thread.answer(say("playbook_unfollowed", thread.language, author=author, name=note.name))
    return (Unfollowed(file=note.file, user=command.user, author=command.author, ts=command.ts),)
