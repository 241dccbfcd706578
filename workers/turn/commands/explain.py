"""explain: what the last code did, in words for somebody who does not program."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.slack import blocks as kit
from core.steps import Step
from workers.agent.about_steps import last_cell
from workers.agent.explaining import explained
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Say it, sentence by sentence. It is read from the code itself: no model is asked, nothing runs."""
    cell = last_cell(thread.turns)
    if cell is None:
        thread.answer(say("explain_none", thread.language))
        return ()
    text = "\n".join(explained(cell, thread.language))
    thread.answer(text, [kit.paragraph(text)])
    return ()
