"""The tools process: started again when it ends, and alone with what stood in environment variables for its servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S, eventually
from tools_world import table

from core.settings import load_settings
from workers.service.processes.tools import ToolsProcess
from workers.tools.client import ToolsClient

pytestmark = pytest.mark.process

SECRET = "planted-t0ken-4711"
SERVICE = """
import json, os, threading
from core.settings import load_settings
from workers.service.processes.held_secrets import hold_secrets
from workers.service.processes.tools import ToolsProcess
from workers.tools.client import ToolsClient
from workers.tools.requests import Request

settings = load_settings()
held = hold_secrets(settings)
process = ToolsProcess(settings, held.tools)
process.keep()
client = ToolsClient(settings.tools_socket, back_s=60)
request = Request(do="call", server="tickets", tool="whoami", seconds=60)
said = client.call(request, threading.Event()).value
print(json.dumps({"said": said, "left": os.environ.get("TICKETS_TOKEN"), "urls": held.urls}), flush=True)
process.stop()
"""


def test_a_secret_in_the_environment_leaves_the_service_and_reaches_its_server(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(table("tickets", tmp_path, "whoami", more='env = ["TICKETS_TOKEN"]\n'))
    environment = {**os.environ, "TICKETS_TOKEN": SECRET, "THREADBOOK_HOME": str(tmp_path)}
    environment["PYTHONPATH"] = str(Path(__file__).parents[5])
    command = [sys.executable, "-c", SERVICE]
    done = subprocess.run(command, env=environment, cwd=tmp_path, text=True, capture_output=True, check=True)
    assert json.loads(done.stdout) == {"said": "{'TICKETS_TOKEN': '•••'}", "left": None, "urls": None}
    assert SECRET not in done.stderr


def test_a_process_that_ends_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(table("tickets", tmp_path, "search"))
    process = ToolsProcess(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
    client = ToolsClient(process.socket, back_s=PATIENCE_S)
    process.keep()
    try:
        client.ping()
        first = process.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)

        def again() -> bool:
            process.keep()
            return process.pid not in (None, first)

        eventually(again, "another process")
        client.ping()
    finally:
        process.stop()
    assert process.pid is None


def test_without_servers_there_is_none(tmp_path: Path) -> None:
    process = ToolsProcess(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path))
    process.keep()
    assert process.pid is None
