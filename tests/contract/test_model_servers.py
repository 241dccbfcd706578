"""What the main open servers put on the wire is understood: vLLM, llama.cpp, Ollama.

Shapes of answers follow the source that is named here. Bodies of errors of vLLM and llama.cpp, and llama.cpp's shape of
a delta, are from excerpts that may be of another version.

    vLLM       vllm/entrypoints/openai/engine/protocol.py            040a2cc2a6295ea9c313d86526ff90a103eacb3e
    llama.cpp  tools/server/server-task.cpp, common/chat.cpp         00efb3e184262872916bf136b3df63c1822a19bd
    Ollama     openai/openai.go, middleware/openai.go                fb30760996871fa9460115c753afd2c60d4ab0f7

No code of theirs is here, only the JSON that it writes.
"""

# ruff: noqa: E501  what a server says stays on one line

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_endpoint import Behaviour, Endpoint, endpoint, sends, stream

from core.steps import Replied, Usage
from workers.agent.replies.intents import RunPython
from workers.agent.replies.parse import read_reply
from workers.models.base import ContextTooLong, ModelRefused, ModelReply, ModelRequest, ModelUnavailable
from workers.models.openai_model import OpenAIModel

Json = dict[str, Any]
REQUEST = ModelRequest(
    ({"role": "user", "content": "hi"},), ({"type": "function", "function": {"name": "run_python"}},)
)
CODE = {"code": "print(1)", "title": "Look"}
HALVES = ('{"code": "print(1)"', ', "title": "Look"}')


