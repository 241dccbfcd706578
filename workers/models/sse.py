"""Reads a Chat Completions reply: server-sent events, or one JSON document from endpoints that do not stream.

All bytes are untrusted. They are bounded, and read in the shapes that compatible servers really send.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.steps import ToolCall, Usage
from workers.models.base import ModelReply, OnDelta

MAX_LINE_BYTES = 2_000_000
MAX_CALLS = 32
_ID_CHARS, _WIRE_ID_CHARS = 200, 100_000
"""Of a call's id, as we use it and as the endpoint gets it back. Some proxies keep a model's thoughts in it."""
_MAX_TOKENS = 1 << 40
_CUT = {
    "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded",
    "content_filter", "safety", "recitation", "sensitive",
    "error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource",
}  # fmt: skip
"""What endpoints call the end of a reply that is not whole: too long, filtered, or given up by the server."""


class NotTheProtocol(Exception):
    """The endpoint said something that is no Chat Completions reply."""


class ErrorInStream(Exception):
    """The endpoint reported an error inside a stream that had begun. Carries the endpoint's error object."""

    def __init__(self, error: object) -> None:
        super().__init__("error in the stream")
        self.error = error


def events(chunks: Iterable[bytes]) -> Iterator[Mapping[str, Any] | None]:
    """The JSON objects of an event stream as they come. None stands for [DONE] and for every sign of life without
    content (comments, pings), so that a reader can look at its clock. Raises NotTheProtocol."""
    for line in _lines(chunks):
        if not line or line.startswith((":", "event:", "id:", "retry:")):
            yield None
        elif line.startswith("data:"):
            data = line.removeprefix("data:").strip()
            if data == "[DONE]":
                return
            yield _object(data)
        else:
            raise NotTheProtocol(f"not an event stream: {line[:200]!r}")


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    rest = ""
    for chunk in chunks:
        rest += decode(chunk)
        *lines, rest = rest.split("\n")
        for line in lines:
            yield line.rstrip("\r")
        if len(rest) > MAX_LINE_BYTES:
            raise NotTheProtocol("a line without end")
    if rest.strip():
        yield rest.rstrip("\r")


def _object(data: str) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise NotTheProtocol(f"broken JSON: {data[:200]!r}") from None
    if not isinstance(value, dict):
        raise NotTheProtocol(f"not an object: {data[:200]!r}")
    return value


def whole_reply(body: bytes, on_delta: OnDelta) -> ModelReply:
    """The reply in a single JSON document. Raises NotTheProtocol, ErrorInStream."""
    assembly = Assembly(max_chars=MAX_LINE_BYTES)
    assembly.add(_object(body.decode("utf-8", "replace")), on_delta)
    return assembly.reply()


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass
class Assembly:
    """A reply, put together from deltas. `full`: it reached its bound and reading may stop."""

    max_chars: int
    finish: str = ""
    full: bool = False
    seen: bool = False
    _text: list[str] = field(default_factory=list)
    _calls: list[_Call] = field(default_factory=list)
    _by_index: dict[object, _Call] = field(default_factory=dict)
    _usage: Usage = field(default_factory=Usage)
    _chars: int = 0

    def add(self, event: Mapping[str, Any], on_delta: OnDelta) -> bool:
        """Take in one event; True when it brought something of the reply. Raises ErrorInStream, NotTheProtocol."""
        if event.get("error"):
            raise ErrorInStream(event["error"])
        if isinstance(event.get("usage"), Mapping):
            self._usage = _usage(event["usage"])
        choices = event.get("choices")
        if choices is None and "usage" not in event:
            raise NotTheProtocol("an event without choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return False
        self.seen = True
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"]
        delta = choice.get("delta") or choice.get("message") or {}
        return self._add_delta(delta, on_delta) if isinstance(delta, Mapping) else False

    def reply(self) -> ModelReply:
        """The reply so far. Raises NotTheProtocol when no choice ever came."""
        if not self.seen:
            raise NotTheProtocol("no choices")
        calls = tuple(
            ToolCall(**_ids(call.id), name=call.name[:200], arguments="".join(call.arguments))
            for call in self._calls
            if call.name or call.arguments
        )
        finish = "length" if self.full or self.finish.casefold() in _CUT else self.finish or "stop"
        return ModelReply(text="".join(self._text), calls=calls, usage=self._usage, finish=finish)

    def _add_delta(self, delta: Mapping[str, Any], on_delta: OnDelta) -> bool:
        content = delta.get("content")
        text = _content(content) or _content(delta.get("refusal"))
        if text:
            self._text.append(text)
            self._count(text)
            on_delta(text)
        pieces = delta.get("tool_calls")
        for place, piece in enumerate(pieces if isinstance(pieces, list) else ()):
            if isinstance(piece, Mapping):
                self._add_call(piece, place)
        if isinstance(delta.get("function_call"), Mapping):
            self._add_call({"index": 0, "function": delta["function_call"]}, 0)
        thinking = delta.get("reasoning_content") or delta.get("reasoning") or _thinks(content)
        return bool(text or pieces or delta.get("function_call") or thinking)

    def _add_call(self, piece: Mapping[str, Any], place: int) -> None:
        """A piece of a tool call. Servers differ: some leave the index out, some give every call the index 0 and tell
        calls apart by id, some repeat the id with each piece."""
        index = piece.get("index")
        key: object = index if isinstance(index, int) else place
        call_id = piece.get("id") if isinstance(piece.get("id"), str) else ""
        call = self._by_index.get(key)
        if call is None or (call_id and call.id and call_id != call.id) or _begins_anew(piece, call):
            if len(self._calls) >= MAX_CALLS:
                self.full = True
                return
            call = _Call()
            self._calls.append(call)
            self._by_index[key] = call
        call.id = call.id or call_id or ""
        function = piece.get("function")
        if isinstance(function, Mapping):
            name, arguments = function.get("name"), function.get("arguments")
            if isinstance(name, str) and name != call.name:
                call.name += name
            if isinstance(arguments, Mapping):
                arguments = json.dumps(arguments, ensure_ascii=False)
            if isinstance(arguments, str):
                call.arguments.append(arguments)
                self._count(arguments)

    def _count(self, text: str) -> None:
        self._chars += len(text)
        self.full = self.full or self._chars > self.max_chars


def _ids(given: str) -> dict[str, str]:
    """The id of a call, and the endpoint's own one if that is longer than ours may be."""
    if len(given) <= _ID_CHARS:
        return {"id": given}
    digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:32]
    return {"id": f"call-{digest}", "wire_id": given[:_WIRE_ID_CHARS]}


def _begins_anew(piece: Mapping[str, Any], call: _Call) -> bool:
    """Whether a piece without an id is a further call under the same index: it names a tool, and the call is whole."""
    function = piece.get("function")
    named = isinstance(function, Mapping) and bool(function.get("name"))
    if not named or piece.get("id") or call.id or not call.arguments:
        return False
    try:
        return isinstance(json.loads("".join(call.arguments)), dict)
    except (ValueError, RecursionError):
        return False


def _content(content: object) -> str:
    """The text of a delta: a string, or a list of parts as some servers send it."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _thinks(content: object) -> bool:
    """Whether one of the parts of a delta is a thought."""
    return isinstance(content, list) and any(isinstance(part, Mapping) and part.get("thinking") for part in content)


def _usage(usage: Mapping[str, Any]) -> Usage:
    prompt = _count(usage.get("prompt_tokens"))
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else usage.get("prompt_cache_hit_tokens")
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=min(_count(cached), prompt),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _count(value: object) -> int:
    return min(value, _MAX_TOKENS) if isinstance(value, int) and value > 0 else 0
