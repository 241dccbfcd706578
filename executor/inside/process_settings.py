"""What cells set in their process and not in a variable: the working folder, the environment, random numbers.

They are kept with the variables, as far as they differ from what a fresh subprocess has.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import decimal
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_MT19937_BYTES = 4 * 625
"""624 numbers and a place among them: `mt19937_state` in numpy's mt19937.h."""


class _Setting(NamedTuple):
    """One of them; `change` says of what it was and what it is what `write` needs to make the one of the other."""

    read: Callable[[], Any]
    write: Callable[[Any], None]
    change: Callable[[Any, Any], Any] = lambda before, now: now


class ProcessSettings:
    """Those of this process, beside what they were when it began."""

    def __init__(self) -> None:
        self._before = _read()

    def changed(self) -> ChangedSettings | None:
        """What differs by now; None when nothing does."""
        changes = {
            name: _SETTINGS[name].change(self._before[name], value)
            for name, value in _read().items()
            if name in self._before and value != self._before[name]
        }
        return ChangedSettings(changes) if changes else None


class ChangedSettings:
    """Settings that are set again when they are unpickled: before the modules and objects that need them are."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return set_again, (self._settings,)


def set_again(settings: Mapping[str, Any]) -> None:
    """Set what `ProcessSettings.changed` found. Checkpoints name this function."""
    for name, value in settings.items():
        with contextlib.suppress(Exception):  # another host may not have it
            _SETTINGS[name].write(value)


def _read() -> dict[str, Any]:
    found = {}
    for name, setting in _SETTINGS.items():
        with contextlib.suppress(Exception):  # a cell may have removed its folder, or emptied the environment
            found[name] = setting.read()
    return found


def _environment_changes(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str | None]:
    changes: dict[str, str | None] = dict.fromkeys(before.keys() - now.keys())
    return changes | {name: value for name, value in now.items() if before.get(name) != value}


def _set_environment(changes: Mapping[str, str | None]) -> None:
    """Set variables, and remove those without a value."""
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "TZ" in changes:
        time.tzset()


def _path_changes(before: list[str], now: list[str]) -> tuple[list[str], list[str]]:
    """What was put before, and behind, the folders of the libraries. These lie elsewhere on another host."""
    known = next((place for place, folder in enumerate(now) if folder in before), 0)
    return now[:known], [folder for folder in now[known:] if folder not in before]


def _set_path(changes: tuple[list[str], list[str]]) -> None:
    first, last = changes
    sys.path[:] = [*first, *sys.path, *last]


def _folder_change(before: str, now: str) -> str:
    """As seen from the workspace, if it is below: that may lie elsewhere on another host."""
    return os.path.relpath(now, before) if os.path.commonpath((before, now)) == before else now


def _enter(folder: str) -> None:
    os.makedirs(folder, exist_ok=True)  # the files in it are put there at the same time
    os.chdir(folder)


_CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _read_decimal() -> dict[str, Any]:
    context = decimal.getcontext()
    return {name: getattr(context, name) for name in _CONTEXT}


def _set_decimal(context: Mapping[str, Any]) -> None:
    for name, value in context.items():
        setattr(decimal.getcontext(), name, value)


def _packed_random(_: Any, now: tuple[int, tuple[int, ...], float | None]) -> tuple[int, bytes, float | None]:
    """A pickler looks at each object, so 625 numbers are one here."""
    version, numbers, drawn_before = now
    return version, array.array("L", numbers).tobytes(), drawn_before


def _set_random(packed: tuple[int, bytes, float | None]) -> None:
    version, numbers, drawn_before = packed
    random.setstate((version, tuple(array.array("L", numbers)), drawn_before))


class _NumpyRandom:
    """numpy's state takes far longer to read than the memory in which it lies, and most cells leave it alone."""

    def __init__(self) -> None:
        self._memory = b""
        self._state: Any = None

    def read(self) -> Any:
        """The state of the random numbers that all share; None before they are imported."""
        numpy = sys.modules.get("numpy.random")
        if numpy is None:
            return None
        memory = self._memory_of(numpy.get_bit_generator())
        # A normal number that was drawn in advance is not in that memory.
        if not memory or memory != self._memory or self._state[2][1]:
            kind, keys, *rest = numpy.get_state()
            self._memory, self._state = memory, (kind, keys.tobytes(), rest)
        return self._state

    @staticmethod
    def _memory_of(generator: Any) -> bytes:
        is_usual = type(generator).__name__ == "MT19937"
        return ctypes.string_at(generator.ctypes.state_address, _MT19937_BYTES) if is_usual else b""


def _set_numpy_random(state: tuple[str, bytes, list[Any]]) -> None:
    kind, keys, rest = state
    numpy = sys.modules["numpy"]
    numpy.random.set_state((kind, numpy.frombuffer(keys, numpy.uint32), *rest))


def _read_numpy_errors() -> Any:
    numpy = sys.modules.get("numpy")
    return None if numpy is None else numpy.geterr()


_SETTINGS = {
    "environment": _Setting(lambda: dict(os.environ), _set_environment, _environment_changes),
    "path": _Setting(lambda: list(sys.path), _set_path, _path_changes),
    "folder": _Setting(os.getcwd, _enter, _folder_change),
    "recursion": _Setting(sys.getrecursionlimit, sys.setrecursionlimit),
    "decimal": _Setting(_read_decimal, _set_decimal),
    "random": _Setting(random.getstate, _set_random, _packed_random),
    "numpy_random": _Setting(_NumpyRandom().read, _set_numpy_random),
    "numpy_errors": _Setting(_read_numpy_errors, lambda errors: sys.modules["numpy"].seterr(**errors)),
}
"""In the order in which they are set. Checkpoints have their names."""
