"""Numbers that are not a number, by identity: a dictionary finds such a key only by the same object."""

from __future__ import annotations

import math
import struct
import sys

_MOST = 1_000
"""A table may have a million of them, each an object of its own. Of those it does not matter which is which."""


class OwnNans:
    """Those that cells made, under names that all parts of the state use."""

    def __init__(self) -> None:
        self._nans: dict[str, float] = {}
        self._names: dict[int, str] = {}
        self._next = 1

    def name_of(self, nan: float) -> str:
        """What one is called; "" where there are too many."""
        name = self._names.get(id(nan), "")
        if not name and len(self._nans) < _MOST:
            name = f"{self._next}:{struct.pack('>d', nan).hex()}"
            self._keep(name, nan)
        return name

    def named(self, name: str) -> float:
        """The one with this name; it is made if it is not there yet."""
        shared = shared_nans()
        if name in shared:
            return shared[name]
        if name not in self._nans:
            self._keep(name, struct.unpack(">d", bytes.fromhex(name.partition(":")[2]))[0])
        return self._nans[name]

    def forget_unused(self) -> None:
        """Let go of those that nobody else holds, where there are many."""
        if len(self._nans) >= _MOST:
            self._nans = {name: self._nans[name] for name in self._nans if self._is_used(name)}
            self._names = {id(nan): name for name, nan in self._nans.items()}

    def _is_used(self, name: str) -> bool:
        return sys.getrefcount(self._nans[name]) > _REFERENCES

    def _keep(self, name: str, nan: float) -> None:
        self._nans[name], self._names[id(nan)] = nan, name
        self._next = max(self._next, int(name.partition(":")[0]) + 1)


_REFERENCES = 2
"""From the dictionary, and as the argument."""


def shared_nans() -> dict[str, float]:
    """The two that libraries share, as in `x is np.nan`."""
    numpy = sys.modules.get("numpy")
    return {"math": math.nan} | ({} if numpy is None else {"numpy": numpy.nan})
