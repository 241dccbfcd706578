"""Faults that a test orders in advance: the next calls of a method fail as ordered.

Beside the Web API's methods there are four more things that can go wrong: `upload` and `download` (the bytes of files),
`share` (what follows a completed upload) and `envelope` (an event on its way to the app).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

FaultKind = Literal["ratelimited", "error", "drop_call", "drop_reply", "http_error", "slow"]
"""ratelimited: 429 with Retry-After · error: ok=false with `error` · drop_call: the connection dies, nothing is done ·
drop_reply: the call is done, then the connection dies · http_error: status `status` with a body that is not JSON ·
slow: the call is done, its reply comes `seconds` later, or when the faults are forgotten."""

_FIELDS = {"method", "kind", "times", "error", "retry_after", "status", "seconds", "where", "extra"}


@dataclass(frozen=True)
class Fault:
    """A fault of the next `times` calls of `method` ("*" is any method of the Web API). `retry_after` is in seconds.

    With `where` only calls with these arguments count: {"thread_ts": "1.2"}.
    """

    method: str
    kind: FaultKind
    times: int = 1
    error: str = "internal_error"
    retry_after: int = 1
    status: int = 503
    seconds: float = 5.0
    where: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Fault:
        """Reads a fault from a control request. Raises ValueError when it makes no sense."""
        unknown = set(given) - _FIELDS
        if unknown:
            raise ValueError(f"a fault has no {', '.join(sorted(unknown))}")
        if given.get("kind") not in get_args(FaultKind):
            raise ValueError(f"a fault's kind is one of {', '.join(get_args(FaultKind))}")
        numbers = {name: given[name] for name in ("times", "retry_after", "status") if name in given}
        if any(not isinstance(value, int) or value < 0 for value in numbers.values()):
            raise ValueError("times, retry_after and status are whole numbers")
        if not given.get("method"):
            raise ValueError("a fault names its method, or * for any")
        seconds, where = given.get("seconds", 0.0), given.get("where", {})
        if not isinstance(seconds, int | float) or seconds < 0 or not isinstance(where, dict):
            raise ValueError("seconds is a number, where holds arguments and their values")
        return cls(**given)

    def befalls(self, method: str, arguments: Mapping[str, Any]) -> bool:
        """Whether the fault applies to this call."""
        named = self.method == method or (self.method == "*" and method not in _BESIDE)
        return named and all(str(arguments.get(name)) == value for name, value in self.where.items())


_BESIDE = {"upload", "download", "share", "envelope"}


class Faults:
    """The faults still to come."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self._forgotten = asyncio.Event()
        self.duplicate_events = 0

    def order(self, fault: Fault) -> None:
        """Adds a fault behind those already waiting."""
        self._waiting.append(fault)

    def take(self, method: str, arguments: Mapping[str, Any] | None = None) -> Fault | None:
        """The fault for this call, used up by one; None when the call may pass."""
        for place, fault in enumerate(self._waiting):
            if fault.times > 0 and fault.befalls(method, arguments or {}):
                if fault.times == 1:
                    del self._waiting[place]
                else:
                    self._waiting[place] = replace(fault, times=fault.times - 1)
                return fault
        return None

    async def linger(self, fault: Fault) -> None:
        """The time that a slow one takes."""
        if fault.kind == "slow":
            try:
                await asyncio.wait_for(self._forgotten.wait(), fault.seconds)
            except TimeoutError:
                return

    def take_duplicate(self) -> bool:
        """Whether the next event is to be delivered twice; uses one up."""
        if self.duplicate_events < 1:
            return False
        self.duplicate_events -= 1
        return True

    def clear(self) -> None:
        """Forgets all faults; slow replies that wait go out."""
        self._waiting.clear()
        self._forgotten.set()
        self._forgotten = asyncio.Event()
        self.duplicate_events = 0
