"""How strong the sandbox is. It is attacked in a real subprocess at every start, and a table shows what held.

strong    namespaces, private root, Landlock and seccomp, and every attack held
reduced   Landlock and seccomp, and every attack held that they are there to stop; or strong in all but its memory:
          a session can hold some that neither a cgroup nor the watcher counts
none      anything less; without namespaces also a kernel before Linux 6.12, whose Landlock stops no signal
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from executor.frames import ProtocolError, decode
from executor.sandbox import calls, seccomp
from executor.sandbox.cgroup import Cgroups
from executor.sandbox.steps import Plan
from executor.values import Sandbox

Level = Literal["strong", "reduced", "none"]
Findings = dict[str, str]
"""Attack → "held", or what it got."""

LANDLOCK_ALONE = 6
"""Without namespaces nothing but Landlock keeps a cell from signalling the host; it does so from this version on."""
_ON_MEMORY = ("hold memory in files without a name", "hold memory that processes share")
"""Attacks that break no layer, but may exhaust the machine. They held when what they got is counted for the session."""
_GOT_MB = 16
_COUNTED_SHARE = 0.9

_ATTACKS = """
import ctypes, errno, json, os, sys

libc = ctypes.CDLL(None, use_errno=True)
found = {}

def attack(name):
    def run(body):
        try:
            got = body()
        except Exception:
            got = None
        found[name] = "held" if got is None else str(got)[:200]
    return run

def refused(*call):
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(*[ctypes.c_long(word) for word in call])
    return None if result < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS) else "allowed"

@attack("read a file of the host")
def _():
    return open(CANARY).read() and "read " + CANARY

@attack("write outside the workspace")
def _():
    path = os.path.join(sys.prefix, "threadbook-probe")
    with open(path, "w"):
        os.unlink(path)
        return "wrote " + path

@attack("cut a file of the host to nothing")
def _():
    os.truncate(CANARY, 0)
    return "cut " + CANARY

@attack("change what is known of a file of the host")
def _():
    before = os.stat(CANARY)
    for way in (lambda: os.chmod(CANARY, 0o400), lambda: os.utime(CANARY, (1, 1))):
        try: way()
        except OSError: pass
    after = os.stat(CANARY)
    if (before.st_mode, before.st_mtime) != (after.st_mode, after.st_mtime):
        return "mode or times of " + CANARY

@attack("change the mode of a file that may be read")
def _():
    for path in (sys.executable, os.__file__):
        file = os.open(path, os.O_RDONLY)
        before = os.fstat(file)
        try: os.fchmod(file, before.st_mode & 0o7777)  # to what it is: only the time of the change tells
        except OSError: continue
        if os.fstat(file).st_ctime_ns != before.st_ctime_ns:
            return "mode of " + path

@attack("end a process of the host")
def _():
    os.kill(HOST, 0)  # a signal that does nothing needs the same right
    return "could have ended process %d" % HOST

@attack("open a socket")
def _():
    import socket
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    return "opened"

@attack("run a program")
def _():
    child = os.fork()
    if child == 0:
        try:
            os.execv("/bin/true", ["true"])
        finally:
            os._exit(99)
    return None if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 99 else "ran /bin/true"

@attack("make a link for the collector")
def _():
    os.symlink("/etc/passwd", "link")
    os.unlink("link")
    return "made a symbolic link"

@attack("enter new namespaces")
def _():
    child = os.fork()
    if child == 0:
        os._exit(1 if libc.unshare(0x10000000) == 0 else 0)
    return "entered" if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) else None

@attack("hold a capability")
def _():
    header = ctypes.create_string_buffer(b"\\x22\\x05\\x08\\x20" + bytes(4), 8)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0:
        return None
    return "has some" if any(sets) else None

@attack("reach dangerous kernel interfaces")
def _():
    return refused(NUMBERS["io_uring_setup"], 1, 0)

@attack("take what the whole machine has little of")
def _():
    return refused(NUMBERS["io_setup"], 1, 0)

@attack("leave the sight of the watcher")
def _():
    before = os.getpid()
    got = refused(NUMBERS["clone"], 0x8000 | 17, 0, 0, 0, 0)
    if os.getpid() != before:
        os._exit(0)
    return got

@attack("hold memory in files without a name")
def _():
    file = os.memfd_create("probe")
    return "%d MB" % (os.write(file, bytes(GOT_MB << 20)) >> 20)

@attack("hold memory that processes share")
def _():
    import mmap
    global shared
    shared = mmap.mmap(-1, GOT_MB << 20)
    for at in range(0, GOT_MB << 20, 4096):
        shared[at] = 1
    shared.madvise(mmap.MADV_DONTNEED)
    return "%d MB" % GOT_MB

@attack("find a secret in the environment")
def _():
    words = ("TOKEN", "SECRET", "KEY", "PASSWORD", "_URL")
    return ", ".join(name for name in os.environ if any(word in name.upper() for word in words)) or None

