"""System calls that Python's `os` does not offer, through libc. Linux only; every failure is an OSError."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import struct
from collections.abc import Iterable, Iterator

_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_PIDFD_SIGNAL_THREAD = 1
IN_OPEN, IN_Q_OVERFLOW, IN_ISDIR = 0x20, 0x4000, 0x40000000
IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE, IN_MOVE, IN_CREATE, IN_DELETE = 0x2, 0x4, 0x8, 0xC0, 0x100, 0x200
IN_CHANGES = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVE | IN_CREATE | IN_DELETE
_IN_NONBLOCK, _IN_CLOEXEC = 0o4000, 0o2000000
_EVENT = struct.Struct("iIII")
_HUGE, _MADV_COLLAPSE = 2 << 20, 25


def check(result: int) -> int:
    """`result` of a libc call, or the OSError of its errno when it is negative."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, value: int = 0) -> int:
    """prctl(2) with one argument."""
    return check(_libc.prctl(option, value, 0, 0, 0))


def die_with_parent(signum: int) -> None:
    """Have the kernel send `signum` to this process when the thread that forked it ends. Undone by a change of uid."""
    prctl(PR_SET_PDEATHSIG, signum)


def stay_with_orphans() -> None:
    """Become the parent of what descendants leave behind when they die, in place of the machine's init."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def signal_main_thread(pidfd: int, signum: signal.Signals) -> None:
    """Send a signal to the main thread of a process. Raises ProcessLookupError when it has ended.

    One that is sent to the process may be taken by any thread that does not block it, as those of polars. Python 3.11
    then tells its main thread nothing, and a loop runs on.
    """
    try:
        signal.pidfd_send_signal(pidfd, signum, None, _PIDFD_SIGNAL_THREAD)
    except OSError as error:
        if error.errno != errno.EINVAL:  # that of a kernel before Linux 6.9
            raise
        if pid := pid_of(pidfd):
            check(_libc.tgkill(pid, pid, signum))


def pid_of(pidfd: int) -> int:
    """The pid, in this process's namespace, of the process a pidfd stands for; 0 when it is gone or not seen from here.

    The kernel says -1 of one that was reaped, and to `kill` that number means every process there is.
    """
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as info:
        for line in info:
            if line.startswith("Pid:"):
                return max(int(line.split()[1]), 0)
    return 0


SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
"""On a file in memory: nobody who has it open can change it."""


def is_sealed(descriptor: int) -> bool:
    """Whether this is a file in memory with all of `SEALS`."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & SEALS == SEALS
    except OSError:  # a file that no seals can be put on
        return False


def close_other_descriptors(keep: Iterable[int]) -> None:
    """Close every descriptor of this process except those in `keep`."""
    low = 0
    for descriptor in sorted(set(keep)):
        if low < descriptor:  # an empty range would reach the system call as "everything"
            os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def use_huge_pages() -> int:
    """Put this process's private memory into pages of 2 MB where it fills them; returns how many there are.

    A fork copies one entry for each page: with huge ones it takes two thirds of the time. What a child then writes to
    is still copied 4 KB at a time. A kernel that cannot (before 6.1, or without huge pages) changes nothing.
    """
    found = 0
    for begin, end in list(_filled_memory()):
        for address in range(-(-begin // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
            found += _libc.madvise(address, _HUGE, _MADV_COLLAPSE) == 0
    return found


def _filled_memory() -> Iterator[tuple[int, int]]:
    """(begin, end) of each writable mapping of no file that is at least nine tenths in use."""
    begin = end = 0
    with open("/proc/self/smaps", encoding="ascii", errors="replace") as lines:
        for line in lines:
            words = line.split()
            if "-" in words[0]:
                begin, end = (int(word, 16) for word in words[0].split("-")) if _is_heap(words) else (0, 0)
            elif words[0] == "Anonymous:" and int(words[1]) * 1024 >= (end - begin) * 0.9 > 0:
                yield begin, end


def _is_heap(words: list[str]) -> bool:
    return words[1].startswith("rw") and (len(words) == 5 or words[5] == "[heap]")


def inotify_open() -> int:
    """A new inotify instance, non-blocking. OSError when the user has too many."""
    return check(_libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC))


def inotify_watch(instance: int, path: str, mask: int) -> int:
    """Watch `path`; returns the watch's number."""
    return check(_libc.inotify_add_watch(instance, os.fsencode(path), mask))


def inotify_unwatch(instance: int, watch: int) -> None:
    """Stop a watch; one that the kernel has already dropped is no error."""
    _libc.inotify_rm_watch(instance, watch)


_READS = 16  # of 64 KB: a process that makes events faster than they are read must not hold the reader for ever


def inotify_read(instance: int) -> Iterator[tuple[int, int, str]]:
    """The (watch, mask, name) of events that wait now: as many as a few reads bring, the rest at the next call."""
    for _ in range(_READS):
        try:
            data = os.read(instance, 1 << 16)
        except BlockingIOError:
            return
        offset = 0
        while offset < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, offset)
            offset += _EVENT.size
            name = data[offset : offset + length].rstrip(b"\0")
            offset += length
            yield watch, mask, os.fsdecode(name)
    yield -1, IN_Q_OVERFLOW, ""
