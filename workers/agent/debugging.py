"""Two questions about an error that came again: where is it wrong, and how should it be right? Pure.

They are short and have a conversation of their own. It shows the cell, its error and its variables, and not the
thoughts that led there. The model reads the answers when it writes the next cell. This happens once in a turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.steps import Asked, CellRan, Corrected, Replied
from workers.agent import guards
from workers.agent.actions import Action, AskModel, CorrectModel, Message
from workers.agent.prompt.observation import observation
from workers.agent.prompt.step_blocks import questions, user
from workers.agent.text import clip, fenced_off, quoted
from workers.agent.turn import Turn

DONE = "debugged"
"""The reason of the correction that ends the chain."""
_AGAIN = 2
"""The error has to come this often."""
_LEAVES = 3
"""This many replies must be left after the chain: for the cell, the report, the judge."""
_ANSWER_CHARS, _CODE_CHARS = 2_000, 8_000


def next_step(turn: Turn) -> Action | None:
    """The next question about the error of the last cell, then what the model is told; None when there is none."""
    episode = turn.episode
    cell = next((step for step in reversed(episode.steps) if isinstance(step, CellRan)), None) if episode else None
    if episode is None or cell is None or cell.is_own or cell.status != "error" or cell.language != "python":
        return None
    if cell.ended_by:
        return None
    if any(isinstance(step, Corrected) and step.reason == DONE for step in turn.steps):
        return None
    answers = [step for step in episode.steps if isinstance(step, Replied) and step.purpose == "debug"]
    if not answers and (not _came_again(turn, cell) or guards.replies_left(turn) < _AGAIN + _LEAVES):
        return None
    if len(answers) < _AGAIN and all(answer.text.strip() for answer in answers):
        return AskModel("debug", _messages(turn, cell, answers))
    told = [quoted(clip(answer.text.strip(), _ANSWER_CHARS)) for answer in answers]
    if not all(answer.text.strip() for answer in answers):
        return CorrectModel(DONE, "")
    return CorrectModel(DONE, turn.prompts.render("debug_write", where=told[0], how=told[1]))


def _came_again(turn: Turn, cell: CellRan) -> bool:
    key = guards.error_key(cell)
    failed = [step for step in guards.tried_cells(turn) if step.status == "error"]
    return sum(guards.error_key(step) == key for step in failed) >= _AGAIN


def _messages(turn: Turn, cell: CellRan, answers: Sequence[Replied]) -> tuple[Message, ...]:
    thread = tuple(turn.thread_steps)
    before = thread[: next(place for place, step in enumerate(thread) if step is cell)]
    asked = [step for step in turn.steps if isinstance(step, Asked)]
    first = turn.prompts.render(
        "debug_where",
        questions=questions(asked, 2_000) if asked else [],
        code=fenced_off("python", clip(cell.code, _CODE_CHARS)),
        observation=observation(turn, cell, before, turn.limits.output_chars),
    )
    if not answers:
        return (user(first),)
    said: Message = {"role": "assistant", "content": clip(answers[0].text, _ANSWER_CHARS)}
    return (user(first), said, user(turn.prompts.render("debug_how")))
