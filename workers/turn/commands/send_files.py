"""send_files: files that were not sent are asked about once more."""

from __future__ import annotations

from collections.abc import Sequence

from core.held_files import Held, unsent
from core.phrases import say
from core.steps import FilesHeld, Step
from workers.turn.commands.thread import CommandThread
from workers.turn.holding import held, redraw, show_held


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Ask again about each upload that was not sent. The buttons decide, not this word."""
    waiting = unsent(thread.turns)
    if not waiting:
        thread.answer(say("files_none", thread.language), done=False)
        return ()
    asked: list[FilesHeld] = []
    for before in waiting:
        key, files, comment = before.held.key, before.held.files, before.held.comment
        step = held(thread.context, thread.key, [*thread.turns, asked], key, files, comment=comment)
        redraw(thread.context, thread.lease, before._replace(settled=None, asked_again=True), thread.language)
        show_held(thread.context, thread.lease, Held(step), thread.language)
        asked.append(step)
    thread.sign(done=True)
    return asked
