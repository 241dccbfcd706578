"""What cells set in their process and not in a variable: the working folder, random numbers, options of libraries.

They are kept with the variables, as far as they differ from what a fresh subprocess has. Where a library has hundreds
of them, they are looked at from the first cell on whose source has a word of theirs: to read them copies half a
megabyte of the template.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import decimal
import functools
import locale
import os
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

_MT19937_BYTES = 4 * 625
"""624 numbers and a place among them: `mt19937_state` in numpy's mt19937.h, `RandomObject` in CPython's
_randommodule.c, which has the place first."""


class _Setting(NamedTuple):
    """One of them; `change` says of what it was and what it is what `write` needs to make the one of the other."""

    read: Callable[[], Any]
    write: Callable[[Any], None]
    change: Callable[[Any, Any], Any] = lambda before, now: now
    words: re.Pattern[str] | None = None
    """In the source of a cell that may set it; None for what is looked at from the beginning."""
    begin: Callable[[], None] = lambda: None
    """What there is now is that of a fresh process."""


class ProcessSettings:
    """Those of this process, beside what they were when it began."""

    def __init__(self) -> None:
        known = [name for name, setting in _SETTINGS.items() if setting.words is None]
        for name in known:
            _SETTINGS[name].begin()
        self._before = _copied(_read(known))

    def expect(self, source: str) -> None:
        """A cell is about to run that may set more of them."""
        later = (name for name in _SETTINGS.keys() - self._before.keys() - _fresh.keys() if _may_set(source, name))
        self._before |= _copied(_read(later))

    def changed(self) -> ChangedSettings | None:
        """What differs by now; None when nothing does."""
        before = {**self._before, **_fresh}
        now = _read(name for name in _SETTINGS if name in before)
        changes = {
            name: _SETTINGS[name].change(before[name], value) for name, value in now.items() if value != before[name]
        }
        return ChangedSettings(changes) if changes else None


_fresh: dict[str, Any] = {}
"""What a fresh process had of the settings with words that were set again in this one."""


class ChangedSettings:
    """Settings that are set again when they are unpickled: before the modules and objects that need them are."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = dict(settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return set_again, (self.settings,)


def set_again(settings: Mapping[str, Any]) -> None:
    """Set what `ProcessSettings.changed` found. Checkpoints name this function."""
    for name, value in settings.items():
        with contextlib.suppress(Exception):  # another host may not have it
            if _SETTINGS[name].words is not None:
                _fresh.update(_copied(_read({name} - _fresh.keys())))
            _SETTINGS[name].write(value)


def _may_set(source: str, name: str) -> bool:
    words = _SETTINGS[name].words
    return words is not None and words.search(source) is not None


def _read(names: Iterable[str]) -> dict[str, Any]:
    found = {}
    for name in names:
        with contextlib.suppress(Exception):  # a cell may have removed its folder, or emptied the environment
            found[name] = _SETTINGS[name].read()
    return found


def _copied(value: Any) -> Any:
    """Settings as they are now: cells change some of the dictionaries and lists in place."""
    if type(value) is dict:
        return {name: _copied(each) for name, each in value.items()}
    return list(value) if type(value) is list else value


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


def _set_locale(name: str) -> None:
    locale.setlocale(locale.LC_ALL, name)


def _set_decimal(context: Any) -> None:
    """Older checkpoints have a dictionary of some attributes."""
    if isinstance(context, dict):
        for name, value in context.items():
            setattr(decimal.getcontext(), name, value)
    else:
        decimal.setcontext(decimal.Context(*context))


def _packed_random(_: Any, now: tuple[int, tuple[int, ...], float | None]) -> tuple[int, bytes, float | None]:
    """A pickler looks at each object, so 625 numbers are one here."""
    version, numbers, drawn_before = now
    return version, array.array("L", numbers).tobytes(), drawn_before


def _set_random(packed: tuple[int, bytes, float | None]) -> None:
    version, numbers, drawn_before = packed
    random.setstate((version, tuple(array.array("L", numbers)), drawn_before))


class _Glanced:
    """Random numbers, whose state takes far longer to read than the memory in which it lies.

    Most cells leave it alone, so it is read only where that memory has changed. To read it in each session would copy
    100 KiB of the template. A fresh process has None.
    """

    def __init__(
        self, memory: Callable[[], Any], state: Callable[[], Any], hides: Callable[[Any], bool] = lambda state: False
    ) -> None:
        """`memory` gives None where it is not known. `hides`: whether a state may change and leave it as it is."""
        self._look = memory
        self._read = state
        self._hides = hides
        self._memory: Any = None
        self._state: Any = None

    def begin(self) -> None:
        """The numbers were seeded a moment ago."""
        self._memory, self._state = self._look(), None

    def read(self) -> Any:
        """The state; None while it is as at the beginning."""
        memory = self._look()
        if memory is None or memory != self._memory or self._hides(self._state):
            self._memory, self._state = memory, self._read()
        return self._state


def _random_memory() -> tuple[bytes, Any] | None:
    """Of the numbers that the functions of `random` share, with one that was drawn in advance."""
    shared = _shared_random()
    if shared is None:
        return None
    return ctypes.string_at(id(shared) + object.__basicsize__, _MT19937_BYTES), shared.gauss_next


