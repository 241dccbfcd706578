"""Reading the wire: whatever an endpoint sends, it is a reply or one of the two errors that we know."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from workers.models.base import ModelReply
from workers.models.sse import MAX_CALLS, Assembly, ErrorInStream, NotTheProtocol, events, whole_reply

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
delta = st.fixed_dictionaries({}, optional={"content": any_json, "tool_calls": any_json, "function_call": any_json})
call = st.fixed_dictionaries({}, optional={"index": any_json, "id": any_json, "function": delta | any_json})
choice = st.fixed_dictionaries(
    {},
    optional={
        "delta": delta | st.builds(lambda calls: {"tool_calls": calls}, st.lists(call, max_size=3)),
        "finish_reason": any_json,
    },
)
event = st.fixed_dictionaries(
    {}, optional={"choices": st.lists(choice | any_json, max_size=2) | any_json, "usage": any_json}
)
KNOWN = (NotTheProtocol, ErrorInStream)


def read(lines: bytes, pieces: int = 7) -> ModelReply:
    assembly = Assembly(max_chars=1_000)
    for found in events(lines[i : i + pieces] for i in range(0, len(lines), pieces)):
        if found is not None:
            assembly.add(found, lambda _: None)
    return assembly.reply()


def line(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


@settings(max_examples=200)
@given(st.lists(event, max_size=5))
def test_any_events_are_a_reply_or_a_known_error(found: list[dict[str, Any]]) -> None:
    with contextlib.suppress(*KNOWN):
        reply = read(b"".join(map(line, found)))
        assert isinstance(reply.text, str)
        assert all(isinstance(one.name, str) and isinstance(one.arguments, str) for one in reply.calls)


@settings(max_examples=200)
@given(st.binary(max_size=200), st.sampled_from([b"", b"data: ", b"data: {", b": "]))
def test_any_bytes_are_a_reply_or_a_known_error(body: bytes, start: bytes) -> None:
    with contextlib.suppress(*KNOWN):
        read(start + body)
    with contextlib.suppress(*KNOWN):
        whole_reply(start + body, lambda _: None)


def test_where_the_bytes_are_cut_makes_no_difference() -> None:
    body = line({"choices": [{"delta": {"content": "世界 🌍"}}]}) + line(
        {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    )
    assert {read(body, pieces) for pieces in range(1, 40)} == {ModelReply(text="世界 🌍")}


def test_calls_are_bounded_in_number() -> None:
    pieces = [{"index": n, "id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(100)]
    reply = read(line({"choices": [{"delta": {"tool_calls": pieces}}]}))
    assert (len(reply.calls), reply.finish) == (MAX_CALLS, "length")


def test_nothing_behind_the_last_line_is_read() -> None:
    body = line({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})
    assert read(body + b"data: [DONE]\n\n" + b"<html>").text == "a"


def test_cached_tokens_are_read_in_the_shapes_that_servers_send_and_never_exceed_the_prompt() -> None:
    def usage(**given: object) -> tuple[int, int, int]:
        found = whole_reply(json.dumps({"choices": [{"message": {}}], "usage": given}).encode(), lambda _: None).usage
        return found.prompt_tokens, found.cached_tokens, found.completion_tokens

    assert usage(prompt_tokens=9, completion_tokens=2, prompt_tokens_details={"cached_tokens": 4}) == (9, 4, 2)
    assert usage(prompt_tokens=9, prompt_cache_hit_tokens=4) == (9, 4, 0)
    assert usage(prompt_tokens=9, prompt_tokens_details={"cached_tokens": 40}) == (9, 9, 0)
    assert usage(prompt_tokens=9, prompt_tokens_details="many") == (9, 0, 0)


def test_a_long_id_of_a_call_is_kept_whole_for_the_endpoint() -> None:
    ids = [f"{'thought' * 500}-{number}" for number in range(2)]
    pieces = [
        {"index": n, "id": each, "function": {"name": "f", "arguments": "{}"}} for n, each in enumerate([*ids, "c3"])
    ]
    calls = read(line({"choices": [{"delta": {"tool_calls": pieces}}]})).calls
    assert [call.wire_id for call in calls] == [*ids, ""]
    assert len({call.id for call in calls}) == 3
    assert max(len(call.id) for call in calls) <= 200
