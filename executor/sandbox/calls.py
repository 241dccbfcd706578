"""System calls that the layers are built from, and their numbers per machine. Every failure is an OSError."""

from __future__ import annotations

import ctypes
import os
import struct

from executor.linux import check

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x0002_0000, 0x0200_0000, 0x0400_0000
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_NOSYMFOLLOW, MS_BIND, MS_REC, MS_PRIVATE = 256, 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 1, 2, 4, 8
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000

# Newer than libc's wrappers; the same number on every machine since Linux 5.
_MOUNT_SETATTR, LANDLOCK_CREATE, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT = 442, 444, 445, 446
_OPEN_TREE, _MOVE_MOUNT = 428, 429
_OPEN_TREE_CLONE, _MOVE_MOUNT_FROM_DESCRIPTOR = 1, 4
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

MACHINE = os.uname().machine  # platform.machine() would keep the host's name in memory


def syscall(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """The raw system call. Integers are passed as machine words, bytes and buffers by address."""
    return check(_libc.syscall(ctypes.c_long(number), *[_word(argument) for argument in arguments]))


def _word(argument: int | bytes | ctypes.Array[ctypes.c_char] | None) -> object:
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    check(_libc.unshare(ctypes.c_int(flags)))


def setns(descriptor: int, kind: int) -> None:
    """Join the namespace that `descriptor` stands for."""
    check(_libc.setns(descriptor, kind))


def mount(source: str | None, target: str, kind: str | None, flags: int = 0, data: str | None = None) -> None:
    """mount(2)."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, data)]
    check(_libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]))


def unmount(target: str) -> None:
    """Detach what is mounted at `target`, with all below it."""
    check(_libc.umount2(os.fsencode(target), MNT_DETACH))


def copy_mount(path: str) -> int:
    """A copy of what is mounted at `path`, in no place yet. `hang_mount` gives it one, also in another namespace."""
    return syscall(_OPEN_TREE, _AT_FDCWD, os.fsencode(path), _OPEN_TREE_CLONE | os.O_CLOEXEC)


def hang_mount(descriptor: int, target: str) -> None:
    """Put a mount of `copy_mount` at `target`."""
    syscall(_MOVE_MOUNT, descriptor, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_FROM_DESCRIPTOR)


def restrict_mount(target: str, attributes: int, *, recursive: bool = True) -> None:
    """Add attributes (read-only, nosuid ...) to a mount, and to all below it."""
    buffer = ctypes.create_string_buffer(struct.pack("QQQQ", attributes, 0, 0, 0), 32)
    syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE if recursive else 0, buffer, 32)


def pivot_root_here() -> None:
    """Make the working folder, a mount point, the root, and let go of the old root."""
    syscall(_PIVOT_ROOT[MACHINE], b".", b".")
    check(_libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def set_file_user(user: int) -> int:
    """From here on, files this thread makes belong to `user` (uid and gid). Returns the user it was before."""
    _libc.setfsgid(user)
    return int(_libc.setfsuid(user))
