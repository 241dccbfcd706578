"""The tools process with a server that others wrote: the reference server of times, over stdio and over HTTP."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from services import missing
from tools_world import served

from core.settings import load_settings
from workers.tools import errors
from workers.tools.client import ToolsClient
from workers.tools.requests import Request

pytestmark = pytest.mark.process

TOOLS = 'tools = ["get_current_time", "convert_time"]\n'
WEB = """
import socket, sys, uvicorn
from mcp_server_time.server import create_server
listener = socket.socket(fileno=int(sys.argv[1]))
app = create_server("UTC").streamable_http_app()
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])
"""
"""The reference server is a program for stdio; its server object speaks Streamable HTTP too."""


@pytest.fixture(autouse=True)
def _installed() -> None:
    if importlib.util.find_spec("mcp_server_time") is None:
        missing("mcp-server-time", "it is not installed (pip install '.[dev]')")


def call(client: ToolsClient, tool: str, **arguments: Any) -> Any:
    request = Request(do="call", server="time", tool=tool, arguments=arguments, seconds=PATIENCE_S)
    return client.call(request, threading.Event()).value


def check(folder: Path, place: str) -> None:
    """What the server is to give, called from the place that this table names."""
    (folder / "threadbook.toml").write_text(f"[mcp.time]\n{place}\n{TOOLS}", encoding="utf-8")
    with served(load_settings({"THREADBOOK_HOME": str(folder)}, folder)) as client:
        told = {tool.name: tool for tool in client.tools("time")}
        assert list(told) == ["get_current_time", "convert_time"]
        assert told["convert_time"].arguments[0].startswith("source_timezone: string")
        now = call(client, "get_current_time", timezone="Asia/Tokyo")
        assert (now["timezone"], now["datetime"][-6:], now["is_dst"]) == ("Asia/Tokyo", "+09:00", False)
        then = {"source_timezone": "Asia/Tokyo", "time": "09:30", "target_timezone": "Asia/Kolkata"}
        found = call(client, "convert_time", **then)
        assert found["time_difference"] == "-3.5h"
        assert found["target"]["datetime"].endswith("T06:00:00+05:30")
        with pytest.raises(errors.ToolFailed, match="Nowhere/Land"):
            call(client, "get_current_time", timezone="Nowhere/Land")


def test_the_reference_server_answers_over_stdio(tmp_path: Path) -> None:
    check(tmp_path, f'command = ["{sys.executable}", "-m", "mcp_server_time", "--local-timezone", "UTC"]')


def test_the_reference_server_answers_over_http(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number, port = listener.fileno(), listener.getsockname()[1]
        with subprocess.Popen([sys.executable, "-c", WEB, str(number)], pass_fds=(number,)) as web:
            try:
                check(tmp_path, f'url = "http://127.0.0.1:{port}/mcp"')
            finally:
                web.terminate()
