"""The seam to any model: a request in, a reply out, text deltas on the way, four kinds of failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.errors import ThreadbookError
from core.steps import Purpose, ToolCall, Usage
from workers.agent.actions import Message
from workers.agent.turn import Turn

OnDelta = Callable[[str], None]
"""Called with each piece of text as it streams. Must be quick; what it raises ends the call."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked: messages in Chat Completions format and the tools it may call (JSON schemas)."""

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    purpose: Purpose = "act"
    turn: Turn | None = field(default=None, compare=False, repr=False)
    """The turn that the messages were made from. The offline analyst reads it; real endpoints ignore it."""
    stop: tuple[str, ...] = ()
    """Texts at which the reply ends, without them. Only endpoints that know `stop` do so."""
    pictures: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    """The bytes of the pictures that messages name, by digest; one that could not be had is missing."""
    wanted: Callable[[], bool] = field(default=lambda: True, compare=False)
    """False once nobody waits for the reply any more. A model that still works on it should end then, in any way."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back. `finish` is the endpoint's own finish_reason ("stop", "tool_calls", ...), and "length" for every
    reply that was cut, whatever the endpoint calls it."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish: str = "stop"


class ModelError(ThreadbookError):
    """The model could not be asked. Carries a sentence for the log; the thread gets a phrase."""


class ModelUnavailable(ModelError):
    """The endpoint is down, too slow or overloaded, and stayed so after retries. Asking again later may help."""


class ModelRefused(ModelError):
    """The endpoint refuses us: wrong key, unknown model, no quota. An admin must change a setting."""


class ModelNonsense(ModelError):
    """The endpoint answers, but not in the protocol (HTML, broken JSON, no choices), and stayed so after retries."""


class ContextTooLong(ModelError):
    """The prompt has more tokens than the model takes. A shorter one may do."""


class Model(Protocol):
    """A model that can answer the analyst's requests: OpenAIModel, OfflineAnalyst, ScriptedModel."""

    @property
    def name(self) -> str:
        """What to show people and store with a turn: "gpt-...", "offline-analyst", "scripted"."""
        ...

    @property
    def native_tools(self) -> bool:
        """True when tools are called natively; False when code comes in fenced blocks."""
        ...

    @property
    def sees(self) -> bool:
        """Whether it is shown pictures."""
        ...

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """Answer a request. Raises ModelUnavailable, ModelRefused, ModelNonsense or ContextTooLong; nothing else
        on purpose."""
        ...
