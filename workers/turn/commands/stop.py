"""stop: the running turn ends. What people sent before it is kept, and so are variables and files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from core.phrases import say
from core.steps import STOPPED, Asked, GaveUp, Step
from executor.client import HostUnavailable
from workers.agent.about_steps import cells
from workers.delivery.endings import stopped_text
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Interrupt what runs and end the turn with what is known so far."""
    with suppress(HostUnavailable):  # after a crash the cell of a dead worker may still be running
        thread.context.sessions.interrupt(thread.lease.thread_id)
    author = thread.command.author or thread.command.user
    why = ""
    turn = thread.context.store.current_turn(thread.lease.thread_id)
    if turn is not None and (deleted := thread.context.store.deleted_messages(turn.id)):
        why = say("stopped_by_deletion", thread.language)
        # What was stored since the message was deleted may quote it: this worker had read it.
        words = [step.text for step in thread.turns[-1] if isinstance(step, Asked) and step.ts in deleted]
        thread.context.store.redact(thread.lease, words, deleted)
    told = thread.told(thread.turns)
    text = stopped_text(author, cells(thread.turns[-1]), thread.language, told=told, why=why)
    return (GaveUp(reason=STOPPED, text=text, fault="user"),)
