"""A subprocess's variables as bytes and back, so that they outlive it. Runs, and is read again, only inside a sandbox.

All variables go into one pickle, so that two names for one object stay two names for one object. Objects that are
large go into parts of their own, referred to from that pickle: a part that did not change since the last time is not
sent again. A container that shares what it holds is no such part. A variable that cannot be pickled is left out and
named.
"""

from __future__ import annotations

import contextlib
import gc
import io
import pickle
import signal
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from executor.inside.array_views import View, views_among
from executor.inside.own_nans import OwnNans
from executor.inside.pickle_salvage import Salvager, kind_of
from executor.inside.pickler import GENERATOR, MAIN, NAN, IsBroken, pickler_class, shared_generators
from executor.inside.process_settings import ChangedSettings, ProcessSettings
from executor.inside.reachable import CannotTell, made_of, within_reach
from executor.inside.shared_objects import is_container, shared

LAYOUT = "2"
"""How the bytes of a part are put together: what another layout wrote is refused like that of another library."""
_SETTINGS = "process settings"
"""What stands for them among the variables: no name of one."""
_ALIGNED = 64  # bytes; arrays in a part begin at multiples of it, so that they can be used where they are
_ALWAYS_LOOK_BYTES = 64 << 20  # large objects up to this sum are looked at after every cell, mentioned or not
_TRIES_APART, _SHARED_S = 3, 4.0
"""After so many seconds of the processor nobody looks for what large containers share: it takes as long again."""
_ONE_S, _ALL_S, _RESTORE_S = 2.0, 15.0, 25.0  # three times the second is less than the host waits, and so is the third


class TooSlow(BaseException):
    """Pickling takes longer than it may. This is no Exception, so that a hostile __reduce__ does not swallow it."""


class TooLargeToKeep(Exception):
    """The variables are larger than what may be kept."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the state: its key, its bytes in pieces, and their checksum."""

    key: str
    pieces: tuple[memoryview, ...]
    checksum: int

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(len(piece) for piece in self.pieces)