@functools.cache
def _shared_random() -> Any:
    """What the functions of `random` draw from; None where its memory is not as we know it."""
    shared: Any = getattr(random.getstate, "__self__", None)
    if type(shared) is not random.Random or random.Random.__basicsize__ < object.__basicsize__ + _MT19937_BYTES:
        return None
    place, *numbers = array.array("I", ctypes.string_at(id(shared) + object.__basicsize__, _MT19937_BYTES))
    return shared if (*numbers, place) == shared.getstate()[1] else None


def _numpy_memory() -> bytes | None:
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return None
    address = _address_of(numpy.get_bit_generator())
    return None if address is None else ctypes.string_at(address, _MT19937_BYTES)


@functools.lru_cache(maxsize=1)
def _address_of(generator: Any) -> int | None:
    """Where the numbers of a generator of numpy lie; None for one that is not the usual."""
    return int(generator.ctypes.state_address) if type(generator).__name__ == "MT19937" else None


def _read_numpy_random() -> Any:
    """The state of the random numbers that all share; None before they are imported."""
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return None
    kind, keys, *rest = numpy.get_state()
    return kind, keys.tobytes(), rest


def _has_drawn_before(state: Any) -> bool:
    """Whether a normal number was drawn in advance: it is not in the memory of the others."""
    return state is not None and bool(state[2][1])


_python_random = _Glanced(_random_memory, random.getstate)
_numpy_random = _Glanced(_numpy_memory, _read_numpy_random, _has_drawn_before)


def _set_numpy_random(state: tuple[str, bytes, list[Any]]) -> None:
    kind, keys, rest = state
    numpy = sys.modules["numpy"]
    numpy.random.set_state((kind, numpy.frombuffer(keys, numpy.uint32), *rest))


def _read_numpy_errors() -> Any:
    numpy = sys.modules.get("numpy")
    return None if numpy is None else numpy.geterr()


def _read_printing() -> Any:
    numpy = sys.modules.get("numpy")
    return {} if numpy is None else numpy.get_printoptions()


def _read_pandas() -> Any:
    """Its options, as what they are kept in: to ask for each by its name takes far longer."""
    pandas = sys.modules.get("pandas")
    return {} if pandas is None else vars(pandas.options)["d"]


def _flat(options: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if type(value) is dict:
            yield from _flat(value, f"{group}{name}.")
        else:
            yield group + name, value


def _changed_options(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    return _changed_items(dict(_flat(before)), dict(_flat(now)))


def _changed_items(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    missing = object()
    return {name: value for name, value in now.items() if before.get(name, missing) != value}


def _set_pandas(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        sys.modules["pandas"].set_option(name, value)


def _read_charts() -> dict[str, Any]:
    """matplotlib's parameters, but for the one that would load a way to show windows."""
    matplotlib = sys.modules.get("matplotlib")
    parameters: dict[str, Any] = {} if matplotlib is None else dict.copy(matplotlib.rcParams)
    parameters.pop("backend", None)
    return parameters


def _set_charts(parameters: Mapping[str, Any]) -> None:
    sys.modules["matplotlib"].rcParams.update(parameters)


_Filters = list[tuple[Any, ...]]


def _filter_changes(before: _Filters, now: _Filters) -> tuple[bool, _Filters, _Filters]:
    """Whether the filters of a fresh process hold, what was put before them, and what behind."""
    count = len(before)
    for place in range(len(now) - count + 1):
        if now[place : place + count] == before:
            return True, _described(now[:place]), _described(now[place + count :])
    return False, _described(now), []


def _described(filters: _Filters) -> _Filters:
    """As the arguments of `filterwarnings`."""
    return [
        (action, getattr(message, "pattern", ""), category, getattr(module, "pattern", ""), line)
        for action, message, category, module, line in filters
    ]


def _set_filters(changes: tuple[bool, _Filters, _Filters]) -> None:
    hold, first, last = changes
    if not hold:
        warnings.resetwarnings()
    add: Any = warnings.filterwarnings
    for each in reversed(first):
        add(*each)
    for each in last:
        add(*each, append=True)


_SETTINGS = {
    "environment": _Setting(lambda: dict(os.environ), _set_environment, _environment_changes),
    "path": _Setting(lambda: list(sys.path), _set_path, _path_changes),
    "folder": _Setting(os.getcwd, _enter, _folder_change),
    "recursion": _Setting(sys.getrecursionlimit, sys.setrecursionlimit),
    "int_digits": _Setting(sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    "locale": _Setting(lambda: locale.setlocale(locale.LC_ALL), _set_locale, words=re.compile("locale")),
    "decimal": _Setting(lambda: decimal.getcontext().__reduce__()[1], _set_decimal, words=re.compile("ecimal|context")),
    "random": _Setting(_python_random.read, _set_random, _packed_random, begin=_python_random.begin),
    "numpy_random": _Setting(_numpy_random.read, _set_numpy_random, begin=_numpy_random.begin),
    "numpy_errors": _Setting(_read_numpy_errors, lambda errors: sys.modules["numpy"].seterr(**errors)),
    "numpy_printing": _Setting(
        _read_printing,
        lambda options: sys.modules["numpy"].set_printoptions(**options),
        _changed_items,
        re.compile("option"),
    ),
    "pandas_options": _Setting(_read_pandas, _set_pandas, _changed_options, re.compile("option")),
    "chart_parameters": _Setting(
        _read_charts, _set_charts, _changed_items, re.compile(r"\brc|style|theme|seaborn|\bsns\b")
    ),
    "warning_filters": _Setting(lambda: list(warnings.filters), _set_filters, _filter_changes, re.compile("warn")),
}
"""In the order in which they are set. Checkpoints have their names."""
