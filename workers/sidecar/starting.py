"""How a sidecar begins: `--socket PATH --settings FD [--secrets FD]`.

The two open files that it inherits hold JSON: its settings, and what stood for secrets in environment variables.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
from pathlib import Path
from typing import Any, NamedTuple

from core.settings import Settings
from executor.linux import die_with_parent


class Given(NamedTuple):
    """What the process that started a sidecar has given it. `secrets` stand by the names of their variables."""

    socket: Path
    settings: Settings
    secrets: dict[str, str]


def begin(program: str) -> Given:
    """Read what was given. From here on this process ends with the one that started it, and its files are private."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--settings", type=int, required=True)
    parser.add_argument("--secrets", type=int)
    options = parser.parse_args()
    die_with_parent(signal.SIGTERM)
    os.umask(0o077)
    secrets = {} if options.secrets is None else _read(options.secrets)
    return Given(options.socket, Settings(**_read(options.settings)), secrets)


def _read(descriptor: int) -> dict[str, Any]:
    """The JSON object in an open file, which other processes read as well: their position is not moved."""
    content: dict[str, Any] = json.loads(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
    os.close(descriptor)
    return content
