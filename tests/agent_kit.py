"""Steps and turns for the tests of the agent, and a driver that performs actions by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.rows import StoredMessage
from core.steps import (
    Asked,
    Briefed,
    CellRan,
    ColumnNote,
    FileAbstract,
    FileProblem,
    Replied,
    Step,
    TableNote,
    ToolCall,
)
from core.values import StoredFile
from workers.agent import consequences
from workers.agent.actions import (
    Action,
    AskModel,
    RunCell,
)
from workers.agent.decide import decide
from workers.agent.turn import AgentLimits, Environment, Turn
from workers.models.base import ModelRequest
from workers.models.scripted import ScriptedModel
from workers.turn.prompts import load_prompts

PROMPTS = load_prompts()
ENVIRONMENT = Environment(
    python_version="3.11.7",
    packages=("pandas 2.2.3", "numpy 1.26.4", "matplotlib 3.9.0"),
    today="2025-11-21",
)

SALES = FileAbstract(
    path="sales.csv",
    format="csv",
    size=18_211,
    sha256="0" * 64,
    encoding="utf-8",
    separator=",",
    read_hint='pd.read_csv("sales.csv")',
    tables=(
        TableNote(
            name="sales",
            rows=412,
            columns=(
                ColumnNote(name="Date", dtype="object", unique=365, samples=("2024-01-03", "03/02/2024")),
                ColumnNote(name="Region", dtype="object", unique=4, samples=("North", "South")),
                ColumnNote(name="Amount", dtype="object", missing=0.0123, unique=390, samples=("1,204.50", "88")),
            ),
            head="      Date Region    Amount\n2024-01-03  North  1,204.50\n03/02/2024  South        88",
        ),
    ),
)


def asked(text: str = "Which region sells most?", author: str = "Ana", ts: str = "1.0") -> Asked:
    """A message of a person."""
    return Asked(user=f"U{author.upper()}", author=author, text=text, ts=ts)


def call(name: str, call_id: str = "c1", **arguments: object) -> ToolCall:
    """A native tool call with these arguments."""
    return ToolCall(id=call_id, name=name, arguments=json.dumps(arguments, ensure_ascii=False))


def run(code: str, call_id: str = "c1", title: str = "Step") -> Replied:
    """A reply that asks for a cell."""
    return said(call("run_python", call_id, code=code, title=title))


def finish(report: str = "North sells most: 1,204.50.", call_id: str = "f1") -> Replied:
    """A reply that ends with a report."""
    return said(call("finish", call_id, report=report))


def said(*calls: ToolCall, text: str = "", end: str = "stop") -> Replied:
    """A reply of the model."""
    return Replied(purpose="act", text=text, calls=calls, finish=end)


def judged(text: str) -> Replied:
    """A reply of the judge."""
    return Replied(purpose="check", text=text)


def cell(
    code: str = "df = pd.read_csv('sales.csv')", call_id: str = "c1", number: int = 1, **fields: object
) -> CellRan:
    """A cell that ran; `fields` change what came of it."""
    known = {"status": "ok", "title": "Step", "duration_s": 0.21, **fields}
    return CellRan(call_id=call_id, cell_id=f"T1/c{number}", code=code, **known)  # type: ignore[arg-type]


def failed(error: str = "KeyError: 'amount'", code: str = "df['amount']", **fields: object) -> CellRan:
    """A cell that raised."""
    return cell(
        code, status="error", error=f"Traceback …\n{error}", error_name=error.split(":", maxsplit=1)[0], **fields
    )


def turn(*steps: Step, **fields: object) -> Turn:
    """A turn with these steps; `fields` change the rest."""
    base = Turn(id="T1", language="en", steps=steps, limits=AgentLimits(), environment=ENVIRONMENT, prompts=PROMPTS)
    return replace(base, **fields)  # type: ignore[arg-type]


def step_of(action: Action, model: ScriptedModel, ran: Callable[[RunCell], CellRan]) -> Step | None:
    """The step that comes of an action; None when there is nothing to do."""
    match action:
        case AskModel(purpose, messages, tools):
            reply = model.complete(ModelRequest(messages, tools, purpose), lambda _: None)
            return Replied(purpose=purpose, text=reply.text, calls=reply.calls, finish=reply.finish)
        case RunCell():
            return ran(action)
        case _:
            return consequences.step_of(action) if isinstance(action, consequences.IsStep) else None


def ran_well(action: RunCell) -> CellRan:
    """Any cell runs to its end, prints its own code, and opens the files that it names."""
    return CellRan(
        call_id=action.call_id,
        cell_id=action.cell_id,
        title=action.title,
        code=action.code,
        status="ok",
        stdout=f"ran: {action.code}",
        duration_s=0.1,
    )


def play(
    opening: Sequence[Step], model: ScriptedModel, ran: Callable[[RunCell], CellRan] = ran_well, **fields: object
) -> tuple[Step, ...]:
    """All steps of a turn that is played to its rest."""
    now = turn(*opening, native_tools=model.native_tools, **fields)
    for _ in range(300):
        step = step_of(decide(now), model, ran)
        if step is None:
            return now.steps
        now = replace(now, steps=(*now.steps, step))
    raise AssertionError("the turn does not come to rest")


FIGURE = StoredFile(name="figure-1.png", mimetype="image/png", size=10, sha256="1" * 64)
PROBLEM = FileProblem(name="broken.csv", why="it is a picture, not a table")
BRIEFED = Briefed(files=(SALES,))


def mail(number: int, text: str = "how much?", kind: str = "text") -> StoredMessage:
    """Message number `number` of a thread, as the Store keeps it."""
    return StoredMessage(
        team="T",
        channel="C",
        channel_type="channel",
        ts=f"{number}.0",
        root_ts="1.0",
        user="U1",
        text=text,
        kind=kind,
        id=number,
        author="Ana",
    )


def assert_endpoint_accepts(told: Sequence[Mapping[str, Any]]) -> None:
    """What strict endpoints insist on: each call answered at once and once, arguments that are JSON, nothing empty."""
    assert told[0]["role"] == "system"
    open_calls: list[str] = []
    for message in told:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            assert message["content"]
            continue
        assert not open_calls, "a call without its result"
        assert isinstance(message["content"], str)
        assert message["content"] or message.get("tool_calls")
        for one in message.get("tool_calls", ()):
            assert isinstance(json.loads(one["function"]["arguments"]), dict)
            open_calls.append(one["id"])
    assert not open_calls
