"""What the executor says about a cell. Plain frozen values: they cross a socket as JSON and are checked on arrival.

Everything in them that came out of a subprocess (text, names, numbers) is untrusted: bounded in size, and free text
only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from executor.counters import Counters

Language = Literal["python", "bash"]

Syscalls = Literal["deny", "allow"]
"""deny: all system calls but those on a list of the denied · allow: besides, only those on a list of the allowed."""
SYSCALLS: Syscalls = "deny"
"""Where nobody says which."""

CellStatus = Literal["ok", "error", "timeout", "killed", "died"]
"""ok: ran to its end · error: raised · timeout: stopped after its wall time · killed: stopped by a person or a limit ·
died: the subprocess went away by itself (os._exit, a crash). A command of bash that ends with another exit status
than 0 is an "error"."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a chart: at most 200 of its points, x as a number or a label."""

    kind: Literal["line", "bar", "scatter", "pie"]
    name: str
    points: tuple[tuple[object, object], ...]
    total_points: int


@dataclass(frozen=True, slots=True)
class Chart:
    """What one pair of axes of a figure shows: title, axis labels as drawn, and the data.

    With `more`, the axes show what the series do not say (areas, bars on bars, a logarithmic scale).
    """

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that a cell made or changed, already copied out of the workspace.

    `path` is the host's own copy (content-addressed, never the workspace's file); `kind` is "figure" for a figure
    that was still open when the cell ended, "file" for a file the cell wrote. `chart` describes a figure in its own
    data, if known.
    """

    name: str
    mimetype: str
    size: int
    sha256: str
    path: str
    kind: Literal["figure", "file"] = "file"
    chart: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True)
class CellError:
    """The exception that ended a cell. `traceback` shows only the cell's own frames; `line` is 1-based in the cell.

    `variables` are those of the failing line, one per line of text, with what they are now.
    """

    name: str
    message: str
    traceback: str
    line: int | None = None
    variables: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A bounded preview of a DataFrame or Series: at most 100 rows and 50 columns, cells as JSON scalars."""

    columns: tuple[str, ...]
    dtypes: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    total_rows: int
    total_columns: int


@dataclass(frozen=True, slots=True)
class Display:
    """The value of a cell's last expression in the forms that it has."""

    text: str
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """What there is to say about a session: a code of `executor/notices.py`, and the values of its sentence.

    A value that is a Notice itself is a clause of the sentence. The code "text" has one value, `text`: words of a
    subprocess or a client.
    """

    code: str
    values: Mapping[str, str | float | Notice] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A file that was not taken, and why."""

    name: str
    why: Notice


@dataclass(frozen=True, slots=True)
class DataCheck:
    """Something that a cell did to its tables and that is easily overlooked: a code of `executor/said.py`, the names of
    variables and columns that it is about ("#3" for a third column), and counts."""

    code: str
    names: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellResult:
    """How a cell ended and everything it left. Code that fails is a result, never an exception of ours.

    `stdout` and `stderr` are kept as head and tail when long. `notices` say what a person and a model should know of
    the session (a limit, a restart, lost variables), as codes with values. `files_read` names the input files that
    were opened while the cell ran, as the kernel saw it (inotify); None when the host cannot tell. `exit_status` is
    that of a bash command, None for Python and for a command that did not run to its end. `checks` are for the model.
    """

    id: str
    status: CellStatus
    stdout: str = ""
    stderr: str = ""
    result: Display | None = None
    error: CellError | None = None
    artifacts: tuple[Artifact, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    files_read: tuple[str, ...] | None = None
    duration_s: float = 0.0
    notices: tuple[Notice, ...] = ()
    exit_status: int | None = None
    checks: tuple[DataCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The isolation that holds around sessions: level "strong", "reduced" or "none", and each layer with its state."""

    level: Literal["strong", "reduced", "none"]
    layers: dict[str, str] = field(default_factory=dict)

    @property
    def syscalls(self) -> Syscalls:
        """The list that system calls are held to."""
        return "allow" if self.layers.get("allow-list", "").startswith("on") else "deny"

    @property
    def missing(self) -> tuple[str, ...]:
        """The layers that this host does not have. The allow-list is a choice, so it is never missing."""
        return tuple(name for name, state in self.layers.items() if name != "allow-list" and not state.startswith("on"))


@dataclass(frozen=True, slots=True)
class Limits:
    """What a session and a cell may use. Sizes in MB are 2**20 bytes; times are seconds."""

    cell_timeout_s: float = 120.0
    """Wall time of a cell; after it INT, then `cell_grace_s`, then KILL."""
    cell_grace_s: float = 5.0
    output_kb: int = 1024
    """Each of stdout and stderr is kept up to this size, half of it head and half tail."""
    output_file_mb: int = 50
    """Longer output is kept whole, up to this size, as a text file among the artifacts."""
    memory_mb: int = 2048
    """Of a session, over all its processes where the host has cgroups, else of each process."""
    processes: int = 64
    descriptors: int = 256
    workspace_mb: int = 1024
    workspace_files: int = 20_000
    artifact_mb: int = 100
    """Largest file taken out of a workspace."""
    artifacts: int = 50
    """Files taken out per cell."""
    artifacts_mb: int = 250
    """Sum of the files taken out per cell."""
    spare_sessions: int = 1
    """Sessions made in advance, where there are namespaces: a thread's first cell need not wait for its process."""
    idle_s: float = 1800.0
    """A session that ran nothing for so long is put to rest; its variables come back with the next cell."""
    spare_memory_percent: int = 10
    """Below this much free memory of the machine, sessions are put to rest, the least recently used first."""


HOST_LIMITS = frozenset({"spare_sessions", "idle_s", "spare_memory_percent"})
"""Limits that the host has for all its sessions together; every other one a thread may have for itself."""
START_LIMITS = ("memory_mb", "processes", "descriptors", "workspace_mb", "workspace_files")
"""Limits that are built into the sandbox of a subprocess: a new value holds from its next start on."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a session after its last cell.

    `shape` is "" for what has none; `cell_id` is the cell that set it.
    """

    name: str
    type: str
    shape: str
    bytes: int
    cell_id: str | None


@dataclass(frozen=True, slots=True)
class Where:
    """Where a running cell is.

    Its line (1-based, None when the subprocess cannot tell), the line's text, and how long it runs.
    """

    cell_id: str
    line: int | None
    source: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A live session: its thread, pid on this host, and the cell it runs now, if any."""

    thread_id: str
    pid: int
    cell_id: str | None = None


@dataclass(frozen=True, slots=True)
class HostInfo:
    """The session host itself."""

    pid: int
    sandbox: Sandbox
    sessions: int
    counters: Counters = field(default_factory=Counters)
