"""The health of the processes that the supervisor keeps: each runs, and is not started again and again."""

from __future__ import annotations

import time

from core.health import Missing
from core.settings import Settings
from workers.service.processes.registry import KEEPS_DYING, WATCHED_S, Restarts, live_processes, sweep_file

SWEEP_LATE_S = 30.0


class ProcessHealth:
    """Checks of processes, for `/healthz`. Each returns what it found, and raises Missing when the part is down."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._restarts = Restarts(settings)

    def runs(self, name: str) -> str:
        """A process lives, and was not started again and again."""
        if not live_processes(self._settings).get(name):
            raise Missing("its process is gone")
        self.lives_on(name)
        return "runs"

    def lives_on(self, name: str) -> None:
        """Raises Missing when a process was started again and again."""
        if (times := self._restarts.look().get(name, 0)) >= KEEPS_DYING:
            raise Missing(f"its process ended {times} times within {WATCHED_S:.0f} s; the log says why")

    def workers(self) -> str:
        """At least one of the workers lives on."""
        live = {name for name, lives in live_processes(self._settings).items() if lives and name.startswith("worker-")}
        dying = {name for name, times in self._restarts.look().items() if name in live and times >= KEEPS_DYING}
        shown = f"{len(live)} of {self._settings.workers.count} alive"
        if dying:
            shown += f", {len(dying)} of them {'keeps' if len(dying) == 1 else 'keep'} dying; the log says why"
        if not live - dying:
            raise Missing(shown)
        return shown

    def janitor(self) -> str:
        """The janitor runs, and sweeps."""
        self.runs("janitor")
        try:
            ago = abs(time.time() - sweep_file(self._settings).stat().st_mtime)  # the clock may have been set back
        except FileNotFoundError:
            raise Missing("it has not swept yet") from None
        if ago > SWEEP_LATE_S:
            raise Missing(f"its last sweep was {ago:.0f} s ago")
        return "sweeps"
