"""status: what goes on in this thread."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Asked, Briefed, Finished, Forgot, GaveUp, Step, open_question
from workers.agent.about_steps import asks_analyst, cells
from workers.agent.text import one_line
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Say it: the question, its outcome, what is waited for, how many cells ran."""
    language, turns = thread.language, thread.turns
    asked = [place for place, steps in enumerate(turns) if asks_analyst(steps) and _asked(steps)]
    if not asked:
        thread.answer(say("status_nothing", language))
        return ()
    place = asked[-1]
    is_open = thread.context.store.current_turn(thread.lease.thread_id) is not None
    lines = [say("status_question", language, question=one_line(_asked(turns[place]), 200), number=len(asked))]
    question = open_question(turns[-1]) if is_open else None
    if not is_open or place < len(turns) - 1:
        lines.append(say(f"status_is_{_outcome(turns[place])}", language))
        if any(isinstance(step, Forgot) and step.done for steps in turns[place:] for step in steps):
            lines.append(say("status_is_forgot", language))
    elif question is None:
        lines.append(say("status_is_open", language))
    if question is not None:
        lines.append(say("status_is_waiting", language, question=one_line(question.question, 200)))
    count, every = len(cells(turns[place])), sum(len(cells(each)) for each in turns)
    lines.append(say("status_cells", language, count=count, all=every))
    thread.answer("\n".join(lines))
    return ()


def _outcome(steps: Sequence[Step]) -> str:
    """How a turn that is over ended. One without an end was deleted by people."""
    ends = (step for step in reversed(steps) if isinstance(step, Finished | GaveUp))
    return "finished" if isinstance(next(ends, None), Finished) else "gave_up"


def _asked(steps: Sequence[Step]) -> str:
    """What a turn was asked: its words, else the files that came without any."""
    said = [step.text for step in steps if isinstance(step, Asked) and step.text.strip()]
    given = [file.path for step in steps if isinstance(step, Briefed) for file in step.files]
    return said[0] if said else ", ".join(given)
