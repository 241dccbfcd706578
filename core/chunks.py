"""Where to cut a large content, so that two contents that are mostly the same have mostly the same chunks.

The bytes before a place decide whether it is a cut: the hash of the last `WINDOW` bytes must be one of a few values. So
an insertion moves the cuts behind it along, and only the chunks around a change are new. The rule is part of the stored
form: other numbers here would only store everything once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

MIN_BYTES, MAX_BYTES = 64 << 10, 1 << 20
WINDOW = 16
"""Bytes that decide about a cut: two words of eight bytes, at any offset."""
_ONE_IN = 1 << 18
"""The average distance of cuts in bytes after `MIN_BYTES`: chunks have about 300 kB."""
_FACTORS = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
"""Odd numbers whose bits are spread evenly: the fractions of the golden ratio, and one tried for such hashes."""
_BLOCK = 128 << 10  # bytes that are hashed at once: they and what comes of them stay in the processor's cache


def chunks(data: memoryview) -> Iterator[memoryview]:
    """The content in pieces of `MIN_BYTES` to `MAX_BYTES`; the last one may be smaller. Nothing for no bytes."""
    start = 0
    for end in _cuts(data):
        yield data[start:end]
        start = end


def _cuts(data: memoryview) -> Iterator[int]:
    start = 0
    for candidate in chain(_candidates(data), (len(data),)):
        while candidate - start > MAX_BYTES:
            start += MAX_BYTES
            yield start
        if candidate - start >= MIN_BYTES:
            start = candidate
            yield start
    if start < len(data):
        yield len(data)


def _candidates(data: memoryview) -> Iterator[int]:
    """The places behind each window whose hash is among the highest; where all bytes are zero there is none."""
    if len(data) <= MIN_BYTES:
        return
    # Imported where it is needed: a worker forks its jobs, and numpy starts threads.
    import numpy as np  # noqa: PLC0415

    first, second = (np.uint64(factor) for factor in _FACTORS)
    half, high = np.uint64(32), np.uint64((1 << 64) - (1 << 64) // _ONE_IN)

    def behind(begin: int, end: int) -> Any:
        """Candidates among the windows that lie in these bytes."""
        found = []
        for offset in range(begin, min(begin + 8, end)):
            words = np.frombuffer(data, dtype="<u8", count=(end - offset) // 8, offset=offset)
            hashes = words[:-1] * first
            hashes >>= half
            hashes ^= words[1:]
            hashes *= second
            found.append(np.flatnonzero(hashes >= high) * 8 + offset + WINDOW)
        return np.sort(np.concatenate(found))

    for begin in range(0, len(data), _BLOCK):
        place = max(0, begin - WINDOW + 1)
        end = min(begin + _BLOCK, len(data))
        if end - place >= WINDOW:
            yield from behind(place, end).tolist()
