"""pin: the thread is easy to find again, for everybody."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Step
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Pin the thread and say so."""
    command = thread.command
    is_new = thread.context.store.pin_thread(thread.lease, command.user) or _is_mine(thread)
    text = say("pin_pinned", thread.language, author=command.author or command.user)
    thread.answer(text if is_new else say("pin_was_pinned", thread.language))
    return ()


def _is_mine(thread: CommandThread) -> bool:
    """Whether this very command may have pinned it, before a worker died."""
    pin = thread.context.store.pin_of(thread.lease.thread_id)
    return pin is not None and pin.user == thread.command.user
