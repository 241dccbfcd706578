"""Secrets that stood in environment variables of the service, and that no job may have.

Only the broker may have the URLs of data sources, and only the tools process may have the secrets of tool servers. So
the service moves them into files in memory and executes itself again without them. Then neither its memory nor its
environment, which every job inherits, contains them.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from core.settings import Settings, environment_with, take_environment

HELD, HELD_FOR_TOOLS = "_THREADBOOK_SOURCE_URLS", "_THREADBOOK_TOOL_SECRETS"
"""In the environment of the service that was executed again: the number of the open file with the values."""


@dataclass(frozen=True, slots=True)
class Held:
    """The open files with what stood in environment variables; None when nothing did."""

    urls: int | None = None
    tools: int | None = None


def hold_secrets(settings: Settings) -> Held:
    """The open files with the URLs of sources and with what servers of tools are given.

    When some are in the environment this does not return: the program begins again without them.
    """
    if held := take_environment([HELD, HELD_FOR_TOOLS]):
        found = {name: int(value) for name, value in held.items()}
        for descriptor in found.values():
            os.set_inheritable(descriptor, False)
            # A job is a fork of this process: it must not have the file either.
            os.register_at_fork(after_in_child=partial(_close, descriptor))
        return Held(found.get(HELD), found.get(HELD_FOR_TOOLS))
    names = {
        HELD: [source.url_env for source in settings.sources.values() if source.url_env],
        HELD_FOR_TOOLS: [name for server in settings.mcp.values() for name in server.secrets],
    }
    environment = environment_with()
    values = {
        name: {each: environment[each] for each in wanted if environment.get(each)} for name, wanted in names.items()
    }
    take_environment([each for wanted in names.values() for each in wanted])
    if any(values.values()):
        passed = {name: memory_file(content) for name, content in values.items() if content}
        for descriptor in passed.values():
            os.set_inheritable(descriptor, True)
        environment = environment_with(**{name: str(descriptor) for name, descriptor in passed.items()})
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606  ourselves
    return Held()


def memory_file(content: object) -> int:
    """A new open file in memory that holds this as JSON."""
    descriptor = os.memfd_create("sources", os.MFD_CLOEXEC)
    os.write(descriptor, json.dumps(content).encode())
    return descriptor


def _close(descriptor: int) -> None:
    with suppress(OSError):
        os.close(descriptor)
