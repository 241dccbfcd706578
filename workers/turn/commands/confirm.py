"""confirm: the yes to our question about a reset. The session is forgotten and the turn ends."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Forgot, Step
from core.thread_cells import answered_calls
from workers.agent.about_steps import cells, statements
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Forget variables, the files that cells made, what they printed at length, the rows of sources and the answers of
    tools; files that people gave stay.

    Raises HostUnavailable.
    """
    command = thread.command
    thread.context.sessions.reset(thread.lease.thread_id)
    done = [cell for steps in thread.turns for cell in cells(steps)]
    figures = {file.sha256 for cell in done for file in cell.figures}
    made = {file.sha256 for cell in done for file in (*cell.files, *cell.whole_outputs)} - figures
    made |= {ran.rows_file.sha256 for steps in thread.turns for ran in statements(steps) if ran.rows_file is not None}
    made |= {each.answer.sha256 for cell in done for each in cell.lookups if each.answer is not None}
    calls = [call for steps in thread.turns for step in steps for call in answered_calls(step)]
    made |= {call.answer.sha256 for call in calls if call.answer is not None}
    thread.context.transfer.forget(thread.lease, made)
    text = say("reset_done", thread.language, author=command.author or command.user)
    return (Forgot(done=True, user=command.user, author=command.author, text=text),)
