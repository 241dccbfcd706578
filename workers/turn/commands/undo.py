"""undo: variables and files are again as they were before the last cell."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Step, Undone
from workers.agent.about_steps import last_cell
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Take the last cell back and say so; say why not when that cannot be done. Raises HostUnavailable."""
    command, language = thread.command, thread.language
    cell = last_cell(thread.turns)
    if cell is None:
        thread.answer(say("nothing_to_undo", language), done=False)
        return ()
    title = cell.title or say("progress_cell", language)
    if not thread.context.sessions.undo(thread.lease.thread_id, cell.cell_id):
        thread.answer(say("undo_gone", language, title=title), done=False)
        return ()
    thread.answer(say("undone", language, author=command.author, title=title))
    return (Undone(cell_id=cell.cell_id, title=cell.title, user=command.user, author=command.author, ts=command.ts),)
