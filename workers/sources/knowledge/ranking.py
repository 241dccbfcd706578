"""BM25 over lists of words: how well each of many texts fits the words of a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating]


class Ranking:
    """BM25 over lists of words; a list may be empty, and so may all of them."""

    def __init__(self, documents: Sequence[list[str]]) -> None:
        self._count = len(documents)
        self._known: set[str] = set(chain.from_iterable(documents))
        self._bm25: Any = bm25s.BM25()
        if self._known:
            self._bm25.index(documents, show_progress=False)

    def knows(self, word: str) -> bool:
        """Whether any of the lists has this word."""
        return word in self._known

    def scores(self, asked: Iterable[str]) -> Scores:
        """How well each list fits these words, 0 where it has none of them."""
        known = [word for word in asked if word in self._known]
        if not known:
            return np.zeros(self._count, dtype=np.float32)
        scores: Scores = self._bm25.get_scores(known)
        return scores
