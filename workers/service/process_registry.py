"""Which processes make up this node's worker service: the supervisor writes it, the health process reads it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from core.settings import Settings


def registry_file(settings: Settings) -> Path:
    """Where the supervisor writes the pids of its processes."""
    return settings.home / "worker.processes.json"


def sweep_file(settings: Settings) -> Path:
    """A file that the janitor touches after each sweep."""
    return settings.home / "janitor.swept"


def write_registry(settings: Settings, pids: dict[str, int]) -> None:
    """Write the pids by process name. The file is replaced whole: a reader never sees half of it."""
    path = registry_file(settings)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(pids))
    fresh.replace(path)


def live_processes(settings: Settings) -> dict[str, bool]:
    """Whether each process lives, by name; empty when no supervisor wrote the registry."""
    try:
        pids: Any = json.loads(registry_file(settings).read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): _lives(pid) for name, pid in pids.items()}


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
