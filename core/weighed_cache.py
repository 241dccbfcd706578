"""A cache for values of different sizes: it keeps the latest used values, within a limit on their total size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class WeighedCache(Generic[Value]):
    """Values by key. Nobody may change them. Safe to share between threads."""

    def __init__(self, most: int, weight: Callable[[Value], int]) -> None:
        """All values together weigh `most` or less. A value's weight must not change."""
        self._most = most
        self._weight = weight
        self._kept: OrderedDict[Hashable, Value] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of this key, made when it is not kept. Two threads that ask at once may both make it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._size += self._weight(made)
            while self._size > self._most:
                _, left = self._kept.popitem(last=False)
                self._size -= self._weight(left)
        return made
