"""Notes about a file, and lines of Python that load it, as the other modules write them."""

from __future__ import annotations

from typing import Any


def note(code: str, **values: object) -> dict[str, Any]:
    """A note by its code; `core/phrases.yaml` has its sentence."""
    return {"code": code, "values": values}


def call(function: str, path: str | None, arguments: dict[str, Any]) -> str:
    """A call as Python is written: the file first, all else by keyword."""
    return call_with(function, repr(path) if path is not None else "", arguments)


def call_with(function: str, first: str, arguments: dict[str, Any]) -> str:
    """The same with an expression in place of the file."""
    shown = [_shown(value) for value in arguments.values()]
    named = [f"{name}={value}" for name, value in zip(arguments, shown, strict=True)]
    return f"{function}({', '.join(filter(None, [first, *named]))})"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_shown(held)}" for key, held in value.items()) + "}"
    return "str" if value is str else repr(value)
