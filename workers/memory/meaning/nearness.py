"""Which threads are near to some words: the cosine of the words and of the nearest piece of each thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from core.store.vectors import ThreadVectors

MOST_FOUND = 50
MOST_BYTES = 64 * 2**20
"""So much of the vectors is looked through, those of the newest threads first: 384 numbers for 10,000 to 80,000
threads."""
_NUMBER = np.dtype("<f2")


def packed(vectors: Sequence[Sequence[float]]) -> tuple[int, bytes]:
    """The vectors of a thread as they are stored: the length of one, and all of them, each of the length 1."""
    if not vectors:
        return 0, b""
    matrix = np.asarray(vectors, dtype=np.float64)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix.shape[1], matrix.astype(_NUMBER).tobytes()


def nearest(
    asked: Sequence[float], threads: Iterable[ThreadVectors], least: float, most_bytes: int = MOST_BYTES
) -> list[str]:
    """The threads that are at least so near, the nearest first. One with vectors of another length is left out."""
    words = np.asarray(asked, dtype=np.float32)
    words /= np.linalg.norm(words)
    found: list[tuple[float, str]] = []
    for thread in threads:
        most_bytes -= len(thread.vectors)
        if most_bytes < 0:
            break
        if thread.dims != len(words):
            continue
        matrix = np.frombuffer(thread.vectors, dtype=_NUMBER).reshape(-1, thread.dims).astype(np.float32)
        cosine = float((matrix @ words).max())
        if cosine >= least:
            found.append((cosine, thread.thread_id))
    return [thread_id for _, thread_id in sorted(found, key=lambda one: (-one[0], one[1]))[:MOST_FOUND]]
