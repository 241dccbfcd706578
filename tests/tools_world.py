"""Servers of tools for tests: their tables in threadbook.toml, and the process that calls them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patience import PATIENCE_S

from core.settings import Settings
from workers.service.processes.held_secrets import memory_file
from workers.service.processes.tools import ToolsProcess
from workers.tools.client import ToolsClient

SCRIPT = str(Path(__file__).with_name("mcp_servers.py"))
"""The reference servers, as programs."""


def table(name: str, folder: Path, tools: str, *, kind: str = "good", more: str = "") -> str:
    """`[mcp.NAME]` for one of the reference servers; `tools` are names with blanks between them."""
    command = json.dumps([sys.executable, SCRIPT, kind, str(folder)])
    return f"[mcp.{name}]\ncommand = {command}\ntools = {json.dumps(tools.split())}\n{more}"


@contextmanager
def served(settings: Settings, **secrets: str) -> Iterator[ToolsClient]:
    """The tools process of these settings, with secrets by their variables; it answers when the context opens."""
    given = memory_file(secrets)
    process = ToolsProcess(settings, given)
    client = ToolsClient(settings.tools_socket, back_s=PATIENCE_S)
    try:
        process.keep()
        client.ping(PATIENCE_S)
        yield client
    finally:
        process.stop()
        os.close(given)
