"""Puts a process into the situation of another machine, then runs a command there.

    python tests/attacks/situations.py ordinary-user no-user-namespaces -- threadbook doctor

The refusals are the real ones: another uid, dropped capabilities, mounts that mask, a system-call filter that answers
what the kernel of such a machine answers. Only a root who may mount can play them; `lacking` says who cannot.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from executor.sandbox import calls, privileges, seccomp  # noqa: E402  run as a program, this is not on the path

_NOBODY = 65534
CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_SYS_RESOURCE = 21, 23, 24
_CLONE_NEWUSER = 0x1000_0000
# What Docker leaves to root: chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service,
# net_raw, sys_chroot, mknod, audit_write, setfcap.
_DOCKERS_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
_DOCKER_MASKS = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/latency_stats")


def _own_mounts() -> None:
    calls.unshare(calls.CLONE_NEWNS)
    calls.mount(None, "/", None, calls.MS_REC | calls.MS_PRIVATE)


def _mask_proc() -> None:
    """/proc as in a container: parts of it hidden. The kernel then gives nobody but root a fresh one."""
    _own_mounts()
    for path in _DOCKER_MASKS:
        if os.path.exists(path):
            calls.mount("/dev/null", path, None, calls.MS_BIND)
    calls.mount("/proc/sys", "/proc/sys", None, calls.MS_BIND | calls.MS_REC)
    calls.restrict_mount("/proc/sys", calls.MOUNT_ATTR_RDONLY)


def _read_only_cgroups() -> None:
    _own_mounts()
    calls.restrict_mount("/sys/fs/cgroup", calls.MOUNT_ATTR_RDONLY)


def _refuse(*names: str, number: int = errno.EPERM) -> None:
    """These system calls fail from here on."""
    machine = seccomp.MACHINES[calls.MACHINE]
    code: list[seccomp.Instruction] = [(0x20, 0, 0, 0)]
    for name in names:
        code += [(0x15, 0, 1, machine.calls[name]), (0x06, 0, 0, 0x0005_0000 | number)]
    privileges.allow_no_new_privileges()
    seccomp.attach([*code, (0x06, 0, 0, 0x7FFF_0000)])


def _refuse_user_namespaces(number: int) -> None:
    """unshare(CLONE_NEWUSER) fails; other namespaces are as they were."""
    unshare = seccomp.MACHINES[calls.MACHINE].calls["unshare"]
    privileges.allow_no_new_privileges()
    seccomp.attach(
        [
            (0x20, 0, 0, 0),
            (0x15, 0, 3, unshare),
            (0x20, 0, 0, 16),
            (0x45, 0, 1, _CLONE_NEWUSER),
            (0x06, 0, 0, 0x0005_0000 | number),
            (0x06, 0, 0, 0x7FFF_0000),
        ]
    )


def _numbers() -> dict[str, int]:
    """The numbers of all system calls here, from the kernel's headers (Debian: linux-libc-dev)."""
    names = ("x86_64-linux-gnu/asm/unistd_64.h", "asm-generic/unistd.h")
    header = Path("/usr/include") / names[calls.MACHINE != "x86_64"]
    return {name: int(number) for name, number in re.findall(r"^#define __NR_(\w+)\s+(\d+)$", header.read_text(), re.M)}


def _allow_only(names: Iterable[str]) -> None:
    """Every other system call fails with EPERM from here on."""
    numbers = _numbers()
    code: list[seccomp.Instruction] = [(0x20, 0, 0, 0)]
    for name in sorted(set(names) & numbers.keys()):
        code += [(0x15, 0, 1, numbers[name]), (0x06, 0, 0, 0x7FFF_0000)]
    privileges.allow_no_new_privileges()
    seccomp.attach([*code, (0x06, 0, 0, 0x0005_0000 | errno.EPERM)])


