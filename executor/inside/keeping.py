"""A subprocess's variables as bytes and back, so that they outlive it. Runs, and is read again, only inside a sandbox.

All variables go into one pickle, so that two names for one object stay two names for one object. Objects that are
large go into parts of their own, referred to from that pickle: a part that did not change since the last time is not
sent again. A variable that cannot be pickled is left out and named.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import pickle
import signal
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType, MappingProxyType
from typing import Any

from executor.inside.salvaging import Salvager

MAIN, LARGE = "main", "large"
LAYOUT = "2"
"""How the bytes of a part are put together: what another layout wrote is refused like that of another library."""
_LARGE_BYTES = 256 << 10
_LARGE_ITEMS = 10_000
_ALIGNED = 64  # bytes; arrays in a part begin at multiples of it, so that they can be used where they are
_ALWAYS_LOOK_BYTES = 64 << 20  # large objects up to this sum are looked at after every cell, mentioned or not
_ONE_S, _ALL_S = 2.0, 10.0
_WHY = 200


class TooSlow(BaseException):
    """Pickling takes longer than it may. Not an Exception: a hostile __reduce__ should not swallow it."""


class _IsBroken(Exception):
    """The object could not be made again; the message says why."""


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
        self._sent: dict[str, int] = {}
        self._keys: dict[int, str] = {}
        self._sizes: dict[str, int] = {}
        self._next = 1
        self._hopeless: dict[str, int] = {}
        self._pickler: Any = None
        with contextlib.suppress(ImportError):
            self._pickler = pickler_class()

    @property
    def able(self) -> bool:
        """Whether anything can be kept: it takes the library cloudpickle."""
        return self._pickler is not None

    def save(self, mentioned: set[str]) -> tuple[list[str], list[Part], list[dict[str, str]]]:
        """(keys of all parts, the parts that changed, what is lost and why). `mentioned`: names that the cell used."""
        lost: list[dict[str, str]] = []
        variables = {name: value for name, value in list(self._namespace.items()) if _is_variable(name)}
        for name in [name for name in variables if self._hopeless.get(name) == id(variables[name])]:
            if name in mentioned and self._can_be_pickled_now(name):
                continue
            lost.append({"name": name, "why": "it cannot be pickled"})
            del variables[name]
        small, large = self._dump_all(variables, lost)
        parts, failed = self._dump_parts(large, self._worth_a_look(large, mentioned))
        if failed:
            self._leave_out_what_refers_to(failed, variables, lost)
            small, large = self._dump_all(variables, lost)
        parts = [_part("small", [small]), *(part for part in parts if part.key in large)]
        keys = ["small", *large]
        changed = [part for part in parts if self._sent.get(part.key) != part.checksum]
        if sum(part.size for part in changed) > self._limit:
            raise MemoryError("the variables are larger than what may be kept")
        self._sent = {key: self._sent.get(key, -1) for key in keys} | {part.key: part.checksum for part in parts}
        self._sizes |= {part.key: part.size for part in parts}
        self._keys = {number: key for number, key in self._keys.items() if key in large}
        return keys, changed, lost

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
        self._next = 1 + max((int(part["key"][1:]) for part in parts if part["key"] != "small"), default=0)
        lost = [] if salvager is None else self._take_out_broken(variables, salvager.broken)
        self._namespace.update(variables)
        return lost

    def _take_out_broken(
        self, variables: dict[str, Any], broken: dict[int, tuple[object, str]]
    ) -> list[dict[str, str]]:
        lost = []
        for name in list(variables):
            try:
                self._dump({name: variables[name]}, broken=broken)
            except BaseException as error:
                why = str(error) if isinstance(error, _IsBroken) else f"{type(error).__name__}: {error}"
                lost.append({"name": name, "why": why[:_WHY]})
                del variables[name]
        return lost

    def _dump_all(self, variables: dict[str, Any], lost: list[dict[str, str]]) -> tuple[bytes, dict[str, Any]]:
        try:
            with _within(_ALL_S):
                return self._dump(variables)
        except (Exception, TooSlow):
            self._leave_out_the_hopeless(variables, lost)
        with _within(_ALL_S):
            return self._dump(variables)

    def _leave_out_the_hopeless(self, variables: dict[str, Any], lost: list[dict[str, str]]) -> None:
        for name in list(variables):
            try:
                with _within(_ONE_S):
                    self._dump({name: variables[name]})
            except (Exception, TooSlow) as error:
                self._leave_out(name, f"{type(error).__name__}: {error}"[:_WHY], variables, lost)

    def _dump_parts(self, large: dict[str, Any], looked_at: set[str]) -> tuple[list[Part], dict[str, str]]:
        """(the parts of those to be looked at, for those that cannot be pickled why not)."""
        parts, failed = [], {}
        for key in [key for key in large if key in looked_at]:
            try:
                with _within(_ONE_S):
                    parts.append(self._dump_large(key, large[key]))
            except (Exception, TooSlow) as error:
                failed[key] = f"{type(error).__name__}: {error}"[:_WHY]
        return parts, failed

    def _leave_out_what_refers_to(
        self, failed: dict[str, str], variables: dict[str, Any], lost: list[dict[str, str]]
    ) -> None:
        for name in list(variables):
            _, large = self._dump({name: variables[name]})
            for key in large.keys() & failed.keys():
                self._leave_out(name, failed[key], variables, lost)
                break

    def _leave_out(self, name: str, why: str, variables: dict[str, Any], lost: list[dict[str, str]]) -> None:
        self._hopeless[name] = id(variables.pop(name))
        lost.append({"name": name, "why": why})

    def _can_be_pickled_now(self, name: str) -> bool:
        """Another object may have got the number of the one before it, and the same one may have changed."""
        with contextlib.suppress(Exception, TooSlow), _within(_ONE_S):
            self._dump({name: self._namespace[name]}, whole=True)
            del self._hopeless[name]
            return True
        return False

    def _dump(
        self,
        value: object,
        *,
        whole: bool = False,
        buffers: list[Any] | None = None,
        broken: Mapping[int, tuple[object, str]] = MappingProxyType({}),
    ) -> tuple[bytes, dict[str, Any]]:
        """`value` as a pickle, and the large objects that it refers to; `whole` includes them instead.

        Raises _IsBroken for what is, or holds, one of `broken`, and whatever pickling raises.
        """
        file = io.BytesIO()
        pickler = self._pickler(file, protocol=5, buffer_callback=buffers.append if buffers is not None else None)
        pickler.namespace = self._namespace
        pickler.globals_ref[id(self._namespace)] = self._namespace
        pickler.key_of = None if whole else self._key_of
        pickler.large = {}
        pickler.broken = broken
        pickler.dump(value)
        return file.getvalue(), pickler.large

    def _dump_large(self, key: str, value: object) -> Part:
        buffers: list[Any] = []
        head, _ = self._dump(value, whole=True, buffers=buffers)
        raw = [memoryview(head), *(buffer.raw() for buffer in buffers)]
        pieces: list[bytes | memoryview] = [struct.pack(f">{len(raw) + 1}Q", len(raw), *(len(piece) for piece in raw))]
        offset = len(pieces[0])
        for piece in raw:
            pieces += [bytes(-offset % _ALIGNED), piece]
            offset += -offset % _ALIGNED + len(piece)
        return _part(key, pieces)

    def _key_of(self, value: object) -> str:
        key = self._keys.get(id(value))
        if key is None:
            key = self._keys[id(value)] = f"o{self._next}"
            self._next += 1
        return key

    def _worth_a_look(self, large: dict[str, Any], mentioned: set[str]) -> set[str]:
        """Large objects that may have changed: all of them while they are few, else the new and the mentioned."""
        if sum(self._sizes.get(key, 0) for key in large) <= _ALWAYS_LOOK_BYTES:
            return set(large)
        used = {id(self._namespace[name]) for name in mentioned if name in self._namespace}
        return {key for key, value in large.items() if key not in self._sent or id(value) in used}


@functools.cache
def pickler_class() -> Any:
    """cloudpickle's pickler with our additions. ImportError without that library. The zygote asks first."""
    base: Any = importlib.import_module("cloudpickle").Pickler

    class Pickler(base):  # type: ignore[misc]  # found at run time
        """Refers to the notebook's namespace and to large objects instead of including them."""

        namespace: dict[str, Any]
        large: dict[str, Any]
        broken: Mapping[int, tuple[object, str]]
        key_of: Callable[[object], str] | None

        def persistent_id(self, found: object) -> tuple[str, str] | None:
            if found is self.namespace:
                return (MAIN, "")
            if id(found) in self.broken:
                raise _IsBroken(self.broken[id(found)][1])
            if self.key_of is not None and _is_large(found):
                key = self.key_of(found)
                self.large[key] = found
                return (LARGE, key)
            return None

        def _dynamic_function_reduce(self, function: Any) -> Any:
            """A function of the notebook keeps the notebook's variables as its globals, not a copy of them."""
            reduced = super()._dynamic_function_reduce(function)
            if function.__globals__ is self.namespace:
                reduced[2][1]["__globals__"] = {}
            return reduced

    return Pickler


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


def _is_variable(name: object) -> bool:
    return isinstance(name, str) and not (name.startswith("__") and name.endswith("__"))


def _is_large(value: object) -> bool:
    kind = type(value)
    if kind in (bytes, bytearray, str):
        return len(value) > _LARGE_BYTES  # type: ignore[arg-type]  # the kinds above have a length
    if kind in (list, dict, set, tuple):
        return len(value) > _LARGE_ITEMS  # type: ignore[arg-type]
    if kind.__module__ == "numpy":
        return getattr(value, "nbytes", 0) > _LARGE_BYTES
    if kind.__module__.startswith("pandas") and kind.__name__ in ("DataFrame", "Series"):
        return getattr(value, "size", 0) * 8 > _LARGE_BYTES
    return False


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
