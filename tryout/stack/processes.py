"""Child processes that are started together, watched, and stopped together."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

STOP_GRACE_S = 10.0


class ProcessDied(Exception):
    """A process that should run has ended; the message names it and holds the last lines of its log."""


@dataclass
class Processes:
    """A `with` block of `threadbook` processes, each with its own log file; leaving it stops them, newest first."""

    logs: Path
    environment: Mapping[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *arguments: str) -> None:
        """Start `threadbook <arguments>`; its output goes to `<logs>/<name>.log`."""
        with self.log(name).open("wb") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-P", "-m", "threadbook", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(self.environment),
                start_new_session=True,  # Ctrl-C in the terminal reaches this process alone, which stops them in order
            )

    def log(self, name: str) -> Path:
        """The log file of a process."""
        return self.logs / f"{name}.log"

    def check(self) -> None:
        """Raise ProcessDied if any of them has ended."""
        for name, process in self.running.items():
            if process.poll() is not None:
                tail = self.log(name).read_text(errors="replace")[-3000:]
                raise ProcessDied(
                    f"`threadbook {name}` ended with code {process.returncode}. Its log ends with:\n{tail}"
                )

    def __enter__(self) -> Processes:
        self.logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self.running.values()):
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_GRACE_S
        for process in reversed(self.running.values()):
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
