"""Two wishes about a thread's session, granted between steps: `undo` takes the last cell back, `reset`, once it is
confirmed, forgets the session."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.store import StoredMessage
from core.values import Language
from core.words import NO, YES, says
from executor.client import SessionClient
from workers.agent.standing import RESET_CALL
from workers.agent.steps import Asked, CellRan, Forgot, Questioned, Step, Undone


def wish_among(mail: Sequence[StoredMessage], question: Questioned | None) -> StoredMessage | None:
    """The first undo or reset that came. A word that is an option of the open question is its answer."""
    options = {option.strip().casefold() for option in question.options} if question else set()
    wishes = (message for message in mail if message.kind in ("undo", "reset"))
    return next((wish for wish in wishes if wish.text.strip().casefold() not in options), None)


def take_back(
    sessions: SessionClient, turns: Sequence[Sequence[Step]], wish: StoredMessage, author: str, language: Language
) -> tuple[list[Step], str]:
    """Go back to before the last cell of these turns: the step that says so, if it could be done, and what to tell.

    Safe to do again after a crash. Raises HostUnavailable, RequestError.
    """
    cell = last_cell(turns)
    if cell is None:
        return [], say("nothing_to_undo", language)
    title = cell.title or say("progress_cell", language)
    if not sessions.undo(wish.thread.id, cell.cell_id):
        return [], say("undo_gone", language, title=title)
    step = Undone(cell_id=cell.cell_id, title=cell.title, user=wish.user, author=author, ts=wish.ts)
    return [step], say("undone", language, author=author, title=title)


def last_cell(turns: Sequence[Sequence[Step]]) -> CellRan | None:
    """The last cell that nobody took back, unless the session was reset after it."""
    undone: set[str] = set()
    for step in (step for steps in reversed(turns) for step in reversed(steps)):
        if isinstance(step, Forgot) and step.done:
            return None
        if isinstance(step, Undone):
            undone.add(step.cell_id)
        elif isinstance(step, CellRan) and step.cell_id not in undone:
            return step
    return None


def reset_question(language: Language) -> Questioned:
    """Our question before a session is forgotten."""
    options = say("reset_yes", language), say("reset_no", language)
    return Questioned(call_id=RESET_CALL, question=say("reset_question", language), options=options)


def reset_answer(steps: Sequence[Step], language: Language) -> Forgot | None:
    """What a turn that asked about a reset comes to, once that is answered; None when it is not, or by something
    else."""
    place = next(
        (n for n, step in enumerate(steps) if isinstance(step, Questioned) and step.call_id == RESET_CALL), None
    )
    answer = next((step for step in steps[place or 0 :] if isinstance(step, Asked)), None)
    if place is None or answer is None:
        return None
    question = steps[place]
    yes, no = question.options if isinstance(question, Questioned) else ("", "")
    for phrase, option, words in (("reset_done", yes, YES), ("reset_not", no, NO)):
        if answer.text.strip().casefold() == option.casefold() or says(answer.text, words):
            text = say(phrase, language, author=answer.author or answer.user)
            return Forgot(done=phrase == "reset_done", user=answer.user, author=answer.author, text=text)
    return None
