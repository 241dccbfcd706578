"""The system-call filter: what analysis code never needs and escapes are made of is refused with EPERM.

Refused and not killed, so that libraries that only try something degrade. A list of the denied, not of the allowed:
the wheels people use call too much for the latter.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
from dataclasses import dataclass

from executor.linux import check
from executor.sandbox.calls import MACHINE

_libc = ctypes.CDLL(None, use_errno=True)
Instruction = tuple[int, int, int, int]

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENT = 0, 4, 16  # offsets in seccomp_data; arguments are 8 bytes each, low half first
_ALLOW, _KILL, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_EPERM, _ENOSYS = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
_X32_BIT = 0x4000_0000
_NEW_NAMESPACES = 0x7E02_0000  # every CLONE_NEW* flag that clone() takes
_AF_UNIX, _TIOCSTI, _TIOCLINUX = 1, 0x5412, 0x541C
_PR_SET_SECCOMP, _FILTER = 22, 2

DENIED: dict[str, str] = {
    "reading or steering another process": (
        "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp"
    ),
    "kernel interfaces with a history of holes": (
        "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register add_key request_key keyctl "
        "fanotify_init fanotify_mark lookup_dcookie vmsplice memfd_secret modify_ldt"
    ),
    "changing what is mounted, or leaving the root": (
        "mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree open_tree_attr move_mount "
        "mount_setattr statmount listmount quotactl quotactl_fd"
    ),
    "new namespaces: each is kernel code that only privileged users could reach before": "unshare setns",
    "becoming another user, by whom it is counted": (
        "setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups"
    ),
    "watching files, of which the kernel counts how many all sandboxes of a host do together": (
        "inotify_init inotify_init1 inotify_add_watch"
    ),
    "opening files by handle, past every path": "name_to_handle_at open_by_handle_at",
    "the machine itself": (
        "kexec_load kexec_file_load init_module finit_module delete_module swapon swapoff reboot acct settimeofday "
        "clock_settime adjtimex clock_adjtime sethostname setdomainname vhangup syslog iopl ioperm personality "
        "uselib ustat sysfs"
    ),
    "scheduling and memory placement, which reach beyond the process": (
        "setpriority sched_setparam sched_setscheduler sched_setaffinity sched_setattr ioprio_set migrate_pages "
        "move_pages mbind set_mempolicy set_mempolicy_home_node"
    ),
    "shared memory and queues outside the file system": (
        "shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink"
    ),
    "the network, and sockets of any kind": "socket connect accept accept4 bind listen",
}
"""Reason: the system calls refused for it."""
EXEC = "execve execveat"
"""A Python subprocess runs no program: the zygote forks, so nothing it needs is ever executed."""
EXEC_FROM_MEMORY = "memfd_create execveat"
"""Bash runs the programs of read-only folders; a file in memory lies in no folder, so Landlock would not see it."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One processor family: its audit number and the system calls' numbers (a call that it lacks is left out)."""

    audit: int
    calls: dict[str, int]
    has_x32: bool = False


def _numbers(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (pair.split("=") for pair in text.split())}


