"""Which processes make up this node's worker service: the supervisor writes it, the health process reads it.

The next service on this home reads it too. After a kill -9 of a service its processes end by themselves, except those
that were stopped (SIGSTOP): they hear of nothing, and what they hold stays held.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.settings import Settings
from core.telemetry import get_logger
from executor.processes import is_stopped, started_at, tree

log = get_logger(__name__)

SUPERVISOR = "supervisor"
"""The name of the process that writes the registry."""
_REGISTRY = TypeAdapter(dict[str, tuple[int, int]])
"""Each process by name: its pid, and the moment of its start."""
KEEPS_DYING = 2
"""A process that was started again so often within `WATCHED_S` is not up, although it may live at the moment."""
WATCHED_S = 60.0


@dataclass(frozen=True, slots=True)
class _Entry:
    """A process, and the moment of its start: the kernel gives a pid to another process later."""

    pid: int
    started: int

    def lives(self) -> bool:
        return started_at(self.pid) == self.started


def registry_file(settings: Settings) -> Path:
    """Where the supervisor writes its processes."""
    return settings.home / "worker.processes.json"


def sweep_file(settings: Settings) -> Path:
    """A file that the janitor touches after each sweep."""
    return settings.home / "janitor.swept"


def write_registry(settings: Settings, pids: Mapping[str, int]) -> None:
    """Write the processes by name; one that has ended is left out. The file is replaced whole: nobody reads half of it.

    A disk that has no room for one more file has some in the registry itself: there it is one write. Raises OSError
    when it has not.
    """
    path = registry_file(settings)
    fresh = path.with_suffix(".new")
    entries = {name: (pid, started) for name, pid in pids.items() if (started := started_at(pid)) is not None}
    content = json.dumps(entries).encode()
    try:
        fresh.write_bytes(content)
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        with path.open("r+b", buffering=0) as file:  # not cut: the blocks that it has stay its own
            file.write(content.ljust(path.stat().st_size))


def live_processes(settings: Settings) -> dict[str, bool]:
    """Whether each process lives, by name; empty when no supervisor wrote the registry."""
    return {name: entry.lives() for name, entry in _entries(settings).items()}


class Restarts:
    """Counts how often each process was started again lately, as far as was seen. Safe to use from several threads."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, _Entry] = {}
        self._again: dict[str, list[float]] = {}
        """When each process was seen to be another one than before."""

    def look(self) -> dict[str, int]:
        """How often each process of the registry was started again within `WATCHED_S`, by name."""
        with self._lock:
            now = self._clock()
            for name, entry in _entries(self._settings).items():
                if self._last.setdefault(name, entry) != entry:
                    self._last[name] = entry
                    self._again.setdefault(name, []).append(now)
            self._again = {name: [at for at in times if now - at < WATCHED_S] for name, times in self._again.items()}
            return {name: len(self._again.get(name, ())) for name in self._last}


def end_stopped_processes(settings: Settings) -> None:
    """Kill what a dead service of this home left stopped. Where that service lives, nothing is touched."""
    entries = _entries(settings)
    if SUPERVISOR in entries and entries[SUPERVISOR].lives():
        return
    for name, entry in entries.items():
        family = list(tree(entry.pid)) if entry.lives() else []
        for pid in filter(is_stopped, family):
            with suppress(ProcessLookupError):
                try:
                    os.kill(pid, signal.SIGKILL)
                except PermissionError as error:  # that service ran as another user
                    log.warning("stopped_process_not_killed", process=name, pid=pid, error=error)
                else:
                    log.error("stopped_process_killed", process=name, pid=pid, of="a dead service")


def _entries(settings: Settings) -> dict[str, _Entry]:
    """What the registry holds; nothing of one that an older version wrote, or that was damaged."""
    try:
        found = _REGISTRY.validate_json(registry_file(settings).read_bytes())
    except (OSError, ValidationError):
        return {}
    return {name: _Entry(*entry) for name, entry in found.items()}
