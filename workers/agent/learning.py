"""A function that a team wants to keep: written by the model, tried, put before people. Pure.

a draft is only to be tried again       → TryFunction, then ProposeFunction
nothing written yet                     → AskModel "learn"
the model wrote something               → TryFunction
it passed                               → ProposeFunction
it could not be read, run or trusted    → AskModel "learn" with what is wrong, some times
still no draft that passes              → ProposeFunction with what failed, or GiveUp where there is no draft at all
it was proposed, and nobody asked else  → Close
"""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.steps import Asked, FunctionDraft, FunctionTried, Learning, PromptPart, Proposed, Replied, Step
from workers.agent.actions import Action, AskModel, Close, GiveUp, Message, ProposeFunction, TryFunction
from workers.agent.guards import replies_left
from workers.agent.prompt.step_blocks import sanitize_name, user
from workers.agent.text import clip, fenced_off, one_line, quoted
from workers.agent.turn import Turn

TRIES = 3
PROMPT_CHARS = 40_000
"""Characters of each message that people can review."""
NOT_WRITTEN = "function_not_written"
_NEED_CHARS, _EXAMPLES_CHARS, _CODE_CHARS, _REPLY_CHARS = 2_000, 9_000, 8_000, 24_000
_MOST_FAULTS, _FAULT_CHARS = 12, 300


def open_learning(steps: Sequence[Step]) -> Learning | None:
    """The function that is being learned; None when there is none, or when it was proposed."""
    asked = [step for step in steps if isinstance(step, Learning)]
    proposed = {step.id for step in steps if isinstance(step, Proposed)}
    return next((step for step in reversed(asked) if step.id not in proposed), None)


def tries_of(steps: Sequence[Step], learning: Learning) -> list[FunctionTried]:
    """The outcome of the drafts so far, oldest first."""
    return [step for step in steps if isinstance(step, FunctionTried) and step.learning == learning.id]


def learn(turn: Turn) -> Action | None:
    """What comes next for the function that is being learned. None when the turn is about something else."""
    learning = open_learning(turn.steps)
    if learning is None:
        learned = any(isinstance(step, Learning) for step in turn.steps)
        asks = turn.episode is not None or any(isinstance(step, Asked) for step in turn.steps)
        return Close() if learned and not asks else None
    steps = turn.steps[turn.steps.index(learning) + 1 :]
    tried = tries_of(steps, learning)
    cell_id = f"{turn.id}/f{len(tried) + 1}"
    if learning.given is not None:
        return ProposeFunction() if tried else TryFunction(cell_id)
    written = [step for step in steps if isinstance(step, Replied) and step.purpose == "learn"]
    if len(written) > len(tried):
        return TryFunction(cell_id)
    if tried and tried[-1].state in ("passed", "away"):
        return ProposeFunction()
    if len(tried) < TRIES and replies_left(turn):
        return AskModel("learn", _messages(turn, learning, written, tried))
    if any(step.draft is not None for step in tried):
        return ProposeFunction()
    return GiveUp(NOT_WRITTEN, say(NOT_WRITTEN, turn.language, tries=len(tried)))


def prompts_of(turn: Turn) -> tuple[PromptPart, ...]:
    """What the model was told when it wrote the last draft; nothing when it was not asked."""
    learning = open_learning(turn.steps)
    if learning is None or learning.given is not None:
        return ()
    steps = turn.steps[turn.steps.index(learning) + 1 :]
    written = [step for step in steps if isinstance(step, Replied) and step.purpose == "learn"]
    sent = _messages(turn, learning, written[:-1], tries_of(steps, learning))
    return tuple(PromptPart(role=each["role"], text=clip(each["content"], PROMPT_CHARS)) for each in sent)


def _messages(
    turn: Turn, learning: Learning, written: Sequence[Replied], tried: Sequence[FunctionTried]
) -> tuple[Message, ...]:
    """The task, then each try with what was wrong with it."""
    environment = turn.environment
    system = turn.prompts.render("learn", python_version=environment.python_version, packages=environment.packages)
    task = turn.prompts.render(
        "learn_task",
        author=sanitize_name(learning.author or learning.user),
        need=quoted(clip(learning.need, _NEED_CHARS)),
        examples=fenced_off("text", clip(learning.examples, _EXAMPLES_CHARS)) if learning.examples else "",
        alike=[_shown(each) for each in learning.alike],
        before=_shown(learning.before) if learning.before is not None else None,
    )
    told: list[Message] = [{"role": "system", "content": system}, user(task)]
    for reply, outcome in zip(written, tried, strict=False):
        told.append({"role": "assistant", "content": clip(reply.text, _REPLY_CHARS) or "(empty reply)"})
        faults = [one_line(fault, _FAULT_CHARS) for fault in outcome.faults[:_MOST_FAULTS]]
        told.append(user(turn.prompts.render("learn_again", faults=faults)))
    return tuple(told)


def _shown(draft: FunctionDraft) -> dict[str, str]:
    return {
        "name": one_line(draft.name, 80),
        "code": fenced_off("python", clip(draft.code, _CODE_CHARS)),
        "tests": fenced_off("python", clip(draft.tests, _CODE_CHARS)),
    }
