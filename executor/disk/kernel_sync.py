"""Syncs of files that the kernel makes in the background: asynchronous I/O (io_submit(2)), without a thread of ours.

A thread of Python costs more than the sync it waits for: each time it begins and ends, it and the loop wait for the
interpreter's lock. Linux has syncs among its asynchronous calls since 4.18. A machine that refuses them (a filter of
system calls, an emulated kernel, its quota `aio-max-nr` in use) raises OSError at the start.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import stat
import struct
from collections import deque
from contextlib import suppress
from pathlib import Path

from executor.disk.line_file import LineFile
from executor.linux import check

_NUMBERS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
"""Of io_setup, io_destroy, io_getevents and io_submit."""
_FSYNC, _FDATASYNC, _TELL = 2, 3, 1  # IOCB_CMD_FSYNC, IOCB_CMD_FDSYNC, IOCB_FLAG_RESFD of linux/aio_abi.h
_CALL = struct.Struct("=QIiHhIQQqQII")  # struct iocb: data, key, flags, kind, priority, file, …, flags, descriptor
_EVENT = struct.Struct("=QQqq")  # struct io_event: data, iocb, result, result
_AT_ONCE = 64

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

Synced = Path | LineFile
"""What is to be synced: the content of a file, or the names in a folder."""
Ended = list[tuple[Synced, OSError | None]]


class KernelSync:
    """Syncs under way; `fd` becomes readable when one has ended."""

    def __init__(self) -> None:
        """Raises OSError where the kernel makes no such calls."""
        numbers = _NUMBERS.get(os.uname().machine)
        if numbers is None:
            raise OSError(f"the system calls of {os.uname().machine} are not known")
        self._setup, self._destroy, self._get, self._submit = (ctypes.c_long(number) for number in numbers)
        self._context = ctypes.c_ulong(0)
        check(_libc.syscall(self._setup, ctypes.c_long(_AT_ONCE), ctypes.byref(self._context)))
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._call = ctypes.create_string_buffer(_CALL.size)
        self._calls = (ctypes.c_void_p * 1)(ctypes.addressof(self._call))
        self._events = ctypes.create_string_buffer(_EVENT.size * _AT_ONCE)
        self._due: deque[Synced] = deque()
        self._under_way: dict[int, Synced] = {}
        """By the number of the call."""
        self._numbers = itertools.count()
        self._ended: Ended = []

    def begin(self, written: Synced) -> None:
        """Let the kernel sync a file, or the names in a folder. One that is gone is no error."""
        self._due.append(written)
        self._fill()

    def ended(self) -> Ended:
        """Those that have ended since the last call, with the error of each."""
        with suppress(BlockingIOError):
            os.eventfd_read(self.fd)
        most = ctypes.c_long(_AT_ONCE)
        count = check(_libc.syscall(self._get, self._context, ctypes.c_long(0), most, self._events, None))
        for number in range(count):
            call, _, result, _ = _EVENT.unpack_from(self._events, number * _EVENT.size)
            self._ended.append((self._under_way.pop(call), _error(-result)))
        self._fill()
        found, self._ended = self._ended, []
        return found

    def close(self) -> None:
        """Give the kernel's memory back, once all has ended."""
        _libc.syscall(self._destroy, self._context)
        os.close(self.fd)

    def _fill(self) -> None:
        while self._due and len(self._under_way) < _AT_ONCE:
            written = self._due.popleft()
            try:
                self._start(written)
            except OSError as error:
                self._ended.append((written, None if isinstance(error, FileNotFoundError) else error))
                os.eventfd_write(self.fd, 1)

    def _start(self, written: Synced) -> None:
        """Hand a sync to the kernel, which holds the file by itself until it is over."""
        if isinstance(written, LineFile) and not written.closed:
            self._submit_sync(written, written.descriptor, _FDATASYNC)
            return
        descriptor = os.open(written.path if isinstance(written, LineFile) else written, os.O_RDONLY | os.O_CLOEXEC)
        try:
            kind = _FSYNC if stat.S_ISDIR(os.fstat(descriptor).st_mode) else _FDATASYNC
            self._submit_sync(written, descriptor, kind)
        finally:
            os.close(descriptor)

    def _submit_sync(self, written: Synced, descriptor: int, kind: int) -> None:
        number = next(self._numbers)
        _CALL.pack_into(self._call, 0, number, 0, 0, kind, 0, descriptor, 0, 0, 0, 0, _TELL, self.fd)
        check(_libc.syscall(self._submit, self._context, ctypes.c_long(1), self._calls))
        self._under_way[number] = written


def _error(code: int) -> OSError | None:
    return OSError(code, os.strerror(code)) if code else None
