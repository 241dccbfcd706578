"""What `decide` can ask for. `workers/turns.py` performs an action, stores the step that comes of it, and asks
again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Message = dict[str, Any]
"""One message in the Chat Completions format: role, content, and tool_calls or tool_call_id where they belong."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model with these messages → `Replied`. `tools` are JSON schemas; empty for a judgement or fenced-code
    mode."""

    purpose: Literal["act", "check"]
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RunCell:
    """Run this code in the thread's session → `CellRan`; a command of bash only after a person approved it.

    The id is the same whenever the same steps are decided again.
    """

    call_id: str
    cell_id: str
    title: str
    code: str
    language: Literal["python", "bash"] = "python"


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
class RecordVerdict:
    """Write down what the judge's reply amounts to → `Checked`."""

    is_final: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """Render and post the report, close the turn → `Finished`."""

    report: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop honestly: say what is known and what to do next, close the turn → `GaveUp`."""

    reason: str
    text: str
    fault: Literal["model", "user", "ours"] = "model"


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until a person answers: the turn stays parked."""


Action = AskModel | RunCell | AskHuman | CorrectModel | RecordVerdict | Finish | GiveUp | Wait
