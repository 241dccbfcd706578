"""Rows of MySQL's text protocol as Arrow batches, column by column: no value becomes a Python object on its way.

A row is a run of values as text, each behind its length. The places of all values of a column are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Places = npt.NDArray[np.int64]

NULL, TWO_BYTES, THREE_BYTES, EIGHT_BYTES = 0xFB, 0xFC, 0xFD, 0xFE
_SPARE = b"\0" * 9
"""Behind the last row, so that the length of a value can be read without looking where the rows end."""


def texts_of(packets: Sequence[bytes], columns: int) -> list[pa.Array]:
    """The values of each column as bytes, null where they are missing."""
    whole = b"".join((*packets, _SPARE))
    held = np.frombuffer(whole, np.uint8)
    at: Places = np.fromiter(accumulate(map(len, packets), initial=0), np.int64, len(packets) + 1)[:-1]
    found = []
    for _ in range(columns):
        start, size, missing = _lengths(held, at)
        found.append(_values(whole, start, size, missing))
        at = start + size
    return found


def converted(values: pa.Array, kind: pa.DataType, one_by_one: Callable[[Sequence[Any]], pa.Array]) -> pa.Array:
    """The values as `kind`. What Arrow cannot read as that is left to `one_by_one`, which gets them as bytes."""
    if pa.types.is_binary(kind):
        return values
    try:
        text = values.cast(pa.string())
        return text if pa.types.is_string(kind) else text.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return one_by_one(values.to_pylist())


def numbers_of_bits(values: pa.Array) -> pa.Array:
    """The values of a BIT column as numbers: the server sends their bytes, the highest first."""
    encoded = values.dictionary_encode()
    numbers = [int.from_bytes(each) for each in encoded.dictionary.to_pylist()]
    return pa.array(numbers, pa.uint64()).take(encoded.indices)


def _lengths(held: npt.NDArray[np.uint8], at: Places) -> tuple[Places, Places, npt.NDArray[np.bool_]]:
    """Where the values that begin at these places start, how long they are, and which are missing."""
    first = held[at]
    start, size = at + 1, first.astype(np.int64)
    missing = first == NULL
    size[missing] = 0
    for mark, width in (TWO_BYTES, 2), (THREE_BYTES, 3), (EIGHT_BYTES, 8):
        if (longer := np.flatnonzero(first == mark)).size:
            place = at[longer] + 1
            size[longer] = sum(held[place + byte].astype(np.int64) << (8 * byte) for byte in range(width))
            start[longer] += width
    return start, size, missing


def _values(whole: bytes, start: Places, size: Places, missing: npt.NDArray[np.bool_]) -> pa.Array:
    """The pieces of `whole`: one array of values and of what lies between them, from which the values are taken."""
    edges = np.empty(2 * len(start), np.int64)
    edges[0::2], edges[1::2] = start, start + size
    pieces = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(whole)]
    )
    wanted = pa.array(np.arange(0, len(edges), 2), mask=missing)
    return pc.take(pieces, wanted).cast(pa.binary())
