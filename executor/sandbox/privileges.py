"""No power beyond that of a nameless user: no capabilities, no way to gain any, a uid of its own where there is one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct

from executor.linux import check, prctl

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 4, 24, 28
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
_CAPABILITY_VERSION_3 = 0x2008_0522
_LAST_CAPABILITY = 63
_LOCKED_BITS = 0x2F  # NOROOT, NO_SETUID_FIXUP and the rest, each with its lock: uid 0 means nothing, for ever


def drop_bounding_set() -> None:
    """No capability can come back. Must precede a change of uid: afterwards the kernel refuses without a word."""
    with contextlib.suppress(OSError):  # at the first that this kernel does not know, or that is not ours to drop
        for capability in range(_LAST_CAPABILITY + 1):
            prctl(_PR_CAPBSET_DROP, capability)
    with contextlib.suppress(OSError):
        prctl(_PR_SET_SECUREBITS, _LOCKED_BITS)


def become_user(user: int) -> None:
    """Change to `user` for good: no groups, no saved uid to go back to."""
    with contextlib.suppress(PermissionError):
        os.setgroups([])  # refused, and empty already, where the user namespace has given groups up
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def be_counted_as(user: int) -> None:
    """Change the real uid alone, by which the kernel counts processes; it counts none of root's. OSError if refused."""
    os.setresuid(user, -1, -1)


def drop_capabilities() -> None:
    """Effective, permitted, inheritable, ambient: none."""
    with contextlib.suppress(OSError):
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    check(_libc.capset(header, struct.pack("6I", *[0] * 6)))


def allow_no_new_privileges() -> None:
    """From here on no program gains rights by being executed: set-uid bits and file capabilities have no effect."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """No /proc/PID/mem for processes of the same uid, and no core file."""
    prctl(_PR_SET_DUMPABLE, 0)
