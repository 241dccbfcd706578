"""Unpickling that goes on where one object cannot be made again: for variables that do not come back as they were.

An object's own code decides whether it can be made again (one whose `__setstate__` raises cannot). Such an object,
and everything that holds it, is lost; the other variables need not be.
This is the standard library's unpickler in Python, slower than the usual one by far: it is the second try.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

_in_python: Any = vars(pickle)["_Unpickler"]  # the one whose steps can be replaced; typeshed does not know them


def kind_of(error: BaseException) -> str:
    """The name of the error's class. The error may be anybody's, so its message stays in the sandbox."""
    return str(type.__getattribute__(type(error), "__name__"))


class Broken:
    """Stands where an object could not be made, and takes whatever unpickling still does to it."""

    def __call__(self, *args: object, **named: object) -> Broken:
        return self

    def __setitem__(self, key: object, value: object) -> None:
        """Nothing is kept here."""

    def __setstate__(self, state: object) -> None:
        """Nothing is kept here."""

    def append(self, item: object) -> None:
        """Nothing is kept here."""

    add = extend = update = append


class Salvager(_in_python):  # type: ignore[misc]  # as above
    """`load` as usual; afterwards `broken` has every object that is not what it should be, with the reason, by id."""

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(_in_python.dispatch)
    stack: list[Any]

    def __init__(self, file: io.BytesIO, resolve: Callable[[Any], Any]) -> None:
        super().__init__(file)
        self._resolve = resolve
        self._elsewhere: dict[tuple[str, ...], Any] = {}
        self._failed_call: tuple[object, Any] = None, None
        self.broken: dict[int, tuple[object, str]] = {}
        """The objects are in it as well, so that no other object gets their ids."""

    def persistent_load(self, reference: Any) -> Any:
        """An object that is kept elsewhere. One that cannot be made is not tried again at the next reference."""
        if tuple(reference) not in self._elsewhere:
            self._elsewhere[tuple(reference)] = self._try(lambda: self._resolve(reference))
        return self._elsewhere[tuple(reference)]

    def find_class(self, module: str, name: str) -> Any:
        """The class or function of this name."""
        return self._try(lambda: super(Salvager, self).find_class(module, name))

    def _try(self, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except BaseException as error:
            return self._mark(Broken(), error)

    def _mark(self, made: object, error: BaseException) -> object:
        self.broken[id(made)] = made, kind_of(error)
        return made

    def _load_reduce(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self._made(self.stack[-1], lambda make: make(*arguments))
        self._failed_call = (self.stack[-1], arguments) if isinstance(self.stack[-1], Broken) else (None, None)

    def _load_pop(self) -> None:
        """A call whose result is thrown away sets the state of its first argument."""
        failed, arguments = self._failed_call
        if self.stack and self.stack[-1] is failed and arguments:
            self.broken[id(arguments[0])] = arguments[0], self.broken[id(failed)][1]
        super().load_pop()

    def _load_newobj(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self._made(self.stack[-1], lambda kind: kind.__new__(kind, *arguments))

    def _load_newobj_ex(self) -> None:
        named, arguments = self.stack.pop(), self.stack.pop()
        self.stack[-1] = self._made(self.stack[-1], lambda kind: kind.__new__(kind, *arguments, **named))

    def _made(self, maker: Any, make: Callable[[Any], Any]) -> Any:
        return maker if isinstance(maker, Broken) else self._try(lambda: make(maker))

    dispatch[pickle.REDUCE[0]] = _load_reduce
    dispatch[pickle.POP[0]] = _load_pop
    dispatch[pickle.NEWOBJ[0]] = _load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = _load_newobj_ex


def _filling(load: Callable[[Any], None]) -> Callable[[Any], None]:
    """One of the steps that fill the object on top of the stack."""

    def load_or_mark(salvager: Salvager) -> None:
        try:
            load(salvager)
        except BaseException as error:
            salvager._mark(salvager.stack[-1], error)

    return load_or_mark


for _code in (pickle.BUILD, pickle.APPEND, pickle.APPENDS, pickle.SETITEM, pickle.SETITEMS, pickle.ADDITEMS):
    Salvager.dispatch[_code[0]] = _filling(Salvager.dispatch[_code[0]])
