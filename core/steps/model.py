"""A model's replies, its plans, and what it was told to correct."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from core.values import Value


class ToolCall(Value):
    """A call as the model made it; `arguments` is the model's own text, not yet parsed.

    `id` is what we call it. `wire_id` is the endpoint's own id where that is too long for us: endpoints get it back.
    """

    id: str
    name: str
    arguments: str
    wire_id: str = ""


class Usage(Value):
    """Tokens of one model call, as the endpoint reported them; zero when it reported none. `cached_tokens` are among
    `prompt_tokens`."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


class Masked(Value):
    """A personal value that the model was shown as a placeholder, such as `<email_1>`."""

    placeholder: str
    value: str = Field(repr=False)


Purpose = Literal["act", "check", "route", "debug", "look", "learn", "build"]
"""What a model is asked for: the next action, a check of its report, a second way to the figures of a report, what is
behind an error that came again, whether a silent cell works, a function for the team, or a program: its requirement
file, its code, or a verdict on it."""


class Replied(Value):
    """The model answered.

    `purpose` is what it was asked for. `finish` is the endpoint's finish_reason; "length" means that the reply was cut.
    `cost_micros` is the call's cost in millionths of the currency that prices are in, None when the model has no price.
    `masked` are the placeholders that its prompt had for the first time in the thread. `pictures` is how many pictures
    the prompt showed. `user` and `author` are the
    person who wrote the reply in the model's place, "" when the model did. `gone` is never stored: so many replies of
    the turn before it are left out with their feedback, and it keeps its number.
    """

    kind: Literal["replied"] = "replied"
    purpose: Purpose
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish: str = "stop"
    model: str = ""
    cost_micros: int | None = None
    duration_s: float = 0.0
    masked: tuple[Masked, ...] = ()
    pictures: int = 0
    user: str = ""
    author: str = ""
    gone: int = Field(default=0, exclude=True)


class PlanStep(Value):
    """One step of a plan: what is done, and what it will show; the latter may be empty."""

    title: str
    shows: str = ""


class Planned(Value):
    """The analyst's plan, which came with a cell. A later plan replaces it. `why` is the result that contradicted the
    previous plan; `call_id` is the call of the cell that came with it.
    """

    kind: Literal["planned"] = "planned"
    steps: tuple[PlanStep, ...]
    why: str = ""
    call_id: str


class Corrected(Value):
    """A correction for the model: why its last reply could not be acted on, and what to do instead."""

    kind: Literal["corrected"] = "corrected"
    reason: str
    text: str
    call_id: str | None = None


class ModelFailed(Value):
    """The model could not be asked. `reason` is also the phrase for people; `prompt_chars` is the length of the prompt
    that was refused."""

    kind: Literal["model_failed"] = "model_failed"
    purpose: Purpose
    reason: Literal["model_down", "model_refused", "model_nonsense", "model_context"]
    prompt_chars: int


class Compacted(Value):
    """The endpoint found the prompt too long: for the rest of the turn it has at most `context_chars` characters."""

    kind: Literal["compacted"] = "compacted"
    context_chars: int
