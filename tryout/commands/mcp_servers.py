"""The servers of tools that threadbook.toml names, as a command on a node reaches them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from core.settings import Settings, environment_with
from workers.service.processes.held_secrets import memory_file
from workers.service.processes.tools import ToolsProcess
from workers.tools.client import ToolsClient
from workers.tools.errors import ToolError

RUNS_S = 2.0
"""A tools process that runs answers within this time."""
START_S = 30.0


@contextmanager
def tools_of(settings: Settings) -> Iterator[ToolsClient]:
    """The tools process that runs on this node; without one, one of our own while the context is open."""
    client = ToolsClient(settings.tools_socket, back_s=0.0)
    try:
        client.ping(RUNS_S)
    except ToolError:
        with _own(settings) as client:
            yield client
        return
    yield client


@contextmanager
def _own(settings: Settings) -> Iterator[ToolsClient]:
    environment = environment_with()
    wanted = [name for server in settings.mcp.values() for name in server.secrets]
    secrets = memory_file({name: environment[name] for name in wanted if name in environment})
    with TemporaryDirectory(prefix="threadbook-") as folder:
        process = ToolsProcess(settings, secrets, socket=Path(folder) / "tools.sock")
        try:
            process.keep()
            yield ToolsClient(process.socket, back_s=START_S)
        finally:
            process.stop()
            os.close(secrets)
