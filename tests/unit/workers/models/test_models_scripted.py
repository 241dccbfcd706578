"""The scripted model: replies by place, alternatives by what was said, failures, and no state between calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from core.errors import SettingsError
from workers.agent.actions import Message
from workers.models.base import (
    ModelError,
    ModelNonsense,
    ModelRefused,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
)
from workers.models.scripted import ScriptedModel

SYSTEM: Message = {"role": "system", "content": "rules"}
TASK: Message = {"role": "user", "content": "# Task\n\nAna asks:\n> hi"}
FOLLOW_UP: Message = {"role": "user", "content": "# Follow-up\n\nAna asks:\n> more"}
REPLY: Message = {"role": "assistant", "content": "x"}


def tool(text: str) -> Message:
    return {"role": "tool", "tool_call_id": "a", "content": text}


def say(model: ScriptedModel, *messages: Message, purpose: str = "act") -> ModelReply:
    return model.complete(ModelRequest(messages, purpose=purpose), lambda _: None)  # type: ignore[arg-type]


def test_the_number_of_replies_in_the_thread_tells_which_comes_next() -> None:
    model = ScriptedModel([{"text": "one"}, {"text": "two"}, {"text": "three"}])
    assert say(model, SYSTEM, TASK).text == "one"
    assert say(model, SYSTEM, TASK, REPLY, tool("ok")).text == "two"
    assert say(model, SYSTEM, TASK, REPLY, tool("ok"), REPLY, FOLLOW_UP).text == "three"
    assert say(model, SYSTEM, TASK).text == "one"


def test_a_script_by_turns_counts_within_the_turn() -> None:
    model = ScriptedModel(turns=[[{"text": "a1"}, {"text": "a2"}], [{"text": "b1"}]])
    assert say(model, SYSTEM, TASK, REPLY, tool("x")).text == "a2"
    assert say(model, SYSTEM, TASK, REPLY, tool("x"), REPLY, REPLY, FOLLOW_UP).text == "b1"


def test_a_turn_that_was_stopped_does_not_count_as_a_reply() -> None:
    model = ScriptedModel([{"text": "one"}, {"text": "two"}])
    stopped: Message = {"role": "assistant", "content": "[This turn ended without a report. I told the people:]\nsorry"}
    assert say(model, SYSTEM, TASK, REPLY, stopped, FOLLOW_UP).text == "two"


def test_alternatives_are_chosen_by_the_newest_messages_only() -> None:
    model = ScriptedModel([{"text": "load"}, [{"when": "KeyError", "text": "repair"}, {"text": "report"}]])
    assert say(model, SYSTEM, TASK, REPLY, tool("KeyError: 'x'")).text == "repair"
    assert say(model, SYSTEM, TASK, REPLY, tool("fine")).text == "report"
    assert say(ScriptedModel([{"when": "hi", "text": "hello"}]), SYSTEM, TASK).text == "hello"


def test_calls_carry_their_arguments_as_json_or_as_they_are() -> None:
    calls = [
        {"name": "run_python", "arguments": {"code": "1"}},
        {"name": "finish", "arguments": "{broken", "id": "own"},
    ]
    reply = say(ScriptedModel([{"calls": calls, "finish": "tool_calls"}]), TASK)
    assert json.loads(reply.calls[0].arguments) == {"code": "1"}
    assert reply.calls[1].arguments == "{broken"
    assert reply.calls[1].id == "own"
    assert len({call.id for call in reply.calls}) == 2
    assert reply.finish == "tool_calls"


@pytest.mark.parametrize(
    ("kind", "error"), [("unavailable", ModelUnavailable), ("refused", ModelRefused), ("nonsense", ModelNonsense)]
)
def test_a_script_can_fail_in_each_way(kind: str, error: type[ModelError]) -> None:
    with pytest.raises(error, match="boom"):
        say(ScriptedModel([{"error": {"kind": kind, "message": "boom"}}]), TASK)


def test_the_judge_is_content_unless_the_script_says_otherwise() -> None:
    model = ScriptedModel([], checks=[{"when": "draft", "text": '{"is_final": false}'}])
    question: Message = {"role": "user", "content": "the report: draft 1"}
    assert say(model, question, purpose="check").text == '{"is_final": false}'
    assert say(model, TASK, purpose="check").text == '{"is_final": true}'


def test_a_script_that_is_over_says_where() -> None:
    with pytest.raises(ModelNonsense, match="the script holds no reply 1 of turn 2"):
        say(ScriptedModel(turns=[[{"text": "a"}]]), TASK, REPLY, FOLLOW_UP)


def test_text_is_streamed_line_by_line() -> None:
    heard: list[str] = []
    ScriptedModel([{"text": "a\nb"}]).complete(ModelRequest((TASK,)), heard.append)
    assert heard == ["a\n", "b"]


@pytest.mark.parametrize(
    "script", [[{"txt": "a"}], [{"error": {"kind": "odd"}}], [[{"calls": [{"arguments": {}}]}]], ["text"]]
)
def test_what_is_no_script_is_refused(script: list[object]) -> None:
    with pytest.raises(ValidationError):
        ScriptedModel(script)


def test_replies_and_turns_together_are_refused() -> None:
    with pytest.raises(ValueError, match="either replies or turns"):
        ScriptedModel([{"text": "a"}], turns=[[{"text": "b"}]])


@pytest.mark.parametrize(
    "content",
    ['[{"text": "hello"}]', '{"replies": [{"text": "hello"}]}', '{"turns": [[{"text": "hello"}]], "checks": []}'],
)
def test_a_script_file_has_any_of_the_three_forms(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content, "utf-8")
    model = ScriptedModel.load(path, native_tools=False)
    assert say(model, TASK).text == "hello"
    assert (model.name, model.native_tools) == ("scripted", False)


@pytest.mark.parametrize("content", ["", "{", "42", '{"reply": []}', '[{"txt": 1}]'])
def test_a_file_that_is_no_script_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content, "utf-8")
    with pytest.raises(SettingsError, match=r"script\.json"):
        ScriptedModel.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"gone\.json"):
        ScriptedModel.load(tmp_path / "gone.json")
