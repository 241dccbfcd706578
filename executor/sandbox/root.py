"""A file system of one's own: programs and libraries read-only, nothing else of the host.

The zygote builds the root once (`build`); each subprocess hangs its private folders into its copy of it
(`add_private_folders`). Every mount point is made in a file system that is ours and fresh: nothing is ever mounted
onto, or made in, a place that a cell could have prepared.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from executor.sandbox import calls

WORKSPACE = "/workspace"
SCRATCH = "/tmp"  # a private one  # noqa: S108
CACHE = "/cache"
_DEVICES = ("null", "zero", "full", "random", "urandom")
_OWN_DESCRIPTORS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
"""Names in /dev of what a process has open: a shell needs them for `<(...)` and for `>/dev/stderr`."""
_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/lib32",
    "/bin",
    "/sbin",
    "/etc/ld.so.cache",
    "/etc/fonts",
    "/etc/localtime",
    "/etc/alternatives",
    "/etc/mime.types",
    "/etc/ssl/certs",
)
_PLAIN = calls.MS_NOSUID | calls.MS_NODEV | calls.MS_NOEXEC
_NO_SURPRISES = calls.MOUNT_ATTR_NOSUID | calls.MOUNT_ATTR_NODEV
_INODES = 20_000


@dataclass(frozen=True, slots=True)
class Source:
    """Something of the host that is shown inside; opened before the old root is left: no name is looked up twice."""

    path: str
    link: str | None
    folder: bool
    descriptor: int | None


@functools.cache
def system_paths() -> tuple[str, ...]:
    """What programs and libraries need, outermost first, each once: the same before and after the change of root."""
    package = Path(__file__).resolve().parent.parent
    ours = [str(package), str(package.parent / "threadbook_tools")]
    paths = [*_SYSTEM, sys.base_prefix, sys.prefix, str(Path(sys.executable).resolve().parent.parent), *ours]
    chosen: list[str] = []
    # What a link leads to is shown too: a virtual environment may be a link itself.
    for path in itertools.chain.from_iterable((path, os.path.realpath(path)) for path in paths):
        inside = any(path == other or path.startswith(other + "/") for other in chosen if not os.path.islink(other))
        if os.path.lexists(path) and not inside:
            chosen.append(path)
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class Sources:
    """All that is shown of the host, and the one folder of it that the zygote may write (font lists)."""

    libraries: tuple[Source, ...]
    devices: tuple[Source, ...]
    cache: Source


def open_sources(cache: str, shown: tuple[str, ...] = ()) -> Sources:
    """Open what `build` shows, `shown` among it. Done by the user who may reach it, before this process is another."""
    return Sources(
        tuple(_open_source(path) for path in (*system_paths(), *shown)),
        tuple(_open_source(f"/dev/{name}") for name in _DEVICES),
        _open_source(cache),
    )


def build(sources: Sources) -> None:
    """Replace the root of this process."""
    calls.mount(None, "/", None, calls.MS_REC | calls.MS_PRIVATE)
    base = "/tmp"  # any folder that exists: it is out of sight after the pivot  # noqa: S108
    calls.mount("root", base, "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, "size=1m,mode=755")
    os.chdir(base)
    for folder in ("proc", "dev", "dev/shm", "tmp", "etc", WORKSPACE[1:], CACHE[1:]):
        os.makedirs(folder, 0o755, exist_ok=True)
    # An interpreter may live below /tmp: private /tmp first, what is shown of the host on top of it.
    calls.mount("tmp", "tmp", "tmpfs", _PLAIN, "size=1m,mode=755")
    for source in [*sources.libraries, *sources.devices]:
        _show(source)
    for name, which in _OWN_DESCRIPTORS.items():
        os.symlink(f"/proc/self/fd{which}", f"dev/{name}")
    if sources.cache.descriptor is not None:
        _bind(sources.cache.descriptor, CACHE[1:], _NO_SURPRISES | calls.MOUNT_ATTR_NOEXEC)
    Path("etc/passwd").write_text(f"analyst:x:{os.getuid()}:{os.getgid()}::{WORKSPACE}:/bin/false\n")
    Path("etc/hosts").write_text("127.0.0.1 localhost\n")
    _mount_proc("proc")
    calls.pivot_root_here()
    calls.restrict_mount("/", calls.MOUNT_ATTR_RDONLY, recursive=False)


def _open_source(path: str) -> Source:
    if os.path.islink(path):
        return Source(path, os.path.realpath(path), folder=False, descriptor=None)
    return Source(path, None, os.path.isdir(path), os.open(path, os.O_PATH | os.O_CLOEXEC))


def _show(source: Source) -> None:
    target = source.path[1:]
    os.makedirs(os.path.dirname(f"./{target}"), 0o755, exist_ok=True)
    if source.descriptor is None:
        os.symlink(str(source.link), target)
        return
    if source.folder:
        os.makedirs(target, 0o755, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    # a device node stays usable: nodev is for file systems on which somebody could make one
    attributes = calls.MOUNT_ATTR_NOSUID if source.path.startswith("/dev/") else _NO_SURPRISES
    _bind(source.descriptor, target, attributes | calls.MOUNT_ATTR_RDONLY)


def _bind(source: int, target: str, attributes: int) -> None:
    calls.mount(f"/proc/self/fd/{source}", target, None, calls.MS_BIND | calls.MS_REC)
    calls.restrict_mount(target, attributes)
    os.close(source)


def _mount_proc(target: str) -> None:
    """The processes of this pid namespace. A host that masks its own /proc refuses: then the old one is shown here.

    That is no leak: `add_private_folders` covers it in every subprocess.
    """
    try:
        calls.mount("proc", target, "proc", _PLAIN)
    except PermissionError:
        calls.mount("/proc", target, None, calls.MS_BIND | calls.MS_REC)


def add_private_folders(
    workspace_mb: int, files: int, user: int, shared_workspace: int | None = None, shown: tuple[str, ...] = ()
) -> str:
    """A subprocess's own /tmp, /dev/shm, workspace and /proc, sized, and nothing of the zygote's. Returns what /proc
    is.

    `shared_workspace` is a copied mount of the workspace of another subprocess of the thread, to be used as it is.
    `shown` are folders that may be read beside the system's; what of them lies below /tmp is shown again. The
    workspace takes no links to be followed (nosymfollow): neither the cell nor the collector can be led out of it.
    """
    calls.unmount(CACHE)
    _mount_private("/dev/shm", workspace_mb // 4)  # noqa: S108  a path inside
    below = [path for path in (*system_paths(), *shown) if path.startswith("/tmp/")]  # noqa: S108  inside, too
    libraries = [_open_source(path) for path in below]
    _mount_private("/tmp", workspace_mb // 4)  # noqa: S108
    os.chdir("/")
    for source in libraries:
        _show(source)
    if shared_workspace is None:
        options = f"size={workspace_mb}m,nr_inodes={files},mode=700,uid={user},gid={user}"
        calls.mount("work", WORKSPACE, "tmpfs", _PLAIN | calls.MS_NOSYMFOLLOW, options)
    else:
        calls.hang_mount(shared_workspace, WORKSPACE)
        os.close(shared_workspace)
    return _mount_own_proc()


def _mount_private(folder: str, megabytes: int) -> None:
    calls.mount("private", folder, "tmpfs", _PLAIN, f"size={megabytes}m,nr_inodes={_INODES},mode=1777")


def _mount_own_proc() -> str:
    for options, meaning in (("subset=pid,hidepid=2", "its own processes only"), (None, "its own processes")):
        try:
            calls.mount("proc", "/proc", "proc", _PLAIN, options)
        except OSError:
            continue
        return meaning
    calls.mount("empty", "/proc", "tmpfs", _PLAIN | calls.MS_RDONLY, "size=4k")
    return "empty: this host refuses a new /proc"
