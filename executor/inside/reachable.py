"""Which objects a cell can get at, seen from the names that it mentions.

Two names may lead to the same memory: a view of an array, an element of a list, what a function holds. So a large
variable may change without being mentioned. It cannot have changed when it shares no object with what was within reach.
Where that cannot be told, everything is within reach.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

_MANY, _MANY_PARTS = 500_000, 100_000
"""So many objects are looked at for one cell, and noted of one variable."""
_ANYTHING = frozenset(
    {
        *("globals", "locals", "vars", "dir", "exec", "eval", "compile", "breakpoint", "getattr", "attrgetter"),
        *("__import__", "import_module", "__builtins__", "__main__", "__dict__", "__globals__", "__closure__"),
        *("f_locals", "f_globals", "f_back", "tb_frame", "gi_frame", "cr_frame", "ag_frame", "settrace", "setprofile"),
        *("modules", "sys", "gc", "ctypes", "inspect", "importlib", "builtins"),
    }
)
"""Names by which code gets at what it does not mention."""
_PLAIN = frozenset({int, float, complex, bool, str, bytes, range, slice, type(None), type(...), CodeType})
_PLAIN_HOMES = frozenset({"datetime", "decimal", "pandas", "re", "zoneinfo", "mmap"})
"""Where the types come from whose objects refer to no others, though they do not tell Python's collector so."""
_TELLS = 1 << 14  # Py_TPFLAGS_HAVE_GC: an object of this type tells the collector what it refers to
_TEXTS = frozenset({"string", "large_string", "string_view"})


class CannotTell(Exception):
    """What is within reach is not known."""


def within_reach(names: Iterable[str], namespace: dict[str, Any]) -> set[int]:
    """The ids of all objects that may change when code runs that mentions `names`. Raises CannotTell."""
    mentioned = set(names)
    if mentioned & _ANYTHING:
        raise CannotTell
    return _walk([namespace[name] for name in mentioned if name in namespace], namespace, _MANY)


def made_of(value: object, namespace: dict[str, Any]) -> set[int]:
    """The ids of all objects through which `value` may change, itself included. Raises CannotTell."""
    return _walk([value], namespace, _MANY_PARTS)


def _walk(waiting: list[Any], namespace: dict[str, Any], many: int) -> set[int]:
    seen = {id(namespace)}
    while waiting:
        one = waiting.pop()
        if type(one) in _PLAIN or id(one) in seen or (type(one) is tuple and not one):
            continue
        seen.add(id(one))
        if len(seen) > many:
            raise CannotTell
        waiting += _next(one)
    return seen - {id(namespace)}


def _next(one: Any) -> Iterable[Any]:
    """What an object refers to. No code of a cell's runs here: nothing is asked of the object itself."""
    kind = type(one)
    if issubclass(kind, ModuleType):
        if one.__dict__.get("__name__") in _ANYTHING:
            raise CannotTell
        return () if _is_library(one.__dict__) else tuple(one.__dict__.values())
    if issubclass(kind, type):
        home = type.__dict__["__dict__"].__get__(one).get("__module__", "builtins")
        return () if _is_library_name(home) else gc.get_referents(one)
    if kind is FunctionType:
        return _of_function(one)
    if kind is BuiltinFunctionType:
        return () if isinstance(one.__self__, ModuleType) else (one.__self__,)
    if issubclass(kind, weakref.ref):
        return (weakref.ref.__call__(one),)
    if (numpy := sys.modules.get("numpy")) is not None:
        if issubclass(kind, numpy.ndarray):
            return _of_array(one, numpy.ndarray)
        if issubclass(kind, (numpy.generic, numpy.dtype)):
            return ()
    return _of_other(one, kind)


def _of_other(one: Any, kind: type) -> Iterable[Any]:
    home = kind.__module__.partition(".")[0] if type(kind.__module__) is str else ""
    if home == "pyarrow":
        return _of_arrow(one, kind)
    if kind.__flags__ & _TELLS:
        return gc.get_referents(one)
    if home in _PLAIN_HOMES or kind in (bytearray, object):
        return ()
    raise CannotTell


def _of_function(one: FunctionType) -> Iterable[Any]:
    held = [one.__closure__, one.__defaults__, one.__kwdefaults__, one.__dict__]
    if not _is_library(one.__globals__):
        names = _names_in(one.__code__)
        if names & _ANYTHING:
            raise CannotTell
        held += [one.__globals__[name] for name in names if name in one.__globals__]
    return held


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if type(constant) is CodeType:
            names |= _names_in(constant)
    return names


def _of_array(one: Any, ndarray: Any) -> Iterable[Any]:
    """Whose memory an array shows; its elements, where they are objects."""
    held = [ndarray.base.__get__(one), *gc.get_referents(one)]
    kind = ndarray.dtype.__get__(one)
    if kind.names is not None and kind.hasobject:
        raise CannotTell
    return held + ndarray.tolist(ndarray.ravel(one)) if kind.hasobject else held


def _of_arrow(one: Any, kind: type) -> Iterable[Any]:
    """Arrow's texts are nobody else's memory. Its numbers may be those of an array."""
    if issubclass(kind, sys.modules["pyarrow"].DataType) or (hasattr(kind, "type") and str(one.type) in _TEXTS):
        return ()
    raise CannotTell


def _is_library(variables: Mapping[str, Any]) -> bool:
    """Whether a module with these variables is none of the notebook's and none of its folder's."""
    spec, file = variables.get("__spec__"), variables.get("__file__")
    if type(file) is str:
        return file.startswith((sys.prefix, sys.base_prefix))
    return spec is not None and variables.get("__name__") != "__main__"


def _is_library_name(name: object) -> bool:
    module = sys.modules.get(name) if type(name) is str else None
    return isinstance(module, ModuleType) and _is_library(module.__dict__)
