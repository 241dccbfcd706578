"""Framing, the same on every hop.

A 4-byte big-endian length, then that many bytes of JSON holding one object (PROTOCOL.md).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

PROTOCOL_VERSION = 4
ANSWERED_VERSIONS = (PROTOCOL_VERSION - 1, PROTOCOL_VERSION)
"""A host answers clients of these versions: two releases that follow each other work side by side."""
HEADER = struct.Struct(">I")
CLIENT_LIMIT = 32 << 20
"""Largest frame between a client and the host, in bytes: a result with both streams full, as JSON, fits."""
SESSION_LIMIT = 8 << 20
"""Largest frame that a subprocess may send, in bytes."""
SMALL_LIMIT = 256 << 10
"""Largest frame of a subprocess of any kind but those in `LARGE_KINDS`."""
LARGE_KINDS = ("result", "state", "restored")
_MANY_VALUES = 200_000
"""In one frame of a subprocess. Each costs many times the memory of the byte or two that it takes in the frame."""
_KIND_BYTES = 24

Message = dict[str, Any]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _finite(number: str) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


# Bound once: inside a subprocess a cell may replace json.dumps and json.loads.
_to_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_from_json = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite).decode


class ProtocolError(Exception):
    """The peer broke the protocol: a frame too long, not JSON, or not the message that was due."""


class OtherVersion(ProtocolError):
    """A client speaks a version that this host does not answer. It may ask again once both are of one release."""


def encode(message: Mapping[str, Any]) -> bytes:
    """The frame of a message, header included.

    Raises TypeError or ValueError for what no peer would take: values that are not JSON, numbers that are not finite.
    """
    return framed(to_json(message))


def to_json(value: object) -> str:
    """A value as JSON without a blank. Raises TypeError or ValueError for what is not JSON."""
    return _to_json(value)


def framed(text: str) -> bytes:
    """The frame of a message that is JSON already."""
    body = text.encode()
    return HEADER.pack(len(body)) + body


def decode(body: bytes | bytearray | memoryview) -> Message:
    """The message in a frame's body.

    Raises ProtocolError for anything that is not one JSON object of finite numbers.
    """
    try:
        message = _from_json(str(body, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a frame is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError("a frame is not an object")
    return message


def _refuse_costly(body: bytearray) -> None:
    """Raise ProtocolError for a frame of a subprocess that would cost the host much more memory than its bytes.

    Commas, brackets and braces in texts count as well: an honest frame has far fewer.
    """
    if len(body) > SMALL_LIMIT and body.count(b",") + body.count(b"[") + body.count(b"{") > _MANY_VALUES:
        raise ProtocolError("a frame holds too many values")


class FrameReader:
    """Turns bytes as they arrive into messages.

    Holds at most one frame of `limit` bytes; refuses longer ones by header. `hostile`: the frames come from a
    subprocess. Then large ones begin with their `type`, one of `LARGE_KINDS`, and are refused at their first bytes
    otherwise, before the rest is read.
    """

    def __init__(self, limit: int, *, hostile: bool = False) -> None:
        self._limit = limit
        self._hostile = hostile
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages completed by `data`, in order. Raises ProtocolError; the reader is of no use afterwards."""
        self._buffer += data
        messages: list[Message] = []
        start = 0
        while len(self._buffer) - start >= HEADER.size:
            (length,) = HEADER.unpack_from(self._buffer, start)
            if length > self._limit:
                raise ProtocolError(f"a frame of {length} bytes is longer than {self._limit}")
            end = start + HEADER.size + length
            kind = self._kind_of_large(start + HEADER.size, length)
            if len(self._buffer) < end:
                break
            body = self._buffer[start + HEADER.size : end]
            if self._hostile:
                _refuse_costly(body)
            messages.append(decode(body))
            if kind is not None and messages[-1].get("type") != kind:
                raise ProtocolError("a large frame is not of the kind that it begins with")
            start = end
        del self._buffer[:start]
        return messages

    def _kind_of_large(self, start: int, length: int) -> str | None:
        """The kind that a large frame of a subprocess begins with; None when it is small, or not known yet."""
        if not self._hostile or length <= SMALL_LIMIT or len(self._buffer) - start < _KIND_BYTES:
            return None
        head = bytes(self._buffer[start : start + _KIND_BYTES])
        for kind in LARGE_KINDS:
            if head.startswith(f'{{"type":"{kind}"'.encode()):
                return kind
        raise ProtocolError(f"a frame of {length} bytes is longer than {SMALL_LIMIT} and of no kind that may be")

    @property
    def partial(self) -> bool:
        """Whether a frame has begun and not ended: at end of stream it was cut off."""
        return bool(self._buffer)


def read_message(receive: Callable[[int], bytes], limit: int) -> Message | None:
    """One message from a blocking `receive(n)` that returns at most n bytes.

    None at end of stream before a frame began.
    """
    header = _receive_exactly(receive, HEADER.size)
    if header is None:
        return None
    (length,) = HEADER.unpack(header)
    if length > limit:
        raise ProtocolError(f"a frame of {length} bytes is longer than {limit}")
    body = _receive_exactly(receive, length)
    if body is None:
        raise ProtocolError("the stream ended inside a frame")
    return decode(body)


def _receive_exactly(receive: Callable[[int], bytes], count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        chunk = receive(min(count - len(data), 1 << 20))
        if not chunk:
            if data:
                raise ProtocolError("the stream ended inside a frame")
            return b"" if count == 0 else None
        data += chunk
    return bytes(data)
