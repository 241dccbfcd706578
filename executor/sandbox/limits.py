"""Resource limits of one process (setrlimit). What they count over several processes is the cgroup's business."""

from __future__ import annotations

import os
import resource

from executor.values import Limits

_MB = 1 << 20
_PROCESSES_OF_ALL = 2_000


def set_limits(limits: Limits, proc: int, *, own_count: bool) -> None:
    """Hard limits, so that a cell cannot raise them. The one on processes counts per uid and user namespace.

    `proc` is this process's folder in /proc.
    """
    values = {
        # Address space that the zygote has already mapped (libraries, reserved arenas) is not the cell's doing.
        resource.RLIMIT_AS: mapped_bytes(proc) + limits.memory_mb * _MB,
        # The kernel counts this per user. Where all sessions share one user, it only keeps the machine alive, and
        # `executor/sessions/resource_monitor.py` counts the processes of each session.
        resource.RLIMIT_NPROC: limits.processes if own_count else _PROCESSES_OF_ALL,
        resource.RLIMIT_NOFILE: limits.descriptors,
        resource.RLIMIT_FSIZE: limits.workspace_mb * _MB,
        # A core file is a copy of the memory. To a helper that the kernel starts for cores 0 means nothing, but 1 does.
        resource.RLIMIT_CORE: 1,
        resource.RLIMIT_MEMLOCK: 64 << 10,  # locked pages cannot be taken back under pressure
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 128,
        resource.RLIMIT_RTPRIO: 0,
    }
    for kind, value in values.items():
        resource.setrlimit(kind, (value, value))


def mapped_bytes(proc: int) -> int:
    """The address space, now, of the process whose folder in /proc is open as `proc`."""
    statm = os.open("statm", os.O_RDONLY, dir_fd=proc)
    try:
        return int(os.read(statm, 100).split()[0]) * resource.getpagesize()
    finally:
        os.close(statm)