MACHINES = {
    "x86_64": Machine(
        0xC000_003E,
        _numbers(
            "inotify_init=253 inotify_init1=294 inotify_add_watch=254 "
            "ptrace=101 process_vm_readv=310 process_vm_writev=311 process_madvise=440 pidfd_getfd=438 kcmp=312 "
            "perf_event_open=298 bpf=321 userfaultfd=323 add_key=248 request_key=249 keyctl=250 io_uring_setup=425 "
            "io_uring_enter=426 io_uring_register=427 mount=165 umount2=166 pivot_root=155 fsopen=430 fsconfig=431 "
            "fsmount=432 fspick=433 open_tree=428 move_mount=429 mount_setattr=442 open_tree_attr=467 statmount=457 "
            "listmount=458 unshare=272 setns=308 chroot=161 kexec_load=246 kexec_file_load=320 init_module=175 "
            "finit_module=313 delete_module=176 swapon=167 swapoff=168 reboot=169 acct=163 quotactl=179 "
            "quotactl_fd=443 settimeofday=164 clock_settime=227 adjtimex=159 clock_adjtime=305 iopl=172 ioperm=173 "
            "syslog=103 name_to_handle_at=303 open_by_handle_at=304 lookup_dcookie=212 fanotify_init=300 "
            "fanotify_mark=301 memfd_secret=447 modify_ldt=154 vhangup=153 sethostname=170 setdomainname=171 "
            "migrate_pages=256 move_pages=279 mbind=237 set_mempolicy=238 set_mempolicy_home_node=450 personality=135 "
            "shmget=29 shmat=30 shmctl=31 semget=64 semop=65 semctl=66 semtimedop=220 msgget=68 msgsnd=69 msgrcv=70 "
            "msgctl=71 mq_open=240 mq_unlink=241 uselib=134 ustat=136 sysfs=139 vmsplice=278 execve=59 execveat=322 "
            "socket=41 connect=42 accept=43 bind=49 listen=50 accept4=288 setpriority=141 sched_setparam=142 "
            "sched_setscheduler=144 sched_setaffinity=203 sched_setattr=314 ioprio_set=251 "
            "setuid=105 setgid=106 setreuid=113 setregid=114 setgroups=116 setresuid=117 setresgid=119 setfsuid=122 "
            "setfsgid=123 clone=56 clone3=435 "
            "socketpair=53 ioctl=16 prlimit64=302 memfd_create=319"
        ),
        has_x32=True,
    ),
    # From asm-generic/unistd.h of the kernel's headers, and compared with it by a test. Not yet run on such a machine.
    "aarch64": Machine(
        0xC000_00B7,
        _numbers(
            "inotify_init1=26 inotify_add_watch=27 "
            "ptrace=117 process_vm_readv=270 process_vm_writev=271 process_madvise=440 pidfd_getfd=438 kcmp=272 "
            "perf_event_open=241 bpf=280 userfaultfd=282 add_key=217 request_key=218 keyctl=219 io_uring_setup=425 "
            "io_uring_enter=426 io_uring_register=427 mount=40 umount2=39 pivot_root=41 fsopen=430 fsconfig=431 "
            "fsmount=432 fspick=433 open_tree=428 move_mount=429 mount_setattr=442 open_tree_attr=467 statmount=457 "
            "listmount=458 unshare=97 setns=268 chroot=51 kexec_load=104 kexec_file_load=294 init_module=105 "
            "finit_module=273 delete_module=106 swapon=224 swapoff=225 reboot=142 acct=89 quotactl=60 quotactl_fd=443 "
            "settimeofday=170 clock_settime=112 adjtimex=171 clock_adjtime=266 syslog=116 name_to_handle_at=264 "
            "open_by_handle_at=265 lookup_dcookie=18 fanotify_init=262 fanotify_mark=263 memfd_secret=447 vhangup=58 "
            "sethostname=161 setdomainname=162 migrate_pages=238 move_pages=239 mbind=235 set_mempolicy=237 "
            "set_mempolicy_home_node=450 personality=92 shmget=194 shmat=196 shmctl=195 semget=190 semop=193 "
            "semctl=191 semtimedop=192 msgget=186 msgsnd=189 msgrcv=188 msgctl=187 mq_open=180 mq_unlink=181 "
            "vmsplice=75 execve=221 execveat=281 socket=198 connect=203 accept=202 bind=200 listen=201 accept4=242 "
            "setpriority=140 sched_setparam=118 sched_setscheduler=119 sched_setaffinity=122 sched_setattr=274 "
            "ioprio_set=30 setregid=143 setgid=144 setreuid=145 setuid=146 setresuid=147 setresgid=149 setfsuid=151 "
            "setfsgid=152 setgroups=159 clone=220 clone3=435 socketpair=199 ioctl=29 prlimit64=261 memfd_create=279"
        ),
    ),
}


