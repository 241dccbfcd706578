"""status: what goes on in this thread."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Asked, Questioned, Step, open_question
from workers.agent.about_steps import cells
from workers.agent.text import one_line
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Say it: the question, what is waited for or its outcome, how many cells ran."""
    language = thread.language
    place = next((n for n in range(len(thread.turns) - 1, -1, -1) if _asked(thread.turns[n])), None)
    if place is None:
        thread.answer(say("status_nothing", language))
        return ()
    steps = thread.turns[place]
    turn = thread.context.store.current_turn(thread.lease.thread_id)
    question = open_question(steps) if turn is not None else None
    end = next((step.kind for step in reversed(steps) if step.kind in ("finished", "gave_up", "forgot")), "open")
    state = "waiting" if question is not None else "open" if turn is not None else end
    lines = [
        say("status_question", language, question=one_line(_asked(steps), 200), number=place + 1),
        _state(thread, state, question),
        say("status_cells", language, count=len(cells(steps)), all=sum(len(cells(each)) for each in thread.turns)),
    ]
    thread.answer("\n".join(lines))
    return ()


def _state(thread: CommandThread, state: str, question: Questioned | None) -> str:
    if question is not None:
        return say("status_is_waiting", thread.language, question=one_line(question.question, 200))
    return say(f"status_is_{state}", thread.language)


def _asked(steps: Sequence[Step]) -> str:
    return next((step.text for step in steps if isinstance(step, Asked) and step.text.strip()), "")
