"""Arrays that show the memory of another object: pickled by themselves, each would come back with a copy.

Looked at are all arrays that a pickler met, with their kinds: masked ones, matrices, rows of tables. What they show is
another array, or bytes that may change. Some come back with copies all the same: small parts of a large array that has
no name any more, and what pandas' frames show, of which two may show the same until one of them is changed.
"""

from __future__ import annotations

import array
import gc
import itertools
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

_SHORT = 100
_MOST_LARGER = 2


class View(NamedTuple):
    """An array, and what it is made of again: what `__reduce__` returns, None where it cannot be made again."""

    array: Any
    """Held, so that no other object gets its id."""
    made_of: tuple[Any, ...] | None


def views_among(arrays: Iterable[Any], of_pandas: Collection[Any], named: Collection[Any]) -> dict[int, View]:
    """Those that show the memory of something else, by their ids.

    `of_pandas` are objects of pandas that hold some of the arrays. `named` are values of variables: they are kept
    anyway.
    """
    families: defaultdict[int, list[Any]] = defaultdict(list)
    owners = {}
    ndarray = sys.modules["numpy"].ndarray
    for one in arrays:
        if not (type(one) is ndarray or _is_plain(one)):
            continue
        owner = one if type(one) is ndarray and one.base is None else _owner_of(one)
        if owner is not one:
            owners[id(owner)] = owner
        families[id(owner)].append(one)
    shown = {
        number: owner
        for number, owner in owners.items()
        if _may_matter(owner, families[number]) and _is_worth_it(owner, families[number], named)
    }
    if not shown:
        return {}
    inside_pandas = _held_by(of_pandas)
    views: dict[int, View] = {}
    for number, owner in shown.items():
        family = _without_copies_on_write(families[number], inside_pandas)
        if _has_overlap(family, owner, inside_pandas):
            views |= {id(one): _view(one, owner) for one in family if one is not owner}
    return views


def view_of(owner: Any, offset: int, layout: tuple[Any, ...]) -> Any:
    """An array in the memory of its owner. Checkpoints name this function.

    The layout is its shape, strides and type (None for that of its owner), and whether it may be written to.
    """
    numpy: Any = sys.modules["numpy"]
    shape, strides, dtype, writeable = layout
    if isinstance(owner, numpy.ndarray):
        memory = numpy.ndarray.view(owner, numpy.ndarray).reshape(-1, order="A")
        memory = memory if memory.dtype.hasobject else memory.view(numpy.uint8)
    else:
        memory = numpy.frombuffer(owner, numpy.uint8)
    made = numpy.ndarray(shape, owner.dtype if dtype is None else dtype, memory, offset, strides)
    made.flags.writeable = writeable
    return made


def row_of(owner: Any, offset: int, layout: tuple[Any, ...]) -> Any:
    """Like `view_of`, a row of a table with named columns. Checkpoints name this function."""
    return view_of(owner, offset, layout)[()]


def view_of_kind(kind: Any, owner: Any, offset: int, layout: tuple[Any, ...]) -> Any:
    """Like `view_of`, of a subclass. Checkpoints name this function."""
    return sys.modules["numpy"].ndarray.view(view_of(owner, offset, layout), kind)


def set_attributes(made: Any, attributes: Mapping[str, Any]) -> None:
    """Give an array of a subclass its attributes. Checkpoints name this function."""
    vars(made).update(attributes)


def with_attributes(one: Any) -> tuple[Any, ...] | None:
    """How an array of a cell's own kind is made again, with the attributes that numpy leaves out; None without any."""
    numpy: Any = sys.modules["numpy"]
    kind = type(one)
    attributes = getattr(one, "__dict__", None)
    if not attributes or kind.__reduce__ is not numpy.ndarray.__reduce__ or isinstance(one, numpy.memmap):
        return None
    make, arguments, state = one.__reduce__()
    return make, arguments, (state, dict(attributes)), None, None, set_array


def set_array(made: Any, states: tuple[Any, Mapping[str, Any]]) -> None:
    """Give an array of a subclass its numbers and its attributes. Checkpoints name this function."""
    made.__setstate__(states[0])
    set_attributes(made, states[1])


def base_of(one: Any) -> Any:
    """Whose memory an array or a row shows; None where it is its own."""
    numpy: Any = sys.modules["numpy"]
    base = one.base if isinstance(one, numpy.void) else numpy.ndarray.base.__get__(one)
    if type(base).__module__.startswith("numpy") and not isinstance(base, (numpy.ndarray, numpy.generic)):
        return getattr(base, "base", None)  # what `as_strided` puts between an array and its base
    return base


def _is_plain(one: Any) -> bool:
    """Whether an array is pickled as numpy does it, and is no file."""
    numpy: Any = sys.modules["numpy"]
    kind = type(one)
    if isinstance(one, numpy.memmap):
        return False
    return kind.__module__.partition(".")[0] == "numpy" or kind.__reduce__ in _numpys_own(numpy)


