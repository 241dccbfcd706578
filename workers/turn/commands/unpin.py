"""unpin: the thread's pin goes."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Step
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Take the pin away and say so."""
    command = thread.command
    was_pinned = thread.context.store.unpin_thread(thread.lease)
    done = say("pin_unpinned", thread.language, author=command.author or command.user)
    thread.answer(done if was_pinned else say("pin_was_unpinned", thread.language))
    return ()
