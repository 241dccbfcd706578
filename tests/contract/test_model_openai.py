"""OpenAIModel against a real socket: what good endpoints send, what bad ones do, and what never leaks."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chat_endpoint import Behaviour, Endpoint, chatters, chunk, endpoint, hangs, pings, refuses, says, sends, stream
from patience import PATIENCE_S, reserved_port

from core.steps import ToolCall, Usage
from workers.agent.replies.tools import TOOLS
from workers.models.base import (
    ContextTooLong,
    ModelError,
    ModelNonsense,
    ModelRefused,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
)
from workers.models.openai_model import OpenAIModel

KEY = "sk-test-0123456789abcdef"
REQUEST = ModelRequest(({"role": "user", "content": "hi"},), TOOLS)


class Pauses(list[float]):
    """Stands for time.sleep: notes how long, does not wait."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def model(pauses: Pauses) -> Iterator[Callable[..., OpenAIModel]]:
    made: list[OpenAIModel] = []

    def make(server: Endpoint | str, **options: Any) -> OpenAIModel:
        url = server if isinstance(server, str) else server.url
        known = {"timeout_s": PATIENCE_S, "max_retries": 2, "sleep": pauses, "jitter": lambda: 0.0, **options}
        made.append(OpenAIModel(api_key=known.pop("api_key", KEY), base_url=url, model="test-model", **known))
        return made[-1]

    yield make
    for one in made:
        one.close()


Make = Callable[..., OpenAIModel]


def ask(model: OpenAIModel, request: ModelRequest = REQUEST) -> tuple[ModelReply, list[str]]:
    heard: list[str] = []
    return model.complete(request, heard.append), heard


# --- what good endpoints send


def test_text_comes_piece_by_piece_and_whole_with_its_usage(model: Make) -> None:
    with endpoint(says("Hel", "lo, ", "世界")) as server:
        reply, heard = ask(model(server))
    assert heard == ["Hel", "lo, ", "世界"]
    assert reply == ModelReply(text="Hello, 世界", usage=Usage(prompt_tokens=11, completion_tokens=7), finish="stop")


def test_the_request_is_streamed_with_tools_and_asks_for_usage(model: Make) -> None:
    with endpoint(says("ok")) as server:
        ask(model(server))
    (asked,) = server.asked
    assert asked["path"] == "/v1/chat/completions"
    assert asked["model"] == "test-model"
    assert asked["stream"] is True
    assert asked["stream_options"] == {"include_usage": True}
    assert asked["messages"] == [{"role": "user", "content": "hi"}]
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["run_python", "ask_user", "finish"]
    assert server.keys == [f"Bearer {KEY}"]


def test_in_fenced_mode_no_tools_are_sent(model: Make) -> None:
    with endpoint(says("ok")) as server:
        fenced = model(server, mode="fenced")
        ask(fenced)
    assert fenced.native_tools is False
    assert "tools" not in server.asked[0]


def test_tool_calls_are_put_together_from_their_pieces(model: Make) -> None:
    def piece(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
        function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
        return chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})

    with endpoint(
        stream(
            chunk({"role": "assistant", "content": None}),
            piece(0, "a", "run_python", ""),
            piece(0, None, None, '{"code": '),
            piece(0, None, None, '"1"}'),
            piece(1, "b", "finish", '{"report"'),
            piece(1, None, None, ': "r"}'),
            chunk(finish="tool_calls"),
        )
    ) as server:
        reply, heard = ask(model(server))
    assert reply.calls == (
        ToolCall(id="a", name="run_python", arguments='{"code": "1"}'),
        ToolCall(id="b", name="finish", arguments='{"report": "r"}'),
    )
    assert reply.finish == "tool_calls"
    assert heard == []


