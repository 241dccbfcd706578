"""What a model's reply asks for: run code, ask a person, finish, or nothing that can be acted on."""

from __future__ import annotations

from dataclasses import dataclass

from core.steps import PlanStep


@dataclass(frozen=True, slots=True)
class RunPython:
    """Run this code. A plan may come with it; `why` then says why the plan before does not hold. `step` is the number
    of the plan's step that the code does, 0 when it names none."""

    call_id: str
    code: str
    title: str
    plan: tuple[PlanStep, ...] = ()
    why: str = ""
    step: int = 0


@dataclass(frozen=True, slots=True)
class RunBash:
    """Run this command in the thread's shell. `called` is the name by which the model called the tool."""

    call_id: str
    command: str
    title: str
    called: str


@dataclass(frozen=True, slots=True)
class Question:
    """Ask the people in the thread."""

    call_id: str
    question: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Finish with this report (Markdown). `partial`: it answers the question only in part, or not at all. `sections` is
    the channel's layout, once the report has it."""

    call_id: str
    text: str
    partial: bool = False
    sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Malformed:
    """Nothing that can be acted on.

    `reason` is a key of prompts/malformed.yaml, or CHANGES_UNFIT; `detail` says what it is about. `tool` is what the
    model called, `raw` the arguments that it gave.
    """

    call_id: str
    reason: str
    detail: str = ""
    tool: str = ""
    raw: str = ""


Intent = RunPython | RunBash | Question | Report | Malformed


@dataclass(frozen=True, slots=True)
class Reading:
    """A reply, parsed. `text`: the words that memory keeps. `as_calls`: the intents came as tool calls."""

    text: str
    intents: tuple[Intent, ...]
    as_calls: bool
