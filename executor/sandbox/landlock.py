"""Landlock: a second lock on files, and one on TCP, device controls and signals, that needs no privilege at all.

A subprocess takes these rules upon itself and cannot give them up. In the workspace it may make files and folders but
no link, pipe, socket or device, and may not move a file between folders with different rules: what could fool a
collector cannot be made in the first place.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from executor.sandbox import calls

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << bit for bit in range(6))
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_HANDLED_FROM = {1: (1 << 13) - 1, 2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
_READ = _READ_FILE | _READ_DIR
_WRITE = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP_BIND_CONNECT, _TCP_CONNECT, _SCOPE_ABSTRACT_AND_SIGNAL = 3, 2, 3
_VERSION, _PATH_BENEATH, _NET_PORT = 1, 1, 2


def version() -> int:
    """The kernel's Landlock version; 0 when it has none or it is off."""
    try:
        return calls.syscall(calls.LANDLOCK_CREATE, None, 0, _VERSION)
    except OSError:
        return 0


def restrict(
    read: Iterable[str],
    write: Iterable[str],
    devices: Iterable[str],
    *,
    execute: Iterable[str] = (),
    move: Iterable[str] = (),
    connect: Iterable[int] = (),
    guards_tcp: bool = True,
) -> str:
    """From here on: read below `read`, read and write below `write`, use `devices`; nothing else. Returns what is on.

    Programs below `execute` may be read and run. Files may be moved from one folder to another inside of each of `move`
    (from Linux 5.19 on; elsewhere only within their own folder). TCP may be spoken to the ports `connect`, which a
    subprocess has none of; without `guards_tcp` to any. Raises OSError when the kernel has no Landlock.
    """
    abi = version()
    handled = sum(bits for since, bits in _HANDLED_FROM.items() if abi >= since)
    rules = struct.pack(
        "QQQ",
        handled,
        _TCP_BIND_CONNECT if abi >= 4 and guards_tcp else 0,
        _SCOPE_ABSTRACT_AND_SIGNAL if abi >= 6 else 0,
    )
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = calls.syscall(calls.LANDLOCK_CREATE, ctypes.create_string_buffer(rules[:size], size), size, 0)
    try:
        for paths, access in (
            (read, _READ),
            (execute, _READ | _EXECUTE),
            (write, _READ | _WRITE),
            (move, _REFER),
            (devices, _READ_FILE | _WRITE_FILE),
        ):
            for path in paths:
                _allow(ruleset, path, access & handled)
        for port in connect if abi >= 4 and guards_tcp else ():
            rule = struct.pack("=QQ", _TCP_CONNECT, port)
            calls.syscall(calls.LANDLOCK_ADD_RULE, ruleset, _NET_PORT, ctypes.create_string_buffer(rule, 16), 0)
        calls.syscall(calls.LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    more = [word for since, word in ((4, "TCP"), (5, "device controls"), (6, "signals")) if abi >= since]
    return ", ".join(["files", *more])


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(beneath).st_mode):
            access &= _ON_FILES  # rights on folders in a rule for a file are an error
        rule = struct.pack("=Qi", access, beneath)
        calls.syscall(calls.LANDLOCK_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.create_string_buffer(rule, 12), 0)
    finally:
        os.close(beneath)
