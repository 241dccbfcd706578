"""Cuts of large contents: whole, bounded, and the same wherever the same bytes stand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chunks import MAX_BYTES, MIN_BYTES, chunks

SOME = random.Random(1).randbytes(8 << 20)


def pieces(data: bytes) -> list[bytes]:
    return [bytes(piece) for piece in chunks(memoryview(data))]


@pytest.mark.parametrize("size", [0, 1, 15, 16, MIN_BYTES, MIN_BYTES + 1, MAX_BYTES, 3 * MAX_BYTES + 7])
@pytest.mark.parametrize("kind", ["random", "zeros", "one byte", "a pattern"])
def test_the_pieces_are_the_content_and_none_is_too_small_or_too_large(size: int, kind: str) -> None:
    data = {
        "random": SOME[:size],
        "zeros": bytes(size),
        "one byte": b"\xff" * size,
        "a pattern": (b"a pattern of some bytes" * (size // 23 + 1))[:size],
    }[kind]
    found = pieces(data)
    assert b"".join(found) == data
    assert all(MIN_BYTES <= len(piece) <= MAX_BYTES for piece in found[:-1])
    assert all(0 < len(piece) <= MAX_BYTES for piece in found)


@given(st.binary(max_size=300), st.integers(0, 3 << 20))
def test_any_insertion_is_put_together_again(inserted: bytes, place: int) -> None:
    data = SOME[:place] + inserted + SOME[place : 3 << 20]
    assert b"".join(pieces(data)) == data


@pytest.mark.parametrize("place", [0, 1, 1_000_003, (8 << 20) - 5])
@pytest.mark.parametrize("change", [b"x", b"twenty bytes put in!", b"y" * 100_000])
def test_an_insertion_costs_the_pieces_around_it(place: int, change: bytes) -> None:
    before = set(pieces(SOME))
    new = [piece for piece in pieces(SOME[:place] + change + SOME[place:]) if piece not in before]
    assert sum(map(len, new)) <= len(change) + 3 * MAX_BYTES


def test_a_changed_byte_costs_at_most_two_pieces() -> None:
    before = set(pieces(SOME))
    changed = bytearray(SOME)
    for place in (0, 123_456, 4 << 20, len(SOME) - 1):
        changed[place] ^= 0xFF
        new = [piece for piece in pieces(bytes(changed)) if piece not in before]
        before |= set(new)
        assert 1 <= len(new) <= 2


def test_pieces_of_random_bytes_have_about_the_size_that_is_meant() -> None:
    assert 15 <= len(pieces(SOME)) <= 50


def test_the_cuts_are_part_of_the_stored_form() -> None:
    assert [len(piece) for piece in pieces(SOME)][:4] == CUTS


CUTS = [105457, 476052, 686157, 707659]
