"""The pickler of a notebook's variables: cloudpickle's, and what it does not keep as it is.

What is defined here is named in checkpoints: a function keeps its name and its parameters.
"""

from __future__ import annotations

import functools
import gc
import importlib
import io
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from math import isnan
from types import CellType, FunctionType
from typing import Any

from executor.inside import exceptions
from executor.inside.array_views import View, base_of, with_attributes
from executor.inside.own_nans import shared_nans
from executor.inside.quiet_classes import made_quietly, runs_code

MAIN, LARGE, NAN, GENERATOR = "main", "large", "nan", "generator"
_LARGE_BYTES = 256 << 10
_LARGE_ITEMS = 10_000
_LruCache = type(functools.lru_cache(int))
_VIEWS_OF_DICTIONARIES: Mapping[type, Callable[..., Any]] = {
    type(view(kind())): view for kind in (dict, OrderedDict) for view in (kind.keys, kind.values, kind.items)
}
"""How each kind of view is made of the dictionary that it shows."""
_LAYOUT = ("format", "shape", "strides", "readonly")
"""In which a view of a part differs from one of the whole."""


class IsBroken(Exception):
    """The object could not be made again; the message says why."""


@functools.cache
def pickler_class() -> Any:
    """cloudpickle's pickler with our additions. Raises ImportError without that library."""
    base: Any = importlib.import_module("cloudpickle").Pickler
    return type("Pickler", (_Additions, base), {})


class _Additions:
    """Refers to the notebook's namespace and to large objects instead of including them."""

    globals_ref: dict[int, Any]
    """Of cloudpickle: the globals of functions, by their ids."""
    namespace: dict[str, Any]
    large: dict[str, Any]
    broken: Mapping[int, tuple[object, str]]
    key_of: Callable[[object], str] | None
    known: dict[int, tuple[str, str]]
    kinds_of_arrays: tuple[type, ...]
    is_trial = False
    cells: dict[int, CellType]
    views: Mapping[int, View]
    arrays: dict[int, Any]
    """Those that it met, by their ids, and rows of tables."""
    of_pandas: list[Any]
    """Objects of pandas that it met."""

    def begin(
        self,
        namespace: dict[str, Any],
        key_of: Callable[[object], str] | None,
        views: Mapping[int, View],
        name_of_nan: Callable[[float], str],
    ) -> None:
        """Say whose variables these are. With `key_of`, what it gives a key is only referred to."""
        self.namespace, self.views, self.name_of_nan = namespace, views, name_of_nan
        self.globals_ref[id(namespace)] = namespace
        self.key_of = key_of
        self.large, self.broken, self.cells = {}, {}, {}
        self.arrays, self.of_pandas = {}, []
        numpy = sys.modules.get("numpy")
        self.kinds_of_arrays = () if numpy is None else (numpy.ndarray, numpy.void)
        self.known = {id(nan): (NAN, name) for name, nan in shared_nans().items()} | {id(namespace): (MAIN, "")}
        self.known |= {id(one): (GENERATOR, name) for name, one in shared_generators().items()}

    def persistent_id(self, found: object) -> tuple[str, str] | None:
        number = id(found)
        if number in self.known:
            return self.known[number]
        if type(found) is float and isnan(found) and (name := self.name_of_nan(found)):
            return (NAN, name)
        if number in self.broken:
            raise IsBroken(self.broken[number][1])
        if self.key_of is not None and _is_large(found) and number not in self.views and (key := self.key_of(found)):
            self.large[key] = found
            return (LARGE, key)
        return None

    def reducer_override(self, found: Any) -> Any:
        kind = type(found)
        if issubclass(kind, self.kinds_of_arrays):
            return self._reduce_array(found, kind)
        if type(kind.__module__) is str and kind.__module__.startswith("pandas"):
            self.of_pandas.append(found)
        if kind in _VIEWS_OF_DICTIONARIES:
            return _VIEWS_OF_DICTIONARIES[kind], (gc.get_referents(found)[0],)
        if kind is memoryview:
            return memoryview, (_shown_by(found),)
        if kind is CellType and id(found) in self.cells:
            return CellType, ()  # a function fills it
        if kind is _LruCache and self._is_own(found.__wrapped__):
            parameters = found.cache_parameters()
            attributes = {name: value for name, value in vars(found).items() if name != "__wrapped__"}
            return lru_cached, (found.__wrapped__, parameters["maxsize"], parameters["typed"]), attributes
        if isinstance(found, type):
            return self._reduce_class(found)
        if issubclass(kind, BaseException) and (reduced := exceptions.reduced(found, self._can_be_kept)):
            return reduced
        return self._plainly(found)

    def _plainly(self, found: Any) -> Any:
        """As cloudpickle does it."""
        plain: Any = super()
        return plain.reducer_override(found)

    def _reduce_array(self, found: Any, kind: type) -> Any:
        self.arrays[id(found)] = found
        if (view := self.views.get(id(found))) is not None:
            if view.made_of is None:
                raise TypeError("what is written to its copy would not reach what it shows")
            return view.made_of
        if _writes_a_file(found):
            raise TypeError("what is written to its copy would not reach the file")
        if kind not in self.kinds_of_arrays and (reduced := with_attributes(found)) is not None:
            return reduced
        return self._plainly(found)

    def _can_be_kept(self, cause: object) -> bool:
        """Whether what caused an exception can be pickled. Asked of the first one only, for the rest as well."""
        if self.is_trial:
            return True
        made_by: Any = type(self)
        trial = made_by(io.BytesIO(), protocol=5)
        trial.begin(self.namespace, None, self.views, self.name_of_nan)
        trial.is_trial = True
        try:
            trial.dump(cause)
        except Exception:
            return False
        return True

    def _reduce_class(self, found: type) -> Any:
        reduced = self._plainly(found)
        if type(reduced) is tuple and reduced[2:] and runs_code(found):
            return made_quietly, (reduced[0], *reduced[1]), *reduced[2:]
        return reduced

    def _is_own(self, found: object) -> bool:
        return isinstance(found, FunctionType) and found.__globals__ is self.namespace

    def _dynamic_function_reduce(self, function: Any) -> Any:
        """A function of the notebook keeps the notebook's variables as its globals, not a copy of them.

        Functions that share a variable of the function around them go on to share it: each gets the cells
        themselves, which are empty until its own content of them is put in.
        """
        plain: Any = super()
        make, arguments, (attributes, slots), *rest = plain._dynamic_function_reduce(function)
        if self._is_own(function):
            slots["__globals__"] = {}
        if function.__closure__ is not None:
            self.cells |= {id(cell): cell for cell in function.__closure__}
            arguments = (*arguments[:-1], function.__closure__)
            slots["__closure__"] = tuple(map(_copy_of_cell, function.__closure__))
        return make, arguments, (attributes, slots), *rest