def _our_containers_filter() -> None:
    """`deploy/container/seccomp.json`: the profile for a worker service in a container."""
    profile = json.loads((ROOT / "deploy" / "container" / "seccomp.json").read_text())
    _allow_only(name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"])


def unit() -> dict[str, list[str]]:
    """The keys of `deploy/systemd/threadbook-worker.service`."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "deploy" / "systemd" / "threadbook-worker.service").read_text().splitlines():
        key, is_set, value = line.partition("=")
        if is_set and not key.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def _members(group: str) -> set[str]:
    """The system calls of one of systemd's groups, which may hold others."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    words = {line.strip() for line in listed.stdout.splitlines()[1:] if line.strip() and "#" not in line}
    return {name for word in words for name in (_members(word) if word.startswith("@") else {word})}


def _the_units_filter() -> None:
    words = " ".join(unit()["SystemCallFilter"]).split()
    _allow_only({name for word in words for name in (_members(word) if word.startswith("@") else {word})})


def _the_units_devices() -> None:
    """PrivateDevices=: a /dev that holds little."""
    _own_mounts()
    devices = {
        name: os.open(f"/dev/{name}", os.O_PATH) for name in ("null", "zero", "full", "random", "urandom", "tty")
    }
    calls.mount("private", "/dev", "tmpfs", calls.MS_NOSUID | calls.MS_NOEXEC, "mode=755")
    for name, source in devices.items():
        Path("/dev", name).touch()
        calls.mount(f"/proc/self/fd/{source}", f"/dev/{name}", None, calls.MS_BIND)
        os.close(source)
    Path("/dev/shm").mkdir()
    calls.mount("shared", "/dev/shm", "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, "mode=1777")


def _dockers_filter() -> None:
    """Docker's default profile for a process without CAP_SYS_ADMIN, as far as it concerns a sandbox."""
    _refuse("clone3", number=errno.ENOSYS)
    _refuse("unshare", "setns", "mount", "umount2", "pivot_root", "mount_setattr", "fsopen", "open_tree", "move_mount")


def _dockers_capabilities() -> None:
    for capability in set(range(64)) - _DOCKERS_CAPABILITIES:
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP; the exec that follows makes it count


def _reachable(paths: Sequence[Path]) -> None:
    """Let an ordinary user reach our interpreter and checkout, as on a machine that was set up for one: folders above
    them that only root may enter are replaced by ones that hold nothing but the way there."""
    _own_mounts()
    closed: dict[Path, list[Path]] = {}
    for path in paths:
        for above in reversed(path.parents):
            if not above.stat().st_mode & 0o001:
                closed.setdefault(above, []).append(path)
                break
    for above, below in closed.items():
        sources = {path: os.open(path, os.O_PATH) for path in below}
        calls.mount("way", str(above), "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, "mode=755")
        for path, source in sources.items():
            path.mkdir(parents=True, exist_ok=True)
            calls.mount(f"/proc/self/fd/{source}", str(path), None, calls.MS_BIND | calls.MS_REC)
            os.close(source)


def _become_nobody() -> None:
    _reachable(sorted({ROOT, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}))
    home = Path("/tmp") / f"threadbook-home-of-{_NOBODY}"
    home.mkdir(mode=0o700, exist_ok=True)
    os.chown(home, _NOBODY, _NOBODY)
    os.environ.update(HOME=str(home), USER="nobody", LOGNAME="nobody", HYPOTHESIS_STORAGE_DIRECTORY=str(home / "h"))
    privileges.become_user(_NOBODY)


SITUATIONS: dict[str, Sequence[Callable[[], None]]] = {
    "as-it-is": (),
    "read-only-cgroups": (_read_only_cgroups,),
    "masked-proc": (_mask_proc,),
    "bare-container": (_mask_proc, _read_only_cgroups, _dockers_capabilities, _dockers_filter),
    "ordinary-user": (_become_nobody,),
    "ordinary-user-masked-proc": (_mask_proc, _become_nobody),
    "ordinary-user-in-a-container": (_mask_proc, _read_only_cgroups, _become_nobody, _dockers_filter),
    "our-container": (_mask_proc, _read_only_cgroups, _become_nobody, _our_containers_filter),
    "our-systemd-unit": (_the_units_devices, _become_nobody, _the_units_filter),
    # sysctl user.max_user_namespaces=0 (ENOSPC), and a seccomp profile or an LSM that refuses (EPERM)
    "ordinary-user-no-user-namespaces": (_become_nobody, lambda: _refuse_user_namespaces(errno.ENOSPC)),
    "ordinary-user-refused": (_become_nobody, lambda: _refuse_user_namespaces(errno.EPERM)),
}
"""Name → steps that lead there, in the order in which they are possible."""


def command(situation: str, *words: str) -> list[str]:
    """The command line that runs `words` in `situation`."""
    return [sys.executable, str(Path(__file__).resolve()), situation, "--", *words]


def has_capability(number: int) -> bool:
    """Whether this process has it: root in a container has only some."""
    status = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> number & 1)


def lacking(situation: str) -> str:
    """What this process lacks to bring about `situation`; "" when it can."""
    steps = SITUATIONS[situation]
    if not steps or (os.geteuid() == 0 and has_capability(CAP_SYS_ADMIN)):
        return ""
    return "a root who may mount"


def main() -> None:
    """`situations.py NAME -- COMMAND...`."""
    situation, mark, *words = sys.argv[1:]
    if mark != "--" or situation not in SITUATIONS:
        raise SystemExit(f"usage: situations.py ({' | '.join(SITUATIONS)}) -- COMMAND...")
    if why := lacking(situation):
        print(f"{situation} is left out: this needs {why}", file=sys.stderr)
        raise SystemExit(1 if os.environ.get("CI", "").lower() in ("1", "true") else 0)
    os.environ.pop("CI", None)  # what is lacking there is lacking on purpose: a test of it is skipped
    for step in SITUATIONS[situation]:
        step()
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