class Keeper:
    """Knows what the host already has of a namespace."""

    def __init__(self, namespace: dict[str, Any], limit_bytes: int) -> None:
        self._namespace = namespace
        self._limit = limit_bytes
        self._settings = ProcessSettings()
        self._nans = OwnNans()
        self._sent: dict[str, int] = {}
        self._keys: dict[int, str] = {}
        self._sizes: dict[str, int] = {}
        self._made_of: dict[str, set[int]] = {}
        """By part the objects through which it may change. One of which that cannot be told has no entry."""
        self._reach: set[int] | None = None
        """The objects that the cell could get at; None while that is not known."""
        self._certain = True
        """Whether all that earlier cells did was looked at: the last save succeeded, and no thread was left behind."""
        self._next = 1
        self._together: set[int] = set()
        """The ids of large containers that are not kept apart, because others hold their objects, too."""
        self._met_together: set[int] = set()
        """Those of them that the last pickle met."""
        self._views: dict[int, View] = {}
        """Arrays that show the memory of another variable's, by their ids."""
        self._none_apart = False
        """Whether no container is kept apart any more: pickling makes others each time, which share what they hold."""
        self._hopeless: dict[str, tuple[int, str]] = {}
        """By name the id of an object that cannot be pickled, and why."""
        self._pickler: Any = None
        with contextlib.suppress(ImportError):  # the first variables that cannot be kept for it say so
            self._pickler = pickler_class()

    def expect(self, mentioned: set[str], source: str = "") -> None:
        """A cell is about to run that uses these names. To be said before each: a name may be gone afterwards."""
        self._settings.expect(source)
        certain, self._certain, self._reach = self._certain, False, None
        if certain and self._are_many():
            with contextlib.suppress(CannotTell, TooSlow), _within(_ONE_S):
                self._reach = within_reach(mentioned, self._namespace)

    def save(self, mentioned: set[str]) -> tuple[list[str], list[Part], list[dict[str, str]]]:
        """(keys of all parts, the parts that changed, what is lost and why, but for closed files).

        `mentioned`: names that the cell used.
        """
        variables = {name: value for name, value in list(self._namespace.items()) if _is_variable(name)}
        alone = _threads() == 1
        if not alone:
            self._reach = None
        self._nans.forget_unused()
        lost = self._leave_out_the_hopeless(variables, mentioned)
        if (changed_settings := self._settings.changed()) is not None:
            variables = {_SETTINGS: changed_settings, **variables}  # first, as the variables may need them
        small, large, parts = self._dump_everything(variables, lost)
        parts = [_part("small", [small]), *parts]
        keys = ["small", *large]
        changed = [part for part in parts if self._sent.get(part.key) != part.checksum]
        if sum(part.size for part in changed) > self._limit:
            raise TooLargeToKeep
        self._sent = {key: self._sent.get(key, -1) for key in keys} | {part.key: part.checksum for part in parts}
        self._sizes = {key: size for key, size in self._sizes.items() if key in large}
        self._sizes |= {part.key: part.size for part in parts}
        self._keys = {
            number: key for number, key in self._keys.items() if key in large and not _is_only_here(large, key)
        }
        self._note_what_they_are_made_of({part.key: large[part.key] for part in parts[1:]})
        self._certain = alone
        return keys, changed, [one for one in lost if not _is_closed_file(self._namespace.get(one["name"]))]

    def load(self, parts: Sequence[Mapping[str, Any]], found: Mapping[str, memoryview]) -> list[dict[str, str]]:
        """Put back what `save` gave; large arrays are built on the bytes in `found`, so these should be writable.

        Returns what is lost and why: objects whose own code cannot make them again, and what holds them. Raises
        whatever unpickling raises when nothing at all can be put back.
        """
        large: dict[str, Any] = {}

        def resolve(reference: tuple[str, str]) -> Any:
            kind, key = reference
            if kind == MAIN:
                return self._namespace
            if kind == NAN:
                return self._nans.named(key)
            if kind == GENERATOR:
                return shared_generators()[key]
            if key not in large:
                large[key] = _load_large(found[key], resolve)
            return large[key]

        salvager: Salvager | None = None
        try:
            variables = _Unpickler(io.BytesIO(found["small"]), resolve=resolve).load()
        except BaseException:
            salvager = Salvager(io.BytesIO(found["small"]), resolve)
            variables = salvager.load()
        self._sent = {str(part["key"]): int(part["checksum"]) for part in parts}
        self._sizes = {str(part["key"]): int(part["size"]) for part in parts}
        self._keys = {id(value): key for key, value in large.items()}
        self._note_what_they_are_made_of(large)
        self._next = 1 + max((int(part["key"][1:]) for part in parts if part["key"] != "small"), default=0)
        variables.pop(_SETTINGS, None)
        self._namespace.update(variables)
        return [] if salvager is None else self._take_out_broken(list(variables), salvager.broken)

    def _take_out_broken(self, names: list[str], broken: Mapping[int, tuple[object, str]]) -> list[dict[str, str]]:
        lost = []
        looked_at = _Looks(self._new_pickler, _RESTORE_S, broken)
        for name in names:
            why = looked_at.at(name, self._namespace[name])
            if why is not None and (looked_at.found_broken or looked_at.is_over):
                lost.append({"name": name, "why": why})
                del self._namespace[name]
        return lost

    def _dump_everything(
        self, variables: dict[str, Any], lost: list[dict[str, str]]
    ) -> tuple[bytes, dict[str, Any], list[Part]]:
        """(the pickle of all, its large objects, the parts of those that may have changed).

        A variable that cannot be pickled is moved from `variables` to `lost`. Raises when it cannot be found which one
        that is.
        """
        try:
            return self._dump_together(variables)
        except BaseException:
            before = len(lost)
            self._leave_out_what_fails(variables, lost)
            if len(lost) == before:
                raise
        return self._dump_together(variables)

    def _dump_together(self, variables: dict[str, Any]) -> tuple[bytes, dict[str, Any], list[Part]]:
        with _within(_ALL_S), _uncollected():
            self._views = {}
            until = time.process_time() + _SHARED_S
            for tries_left in reversed(range(_TRIES_APART)):
                self._met_together, self._none_apart = set(), self._none_apart or not tries_left
                small, pickler = self._dump(variables)
                if self._finds_views(pickler, {}, variables):
                    small, pickler = self._dump(variables)
                large = pickler.large
                dumped = {key: self._dump_large(key, large[key]) for key in self._worth_a_look(large)}
                containers = [key for key in dumped if is_container(large[key]) and time.process_time() < until]
                held = {key: dumped[key][1].memo.copy() for key in containers}
                split = shared(pickler.memo.copy(), large, held) if held else set()
                self._together = self._met_together | {id(large[key]) for key in split}
                more_views = self._finds_views(pickler, dumped, variables)
                if not (split or more_views) or time.process_time() > until:
                    break
            self._views = {}  # they hold arrays
            return small, large, [part for part, _ in dumped.values()]

    def _finds_views(self, pickler: Any, parts: Mapping[str, tuple[Part, Any]], variables: dict[str, Any]) -> bool:
        """Whether arrays were met that show the memory of something else, and of which that was not known."""
        arrays, of_pandas = dict(pickler.arrays), list(pickler.of_pandas)
        for _, part in parts.values():
            arrays |= part.arrays
            of_pandas += part.of_pandas
        arrays |= {id(one): one for one in pickler.large.values() if isinstance(one, pickler.kinds_of_arrays)}
        views: dict[int, View] = {}
        with contextlib.suppress(Exception):  # a cell may have replaced what numpy does
            views = views_among(arrays.values(), of_pandas, variables.values())
        if views.keys() <= self._views.keys():
            return False
        self._views |= views
        self._together |= {
            id(pickler.large[key]) for key, (_, part) in parts.items() if part.arrays.keys() & views.keys()
        }
        return True

    def _leave_out_the_hopeless(self, variables: dict[str, Any], mentioned: set[str]) -> list[dict[str, str]]:
        """What could not be pickled before is not tried again, unless a cell used one that now can be."""
        self._hopeless = {
            name: (number, why)
            for name, (number, why) in self._hopeless.items()
            if name in variables and id(variables[name]) == number
        }
        looks = _Looks(self._new_pickler, _ONE_S)
        if any(looks.at(name, variables[name]) is None for name in self._hopeless.keys() & mentioned):
            self._hopeless.clear()
        for name in self._hopeless:
            del variables[name]
        return [{"name": name, "why": why} for name, (_, why) in self._hopeless.items()]

    def _leave_out_what_fails(self, variables: dict[str, Any], lost: list[dict[str, str]]) -> None:
        looks = _Looks(self._new_pickler, _ALL_S)
        if (settings := variables.get(_SETTINGS)) is not None:
            whys = {name: looks.at(name, change) for name, change in settings.settings.items()}
            lost += [{"name": name, "why": why} for name, why in whys.items() if why is not None]
            kept = {name: change for name, change in settings.settings.items() if whys[name] is None}
            variables[_SETTINGS] = ChangedSettings(kept)
        for name in list(variables):
            value = variables[name]
            if (why := looks.at(name, value)) is not None:
                lost.append({"name": name, "why": why})
                del variables[name]
                if not looks.is_over:
                    self._hopeless[name] = id(value), why

    def _dump(self, value: object, *, whole: bool = False, buffers: list[Any] | None = None) -> tuple[bytes, Any]:
        """`value` as a pickle, and its pickler, which knows the large objects; `whole` includes them instead."""
        file = io.BytesIO()
        pickler = self._new_pickler(file, buffers=buffers, whole=whole)
        pickler.dump(value)
        return file.getvalue(), pickler

    def _new_pickler(self, file: Any, *, buffers: list[Any] | None = None, whole: bool = True) -> Any:
        """One that includes what is large, if it is `whole`."""
        made_by = self._pickler or pickler_class()
        pickler = made_by(file, protocol=5, buffer_callback=buffers.append if buffers is not None else None)
        pickler.begin(self._namespace, None if whole else self._key_of, self._views, self._nans.name_of)
        return pickler

    def _dump_large(self, key: str, value: object) -> tuple[Part, Any]:
        buffers: list[Any] = []
        head, pickler = self._dump(value, whole=True, buffers=buffers)
        raw = [memoryview(head), *(buffer.raw() for buffer in buffers)]
        pieces: list[bytes | memoryview] = [struct.pack(f">{len(raw) + 1}Q", len(raw), *(len(piece) for piece in raw))]
        offset = len(pieces[0])
        for piece in raw:
            pieces += [bytes(-offset % _ALIGNED), piece]
            offset += -offset % _ALIGNED + len(piece)
        return _part(key, pieces), pickler

    def _key_of(self, value: object) -> str:
        """The key of the part that a large object goes into, "" for one that is not kept apart."""
        if id(value) in self._together or (self._none_apart and is_container(value)):
            self._met_together.add(id(value))
            return ""
        key = self._keys.get(id(value))
        if key is None:
            key = self._keys[id(value)] = f"o{self._next}"
            self._next += 1
        return key

    def _worth_a_look(self, large: dict[str, Any]) -> list[str]:
        """Large objects that may have changed: all of them while they are few, else the new and what a cell reached."""
        if self._reach is None:
            return list(large)
        return [key for key in large if key not in self._sent or self._is_within_reach(key)]

    def _is_within_reach(self, key: str) -> bool:
        made_of = self._made_of.get(key)
        return made_of is None or self._reach is None or not self._reach.isdisjoint(made_of)

    def _are_many(self) -> bool:
        """Whether there is too much to look at all of it after every cell."""
        return sum(self._sizes.values()) > _ALWAYS_LOOK_BYTES

    def _note_what_they_are_made_of(self, looked_at: dict[str, Any]) -> None:
        """For large objects that were looked at. What is noted of the others still holds."""
        if not self._are_many():
            self._made_of.clear()
            return
        self._made_of = {key: ids for key, ids in self._made_of.items() if key in self._sent and key not in looked_at}
        for key, value in looked_at.items():
            with contextlib.suppress(CannotTell, TooSlow), _within(_ONE_S):
                self._made_of[key] = made_of(value, self._namespace)


