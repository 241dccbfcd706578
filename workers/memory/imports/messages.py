"""What a message of an imported conversation may be: the fields that Chat Completions has, of the right types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
MESSAGE_CHARS = 1_000_000
_NAME_CHARS = 200
_CALLS = 200


class NoMessage(ValueError):
    """It is no message. The text says why, as the end of a sentence."""


def message_of(given: object, dropped: Counter[str]) -> dict[str, Any]:
    """The message with the fields that we know, in their order. Raises NoMessage; counts what it leaves out."""
    if not isinstance(given, Mapping):
        raise NoMessage("a message is no object")
    role = given.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise NoMessage("a message has no role that Chat Completions knows")
    found: dict[str, Any] = {}
    for name, value in given.items():
        reader = _FIELDS.get(name)
        if reader is None:
            dropped[f"field {str(name)[:40]}"] += 1
        elif value is None:
            found[name] = None
        else:
            found[name] = reader(value, dropped)
    if not any(found.get(name) for name in ("tool_calls", "function_call")) and "content" not in found:
        raise NoMessage("a message has neither a text nor calls")
    return found


def text_of(value: object, most: int = MESSAGE_CHARS) -> str:
    """A text of at most this many characters. Raises NoMessage."""
    if not isinstance(value, str):
        raise NoMessage("a field of a message is no text")
    if len(value) > most:
        raise NoMessage(f"a text is longer than {most} characters")
    return value


def _content(value: object, dropped: Counter[str]) -> str | list[dict[str, str]]:
    if not isinstance(value, list):
        return text_of(value)
    parts = [part for part in value if isinstance(part, Mapping)]
    texts = [part for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
    if len(texts) < len(value):
        dropped["parts of messages that are no text"] += len(value) - len(texts)
    if sum(len(part["text"]) for part in texts) > MESSAGE_CHARS:
        raise NoMessage(f"a text is longer than {MESSAGE_CHARS} characters")
    return [{"type": "text", "text": part["text"]} for part in texts]


def _name(value: object, dropped: Counter[str]) -> str:
    return text_of(value, _NAME_CHARS)


def _text(value: object, dropped: Counter[str]) -> str:
    return text_of(value)


def _function(value: object, dropped: Counter[str]) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise NoMessage("a call is no object")
    return {"name": text_of(value.get("name"), _NAME_CHARS), "arguments": text_of(value.get("arguments"))}


def _calls(value: object, dropped: Counter[str]) -> list[dict[str, Any]]:
    if not isinstance(value, list) or len(value) > _CALLS:
        raise NoMessage(f"the calls of a message are no list of at most {_CALLS}")
    found = []
    for call in value:
        if not isinstance(call, Mapping) or call.get("type", "function") != "function":
            raise NoMessage("a call is none of a function")
        function = _function(call.get("function"), dropped)
        found.append({"id": text_of(call.get("id"), _NAME_CHARS), "type": "function", "function": function})
    return found


def _weight(value: object, dropped: Counter[str]) -> int:
    if value not in (0, 1):
        raise NoMessage("the weight of a message is neither 0 nor 1")
    return int(bool(value))


_FIELDS = {
    "role": _name,
    "content": _content,
    "name": _name,
    "tool_calls": _calls,
    "tool_call_id": _name,
    "function_call": _function,
    "refusal": _text,
    "reasoning_content": _text,
    "weight": _weight,
}
