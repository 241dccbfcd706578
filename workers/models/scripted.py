"""A model that says what a script tells it to: for tests, demonstrations and bug reports. Ships with the product.

A script is JSON (`THREADBOOK_MODEL=scripted:FILE.json`), one of

    [reply, ...]                                     the thread's replies, one after the other
    {"replies": [reply, ...], "checks": [reply, ...]}
    {"turns": [[reply, ...], ...], "checks": [...]}  the replies of each turn, so that turns do not depend on each other
    {"routes": [reply, ...], ...}                    those of a second way to a report's figures, for each try one
    {"learns": [reply, ...], ...}                    the drafts of a function, for each try one
    {"debugs": [reply, ...], ...}                    what is said of an error that came again: where, then how

    reply = {"text": "...", "calls": [{"name": "run_python", "arguments": {"code": "...", "title": "..."}}],
             "finish": "stop", "error": {"kind": "unavailable" | "refused" | "nonsense" | "too_long", "message": "..."},
             "usage": {"prompt_tokens": 0, "cached_tokens": 0, "completion_tokens": 0}, "when": "..."}

Every key is optional; `arguments` may be a string, sent as it is (broken JSON, for example). A list in the place of a
reply holds alternatives: the first whose `when` occurs in the newest messages (everything since the last reply, or the
whole question to the judge) is taken. A judge is answered from `checks` (the first that fits), else with {"is_final":
true}.

The model keeps no state, so workers may restart between calls: which reply is next follows from the messages, as the
number of assistant messages that they hold (in the thread, or since the turn's opening "# Task" or "# Follow-up"). So
a scripted thread has to stay short enough that nothing of it is left out of the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from core.errors import SettingsError
from core.steps import ToolCall, Usage
from workers.agent.actions import Message
from workers.models.base import (
    ContextTooLong,
    ModelError,
    ModelNonsense,
    ModelRefused,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    OnDelta,
)

_OPENINGS = ("# Task", "# Follow-up")
_ENDED = "[This turn ended without a report."
_ERRORS: dict[str, type[ModelError]] = {
    "unavailable": ModelUnavailable,
    "refused": ModelRefused,
    "nonsense": ModelNonsense,
    "too_long": ContextTooLong,
}


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptedCall(_Strict):
    """A tool call to make."""

    name: str
    arguments: dict[str, Any] | str = ""
    id: str = ""


class ScriptedError(_Strict):
    """A failure to raise in place of a reply."""

    kind: Literal["unavailable", "refused", "nonsense", "too_long"]
    message: str = "scripted"


class ScriptedReply(_Strict):
    """One reply, see the head of this module."""

    when: str = ""
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: str = "stop"
    usage: Usage = Usage()
    error: ScriptedError | None = None


_Place = ScriptedReply | tuple[ScriptedReply, ...]
_PLACES: TypeAdapter[tuple[_Place, ...]] = TypeAdapter(tuple[_Place, ...])
_TURNS: TypeAdapter[tuple[tuple[_Place, ...], ...]] = TypeAdapter(tuple[tuple[_Place, ...], ...])
_FINAL = ScriptedReply(text='{"is_final": true}')


class ScriptedModel:
    """A Model that answers from a script. Raises pydantic.ValidationError for a script that is none."""

    def __init__(
        self,
        replies: Sequence[object] = (),
        *,
        turns: Sequence[Sequence[object]] = (),
        checks: Sequence[object] = (),
        routes: Sequence[object] = (),
        debugs: Sequence[object] = (),
        learns: Sequence[object] = (),
        native_tools: bool = True,
        sees: bool = False,
        name: str = "scripted",
    ) -> None:
        """`replies` for the whole thread, or `turns` with the replies of each; values or their JSON objects."""
        if replies and turns:
            raise ValueError("a script has either replies or turns")
        self._replies = _PLACES.validate_python(list(replies))
        self._turns = _TURNS.validate_python(list(turns))
        self._checks = _PLACES.validate_python(list(checks))
        self._routes = _PLACES.validate_python(list(routes))
        self._debugs = _PLACES.validate_python(list(debugs))
        self._learns = _PLACES.validate_python(list(learns))
        self._native_tools = native_tools
        self._sees = sees
        self._name = name

    @classmethod
    def load(cls, path: Path, *, native_tools: bool = True) -> Self:
        """The model of a script file. Raises SettingsError when it cannot be read or is no script."""
        try:
            script = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(script, Mapping):
                return cls(**{"native_tools": native_tools, **script})
            return cls(script, native_tools=native_tools)
        except (OSError, ValueError, TypeError, ValidationError) as error:
            raise SettingsError(f"THREADBOOK_MODEL: {path} is no script: {error}") from error

    @property
    def name(self) -> str:
        """What to show people."""
        return self._name

    @property
    def native_tools(self) -> bool:
        """Whether the script makes native tool calls or writes fenced blocks."""
        return self._native_tools

    @property
    def sees(self) -> bool:
        """Whether the script is shown pictures."""
        return self._sees

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """The next reply of the script. Raises what the script says, and ModelNonsense when it holds no reply for this
        place."""
        if request.purpose == "check":
            return self._say(_first_that_fits(self._checks, _words(request.messages)) or _FINAL, 0, on_delta)
        if request.purpose == "look":
            return ModelReply()  # a script says nothing about a cell that runs
        if request.purpose == "route":
            place = sum(message["role"] == "assistant" for message in request.messages)
            return self._say(_of_route(self._routes, place, request.messages), place, on_delta)
        if request.purpose == "learn":
            place = sum(message["role"] == "assistant" for message in request.messages)
            written = _first_that_fits(self._learns[place : place + 1], _words(request.messages))
            if written is None:
                raise ModelNonsense(f"the script holds no try {place + 1} of a function")
            return self._say(written, place, on_delta)
        if request.purpose == "debug":
            place = sum(message["role"] == "assistant" for message in request.messages)
            debug = _first_that_fits(self._debugs[place : place + 1], _words(request.messages))
            return self._say(debug or ScriptedReply(), place, on_delta)
        turn, place = _position(request.messages, by_turn=bool(self._turns))
        script = self._replies if not self._turns else self._turns[turn] if turn < len(self._turns) else ()
        where = f"reply {place + 1}" + (f" of turn {turn + 1}" if self._turns else "")
        if place >= len(script):
            raise ModelNonsense(f"the script holds no {where}")
        reply = _first_that_fits(script[place : place + 1], _words(_since_last_reply(request.messages)))
        if reply is None:
            raise ModelNonsense(f"no alternative of {where} fits the newest messages")
        return self._say(reply, place, on_delta)

    def _say(self, reply: ScriptedReply, place: int, on_delta: OnDelta) -> ModelReply:
        if reply.error:
            raise _ERRORS[reply.error.kind](reply.error.message)
        for word in reply.text.splitlines(keepends=True):
            on_delta(word)
        calls = tuple(_call(call, f"scripted-{place + 1}-{number}") for number, call in enumerate(reply.calls, start=1))
        return ModelReply(text=reply.text, calls=calls, usage=reply.usage, finish=reply.finish)


def _call(call: ScriptedCall, call_id: str) -> ToolCall:
    text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    return ToolCall(id=call.id or call_id, name=call.name, arguments=text)


def _position(messages: Sequence[Message], *, by_turn: bool) -> tuple[int, int]:
    """The turn (from 0) and the number of replies before the one that is asked for."""
    openings = [i for i, m in enumerate(messages) if m["role"] == "user" and m["content"].startswith(_OPENINGS)]
    start = openings[-1] if by_turn and openings else 0
    replies = [m for m in messages[start:] if m["role"] == "assistant" and not str(m["content"]).startswith(_ENDED)]
    return max(len(openings) - 1, 0), len(replies)


def _of_route(routes: Sequence[_Place], place: int, messages: Sequence[Message]) -> ScriptedReply:
    reply = _first_that_fits(routes[place : place + 1], _words(messages))
    if reply is None:
        raise ModelNonsense(f"the script holds no try {place + 1} of a second way")
    return reply


def _since_last_reply(messages: Sequence[Message]) -> Sequence[Message]:
    last = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    return messages[last + 1 :]


def _words(messages: Sequence[Message]) -> str:
    return "\n".join(str(message.get("content") or "") for message in messages if message["role"] != "system")


def _first_that_fits(places: Sequence[_Place], words: str) -> ScriptedReply | None:
    alternatives = [reply for place in places for reply in (place if isinstance(place, tuple) else (place,))]
    return next((reply for reply in alternatives if reply.when in words), None)
