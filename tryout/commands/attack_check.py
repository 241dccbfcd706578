"""`threadbook doctor --attack`: attacks a sandbox of this machine and prints which attacks were stopped.

The attacks are those of our tests (`executor/attacks`). They are made in sessions of a session host of their own, in
temporary folders, against a thread and a file that are there to be attacked.
"""

from __future__ import annotations

import itertools
import json
import os
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from core.settings import Settings
from executor.attacks import ATTACKS, MEMORY, REACH, VICTIMS_CELL, Attack, given
from executor.client import SessionClient
from executor.launch import running_host
from executor.values import CellResult, Limits, Sandbox, Syscalls
from workers.delivery.notices import worded

State = Literal["held", "breached", "not applicable"]

LIMITS = Limits(
    cell_timeout_s=20,
    cell_grace_s=1,
    memory_mb=400,
    processes=24,
    workspace_mb=64,
    workspace_files=2_000,
    artifact_mb=8,
)
"""The attacks on memory are made for these."""
_LOOK_S = 2
_WHY = 90
_VICTIM = "attacked"
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    kind: str
    attack: str
    tried: str
    state: State
    why: str


@dataclass(frozen=True, slots=True)
class Check:
    """All that was found. `level` is the host's own word on its sandbox."""

    level: str
    rows: tuple[Row, ...]
    seconds: float

    @property
    def breached(self) -> list[Row]:
        """What got through although the level promises that it does not."""
        return [row for row in self.rows if row.state == "breached"]


def run(settings: Settings, *, as_json: bool = False) -> int:
    """Attack, and print the table. Returns 1 when an attack got through, or the level is below the configured one."""
    order = ("none", "reduced", "strong")
    with Progress(console=Console(file=sys.stderr), transient=True, disable=as_json) as progress:
        task = progress.add_task("attacking", total=sum(map(len, ATTACKS.values())))
        found = attack(lambda: progress.advance(task), syscalls=settings.sandbox.syscalls)
    weak = order.index(found.level) < order.index(settings.sandbox.minimum)
    if as_json:
        print(json.dumps(asdict(found) | {"minimum": settings.sandbox.minimum}, ensure_ascii=False))
    else:
        _show(found)
        if weak:
            minimum = settings.sandbox.minimum
            print(f"The level here is {found.level!r}, [sandbox] minimum is {minimum!r}: see `threadbook doctor`.")
    return 1 if found.breached or weak else 0


def attack(
    advance: Callable[[], object] = lambda: None, *, without: Sequence[str] = (), syscalls: Syscalls | None = None
) -> Check:
    """Make every attack once. `advance` is called after each; `without` names layers to leave out (tests). `syscalls`:
    the list that system calls are held to."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="threadbook-") as folder,
        running_host(limits=LIMITS, without=without, syscalls=syscalls) as client,
        ThreadPoolExecutor(1, thread_name_prefix="memory") as beside,
    ):
        host = client.ping()
        round_ = Round(client, host.pid, host.sandbox, Path(folder) / "canary", advance)
        # They mostly wait, so they go on beside the others; two at once could fill a machine whose walls do not hold.
        memory = beside.submit(lambda: [round_.make("memory", name, one) for name, one in MEMORY.items()])
        rows = [
            round_.make(kind, name, one)
            for kind, attacks in ATTACKS.items()
            if attacks is not MEMORY
            for name, one in attacks.items()
        ]
        rows += memory.result()
        return Check(host.sandbox.level, tuple(rows), round(time.monotonic() - began, 1))


class Round:
    """One go at a host: who attacks it, and what there is to attack."""

    def __init__(
        self, client: SessionClient, host: int, sandbox: Sandbox, canary: Path, advance: Callable[[], object]
    ) -> None:
        self._client = client
        self._sandbox = sandbox
        self._canary = canary
        self._advance = advance
        self._numbers = itertools.count(1)
        _plant(canary)
        folder, victim = _victim(client)
        self._given = given(HOST_PID=host, VICTIM_PID=victim, VICTIM_FOLDER=folder, CANARY=str(canary), LOOK_S=_LOOK_S)

    def make(self, kind: str, name: str, one: Attack) -> Row:
        """Make one attack, in a thread of its own."""
        thread = f"attack:{next(self._numbers)}"
        before = None if kind == "memory" else known_of(self._canary)  # nobody else changes it meanwhile
        result = self._client.run(thread, "1", REACH + self._given + one.code)
        changed = before is not None and known_of(self._canary) != before
        if changed:
            _plant(self._canary)
        self._client.reset(thread)
        self._advance()
        state, why = self._judged(one, result, changed=changed)
        return Row(kind, name, one.tried, state, why)

    def _judged(self, one: Attack, result: CellResult, *, changed: bool) -> tuple[State, str]:
        lines = result.stdout.splitlines()
        got = [line.removeprefix("BREACHED").strip() for line in lines if line.startswith("BREACHED")]
        if changed:
            got.append("a file of the service was changed")
        if got and one.needs and not self._sandbox.layers.get(one.needs, "").startswith("on"):
            return "not applicable", f"level {self._sandbox.level!r} does not promise it: it takes {one.needs}"
        if got:
            return "breached", f"it got through: {got[0]}"[:_WHY]
        refused = [line.removeprefix("held:").strip() for line in lines if line.startswith("held:")]
        if not refused and result.error is not None:
            refused = [f"{result.error.name} {result.error.message}"]
        if refused:
            return "held", refused[0][:_WHY]
        return "held", worded(result, "en")[:_WHY] if result.notices else "it got nowhere"


def _victim(client: SessionClient) -> tuple[str, int]:
    """The folder and the pid of a living session that is there to be attacked."""
    for number in range(_TRIES):  # a machine that is short of memory puts sessions to rest
        folder = client.run(_VICTIM, f"{number}", VICTIMS_CELL + "print(os.getcwd())").stdout.strip()
        for session in client.sessions():
            if session.thread_id == _VICTIM:
                return folder, session.pid
    raise RuntimeError("no session stays alive on this machine: it has no memory to spare")


def known_of(path: Path) -> tuple[object, ...] | None:
    """All that can be changed of a file; not when it was last read. None when it is not there."""
    try:
        status = path.lstat()
        marks = [(name, os.getxattr(path, name)) for name in os.listxattr(path)]
        return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns, marks, path.read_bytes()
    except OSError:
        return None


def _plant(canary: Path) -> None:
    canary.unlink(missing_ok=True)
    canary.write_text("a file of the service\n")
    canary.chmod(0o600)
    with suppress(OSError):  # a file system without attributes has none to be changed
        os.setxattr(canary, "user.kept", b"x")


def _show(found: Check) -> None:
    colours: dict[State, str] = {"held": "green", "breached": "red", "not applicable": "yellow"}
    table = Table("attack", "what it tried", "result", "how, or why not", title="Attacks on a session's sandbox")
    for kind, rows in itertools.groupby(found.rows, lambda row: row.kind):
        table.add_section()
        table.add_row(f"[bold]{kind}[/]")
        for row in rows:
            table.add_row(
                *map(escape, (row.attack, row.tried)), f"[{colours[row.state]}]{row.state}[/]", escape(row.why)
            )
    Console().print(table)
    count = Counter(row.state for row in found.rows)
    states = ", ".join(f"{count[state]} {state}" for state in colours)
    print(f"{len(found.rows)} attacks on a sandbox of level {found.level!r} in {found.seconds:.0f} s: {states}.")