def numbered(index: int | None, call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    piece = {"id": call_id, "function": {"name": name, "arguments": arguments}}
    return piece if index is None else {"index": index, **piece}


@pytest.mark.parametrize(
    "pieces",
    [
        [numbered(0, "a", "f", "1"), numbered(0, "b", "g", "2")],
        [numbered(None, "a", "f", "1"), numbered(None, "b", "g", "2")],
        [numbered(0, "a", "f", None), numbered(0, "a", "f", "1"), numbered(1, "b", "g", "2")],
    ],
    ids=["every call has the index 0", "no index", "the id and name with every piece"],
)
def test_the_ways_in_which_servers_number_calls_are_all_understood(model: Make, pieces: list[dict[str, Any]]) -> None:
    with endpoint(stream(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk(finish="tool_calls"))) as server:
        reply, _ = ask(model(server))
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [("a", "f", "1"), ("b", "g", "2")]


def test_arguments_that_come_as_an_object_become_text(model: Make) -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"code": "1"}}}
    with endpoint(stream(chunk({"tool_calls": [call]}), chunk(finish="stop"))) as server:
        reply, _ = ask(model(server))
    assert json.loads(reply.calls[0].arguments) == {"code": "1"}


def test_an_endpoint_that_does_not_stream_is_understood_too(model: Make) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hello", "tool_calls": [call]}
    body = {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    with endpoint(sends(200, json.dumps(body), "application/json")) as server:
        reply, heard = ask(model(server))
    assert (reply.text, heard) == ("Hello", ["Hello"])
    assert reply.calls == (ToolCall(id="a", name="f", arguments="{}"),)
    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=2)


@pytest.mark.parametrize("how", ["stream_options is not supported", "unknown field: include_usage"])
def test_an_endpoint_that_refuses_usage_is_asked_without_it_from_then_on(model: Make, how: str, pauses: Pauses) -> None:
    with endpoint(refuses(400, how), says("ok"), says("again")) as server:
        one = model(server, max_retries=0)
        assert ask(one)[0].text == "ok"
        assert ask(one)[0].text == "again"
    assert ["stream_options" in asked for asked in server.asked] == [True, False, False]
    assert pauses == []


def test_a_reply_that_ran_out_of_tokens_says_so(model: Make) -> None:
    with endpoint(stream(chunk({"content": "The total is"}), chunk(finish="length"))) as server:
        reply, _ = ask(model(server))
    assert (reply.text, reply.finish) == ("The total is", "length")


@pytest.mark.parametrize(
    "reason",
    ["model_length", "MAX_TOKENS", "max_output_tokens", "content_filter", "SAFETY", "error",
     "insufficient_system_resource"],
)  # fmt: skip
def test_a_reply_that_was_cut_says_so_in_one_word_whatever_the_endpoint_calls_it(model: Make, reason: str) -> None:
    with endpoint(stream(chunk({"content": "The total is"}), chunk(finish=reason))) as server:
        assert ask(model(server))[0].finish == "length"


@pytest.mark.parametrize("reason", ["stop", "STOP", "eos", "end_turn", "tool_calls"])
def test_a_whole_reply_keeps_the_endpoints_word(model: Make, reason: str) -> None:
    with endpoint(stream(chunk({"content": "42"}), chunk(finish=reason))) as server:
        assert ask(model(server))[0].finish == reason


def test_a_refusal_in_place_of_the_content_is_read_as_text(model: Make) -> None:
    pieces = (chunk({"content": None, "refusal": "I cannot "}), chunk({"refusal": "help with that."}))
    with endpoint(stream(*pieces, chunk(finish="stop"))) as server:
        reply, _ = ask(model(server))
    assert (reply.text, reply.finish) == ("I cannot help with that.", "stop")


def test_a_reply_without_a_word_is_a_reply(model: Make) -> None:
    with endpoint(stream(chunk({"role": "assistant"}), chunk(finish="stop"))) as server:
        assert ask(model(server))[0] == ModelReply()


def test_a_stream_without_the_last_line_but_with_its_reason_is_whole(model: Make) -> None:
    with endpoint(stream(chunk({"content": "ok"}), chunk(finish="stop"), done=False)) as server:
        assert ask(model(server))[0].text == "ok"


def test_comments_events_and_carriage_returns_do_not_disturb(model: Make) -> None:
    with endpoint(
        stream(
            ": ping\r\n\r\n",
            "event: message\r\n",
            "data: " + json.dumps(chunk({"content": "ok"})) + "\r\n\r\n",
            chunk(finish="stop"),
        )
    ) as server:
        assert ask(model(server))[0].text == "ok"