class _Looks:
    """Tries to pickle variables one by one, in a bounded time, what several of them share only once."""

    def __init__(
        self, new_pickler: Callable[..., Any], seconds: float, broken: Mapping[int, tuple[object, str]] | None = None
    ) -> None:
        self._new_pickler = new_pickler
        self._broken = broken or {}
        self._end = time.monotonic() + seconds
        self._pickler: Any = None
        self.found_broken = False
        """Whether the variable last looked at holds something broken."""
        self.is_over = False
        """Whether there was no time left for it."""

    def at(self, name: str, value: object) -> str | None:
        """Why a variable cannot be pickled; None when it can."""
        self.found_broken = False
        left = self._end - time.monotonic()
        self.is_over = left <= 0
        if self.is_over:
            return TooSlow.__name__
        if self._pickler is None:
            self._pickler = self._new_pickler(_Nowhere(), buffers=_Forgetful())
            self._pickler.broken = self._broken
        try:
            with _within(min(left, _ONE_S)):
                self._pickler.dump({name: value})
        except BaseException as error:
            self._pickler = None  # what it began to pickle it would take for done
            self.found_broken = isinstance(error, IsBroken)
            return str(error) if self.found_broken else kind_of(error)
        return None


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, data: Any) -> int:
        return len(data)