def shared_generators() -> dict[str, Any]:
    """Those of random numbers of which a module's functions are methods: `from random import choice`."""
    functions = {"random": "random", "numpy.random": "rand"}
    owners = {
        name: getattr(getattr(sys.modules.get(name), function, None), "__self__", None)
        for name, function in functions.items()
    }
    return {name: owner for name, owner in owners.items() if owner is not None}


def lru_cached(function: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
    """The function behind an `lru_cache`, with a fresh one."""
    return functools.lru_cache(maxsize, typed)(function)


def _shown_by(view: memoryview) -> object:
    """What a view shows all of. Raises TypeError for a part: which one, no view says.

    A part of bytes, which do not change, may be all of fewer bytes.
    """
    whole = memoryview(view.obj)
    if all(getattr(view, name) == getattr(whole, name) for name in _LAYOUT):
        return view.obj
    if type(view.obj) is bytes and (view.format, view.ndim) == ("B", 1):
        return view.tobytes()
    raise TypeError("a part of what it shows")


def _writes_a_file(found: Any) -> bool:
    """Whether this is an array whose memory is a file that changes with it."""
    numpy: Any = sys.modules["numpy"]
    while isinstance(found, (numpy.ndarray, numpy.void)):
        if isinstance(found, numpy.memmap) and found.mode in ("r+", "w+"):
            return True
        found = base_of(found)
    return False


def _copy_of_cell(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:  # it is empty
        return CellType()


def _is_large(value: object) -> bool:
    kind = type(value)
    if kind in (bytes, bytearray, str):
        return len(value) > _LARGE_BYTES  # type: ignore[arg-type]  # the kinds above have a length
    if kind in (list, dict, set, tuple):
        return len(value) > _LARGE_ITEMS  # type: ignore[arg-type]
    home = kind.__module__ if type(kind.__module__) is str else ""  # a cell's class may say anything
    if home == "numpy":
        return getattr(value, "nbytes", 0) > _LARGE_BYTES
    if home.startswith("pandas") and kind.__name__ in ("DataFrame", "Series"):
        return getattr(value, "size", 0) * 8 > _LARGE_BYTES
    return False