def test_a_local_server_without_keys_needs_none(model: Make) -> None:
    with endpoint(says("ok")) as server:
        assert ask(model(server, api_key=""))[0].text == "ok"


# --- what passes by itself


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_an_endpoint_in_trouble_is_asked_again(model: Make, status: int, pauses: Pauses) -> None:
    with endpoint(refuses(status), says("ok")) as server:
        assert ask(model(server))[0].text == "ok"
    assert pauses == [0.5]


def test_trouble_that_stays_is_told_as_unavailable(model: Make, pauses: Pauses) -> None:
    with endpoint(refuses(503, "overloaded")) as server, pytest.raises(ModelUnavailable, match="503: overloaded"):
        ask(model(server))
    assert len(server.asked) == 3
    assert pauses == [0.5, 1.0]


def test_pauses_are_spread_so_that_workers_do_not_come_back_together(model: Make, pauses: Pauses) -> None:
    with endpoint(refuses(500), says("ok")) as server:
        ask(model(server, jitter=lambda: 1.0))
    assert pauses == [0.625]


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"Retry_After": "Sat, 01 Jan 2000 00:00:09 GMT", "Date": "Sat, 01 Jan 2000 00:00:00 GMT"}, 9.0),
        ({"Retry_After": "Sat, 01 Jan 2000 00:00:00 GMT"}, 0.5),
        ({"Retry_After": "soon"}, 0.5),
        ({"Retry_After": "-3"}, 0.5),
        ({"Retry_After": "nan"}, 0.5),
    ],
)
def test_the_pause_that_the_endpoint_asks_for_is_kept(
    model: Make, headers: dict[str, str], pause: float, pauses: Pauses
) -> None:
    with endpoint(refuses(429, "slow down", **headers), says("ok")) as server:
        ask(model(server))
    assert pauses == [pause]


def test_a_pause_that_is_too_long_is_not_waited_for(model: Make, pauses: Pauses) -> None:
    with endpoint(refuses(429, "come back tomorrow", Retry_After="3600")) as server, pytest.raises(ModelUnavailable):
        ask(model(server))
    assert (len(server.asked), pauses) == (1, [])


@pytest.mark.parametrize(
    "cut",
    [
        stream(chunk({"content": "The tot"}), done=False),
        stream(
            chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"co'}}]}), done=False
        ),
        stream(chunk({"content": "x"}), {"error": {"message": "upstream died", "code": 502}}),
    ],
    ids=["in the text", "in a tool call", "an error in the stream"],
)
def test_a_stream_that_breaks_off_is_asked_for_again(model: Make, cut: Any) -> None:
    with endpoint(cut, says("The total is 3.")) as server:
        reply, _ = ask(model(server))
    assert (reply.text, reply.calls) == ("The total is 3.", ())


def test_a_connection_that_is_cut_inside_a_chunk_is_asked_for_again(model: Make) -> None:
    def cuts(handler: Any) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Content-Length", "5000")
        handler.end_headers()
        handler.wfile.write(b'data: {"choices": [{"del')
        handler.close_connection = True

    with endpoint(cuts, says("ok")) as server:
        assert ask(model(server))[0].text == "ok"


def test_a_stream_that_always_breaks_off_is_unavailable(model: Make) -> None:
    cut = stream(chunk({"content": "x"}), done=False)
    with endpoint(cut) as server, pytest.raises(ModelUnavailable, match="broke off"):
        ask(model(server))


@pytest.mark.parametrize(
    "silence",
    [hangs(), hangs(chunk({"content": "The"})), pings],
    ids=["before the first token", "between tokens", "only pings"],
)
def test_silence_ends_in_a_time_out(model: Make, silence: Any) -> None:
    with endpoint(silence) as server, pytest.raises(ModelUnavailable):
        ask(model(server, timeout_s=0.2, max_retries=0))


