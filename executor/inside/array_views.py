"""Arrays that show the memory of another variable's array: pickled by themselves, each would come back with a copy.

Looked for are arrays that have a name, or are in a short list, tuple or dictionary that has one. pandas' own arrays are
none of them: its frames do not share what they show. Arrays of objects come back with copies, too: numpy shows those
of another array only by slices. And so do small parts of a large array that has no name any more.
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

_SHORT = 100
_MOST_LARGER = 2


class View(NamedTuple):
    """Where an array lies in the memory of another one, which owns it: the arguments of `view_of`."""

    owner: Any
    offset: int
    """In bytes."""
    layout: tuple[Any, ...]
    """Its shape, strides and type, and whether it may be written to."""


def views_among(variables: Mapping[str, Any]) -> dict[int, View]:
    """Arrays that overlap with another array of the variables, by their ids."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return {}
    found = {id(array): array for array in _arrays(variables.values(), numpy.ndarray)}
    families: defaultdict[int, list[Any]] = defaultdict(list)
    owners = {}
    for array in found.values():
        owner = _owner_of(array, numpy.ndarray)
        if not owner.dtype.hasobject:
            owners[id(owner)] = owner
            families[id(owner)].append(array)
    views: dict[int, View] = {}
    for number, family in families.items():
        owner = owners[number]
        if len(family) > 1 and _is_worth_it(owner, family) and _has_overlap(family, numpy.may_share_memory):
            views |= {id(array): _view(array, owner) for array in family if array is not owner}
    return views


def view_of(owner: Any, offset: int, layout: tuple[Any, ...]) -> Any:
    """An array in the memory of its owner. Checkpoints name this function."""
    numpy: Any = sys.modules["numpy"]
    shape, strides, dtype, writeable = layout
    array = numpy.ndarray(shape, dtype, owner.reshape(-1, order="A").view(numpy.uint8), offset, strides)
    array.flags.writeable = writeable
    return array


def _arrays(values: Iterable[Any], ndarray: type) -> Iterator[Any]:
    for value in values:
        if type(value) is ndarray:
            yield value
        elif type(value) in (list, tuple, dict) and len(value) <= _SHORT:
            held = value.values() if type(value) is dict else value
            yield from (one for one in held if type(one) is ndarray)


def _owner_of(array: Any, ndarray: type) -> Any:
    while type(array.base) is ndarray:
        array = array.base
    return array


def _has_overlap(family: list[Any], overlap: Any) -> bool:
    """Whether a change of one can be a change of another. Of many it is taken for granted."""
    return len(family) > _SHORT or any(
        (one.flags.writeable or other.flags.writeable) and overlap(one, other)
        for one, other in itertools.combinations(family, 2)
    )


def _is_worth_it(owner: Any, family: list[Any]) -> bool:
    """Whether the owner can be kept in place of its parts. One without a name may be far larger than they are."""
    if not (owner.flags.c_contiguous or owner.flags.f_contiguous) or not owner.size:
        return False
    return any(array is owner for array in family) or owner.nbytes <= _MOST_LARGER * sum(one.nbytes for one in family)


def _view(array: Any, owner: Any) -> View:
    begin = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return View(owner, begin, (array.shape, array.strides, array.dtype, bool(array.flags.writeable)))
