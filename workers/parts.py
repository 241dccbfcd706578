"""Which processes make up this host's worker service: written by the supervisor, read by the part that tells health."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from core.settings import Settings


def parts_file(settings: Settings) -> Path:
    """Where the supervisor writes the pids of its parts."""
    return settings.home / "worker.parts.json"


def sweep_file(settings: Settings) -> Path:
    """A file that the janitor touches after each sweep."""
    return settings.home / "janitor.swept"


def write_parts(settings: Settings, pids: dict[str, int]) -> None:
    """Keep the pids for readers, whole at any moment."""
    path = parts_file(settings)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(pids))
    fresh.replace(path)


def live_parts(settings: Settings) -> dict[str, bool]:
    """Each part and whether its process lives; none when no supervisor wrote them."""
    try:
        pids: Any = json.loads(parts_file(settings).read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): _lives(pid) for name, pid in pids.items()}


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