def test_thinking_aloud_is_a_sign_of_life(model: Make) -> None:
    ticks = iter(range(1000))
    thoughts = [chunk({"reasoning_content": "hm"})] * 20
    with endpoint(stream(*thoughts, chunk({"content": "ok"}), chunk(finish="stop"))) as server:
        reply, heard = ask(model(server, clock=lambda: next(ticks) * PATIENCE_S / 4))
    assert (reply.text, heard) == ("ok", ["ok"])


def test_thinking_in_a_part_of_the_content_is_a_sign_of_life(model: Make) -> None:
    ticks = iter(range(1000))
    thoughts = [chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]})] * 20
    with endpoint(stream(*thoughts, chunk({"content": "ok"}), chunk(finish="stop"))) as server:
        reply, heard = ask(model(server, clock=lambda: next(ticks) * PATIENCE_S / 4, max_retries=0))
    assert (reply.text, heard) == ("ok", ["ok"])


def test_no_server_is_unavailable(model: Make) -> None:
    with reserved_port() as port, pytest.raises(ModelUnavailable, match="no connection"):
        ask(model(f"http://127.0.0.1:{port}/v1"))


# --- what an admin must change


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_asked_again(model: Make, status: int, pauses: Pauses) -> None:
    with (
        endpoint(refuses(status, "The model `test-model` does not exist")) as server,
        pytest.raises(ModelRefused, match=str(status)),
    ):
        ask(model(server))
    assert (len(server.asked), pauses) == (1, [])


@pytest.mark.parametrize(
    "trouble",
    [
        refuses(400, "too much", "context_length_exceeded"),
        refuses(400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001."),
        refuses(413, "prompt is too long: 210000 tokens > 200000 maximum"),
        refuses(422, "inputs must have less than 4096 tokens: exceeds the context window"),
        refuses(400, "input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000"),
        refuses(400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        refuses(400, "Invalid request: Your request exceeded model token limit: 131072"),
        refuses(422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"),
        refuses(413, "Request body too large for gpt-4o model. Max size: 8000 tokens."),
        stream({"error": {"code": "context_length_exceeded", "message": "too much"}}),
    ],
)
def test_a_prompt_that_is_too_long_is_told_apart_and_not_tried_again(model: Make, trouble: Behaviour) -> None:
    with endpoint(trouble) as server, pytest.raises(ContextTooLong):
        ask(model(server))
    assert len(server.asked) == 1


def test_another_refusal_that_speaks_of_tokens_is_no_long_prompt(model: Make) -> None:
    with endpoint(refuses(400, "max_tokens must be positive")) as server, pytest.raises(ModelRefused):
        ask(model(server))


def test_a_used_up_quota_is_no_passing_trouble(model: Make) -> None:
    with endpoint(refuses(429, "You exceeded your quota", "insufficient_quota")) as server, pytest.raises(ModelRefused):
        ask(model(server))
    assert len(server.asked) == 1


def test_a_model_without_tools_points_to_the_setting(model: Make) -> None:
    with (
        endpoint(refuses(400, "test-model does not support tools")) as server,
        pytest.raises(ModelRefused, match="fenced"),
    ):
        ask(model(server))


# --- nonsense


@pytest.mark.parametrize(
    "nonsense",
    [
        sends(200, "<html>Sign in</html>"),
        sends(200, "hello", "text/plain"),
        sends(200, "{", "application/json"),
        sends(200, "[]", "application/json"),
        sends(200, '{"ok": true}', "application/json"),
        stream("data: {broken\n\n"),
        stream("data: 42\n\n"),
        stream(),
        stream({"choices": []}),
        stream({"choices": "none"}),
        stream({"choices": [None]}),
        sends(200, "", "text/event-stream"),
        sends(200, "data: " + "x" * 3_000_000, "text/event-stream"),
    ],
)
def test_what_is_not_the_protocol_is_nonsense_and_asked_again_first(model: Make, nonsense: Any) -> None:
    with endpoint(nonsense) as server, pytest.raises(ModelNonsense):
        ask(model(server))
    assert len(server.asked) == 3
    with endpoint(nonsense, says("ok")) as server:
        assert ask(model(server))[0].text == "ok"


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": [{"delta": None, "finish_reason": None}]},
        {"choices": [{"delta": {"content": 42, "tool_calls": "x"}}]},
        {"choices": [{"delta": {"tool_calls": [None, {"function": None}, {"index": "a", "function": {"name": 3}}]}}]},
        {"choices": [{"delta": {"content": [{"type": "text", "text": ""}, "x"]}}]},
        {"choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": "many"}},
        {"choices": [], "usage": None},
    ],
)
def test_odd_events_inside_a_good_stream_do_no_harm(model: Make, odd: dict[str, Any]) -> None:
    with endpoint(stream(odd, chunk({"content": "ok"}), odd, chunk(finish="stop"))) as server:
        assert ask(model(server))[0] == ModelReply(text="ok")


