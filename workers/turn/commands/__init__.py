"""What people can tell a thread to do, one module each, by the names of `core/commands/commands.yaml`.

A module has a function `carry_out(thread: CommandThread) -> Sequence[Step]`. It does what the command says, tells the
thread so, and returns the steps that follow from it. It may be called again after a crash, with the same outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from core.formats import FORMATS
from core.steps import Step
from workers.turn.commands.thread import CommandThread

__all__ = ["CommandThread", "Handler", "handler_of"]

Handler = Callable[[CommandThread], Sequence[Step]]


def handler_of(command: str) -> Handler:
    """What carries this command out. Raises ModuleNotFoundError when the command has no module here."""
    handler: Handler = import_module(f"{__name__}.{MODULES.get(command, command)}").carry_out
    return handler


MODULES = (
    {"continue": "resume", "fork_here": "fork", "startup_off": "startup"}
    | dict.fromkeys(FORMATS, "formats")
    | dict.fromkeys(("learn_cell", "retest"), "learn")
)
"""Commands whose name is a word of Python's own, or that share a module."""