def program(machine: Machine, *, execute: bool = False) -> list[Instruction]:
    """The filter as instructions. `execute` leaves the running of programs allowed, of those that lie in a folder."""
    names = " ".join([*DENIED.values(), EXEC_FROM_MEMORY if execute else EXEC]).split()
    number = machine.calls
    code: list[Instruction] = [
        # A 32-bit entry (int 0x80, x32) has another table of numbers: it would walk around every rule below.
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine.has_x32:
        code += [(_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _KILL)]
    for name in names:
        if name in number:
            code += [(_EQUAL, 0, 1, number[name]), (_RETURN, 0, 0, _EPERM)]
    # clone3's flags lie in memory, where no filter sees them; on ENOSYS libc falls back to clone, whose flags one does.
    code += [(_EQUAL, 0, 1, number["clone3"]), (_RETURN, 0, 0, _ENOSYS)]
    code += _when(
        number["clone"], [(_LOAD, 0, 0, _ARGUMENT), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), (_RETURN, 0, 0, _EPERM)]
    )
    # A pair of connected sockets stays inside the process; asyncio needs it.
    code += _when(number["socketpair"], [(_LOAD, 0, 0, _ARGUMENT), (_EQUAL, 1, 0, _AF_UNIX), (_RETURN, 0, 0, _EPERM)])
    # Typing into a terminal. The kernel looks at the low 32 bits, and so does this.
    code += _when(
        number["ioctl"],
        [
            (_LOAD, 0, 0, _ARGUMENT + 8),
            (_EQUAL, 1, 0, _TIOCSTI),
            (_EQUAL, 0, 1, _TIOCLINUX),
            (_RETURN, 0, 0, _EPERM),
        ],
    )
    # The limits of other processes.
    code += _when(number["prlimit64"], [(_LOAD, 0, 0, _ARGUMENT), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _EPERM)])
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _when(call: int, rule: list[Instruction]) -> list[Instruction]:
    """`rule` for one system call; what it does not refuse is allowed."""
    return [(_EQUAL, 0, len(rule) + 1, call), *rule, (_RETURN, 0, 0, _ALLOW)]


def install(*, execute: bool = False) -> str:
    """Put the filter on this process and all it will start.

    Needs no_new_privs. Raises OSError where there is no table.
    """
    machine = MACHINES.get(MACHINE)
    if machine is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {MACHINE}")
    raw, rules = compiled(execute=execute)
    _attach(raw)
    return f"{rules} rules"


@functools.cache
def compiled(*, execute: bool = False) -> tuple[bytes, int]:
    """This machine's filter as the kernel takes it, and its number of rules. Asked for first by the zygote: the
    subprocesses find it made."""
    code = program(MACHINES[MACHINE], execute=execute)
    return _raw(code), sum(1 for step in code if step[0] == _RETURN and step[3] == _EPERM)


def attach(code: list[Instruction]) -> None:
    """Put a filter on this process. Raises OSError when the kernel refuses it."""
    _attach(_raw(code))


def _raw(code: list[Instruction]) -> bytes:
    return b"".join(struct.pack("HBBI", *step) for step in code)


def _attach(raw: bytes) -> None:
    buffer = ctypes.create_string_buffer(raw, len(raw))
    filter_ = struct.pack("HxxxxxxP", len(raw) // 8, ctypes.addressof(buffer))
    address = ctypes.create_string_buffer(filter_, len(filter_))
    check(_libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.c_void_p(ctypes.addressof(address)), 0, 0))


def available() -> bool:
    """Whether there is a table for this machine and a filter in this kernel."""
    return MACHINE in MACHINES and os.path.exists("/proc/sys/kernel/seccomp/actions_avail")
