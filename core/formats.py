"""The formats that people get a report in besides its page. Each is also a command (`core/commands/commands.yaml`)."""

from __future__ import annotations

from typing import Final, Literal, TypeGuard, get_args

Format = Literal["slides", "pdf", "excel", "csv"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)


def is_format(name: str) -> TypeGuard[Format]:
    """Whether this is the name of a format."""
    return name in FORMATS
