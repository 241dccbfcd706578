"""Memory and processes of a whole session, counted by the kernel: a cgroup per session, where the host may make one.

The host opens the `cgroup.procs` files of the group and hands them to the subprocess. The subprocess enters the group
as its very first step, so that no allocation escapes the count, and closes the files. The host does not do it itself
because moving a process takes the kernel up to 20 ms, and the host has one thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from executor.values import Limits

_CLOSE_S = 3.0
_ROOT = Path("/sys/fs/cgroup")
_NEEDED = ("memory", "pids")
_LEAF = "service"
_EVENTS_BYTES = 1_000
_SPARE_MB = 256  # beyond what one process may map: the pages of its workspace, page tables, a second small process


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Where sessions get their cgroups. `kind` is "v2", "v1" or "" for a host that lets us make none."""

    kind: str
    parents: tuple[Path, ...] = ()
    why_not: str = ""

    def make(self, name: str, limits: Limits) -> Group | None:
        """A cgroup with a session's limits."""
        if not self.kind:
            return None
        folders = tuple(parent / name for parent in self.parents)
        for folder in folders:
            folder.mkdir()
            for file, value in _settings(self.kind, limits).items():
                if (folder / file).exists():
                    with contextlib.suppress(PermissionError):
                        (folder / file).write_text(value)
        return Group(self.kind, folders)

    def close(self) -> None:
        """Remove our own level and what is below it. Waits a little for the processes that were just killed."""
        patience = time.monotonic() + _CLOSE_S
        while not all(_remove(parent) for parent in self.parents) and time.monotonic() < patience:
            time.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Group:
    """The cgroup of one session."""

    kind: str
    folders: tuple[Path, ...]

    def open_procs(self) -> list[int]:
        """Descriptors to `enter` the group by."""
        return [os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for folder in self.folders]

    def open_events(self) -> int | None:
        """The open file that `killed_for_memory` reads; None when there is none."""
        name = "memory.events" if self.kind == "v2" else "memory.oom_control"
        for folder in self.folders:
            with contextlib.suppress(OSError):
                return os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC)
        return None

    def memory_bytes(self) -> int:
        """What the kernel counts as held by the group; 0 when it is gone."""
        name = "memory.current" if self.kind == "v2" else "memory.usage_in_bytes"
        for folder in self.folders:
            with contextlib.suppress(OSError, ValueError):
                return int((folder / name).read_text())
        return 0

    def remove(self) -> bool:
        """Remove the group; False while a process is left in it."""
        for folder in self.folders:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


def killed_for_memory(events: int) -> int:
    """How many processes of a group the kernel has killed for their memory; 0 of a group that is gone."""
    with contextlib.suppress(OSError):
        for line in os.pread(events, _EVENTS_BYTES, 0).splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
    return 0


def enter(group_files: Iterable[int]) -> bool:
    """Put this process, and all it will start, into the group of these open files. False when the group was removed."""
    try:
        for file in group_files:
            os.write(file, b"0")  # 0 stands for whoever writes
    except OSError as error:
        if error.errno == errno.ENODEV:
            return False
        raise
    return True


def _settings(kind: str, limits: Limits) -> dict[str, str]:
    memory = str((limits.memory_mb + _SPARE_MB) << 20)
    processes = str(limits.processes)
    if kind == "v2":
        return {"memory.max": memory, "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": processes}
    return {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory, "pids.max": processes}


def find(name: str) -> Cgroups:
    """Make our own level, called `name`, in the cgroup this process is in, and see whether it can hold sessions."""
    own = _own_groups()
    failures = []
    for kind, folders in (("v2", _v2_folders(own)), ("v1", _v1_folders(own))):
        if not folders:
            continue
        parents = tuple(folder / name for folder in folders)
        try:
            if kind == "v2":
                parents = (_with_room(folders[0]) / name,)
            _remove_stale(parents)
            for parent in parents:
                parent.mkdir(exist_ok=True)
                if kind == "v2":
                    _hand_down(parent)
            trial = Cgroups(kind, parents).make("trial", Limits())
        except OSError as error:
            failures.append(f"{kind}: {error.strerror}")
            for parent in parents:
                with contextlib.suppress(OSError):
                    parent.rmdir()
        else:
            if trial is not None:
                trial.remove()
            return Cgroups(kind, parents)
    return Cgroups("", why_not="; ".join(failures) or "no cgroup file system that this user may write")


def _remove(parent: Path) -> bool:
    for folder in (*parent.glob("*/"), parent):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return not parent.exists()


def _remove_stale(parents: tuple[Path, ...]) -> None:
    """What a host that was killed left behind: groups named after a process that is no more."""
    for parent in parents:
        kind, _, _ = parent.name.rpartition("-")
        for other in parent.parent.glob(f"{kind}-*"):
            pid = other.name.rpartition("-")[2]
            if pid.isdigit() and not Path(f"/proc/{pid}").exists():
                _remove(other)


def _own_groups() -> dict[str, str]:
    """Controller → path of this process's group; "" is the v2 hierarchy."""
    groups = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _v2_folders(own: dict[str, str]) -> tuple[Path, ...]:
    for root in (_ROOT, _ROOT / "unified"):
        if "" in own and (root / "cgroup.controllers").exists():
            here = root / own[""].lstrip("/")
            folder = here if here.is_dir() else root
            available = (folder / "cgroup.controllers").read_text().split()
            if set(_NEEDED) <= set(available) and os.access(folder, os.W_OK):
                return (folder,)
    return ()


def _with_room(here: Path) -> Path:
    """A cgroup that may have children with limits: `here`, in which we are, or the one above.

    Only one without processes may (but for the machine's own root). So a cgroup that was given to us is emptied into a
    leaf of its own; nobody else's process is ever moved. OSError when none may.
    """
    try:
        _hand_down(here)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        if _is_room(here.parent):  # systemd's DelegateSubgroup=, or an earlier host of this service made the leaf
            here = here.parent
        elif _is_ours(here):
            _move_into_leaf(here)
        _hand_down(here)
    return here


def _hand_down(folder: Path) -> None:
    (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _NEEDED))


def _is_room(folder: Path) -> bool:
    try:
        available = (folder / "cgroup.controllers").read_text().split()
        return set(_NEEDED) <= set(available) and os.access(folder, os.W_OK) and not _pids(folder)
    except OSError:
        return False


def _is_ours(here: Path) -> bool:
    """Whether a cgroup was given to this service: by systemd's Delegate=, or as the root of a container."""
    with contextlib.suppress(OSError):
        if os.getxattr(here, "user.delegate") == b"1":
            return True
    return _own_groups().get("") == "/"


def _pids(folder: Path) -> list[str]:
    return (folder / "cgroup.procs").read_text().split()


def _move_into_leaf(here: Path) -> None:
    leaf = here / _LEAF
    leaf.mkdir(exist_ok=True)
    patience = time.monotonic() + _CLOSE_S
    while (left := _pids(here)) and time.monotonic() < patience:  # a process that is moved may have just forked
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                (leaf / "cgroup.procs").write_text(pid)


def _v1_folders(own: dict[str, str]) -> tuple[Path, ...]:
    folders = []
    for controller in _NEEDED:
        root = _ROOT / controller
        if controller not in own or not (root / "cgroup.procs").exists():
            return ()
        here = root / own[controller].lstrip("/")
        folder = here if here.is_dir() else root  # in a container the path is the host's, and the root is ours
        if not os.access(folder, os.W_OK):
            return ()
        folders.append(folder)
    return tuple(folders)
