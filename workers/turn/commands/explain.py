"""explain: what the last code did, or what code does that waits for a yes, for somebody who does not program."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.slack import blocks as kit
from core.steps import Approval, Step, draft_of, open_question
from workers.agent.about_steps import last_cell
from workers.agent.code.explaining import explained, explained_before
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Say it, sentence by sentence. It is read from the code itself: no model is asked, nothing runs."""
    cell, waiting = last_cell(thread.turns), _waiting(thread)
    if waiting is not None:
        lines = explained_before(waiting, thread.language)
    elif cell is None:
        thread.answer(say("explain_none", thread.language))
        return ()
    else:
        lines = explained(cell, thread.language)
    text = "\n".join(lines)
    thread.answer(text, [kit.paragraph(text)])
    return ()


def _waiting(thread: CommandThread) -> Approval | None:
    """The code that people are asked about now, as somebody may have changed it."""
    if thread.open_turn is None or (question := open_question(thread.turns[-1])) is None:
        return None
    approval = draft_of(thread.turns[-1], question).question.approval
    return approval if approval is not None and approval.what in {"python", "bash"} else None
