"""describe: a person's description of a thread. All lists of threads show it."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import DESCRIBE, argument_of
from core.phrases import say
from core.steps import Step
from workers.turn.commands.thread import CommandThread

MOST_CHARS = 500


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Keep the description in place of the one before; without words take it away."""
    command, store, language = thread.command, thread.context.store, thread.language
    text = " ".join(argument_of(DESCRIBE, command.text).split())
    if len(text) > MOST_CHARS:
        thread.answer(say("describe_too_long", language, chars=MOST_CHARS), done=False)
        return ()
    store.describe_thread(thread.lease, command.user, text)
    said = say("describe_done" if text else "describe_gone", language, author=command.author, text=text)
    thread.answer(said)
    return ()
