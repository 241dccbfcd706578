"""The framing: what goes in comes out, however it is cut; what is not a frame is refused."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.frames import HEADER, FrameReader, ProtocolError, encode, read_message

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
messages = st.dictionaries(st.text(), json_values, max_size=5)


@given(st.lists(messages, max_size=5), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_messages_survive_any_cutting_of_the_stream(sent, sizes) -> None:
    stream = b"".join(encode(message) for message in sent)
    reader, received = FrameReader(1 << 20), []
    for size in itertools.cycle(sizes):
        received += reader.feed(stream[:size])
        stream = stream[size:]
        if not stream:
            break
    assert received == sent
    assert not reader.partial


@given(st.binary(max_size=300))
def test_any_bytes_are_messages_or_a_protocol_error(noise: bytes) -> None:
    reader = FrameReader(1 << 16)
    try:
        for message in reader.feed(noise):
            assert isinstance(message, dict)
    except ProtocolError:
        pass


def test_a_long_frame_is_refused_by_its_header_alone() -> None:
    with pytest.raises(ProtocolError, match="longer than"):
        FrameReader(100).feed(HEADER.pack(101))


@pytest.mark.parametrize("body", [b"[1]", b"nonsense", b'{"a": NaN}', b'{"a": Infinity}', b"\xff", b"[" * 100_000])
def test_a_frame_that_is_no_object_of_finite_numbers_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        FrameReader(1 << 20).feed(HEADER.pack(len(body)) + body)


def test_a_stream_that_ends_inside_a_frame_is_an_error_and_before_one_is_an_end() -> None:
    def receiver(data: bytes):
        source = bytearray(data)

        def receive(count: int) -> bytes:
            chunk = bytes(source[: min(count, 3)])
            del source[: len(chunk)]
            return chunk

        return receive

    whole = encode({"type": "x"})
    assert read_message(receiver(whole), 100) == {"type": "x"}
    assert read_message(receiver(b""), 100) is None
    for cut in range(1, len(whole)):
        with pytest.raises(ProtocolError):
            read_message(receiver(whole[:cut]), 100)


def test_the_parser_is_bound_before_a_cell_can_replace_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "dumps", None)
    monkeypatch.setattr(json, "loads", None)
    assert FrameReader(100).feed(encode({"a": 1})) == [{"a": 1}]
