"""Which large containers hold an object that is also held elsewhere.

A part is a pickle of its own, so an object in two parts would come back as two: a record that is in a list and in an
index of that list. Such containers are kept together with the other variables, in one pickle.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import sys
import types
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

Memo = Mapping[int, tuple[int, Any]]
"""The objects that a pickler has met, by id: not those that are found by name, and no plain numbers."""

_ALIKE = frozenset(
    {
        *(str, bytes, int, float, complex, bool, tuple, frozenset, range, slice, type(None), type(...)),
        *(FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType, types.ModuleType),
        *(types.MappingProxyType, types.GenericAlias, property, staticmethod, classmethod, functools.cached_property),
        *(dataclasses.Field, type(dataclasses.MISSING)),
    }
)
_ALIKE_HOMES = frozenset({"datetime", "decimal", "fractions", "pathlib", "re", "typing", "uuid", "zoneinfo", "pandas"})
"""Where the types come from whose objects do not change, or which only their owner changes."""
_FRAMES = frozenset({"DataFrame", "Series"})


def is_container(value: object) -> bool:
    """Whether a large object may hold objects that other variables hold, too."""
    kind = type(value)
    if kind.__module__ == "numpy":
        return bool(getattr(getattr(value, "dtype", None), "hasobject", False))
    return kind in (list, dict, set, tuple)


def shared(small: Memo, large: Mapping[str, Any], parts: Mapping[str, Memo]) -> set[str]:
    """The keys of those containers among `large` whose objects are in another part, too.

    `small` and `parts` are what their picklers have met. These must be alive: what is compared are the ids.
    """
    apart = {id(value): key for key, value in large.items() if not _is_alike(type(value))}
    held = [("", _identities(small)), *((key, _identities(memo)) for key, memo in parts.items())]
    found = set()
    for key, numbers in held[1:]:
        if apart.keys() & numbers > {id(large[key])}:
            found.add(key)
    for (key, numbers), (other, others) in itertools.combinations(held, 2):
        if not numbers.isdisjoint(others):
            found |= {key, other}
    return found & parts.keys()


def _identities(memo: Memo) -> set[int]:
    """The ids of those objects of which a copy is not as good."""
    kinds = {type(one) for _, one in memo.values()}
    distinct = {kind for kind in kinds if not _is_alike(kind)}
    if not distinct:
        return set()
    owners = {kind for kind in kinds if kind is FunctionType or issubclass(kind, type)}
    parts = {id(part) for _, one in memo.values() if type(one) in owners for part in _parts_of(one)} if owners else ()
    return {number for number, (_, one) in memo.items() if type(one) in distinct}.difference(parts)


def _is_alike(kind: type) -> bool:
    if kind in _ALIKE or issubclass(kind, type):
        return True
    home = kind.__module__.partition(".")[0] if type(kind.__module__) is str else ""
    if home == "numpy" and (numpy := sys.modules.get("numpy")) is not None:
        return issubclass(kind, (numpy.generic, numpy.dtype))
    return home in _ALIKE_HOMES and kind.__name__ not in _FRAMES


def _parts_of(one: Any) -> Iterable[Any]:
    """What belongs to a function or a class alone, and is pickled with each object of the class."""
    if type(one) is FunctionType:
        return one.__annotations__, one.__kwdefaults__
    attributes = type.__dict__["__dict__"].__get__(one)
    return [value for name, value in attributes.items() if name.startswith("__")]
