"""What `decide` can ask for. `workers/turn/runner.py` performs an action, stores the step that results, and asks
again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from core.second_route import SecondRoute
from core.steps import Approval, Commanded, FigureSource, PlanStep, Purpose

Message = dict[str, Any]
"""One message in the Chat Completions format: role, content, and tool_calls or tool_call_id where they belong."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model with these messages → `Replied`. `tools` are JSON schemas, for the next action alone; empty in
    fenced-code mode."""

    purpose: Purpose
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RunCell:
    """Run this code in the thread's session → `CellRan`. A bash command runs only after a person approved it.

    Deciding on the same steps again gives the same id. `user` and `author` are the person who wrote the code, "" when
    the model did. `plan_step` is the number of the plan's step that it does, 0 for none that was named. `instead_of` is
    the id of the run that stopped to ask a person: what it did is taken back first, or it would be done twice.
    """

    call_id: str
    cell_id: str
    title: str
    code: str
    language: Literal["python", "bash"] = "python"
    user: str = ""
    author: str = ""
    plan_step: int = 0
    instead_of: str = ""


@dataclass(frozen=True, slots=True)
class RunRoute:
    """Run the code of a second way in a session of its own → `RouteBegan`, then `RouteRan`."""

    cell_id: str
    code: str


@dataclass(frozen=True, slots=True)
class RecordRoute:
    """Note that a second way ended before its code did → `RouteRan`."""

    cell_id: str
    status: Literal["unasked", "interrupted"]


@dataclass(frozen=True, slots=True)
class TryFunction:
    """Read the draft of a function, check its text, try it in a session of its own → `FunctionTried`."""

    cell_id: str


@dataclass(frozen=True, slots=True)
class ProposeFunction:
    """Put the best draft before people → `Proposed`."""


@dataclass(frozen=True, slots=True)
class Close:
    """End a turn in which nobody asked the analyst anything → `Closed`."""


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Ask in the thread whether this cell may run, and park the turn → `Questioned` with its `approval`.

    `number` counts the questions of this kind in the turn, from 1.
    """

    approval: Approval
    number: int


@dataclass(frozen=True, slots=True)
class AskHuman:
    """Put a question into the thread and park the turn → `Questioned`."""

    call_id: str
    question: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CorrectModel:
    """Tell the model why its reply cannot be acted on → `Corrected`."""

    reason: str
    text: str
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """Keep the plan that came with a cell → `Planned`."""

    steps: tuple[PlanStep, ...]
    why: str
    call_id: str


@dataclass(frozen=True, slots=True)
class RecordVerdict:
    """Store the judge's verdict → `Checked`."""

    is_final: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """Render and post the report, close the turn → `Finished`. `partial`: without a sign of success. `sources`: where
    its figures come from; they follow from the report and the turn's steps. `author`: a person wrote it. `second`: what
    a second way to its figures gave. `sections`: the channel's layout that it has."""

    report: str
    partial: bool = False
    sources: tuple[FigureSource, ...] = field(default=(), compare=False)
    author: str = ""
    second: SecondRoute | None = None
    sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop honestly: say what is known and what people can do next, and close the turn → `GaveUp`."""

    reason: str
    text: str
    fault: Literal["model", "user", "ours"] = "model"


@dataclass(frozen=True, slots=True)
class Obey:
    """Carry out a person's command → the steps that its module in `workers/turn/commands/` returns, `Acknowledged`."""

    command: Commanded


@dataclass(frozen=True, slots=True)
class Compact:
    """Ask again with a prompt of at most `context_chars` characters → `Compacted`."""

    context_chars: int


@dataclass(frozen=True, slots=True)
class LetGo:
    """Another worker has the thread: write nothing, post nothing, stop."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until a person answers. The turn stays parked."""


Action = (
    AskModel
    | RunCell
    | RunRoute
    | RecordRoute
    | TryFunction
    | ProposeFunction
    | AskApproval
    | AskHuman
    | CorrectModel
    | RecordPlan
    | RecordVerdict
    | Finish
    | GiveUp
    | Close
    | Obey
    | Compact
    | LetGo
    | Wait
)
