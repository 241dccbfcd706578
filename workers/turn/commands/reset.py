"""reset: asks whether the session is to be forgotten. `confirm` and `decline` are the answers."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import RESET_CALL, Questioned, Step, open_question
from core.values import Language
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Ask, in a turn of its own. In the middle of an answer nothing is reset, and the thread is told so."""
    question = open_question(thread.turns[-1]) if thread.turns else None
    if question is not None and question.call_id == RESET_CALL:  # somebody else has said it too
        thread.answer(say("status_is_waiting", thread.language, question=question.question))
        return ()
    if not thread.opens_turn:
        thread.answer(say("reset_busy", thread.language))
        return ()
    return (reset_question(thread.language),)


def reset_question(language: Language) -> Questioned:
    """Our question before a session is forgotten; its options are yes and no, in this order."""
    options = say("reset_yes", language), say("reset_no", language)
    return Questioned(call_id=RESET_CALL, question=say("reset_question", language), options=options)
