"""Classes of cells that come back without what is done once for each class: an entry in a list of them, a number.

A metaclass's `__new__` and `__init__` and a base's `__init_subclass__` did that when the class was defined. What they
did is kept. Done again it would stand there twice, or fail for want of what is not back yet.
"""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

_HOOK = "__init_subclass__"
_CELLS = "__main__"


def runs_code(made: type) -> bool:
    """Whether code of cells runs when this class is made."""
    if issubclass(made, enum.Enum):
        return False
    return _is_of_cells(type(made)) or any(map(_has_hook, made.__mro__[1:]))


def made_quietly(make: Callable[..., Any], metaclass: Any, name: str, bases: tuple[type, ...], *rest: Any) -> Any:
    """The class that `make` makes of the other arguments, without code of cells. Checkpoints name this function."""
    with _without_hooks(bases):
        return make(functools.partial(_made, metaclass) if _is_of_cells(metaclass) else metaclass, name, bases, *rest)


def _made(metaclass: Any, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> Any:
    library: Any = next(kind for kind in metaclass.__mro__ if not _is_of_cells(kind))
    made = library.__new__(metaclass, name, bases, attributes)
    library.__init__(made, name, bases, attributes)
    return made


@contextlib.contextmanager
def _without_hooks(bases: tuple[type, ...]) -> Iterator[None]:
    hooks = {kind: vars(kind)[_HOOK] for base in bases for kind in base.__mro__ if _has_hook(kind)}
    for kind in hooks:
        type.__delattr__(kind, _HOOK)
    try:
        yield
    finally:
        for kind, hook in hooks.items():
            type.__setattr__(kind, _HOOK, hook)


def _has_hook(kind: type) -> bool:
    return _HOOK in vars(kind) and _is_of_cells(kind)


def _is_of_cells(kind: type) -> bool:
    return kind.__module__ == _CELLS