def _numpys_own(numpy: Any) -> list[Any]:
    masked = sys.modules.get("numpy.ma")
    return [kind.__reduce__ for kind in (numpy.ndarray, getattr(masked, "MaskedArray", numpy.ndarray))]


def _owner_of(one: Any) -> Any:
    """What the memory belongs to: an array, or bytes that may change."""
    ndarray = sys.modules["numpy"].ndarray
    base = base_of(one)
    while isinstance(base, ndarray):
        one, base = base, base_of(base)
    if type(base) is memoryview:
        base = base.obj
    return base if _is_bytes(base) else one


def _is_worth_it(owner: Any, family: list[Any], named: Collection[Any]) -> bool:
    """Whether the owner can be kept in place of its parts. One without a name may be far larger than they are."""
    if _is_bytes(owner):
        size = memoryview(owner).nbytes
        return size > 0 and (any(one is owner for one in named) or size <= _MOST_LARGER * _bytes_of(family))
    if not (owner.flags.c_contiguous or owner.flags.f_contiguous) or not owner.size:
        return False
    return any(one is owner for one in (*family, *named)) or owner.nbytes <= _MOST_LARGER * _bytes_of(family)


def _bytes_of(family: list[Any]) -> int:
    return sum(one.nbytes for one in family)


def _without_copies_on_write(family: list[Any], inside_pandas: Collection[int]) -> list[Any]:
    """Of what pandas shows of the same memory at most one array: of several only pandas knows which must not change."""
    of_pandas = [one for one in family if id(one) in inside_pandas]
    return family if len(of_pandas) <= 1 else [one for one in family if id(one) not in inside_pandas]


def _may_matter(owner: Any, family: list[Any]) -> bool:
    """Whether something else may show the memory, or an array shows some of it twice."""
    return len(family) > 1 or _is_bytes(owner) or any(one.nbytes > owner.nbytes for one in family)


def _has_overlap(family: list[Any], owner: Any, inside_pandas: Collection[int]) -> bool:
    """Whether a change of one can be a change of another. Of many it is taken for granted."""
    if len(family) > _SHORT or (family and (_is_bytes(owner) or any(one.nbytes > owner.nbytes for one in family))):
        return True
    overlap = sys.modules["numpy"].may_share_memory
    return any(
        (_is_changed(one, inside_pandas) or _is_changed(other, inside_pandas)) and overlap(one, other)
        for one, other in itertools.combinations(family, 2)
    )


def _is_bytes(owner: Any) -> bool:
    return type(owner) in (bytearray, array.array)


def _is_changed(one: Any, inside_pandas: Collection[int]) -> bool:
    return _is_writeable(one) and id(one) not in inside_pandas


def _is_writeable(one: Any) -> bool:
    return isinstance(one, sys.modules["numpy"].void) or bool(one.flags.writeable)


def _view(one: Any, owner: Any) -> View:
    numpy: Any = sys.modules["numpy"]
    whole = owner if isinstance(owner, numpy.ndarray) else numpy.frombuffer(owner, numpy.uint8)
    dtype = None if whole is owner and owner.dtype.hasobject and one.dtype == owner.dtype else one.dtype
    place = (owner, _address(one) - _address(whole), (one.shape, one.strides, dtype, _is_writeable(one)))
    try:
        made = view_of(*place)
        same = _address(made) == _address(one) and (made.shape, made.strides) == (one.shape, one.strides)
    except Exception:
        same = False
    if not same:
        return View(one, None)
    if isinstance(one, numpy.void):
        return View(one, (row_of, place))
    if type(one) is numpy.ndarray:
        return View(one, (view_of, place))
    made_of = (view_of_kind, (type(one), *place))
    attributes = getattr(one, "__dict__", None)
    return View(one, (*made_of, dict(attributes), None, None, set_attributes) if attributes else made_of)


def _address(one: Any) -> int:
    return int(one.__array_interface__["data"][0])


def _held_by(of_pandas: Collection[Any]) -> set[int]:
    """The ids of the arrays that objects of pandas hold, and of what these are held in."""
    held: dict[int, Any] = {}
    waiting = list(of_pandas)
    while waiting:
        inside = {id(one): one for one in gc.get_referents(*waiting)}
        fresh = [inside[number] for number in inside.keys() - held.keys()]
        held |= inside
        kinds = {kind for kind in {type(one) for one in fresh} if _is_pandas_own(kind)}
        waiting = [one for one in fresh if type(one) in kinds]
    return set(held)


def _is_pandas_own(kind: type) -> bool:
    return kind in (dict, tuple) or str(kind.__module__).startswith("pandas")