def test_a_reply_without_end_is_cut(model: Make) -> None:
    with endpoint(chatters) as server:
        reply, _ = ask(model(server, max_reply_chars=10_000))
    assert reply.finish == "length"
    assert len(reply.text) < 20_000


def test_what_the_listener_raises_ends_the_call_and_is_not_mistaken_for_the_endpoints_fault(model: Make) -> None:
    def stop(_: str) -> None:
        raise KeyboardInterrupt

    def fail(_: str) -> None:
        raise ZeroDivisionError

    with endpoint(says("a", "b")) as server:
        with pytest.raises(KeyboardInterrupt):
            model(server).complete(REQUEST, stop)
        with pytest.raises(ZeroDivisionError):
            model(server).complete(REQUEST, fail)
    assert len(server.asked) == 2


# --- the key


@pytest.mark.parametrize(
    "behaviour",
    [
        refuses(401, f"Incorrect API key provided: {KEY}. Find yours in your account."),
        refuses(500, f"Authorization: Bearer {KEY}"),
        sends(200, f"<html>{KEY}</html>"),
        stream({"error": {"message": f"key {KEY} expired"}}),
        stream(f"data: {KEY}\n\n"),
    ],
)
def test_the_key_is_in_no_error_no_log_and_no_repr(
    model: Make, behaviour: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with endpoint(behaviour) as server:
        one = model(server, max_retries=1)
        with pytest.raises(ModelError) as raised:
            ask(one)
    shown = "".join(traceback.format_exception(raised.value))
    assert KEY not in shown
    assert KEY not in repr(one)
    assert KEY not in str(vars(raised.value))
    assert raised.value.__context__ is None
    assert KEY not in caplog.text
    assert KEY not in "".join(capfd.readouterr())
    assert repr(one) == "OpenAIModel('test-model' at 127.0.0.1)"


def test_an_endpoint_that_quotes_the_prompt_is_not_quoted_in_turn(model: Make) -> None:
    words = "the merger is called Nightingale"
    request = ModelRequest(({"role": "user", "content": f"Say: {words}"},), TOOLS)
    with endpoint(refuses(400, f"unsafe content: {words}")) as server, pytest.raises(ModelRefused) as refused:
        ask(model(server), request)
    assert words not in str(refused.value)
    with endpoint(refuses(400, "no such model")) as server, pytest.raises(ModelRefused, match="no such model"):
        ask(model(server), request)


# --- pictures

PNG = b"\x89PNG\r\n\x1a\n"
DIGEST = "1" * 64
SHOWN: dict[str, Any] = {
    "role": "user",
    "content": "Attached: chart.png",
    "pictures": [{"name": "chart.png", "mimetype": "image/png", "sha256": DIGEST}],
}
SEEING = ModelRequest((SHOWN,), pictures={DIGEST: PNG})


def seeing_another(number: int) -> ModelRequest:
    """A request with a picture of its own."""
    digest = f"{number:064x}"
    return ModelRequest(({**SHOWN, "pictures": [{**SHOWN["pictures"][0], "sha256": digest}]},), pictures={digest: PNG})


def test_a_picture_is_a_part_of_its_message(model: Make) -> None:
    """The shape that OpenAI's reference, vLLM, llama.cpp's server, Ollama and LiteLLM read."""
    with endpoint(says("a chart")) as server:
        ask(model(server, sees=True), SEEING)
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    content = [{"type": "text", "text": "Attached: chart.png"}, {"type": "image_url", "image_url": {"url": url}}]
    assert server.asked[0]["messages"] == [{"role": "user", "content": content}]


def test_a_picture_that_may_be_small_says_so(model: Make) -> None:
    small = {**SHOWN, "pictures": [{**SHOWN["pictures"][0], "detail": "low"}]}
    with endpoint(says("ok")) as server:
        ask(model(server, sees=True), ModelRequest((small,), pictures={DIGEST: PNG}))
    assert server.asked[0]["messages"][0]["content"][1]["image_url"]["detail"] == "low"


def test_a_picture_that_could_not_be_had_is_named(model: Make) -> None:
    with endpoint(says("ok")) as server:
        ask(model(server, sees=True), ModelRequest((SHOWN,)))
    (message,) = server.asked[0]["messages"]
    assert message.keys() == {"role", "content"}
    assert "do not see it: chart.png" in message["content"]


def test_a_model_that_does_not_see_gets_no_picture(model: Make) -> None:
    with endpoint(says("ok")) as server:
        ask(model(server), SEEING)
    assert "base64" not in json.dumps(server.asked)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "At most 0 image(s) may be provided in one prompt."),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (400, "this model is missing data required for image input"),
        (400, "Invalid type for 'messages[1].content': expected a string"),
        (404, "No endpoints found that support image input"),
    ],
)
def test_an_endpoint_that_refuses_pictures_is_asked_without_them_and_at_last_gets_none(
    model: Make, status: int, said: str
) -> None:
    refusals = [answer for _ in range(3) for answer in (refuses(status, said), says("ok"))]
    with endpoint(*refusals, says("ok")) as server:
        seeing = model(server, sees=True, max_retries=0)
        for number in range(3):
            assert seeing.sees is True
            assert ask(seeing, seeing_another(number))[0].text == "ok"
        assert seeing.sees is False
        ask(seeing, seeing_another(4))
    assert ["base64" in json.dumps(asked) for asked in server.asked] == [True, False] * 3 + [False]
    assert "do not see it: chart.png" in json.dumps(server.asked[1])