print(json.dumps(found))
"""


def attack_code(canary: Path, host_pid: int) -> str:
    """The cell that attacks. `canary` is a file of the host that must not be readable."""
    known = seccomp.MACHINES.get(calls.MACHINE, seccomp.MACHINES["x86_64"]).calls
    numbers = {name: known[name] for name in ("io_uring_setup", "io_setup", "clone")}
    given = f"CANARY, HOST, NUMBERS, GOT_MB = {str(canary)!r}, {host_pid}, {numbers!r}, {_GOT_MB}\n"
    return given + _ATTACKS


def uncounted(findings: Findings, growth_bytes: int) -> Findings:
    """The findings, once it is known by how much the session's memory has grown by whoever counts it.

    What the attacks on memory got is held when it was counted.
    """
    got = [name for name in _ON_MEMORY if findings.get(name, "held") != "held"]
    expected = len(got) * _GOT_MB << 20
    if growth_bytes < expected * _COUNTED_SHARE:
        return {name: f"{value}, not counted" if name in got else value for name, value in findings.items()}
    return {name: "held" if name in got else value for name, value in findings.items()}


def read_findings(stdout: str) -> Findings:
    """What the attacking cell printed. Raises ProtocolError when it is not a report."""
    lines = stdout.splitlines()
    if not lines:
        raise ProtocolError("the probe printed nothing")
    return {str(name): str(value) for name, value in decode(lines[-1].encode()).items()}


def breaches(findings: Findings) -> Findings:
    """The attacks that got somewhere."""
    return {name: got for name, got in findings.items() if got != "held"}


def judge(
    plan: Plan,
    layers: dict[str, str],
    cgroups: Cgroups,
    findings: Findings,
    refusals: Sequence[str] = (),
    *,
    landlock: int = LANDLOCK_ALONE,
) -> Sandbox:
    """The level, and each layer with its state: "on: ..." or "off: ...".

    `refusals` are the plans that this host refused, with the reasons. `landlock` is the kernel's version of it.
    """
    got_through = breaches(findings)
    level: Level = "none"
    too_old = plan.landlock and not plan.namespaces and landlock < LANDLOCK_ALONE
    if plan.landlock and not too_old and plan.seccomp and findings and not got_through.keys() - set(_ON_MEMORY):
        level = "strong" if plan.namespaces and not got_through else "reduced"
    states = {name: f"on: {layers[name]}" if name in layers else "off" for name in LAYERS if name not in _MEASURED}
    if not plan.namespaces:
        states["identity"] = "off: all threads share the service's uid"
        if refusals:
            states["namespaces"] = f"off: this host refuses {'; '.join(refusals)}"
    if too_old:
        states["landlock"] = f"too old: version {landlock}; without namespaces it takes version {LANDLOCK_ALONE}"
    if cgroups.kind:
        states["cgroup"] = f"on: {cgroups.kind}, memory and processes of a session together"
    else:
        states["cgroup"] = (
            f"off: {cgroups.why_not}; a watcher ends a session that uses too much, "
            "and memory that it could not count is refused"
        )
    if calls.MACHINE not in seccomp.TESTED_ON:
        for name in ("seccomp", "allow-list"):
            if states[name].startswith("on"):
                states[name] += f"; untested on {calls.MACHINE}: see what `threadbook doctor --attack` says"
    attacks = "; ".join(f"{name}: {got}" for name, got in got_through.items())
    held = sum(1 for got in findings.values() if got == "held")
    states["attacks at start"] = f"breached: {attacks}" if attacks else f"on: {held} of {len(findings)} held"
    return Sandbox(level, states)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: a layer, its state, what it stops, and what to do when it is off."""

    layer: str
    state: str
    stops: str
    fix: str


LAYERS: dict[str, tuple[str, str]] = {
    "namespaces": (
        "seeing or signalling other processes; the network; daemons that outlive their session",
        "allow user namespaces (sysctl user.max_user_namespaces, an AppArmor profile with `userns,`; in a container "
        "--security-opt seccomp=... or CAP_SYS_ADMIN)",
    ),
    "private root": ("reading the host's files, other threads' files; filling the disk", "needs namespaces"),
    "identity": ("acting as another user", "needs namespaces"),
    "no capabilities": ("anything that needs privilege, and gaining it", "needs Linux 3.5 or newer"),
    "resource limits": ("one process that takes all memory, files or descriptors", "always on"),
    "landlock": (
        "files outside the workspace; links, pipes, devices; TCP",
        "Linux 5.13 or newer, without namespaces 6.12 or newer, with lsm=...,landlock",
    ),
    "seccomp": ("programs, sockets, kernel interfaces with a history of holes", "Linux on x86-64 or aarch64"),
    "allow-list": (
        "system calls that no library was seen to need, and those that a newer kernel brings",
        '[sandbox] syscalls = "allow" in threadbook.toml',
    ),
    "cgroup": ("memory and processes summed over a session", "systemd Delegate=yes, or a writable /sys/fs/cgroup"),
    "attacks at start": ("a layer that is there in name only", "see which attack got through"),
}
"""Layer → what it stops, and the one-line fix when it is off. In the order in which they are shown."""

_MEASURED = ("cgroup", "attacks at start")


def table(sandbox: Sandbox) -> list[Row]:
    """The rows for `threadbook doctor`."""
    rows = []
    for layer, state in sandbox.layers.items():
        stops, fix = LAYERS.get(layer, ("", ""))
        rows.append(Row(layer, state, stops, "" if state.startswith("on") else fix))
    return rows
