"""Exceptions as they were: with what caused them, and whatever arguments their own `__init__` takes.

What the class's own `__init__` set is among the attributes. So only Python's own part is made of `args`. The traceback
is not kept: it holds the variables of every function on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class State(NamedTuple):
    """What an exception has besides its arguments."""

    attributes: dict[str, Any]
    cause: BaseException | None
    context: BaseException | None
    suppress: bool


def reduced(error: BaseException, can_be_kept: Callable[[object], bool]) -> tuple[Any, ...] | None:
    """How it is made again, as `__reduce__` says it; None for a class that says that itself.

    What caused it is left out where it cannot be kept.
    """
    kind = type(error)
    if kind.__reduce__ is not _pythons_own(kind).__reduce__ or kind.__reduce_ex__ is not object.__reduce_ex__:
        return None
    made_of: Any = error.__reduce__()
    _, arguments, *attributes = made_of
    cause, context = (one if one is None or can_be_kept(one) else None for one in (error.__cause__, error.__context__))
    state = State(dict(*attributes), cause, context, error.__suppress_context__)
    return make_exception, (kind, arguments), tuple(state), None, None, set_exception


def make_exception(kind: Any, arguments: tuple[Any, ...]) -> BaseException:
    """Without the code of its own class. Checkpoints name this function."""
    own = _pythons_own(kind)
    made: BaseException = own.__new__(kind, *arguments)
    own.__init__(made, *arguments)
    return made


def set_exception(made: BaseException, state: tuple[Any, ...]) -> None:
    """Give it its `State`. Checkpoints name this function."""
    attributes, made.__cause__, made.__context__, made.__suppress_context__ = state
    BaseException.__setstate__(made, attributes)


def _pythons_own(kind: Any) -> Any:
    return next(each for each in kind.__mro__ if each.__module__ == "builtins")
