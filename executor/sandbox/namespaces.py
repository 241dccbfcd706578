"""Namespaces: a process sees no process, mount, network, host name or shared memory but its own.

The zygote goes into namespaces of its own before it imports anything (`enter`), so that a library that turns out to be
hostile meets the same sandbox as a cell. Each subprocess then gets its own again: the pid namespace at the fork
(`fork_into_pid_namespace`: the subprocess is its pid 1, and with it dies everything it started), the others right
after it (`enter_session`).

Where the host allows it there is a user namespace around all of them. As an ordinary user it is what makes the rest
possible; as root it means that no library is ever imported with root's powers over the host.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from executor.linux import prctl
from executor.sandbox import calls

_PR_SET_DUMPABLE = 4
_INSIDE_UID = 1000
_RANGES = ((200_000, 50_000), (20_000, 20_000))
"""(first, count) of the outer uids that subprocesses may get, one each; the first range that this host has is used."""


@dataclass(frozen=True, slots=True)
class Users:
    """How uids inside map to uids outside: `count` uids from `inside` to `outside` on. One uid means: shared by all."""

    inside: int
    outside: int
    count: int

    @property
    def one_each(self) -> bool:
        """Whether every subprocess can have a uid of its own."""
        return self.count > 1

    def of(self, session: int) -> int:
        """The uid, inside, of a session. The first of the range is the zygote's own."""
        return self.inside + (1 + session % (self.count - 1) if self.one_each else 0)

    def outside_of(self, session: int) -> int:
        """The same uid as the host knows it."""
        return self.of(session) - self.inside + self.outside


def plan_users(*, user_namespace: bool) -> Users:
    """Root gives each subprocess a uid of its own, if this host has enough of them; an ordinary user has one uid."""
    me = os.geteuid()
    if me == 0:
        for first, count in _RANGES:
            if _has_range("/proc/self/uid_map", first, count) and _has_range("/proc/self/gid_map", first, count):
                return Users(inside=0 if user_namespace else first, outside=first, count=count)
    return Users(inside=_INSIDE_UID if user_namespace else me, outside=me, count=1)


def _has_range(path: str, first: int, count: int) -> bool:
    with open(path, encoding="ascii") as lines:
        for line in lines:
            inside, _, length = (int(word) for word in line.split())
            if inside <= first and first + count <= inside + length:
                return True
    return False


_ALL_BUT_USER = (
    calls.CLONE_NEWNS
    | calls.CLONE_NEWPID
    | calls.CLONE_NEWNET
    | calls.CLONE_NEWIPC
    | calls.CLONE_NEWUTS
    | calls.CLONE_NEWCGROUP
)


def enter_as_root() -> None:
    """New namespaces for the zygote of a root whose host refuses user namespaces."""
    calls.unshare(_ALL_BUT_USER)


def enter(users: Users) -> None:
    """New namespaces of every kind for the zygote. The pid namespace holds for its next child. OSError when refused."""
    done, go = os.pipe()
    me, gid = os.getpid(), os.getegid()
    # Only a process outside the new user namespace may map more than its own uid, so a helper stays out there.
    helper = os.fork()
    if helper == 0:
        os.close(go)
        try:
            if os.read(done, 1):
                _write_maps(me, users, gid)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(done)
    prctl(_PR_SET_DUMPABLE, 1)  # the map files of a process that is not dumpable belong to root
    try:
        calls.unshare(calls.CLONE_NEWUSER | _ALL_BUT_USER)
        os.write(go, b"!")
    finally:
        os.close(go)
        _, status = os.waitpid(helper, 0)
    if status:
        raise PermissionError("the user namespace cannot be given its users")


def _write_maps(pid: int, users: Users, gid: int) -> None:
    outside_gid = users.outside if users.one_each else gid
    if not users.one_each:
        _write(f"/proc/{pid}/setgroups", "deny")  # an ordinary user may map a gid only after giving this up
    _write(f"/proc/{pid}/uid_map", f"{users.inside} {users.outside} {users.count}")
    _write(f"/proc/{pid}/gid_map", f"{users.inside} {outside_gid} {users.count}")


def _write(path: str, text: str, folder: int | None = None) -> None:
    with open(os.open(path, os.O_WRONLY, dir_fd=folder), "w", encoding="ascii") as file:
        file.write(text)


def open_own_pid_namespace() -> int:
    """A descriptor of the pid namespace this process is in, for `fork_into_pid_namespace`."""
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def fork_into_pid_namespace(own: int) -> int:
    """Fork; the child is pid 1 of a new pid namespace. Children after it are born in the namespace `own` again."""
    calls.unshare(calls.CLONE_NEWPID)
    try:
        pid = os.fork()
    except OSError:
        calls.setns(own, calls.CLONE_NEWPID)
        raise
    if pid:
        calls.setns(own, calls.CLONE_NEWPID)
    return pid


def enter_session() -> None:
    """The other namespaces of one subprocess: neighbours share neither mounts, nor network, nor shared memory."""
    calls.unshare(
        calls.CLONE_NEWNS | calls.CLONE_NEWNET | calls.CLONE_NEWIPC | calls.CLONE_NEWUTS | calls.CLONE_NEWCGROUP
    )


def copy_mount_of(mounts: int, path: str, proc: int) -> int:
    """A copy of what is mounted at `path` in the mount namespace that `mounts` stands for. `proc`: as below."""
    own = open_mount_namespace(proc)
    calls.setns(mounts, calls.CLONE_NEWNS)
    try:
        return calls.copy_mount(path)
    finally:
        calls.setns(own, calls.CLONE_NEWNS)
        os.close(own)


def open_mount_namespace(proc: int) -> int:
    """A descriptor of the mount namespace that this process is in; `proc` is its folder in /proc."""
    return os.open("ns/mnt", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)


def enter_own_user_namespace(proc: int) -> None:
    """For subprocesses that share one uid: the limit on processes is counted per user namespace, so each gets one.

    `proc` is this process's folder in /proc.
    """
    uid, gid = os.geteuid(), os.getegid()
    prctl(_PR_SET_DUMPABLE, 1)
    calls.unshare(calls.CLONE_NEWUSER)
    _write("uid_map", f"{uid} {uid} 1", proc)
    _write("gid_map", f"{gid} {gid} 1", proc)