def vllm(delta: Json | None, finish: str | None = None, usage: Json | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, "token_ids": None}
    choices = [] if delta is None else [choice | ({"stop_reason": None} if finish else {})]
    told = {"id": "chatcmpl-9f", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return told | ({"usage": usage} if usage else {})


def llama(delta: Json | None, finish: str | None = None, usage: Json | None = None) -> Json:
    choices = [] if delta is None else [{"finish_reason": finish, "index": 0, "delta": delta}]
    told = {"choices": choices, "created": 1, "id": "chatcmpl-x", "model": "m", "system_fingerprint": "b7000-00efb3e"}
    told |= {"object": "chat.completion.chunk"}
    return told | ({"usage": usage, "timings": {"prompt_n": 1, "predicted_per_second": 40.1}} if usage else {})


def ollama(delta: Json | None, finish: str | None = None, usage: Json | None = None) -> Json:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    told = {"id": "chatcmpl-12", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    told |= {"system_fingerprint": "fp_ollama", "choices": choices}
    return told | ({"usage": usage} if usage else {})


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
TEXT: dict[str, Behaviour] = {
    "vllm": stream(
        vllm({"role": "assistant", "content": "", "reasoning_content": None}),
        vllm({"content": "Hello", "reasoning_content": None}),
        vllm({"content": ""}, "stop"),
        vllm(None, usage={**USAGE, "prompt_tokens_details": {"cached_tokens": 8}}),
    ),
    "llama.cpp": stream(
        llama({"role": "assistant", "content": None}),
        llama({"content": "Hello"}),
        llama({}, "stop"),
        llama(None, usage=USAGE),
    ),
    "ollama": stream(
        ollama({"role": "assistant", "content": "Hello"}), ollama({}, "stop"), ollama(None, "stop", usage=USAGE)
    ),
}
THINKING: dict[str, Behaviour] = {
    "vllm": stream(
        vllm({"role": "assistant", "content": ""}),
        vllm({"reasoning": "Let me", "reasoning_content": "Let me"}),
        vllm({"content": "Hello"}),
        vllm({}, "stop"),
    ),
    "llama.cpp": stream(
        llama({"role": "assistant", "content": None}), llama({"reasoning_content": "Let me"}), llama({"content": "Hello"}),
        llama({}, "stop"),
    ),
    "ollama": stream(
        ollama({"role": "assistant", "reasoning": "Let me"}), ollama({"content": "Hello"}), ollama({}, "stop")
    ),
}  # fmt: skip


def pieces(index: int, call_id: str, *, whole: bool = False, typed_later: bool = False) -> list[Json]:
    """One call as deltas: its name first and its arguments in two pieces, or all at once."""
    if whole:
        function = {"name": "run_python", "arguments": json.dumps(CODE)}
        return [{"tool_calls": [{"id": call_id, "index": index, "type": "function", "function": function}]}]
    first = {"id": call_id, "type": "function", "index": index, "function": {"name": "run_python"}}
    if not typed_later:
        first["function"] = {"name": "run_python", "arguments": ""}
    return [{"tool_calls": [first]}] + [
        {"tool_calls": [{"index": index, "function": {"arguments": h}}]} for h in HALVES
    ]


CALLS: dict[str, Behaviour] = {
    "vllm": stream(
        vllm({"role": "assistant", "content": ""}),
        *(vllm(delta) for n in (0, 1) for delta in pieces(n, f"chatcmpl-tool-{n}", typed_later=True)),
        vllm({"content": ""}, "tool_calls"),
    ),
    "llama.cpp": stream(
        llama({"role": "assistant", "content": None}),
        *(llama(delta) for n in (0, 1) for delta in pieces(n, f"id{n}")),
        llama({}, "tool_calls"),
    ),
    "ollama": stream(
        ollama({"role": "assistant", "content": ""}),
        *(ollama({"content": "", **delta}) for n in (0, 1) for delta in pieces(n, f"call_{n}", whole=True)),
        ollama({}, "tool_calls"),
    ),
    "ollama, all with the index 0": stream(
        ollama({"role": "assistant", "content": ""}),
        *(ollama({"content": "", **delta}) for n in (0, 1) for delta in pieces(0, f"call_{n}", whole=True)),
        ollama({}, "tool_calls"),
    ),
    "an older one, without ids": stream(
        *(ollama({"role": "assistant", "content": "", **delta}) for _ in (0, 1) for delta in pieces(0, "", whole=True)),
        ollama({}, "stop"),
    ),
    "an older one, arguments as an object": stream(
        ollama({"tool_calls": [{"function": {"name": "run_python", "arguments": CODE}, "index": n} for n in (0, 1)]}),
        ollama({}, "stop"),
    ),
}
TOO_LONG: dict[str, Behaviour] = {
    "vllm": sends(
        400,
        json.dumps({"error": {"message": "This model's maximum context length is 8192 tokens. However, you requested 9000 "
                    "tokens in the messages. Please reduce the length of the messages.", "type": "BadRequestError",
                    "param": "input_tokens", "code": 400}}),
        "application/json",
    ),
    "llama.cpp": sends(
        400,
        json.dumps({"error": {"code": 400, "message": "request (9412 tokens) exceeds the available context size (8192 "
                    "tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9412,
                    "n_ctx": 8192}}),
        "application/json",
    ),
    "ollama": sends(
        400,
        json.dumps({"error": {"message": "the input length exceeds the context length", "type": "invalid_request_error",
                    "param": None, "code": None}}),
        "application/json",
    ),
}  # fmt: skip
NO_MODEL: dict[str, Behaviour] = {
    "vllm": sends(
        404,
        json.dumps({"error": {"message": "The model `m` does not exist.", "type": "NotFoundError", "param": "model",
                    "code": 404}}),
        "application/json",
    ),
    "ollama": sends(
        404,
        json.dumps({"error": {"message": "model 'm' not found", "type": "not_found_error", "param": None, "code": None}}),
        "application/json",
    ),
}  # fmt: skip
NO_TOOLS: dict[str, Behaviour] = {
    "vllm": sends(
        400,
        json.dumps({"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to '
                    "be set", "type": "BadRequestError", "param": None, "code": 400}}),
        "application/json",
    ),
    "llama.cpp": sends(
        500,
        json.dumps({"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}),
        "application/json",
    ),
    "ollama": sends(
        400,
        json.dumps({"error": {"message": "registry.ollama.ai/library/m:latest does not support tools",
                    "type": "invalid_request_error", "param": None, "code": None}}),
        "application/json",
    ),
}  # fmt: skip


@pytest.fixture
def ask() -> Any:
    def do(behaviour: Behaviour) -> tuple[ModelReply, Endpoint]:
        with endpoint(behaviour) as server:
            model = OpenAIModel(api_key="k", base_url=server.url, model="m", max_retries=0, timeout_s=10)
            with model:
                return model.complete(REQUEST, lambda _: None), server

    return do


@pytest.mark.parametrize("server", TEXT)
def test_text_and_usage(ask: Any, server: str) -> None:
    reply, _ = ask(TEXT[server])
    cached = 8 if server == "vllm" else 0
    assert reply == ModelReply(text="Hello", usage=Usage(prompt_tokens=11, cached_tokens=cached, completion_tokens=7))


@pytest.mark.parametrize("server", THINKING)
def test_thinking_is_not_part_of_the_answer(ask: Any, server: str) -> None:
    reply, _ = ask(THINKING[server])
    assert reply.text == "Hello"


@pytest.mark.parametrize("server", CALLS)
def test_two_calls_in_one_reply_are_two_cells(ask: Any, server: str) -> None:
    reply, _ = ask(CALLS[server])
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [("run_python", CODE)] * 2
    intents = read_reply(Replied(purpose="act", text=reply.text, calls=reply.calls, finish=reply.finish), 1).intents
    assert all(isinstance(intent, RunPython) for intent in intents)
    assert len({intent.call_id for intent in intents}) == 2


@pytest.mark.parametrize("server", TOO_LONG)
def test_a_prompt_that_is_too_long_is_shortened_and_not_refused(ask: Any, server: str) -> None:
    with pytest.raises(ContextTooLong):
        ask(TOO_LONG[server])


@pytest.mark.parametrize("server", NO_MODEL)
def test_an_unknown_model_is_a_matter_for_an_admin(ask: Any, server: str) -> None:
    with pytest.raises(ModelRefused):
        ask(NO_MODEL[server])


@pytest.mark.parametrize("server", NO_TOOLS)
def test_a_server_without_tool_calls_points_to_the_setting(ask: Any, server: str) -> None:
    with pytest.raises(ModelRefused, match='mode = "fenced"'):
        ask(NO_TOOLS[server])


def test_an_error_in_the_middle_of_a_stream_is_no_answer(ask: Any) -> None:
    for error in (
        {"error": {"message": "EngineCore died", "type": "InternalServerError", "param": None, "code": 500}},
        {"error": {"code": 500, "message": "Compute error.", "type": "server_error"}},
        {"error": {"message": "llama runner process has terminated", "type": "api_error", "param": None, "code": None}},
    ):
        with pytest.raises(ModelUnavailable):
            ask(stream(vllm({"role": "assistant", "content": "Hel"}), error))