class _Forgetful(list[Any]):
    """A list that keeps nothing."""

    def append(self, item: object) -> None:
        """It is gone."""


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, file: io.BytesIO, *, resolve: Callable[[Any], Any], buffers: Sequence[Any] | None = None
    ) -> None:
        super().__init__(file, buffers=buffers)
        self._resolve = resolve

    def persistent_load(self, reference: Any) -> Any:
        return self._resolve(reference)


def _load_large(data: memoryview, resolve: Callable[[Any], Any]) -> Any:
    (count,) = struct.unpack_from(">Q", data)
    sizes = struct.unpack_from(f">{count}Q", data, 8)
    offset = 8 * (count + 1)
    pieces = []
    for size in sizes:
        offset += -offset % _ALIGNED
        pieces.append(data[offset : offset + size])
        offset += size
    return _Unpickler(io.BytesIO(pieces[0]), resolve=resolve, buffers=pieces[1:]).load()


def _part(key: str, pieces: Sequence[bytes | memoryview]) -> Part:
    views = tuple(memoryview(piece).cast("B") if len(piece) else memoryview(b"") for piece in pieces)
    checksum = 0
    for view in views:
        checksum = zlib.crc32(view, checksum)
    return Part(key, views, checksum)


def _threads() -> int:
    """How many run here, those that `threading` does not know of among them."""
    return len(sys._current_frames())


_FILES = (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO)


def _is_closed_file(value: object) -> bool:
    """What a `with open(…) as file` leaves behind: nobody misses it, so its loss is not told."""
    with contextlib.suppress(Exception):  # below a text file may be an object of the notebook
        return isinstance(value, _FILES) and type(value) in _FILES and bool(value.closed)
    return False


def _is_variable(name: object) -> bool:
    return type(name) is str and not (name.startswith("__") and name.endswith("__"))


def _is_only_here(large: dict[str, Any], key: str) -> bool:
    """Whether a large object was made while pickling: the next one may be at the same address, and be another."""
    return sys.getrefcount(large[key]) <= _REFERENCES


_REFERENCES = 2  # from the dictionary, and as the argument


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's collector: it would look at all variables again and again while millions of tuples are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    def ring(signum: int, frame: FrameType | None) -> None:
        raise TooSlow(f"it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)
