"""The sandbox in which programs run while they are built, as this package sees it.

`SandboxWalls` (`sandbox_walls.py`) are the session's real ones. Everything that a job prints or leaves is hostile:
texts are limited, and never trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

TouchedKind = Literal["network", "processes", "files", "native code"]
TOUCHED_KINDS: tuple[TouchedKind, ...] = get_args(TouchedKind)


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run in a fresh folder."""

    words: tuple[str, ...]
    """The program and its arguments. "python" is the interpreter of the session; other programs are looked for."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What lies in the folder."""
    prepare: tuple[str, ...] = ()
    """A compiler's command that is run before, in the same folder. When it fails, nothing else is run."""
    stdin: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    wanted: tuple[str, ...] = ()
    """Files whose content is to be read afterwards."""
    timeout_s: float = 20.0
    tool: bool = False
    """Whether only a tool runs here, which reads the files and runs none of them. No program comes near its session."""
    observed: bool = False
    """Whether to note what a Python program touches."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What a program tried to use outside its own folder. This is only reported; nothing depends on it."""

    kind: TouchedKind
    what: str


@dataclass(frozen=True, slots=True)
class Ran:
    """How a job ended. `status`: "ok" whatever the exit code is; "timeout" and "killed" when it was stopped."""

    status: Literal["ok", "timeout", "killed"]
    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """The wanted files that are there, as text."""
    touched: tuple[Touched, ...] = ()
    why: str = ""
    """Why it was stopped, for a person."""
    seconds: float = 0.0
    prepared: bool = True
    """Whether `prepare` went well. If not, what it said stands here."""


class Walls(Protocol):
    """Runs jobs, one after the other."""

    @property
    def level(self) -> str:
        """What the walls are: "strong", "reduced" or "none"."""
        ...

    def run(self, job: Job) -> Ran:
        """Run a job to its end. Raises `WallsGone` when nothing can be run any more."""
        ...


class WallsGone(Exception):
    """The session host ended, or refuses. The build stops; what it has is kept."""