def test_one_picture_that_is_refused_takes_no_other_one_away(model: Make) -> None:
    said = "Could not process image"
    odd, good = seeing_another(0), seeing_another(1)
    both = ModelRequest(odd.messages + good.messages, pictures={**odd.pictures, **good.pictures})
    with endpoint(*[refuses(400, said), says("ok"), *[says("ok")] * 5]) as server:
        seeing = model(server, sees=True, max_retries=0)
        for request in (odd, odd, both, good, odd, good):
            assert ask(seeing, request)[0].text == "ok"
        assert seeing.sees is True
    assert [json.dumps(asked).count("base64") for asked in server.asked] == [1, 0, 0, 1, 1, 0, 1]


def test_a_refusal_of_something_else_is_not_taken_for_one_of_pictures(model: Make) -> None:
    with endpoint(refuses(401, "Incorrect API key for the vision model")) as server:
        seeing = model(server, sees=True)
        with pytest.raises(ModelRefused):
            ask(seeing, SEEING)
    assert seeing.sees is True


@pytest.mark.parametrize("said", ["Failed to provision capacity, try again", "unexpected content type from upstream"])
def test_trouble_of_an_endpoint_that_got_no_picture_is_no_refusal_of_one(model: Make, said: str) -> None:
    with endpoint(refuses(500, said), says("ok")) as server:
        assert ask(model(server, sees=True))[0].text == "ok"


def test_a_prompt_that_is_too_long_because_of_its_pictures_is_too_long(model: Make) -> None:
    said = "This model's maximum context length is 8192 tokens. You requested 9000 (8000 in images)."
    with endpoint(refuses(400, said)) as server:
        seeing = model(server, sees=True)
        with pytest.raises(ContextTooLong):
            ask(seeing, SEEING)
    assert seeing.sees is True


def test_an_error_that_quotes_nothing_of_a_picture_is_told_as_it_is(model: Make) -> None:
    with endpoint(refuses(400, "no")) as server, pytest.raises(ModelRefused) as raised:
        ask(model(server, sees=True), SEEING)
    assert "base64" not in str(raised.value)
