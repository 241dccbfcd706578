"""Ids and timestamps in the formats that Slack uses."""

from __future__ import annotations

import re
import secrets
import string
import time

_ALPHABET = string.ascii_uppercase + string.digits
_TS = re.compile(r"\d{10}\.\d{6}")


def new_id(prefix: str, length: int = 10) -> str:
    """A fresh id such as `F7K2M9Q4XZ1`: the prefix, then capitals and digits."""
    return prefix + "".join(secrets.choice(_ALPHABET) for _ in range(length))


def is_ts(text: str) -> bool:
    """Whether the text has the shape "seconds.6digits"."""
    return _TS.fullmatch(text) is not None


class TsClock:
    """Message timestamps: the wall clock in microseconds, but always later than the one before."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> str:
        """A timestamp "seconds.6digits" that rises with every call."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"
