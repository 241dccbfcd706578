"""The system-call filter: what analysis code never needs and escapes are made of is refused with EPERM.

Refused and not killed, so that libraries that only try something degrade. This is the list of the denied; that of the
allowed, for those who want it beside this one, is `allowed.py`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from executor.linux import check
from executor.sandbox.calls import MACHINE

_libc = ctypes.CDLL(None, use_errno=True)
Instruction = tuple[int, int, int, int]

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCH, _ARGUMENT = 0, 4, 16  # offsets in seccomp_data; arguments are 8 bytes each, low half first
_ALLOW, _KILL, _ERRNO, _TELL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000, 0x7FC0_0000
_EPERM, _ENOSYS = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
_X32_BIT = 0x4000_0000
_SINCE_5_1 = 424  # from this number on calls have the same one on every machine
_NEW_NAMESPACES = 0x7E02_0000  # every CLONE_NEW* flag that clone() takes
_CLONE_PARENT = 0x8000  # a sibling: it would be below the zygote, where nobody counts it as the session's
_SET_FLAGS = (0x4008_6602, 0x4004_6602, 0x401C_5820, 0x4008_7602, 0x4004_7602)  # FS_IOC_*SET* of linux/fs.h
_AF_UNIX, _TIOCSTI, _TIOCLINUX = 1, 0x5412, 0x541C
_AF_INET, _AF_INET6, _SOCK_TYPE, _SOCK_STREAM, _IPPROTO_TCP = 2, 10, 0xF, 1, 6
_MAP_SHARED, _MAP_ANONYMOUS, _MAP_HUGETLB, _MFD_HUGETLB = 0x01, 0x20, 0x4_0000, 0x4
_F_SETLEASE, _F_NOTIFY, _RLIMIT_CORE, _MSG_OOB = 1024, 1026, 4, 1
_MSG_FASTOPEN = 0x2000_0000
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_PR_SET_SECCOMP, _FILTER = 22, 2
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_UNCHANGED = 0xFFFF_FFFF  # -1 in setresuid and setresgid: leave this one as it is

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
    "reading and writing asynchronously, of which the whole machine does so much at once and no more": (
        "io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents"
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
UNCOUNTED = "memfd_create socketpair"
"""Memory that is no process's own, so that only a cgroup counts it. Without one a session gets none of it."""
METADATA = {
    "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat": 0,
    "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat file_setattr": (
        errno.EOPNOTSUPP
    ),
}
"""What Landlock does not look at: mode, owner, times and marks of a file. Where it guards the files alone, these calls
change nothing and are answered with this: 0 as if done, for those who copy and unpack do not care; else an error."""
CONTAINED = "setsid"
"""Answered as if done. The kernel shares the processor between sessions (autogroup), so a process that began one would
have as much of it as a whole thread."""
TO_ITSELF = ("setresuid", "setresgid")
"""What make asks for before each command (POSIX_SPAWN_RESETIDS): to become the user and the group that it is already.
A shell's programs get it answered as if done. Nobody becomes anybody: with any other number it is refused."""
FOR_TCP = "socket connect"
"""What a program needs that speaks TCP to others. Of sockets it gets no other kind (`_TCP_ALONE`)."""
AFTER_SETUP = "sendmsg sendmmsg"
"""Descriptors under way in a socket are counted per user, whoever has sent them. The set-up sends some itself."""


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
            "socketpair=53 ioctl=16 prlimit64=302 memfd_create=319 io_setup=206 io_destroy=207 io_getevents=208 "
            "io_submit=209 io_cancel=210 io_pgetevents=333 mmap=9 fcntl=72 prctl=157 setrlimit=160 sendto=44 "
            "chmod=90 fchmod=91 fchmodat=268 fchmodat2=452 chown=92 fchown=93 lchown=94 fchownat=260 utime=132 "
            "utimes=235 futimesat=261 utimensat=280 setxattr=188 lsetxattr=189 fsetxattr=190 setxattrat=463 "
            "removexattr=197 lremovexattr=198 fremovexattr=199 removexattrat=466 file_setattr=469 "
            "recvfrom=45 recvmsg=47 recvmmsg=299 "
            "sendmsg=46 sendmmsg=307 setsid=112"
        ),
        has_x32=True,
    ),
    # From asm-generic/unistd.h of the kernel's headers, and compared with it by a test.
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
            "setfsgid=152 setgroups=159 clone=220 clone3=435 socketpair=199 ioctl=29 prlimit64=261 memfd_create=279 "
            "io_setup=0 io_destroy=1 io_submit=2 io_cancel=3 io_getevents=4 io_pgetevents=292 mmap=222 fcntl=25 "
            "prctl=167 setrlimit=164 sendto=206 sendmsg=211 sendmmsg=269 recvfrom=207 recvmsg=212 "
            "recvmmsg=243 fchmod=52 fchmodat=53 fchmodat2=452 fchown=55 fchownat=54 utimensat=88 setxattr=5 "
            "lsetxattr=6 fsetxattr=7 setxattrat=463 removexattr=14 lremovexattr=15 fremovexattr=16 removexattrat=466 "
            "file_setattr=469 setsid=157"
        ),
    ),
}


TESTED_ON = frozenset({"x86_64"})
"""Machines on which the attacks of tests/attacks have been made. On others `doctor` says so."""


def program(
    machine: Machine,
    *,
    execute: bool = False,
    counted: bool = False,
    own_root: bool = True,
    tcp: bool = False,
    ids: tuple[int, int] | None = None,
) -> list[Instruction]:
    """The filter as instructions.

    `execute` leaves the running of programs allowed, of those that lie in a folder. `counted`: a cgroup counts all
    memory of the session, so it may have some that is no process's own. `own_root`: it sees files of the host in
    read-only mounts only, so it may change what is known of a file. `tcp`: it may connect to others by TCP; to which
    ports is for Landlock to say. `ids` are its own real user and group: to become these is answered as if done.
    """
    names = " ".join([*DENIED.values(), EXEC_FROM_MEMORY if execute else EXEC, "" if counted else UNCOUNTED]).split()
    number = machine.calls
    code = _entries(machine)
    for name in dict.fromkeys(names):
        if name in number and not (tcp and name in FOR_TCP.split()) and not (ids and name in TO_ITSELF):
            code += [(_EQUAL, 0, 1, number[name]), (_RETURN, 0, 0, _EPERM)]
    if not own_root:
        for calls, answer in METADATA.items():
            for name in calls.split():
                if name in number:
                    code += [(_EQUAL, 0, 1, number[name]), (_RETURN, 0, 0, _ERRNO | answer)]
    for name in CONTAINED.split():
        code += [(_EQUAL, 0, 1, number[name]), (_RETURN, 0, 0, _ERRNO)]
    # clone3's flags lie in memory, where no filter sees them; on ENOSYS libc falls back to clone, whose flags one does.
    code += [(_EQUAL, 0, 1, number["clone3"]), (_RETURN, 0, 0, _ENOSYS)]
    for name, rule in (_by_argument(counted=counted) | (_TCP_ALONE if tcp else {})).items():
        code += _when(number[name], rule)
    for name, own in zip(TO_ITSELF, ids or (), strict=False):
        code += _when(number[name], _to_itself(own))
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def only(machine: Machine, numbers: Iterable[int], told: Iterable[int] = ()) -> list[Instruction]:
    """Another filter: all but these calls are refused. Of those `told`, whoever listens says how.

    Calls that Linux has had since 5.1 get ENOSYS, as on an older kernel, which whoever makes them knows how to do
    without: on EPERM libc gives up (clone3, faccessat2, fchmodat2), on ENOSYS it makes the older call. The others get
    EPERM.
    """
    code = _entries(machine)
    for number in numbers:
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for number in told:
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _TELL)]
    return [*code, (_AT_LEAST, 0, 1, _SINCE_5_1), (_RETURN, 0, 0, _ENOSYS), (_RETURN, 0, 0, _EPERM)]


def _entries(machine: Machine) -> list[Instruction]:
    """Load the call's number, after a look at the entry that it came by."""
    code: list[Instruction] = [
        # A 32-bit entry (int 0x80, x32) has another table of numbers: it would walk around every rule below.
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    return [*code, (_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _KILL)] if machine.has_x32 else code


def _by_argument(*, counted: bool) -> dict[str, list[Instruction]]:
    """System call → what of it is refused. The kernel looks at the low 32 bits of these arguments, and so do we."""
    return {
        "clone": _any_bit(0, _NEW_NAMESPACES | _CLONE_PARENT),
        # A pair of connected sockets stays inside the process; asyncio needs it.
        "socketpair": [*_load(0), (_EQUAL, 1, 0, _AF_UNIX), _REFUSE],
        # Typing into a terminal; flags of a file (chattr), for which a descriptor to read it by is enough.
        "ioctl": _equals(1, _TIOCSTI, _TIOCLINUX, *_SET_FLAGS),
        # The limits of other processes; and its own on core files, which keeps the machine's helper from writing them.
        "prlimit64": [*_load(0), (_EQUAL, 1, 0, 0), _REFUSE, *_equals(1, _RLIMIT_CORE, where=_is_not_null(2))],
        "setrlimit": _equals(0, _RLIMIT_CORE),
        "prctl": _equals(0, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER),  # orphans stay below it, where they are counted
        # A lease on a file makes its next writer wait; notices of a folder are watches by another name.
        "fcntl": _equals(1, _F_SETLEASE, _F_NOTIFY),
        "sendto": _any_bit(3, _MSG_OOB),
        "recvfrom": _any_bit(3, _MSG_OOB),
        "recvmsg": _any_bit(2, _MSG_OOB),
        "recvmmsg": _any_bit(3, _MSG_OOB),
        "memfd_create": _any_bit(1, _MFD_HUGETLB),
        # Huge pages are the machine's, a fixed number; no limit of memory counts them.
        "mmap": _any_bit(3, _MAP_HUGETLB)
        if counted
        else [*_any_bit(3, _MAP_HUGETLB), (_ANY_BIT, 0, 2, _MAP_ANONYMOUS), (_ANY_BIT, 0, 1, _MAP_SHARED), _REFUSE],
    }


_REFUSE: Instruction = (_RETURN, 0, 0, _EPERM)


def _load(argument: int) -> list[Instruction]:
    return [(_LOAD, 0, 0, _ARGUMENT + 8 * argument)]


def _any_bit(argument: int, bits: int) -> list[Instruction]:
    return [*_load(argument), (_ANY_BIT, 0, 1, bits), _REFUSE]


def _equals(argument: int, *values: int, where: Sequence[Instruction] = ()) -> list[Instruction]:
    """Refuse any of the values. `where` is a test that goes on to its next instruction, or skips one more."""
    last = len(values) - 1
    tests = [(_EQUAL, last - at, 0 if at < last else len(where) + 1, value) for at, value in enumerate(values)]
    return [*_load(argument), *tests, *where, _REFUSE]


_TCP_ALONE: dict[str, list[Instruction]] = {
    # Landlock's rule on ports knows TCP alone: not UDP, MPTCP or SCTP, and no socket of the service that has a path.
    "socket": [
        *_load(0),
        (_EQUAL, 1, 0, _AF_INET),
        (_EQUAL, 0, 6, _AF_INET6),
        *_load(1),
        (_AND, 0, 0, _SOCK_TYPE),
        (_EQUAL, 0, 3, _SOCK_STREAM),
        *_load(2),
        (_EQUAL, 2, 0, 0),
        (_EQUAL, 1, 0, _IPPROTO_TCP),
        _REFUSE,
    ],
    # A first packet with data connects past the rule on ports.
    "sendto": _any_bit(3, _MSG_OOB | _MSG_FASTOPEN),
    "sendmsg": _any_bit(2, _MSG_OOB | _MSG_FASTOPEN),
    "sendmmsg": _any_bit(3, _MSG_OOB | _MSG_FASTOPEN),
}


def _to_itself(own: int) -> list[Instruction]:
    """Refuse all but (-1, own, -1), which is answered as if done. Where the real user is one that only counts
    processes, doing it would take the session's own files away."""
    done: Instruction = (_RETURN, 0, 0, _ERRNO)
    first, second, third = _load(0), _load(1), _load(2)
    tests = [*first, (_EQUAL, 0, 5, _UNCHANGED), *second, (_EQUAL, 0, 3, own), *third, (_EQUAL, 0, 1, _UNCHANGED)]
    return [*tests, done, _REFUSE]


def _is_not_null(argument: int) -> list[Instruction]:
    """Whether a pointer is given: either half of it is not 0."""
    low, high = _load(argument), [(_LOAD, 0, 0, _ARGUMENT + 8 * argument + 4)]
    return [*low, (_EQUAL, 0, 2, 0), *high, (_EQUAL, 1, 0, 0)]


def _when(call: int, rule: list[Instruction]) -> list[Instruction]:
    """`rule` for one system call; what it does not refuse is allowed."""
    return [(_EQUAL, 0, len(rule) + 1, call), *rule, (_RETURN, 0, 0, _ALLOW)]


def install(*, execute: bool = False, counted: bool = False, own_root: bool = True) -> str:
    """Put the filter on this process and all it will start. The options are those of `program`.

    Needs no_new_privs. Raises OSError where there is no table.
    """
    machine = MACHINES.get(MACHINE)
    if machine is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {MACHINE}")
    ids = (os.getuid(), os.getgid()) if execute else None
    code, rules = compiled(execute=execute, counted=counted, own_root=own_root, ids=ids)
    attach_raw(code)
    return f"{rules} rules"


@functools.cache
def compiled(
    *, execute: bool = False, counted: bool = False, own_root: bool = True, ids: tuple[int, int] | None = None
) -> tuple[bytes, int]:
    """This machine's filter as the kernel takes it, and its number of rules. Asked for first by the zygote: the
    subprocesses find it made; one with `ids` is made by each shell."""
    code = program(MACHINES[MACHINE], execute=execute, counted=counted, own_root=own_root, ids=ids)
    return raw(code), sum(1 for step in code if step[0] == _RETURN and step[3] & 0xFFFF_0000 == _ERRNO)


def install_after_setup() -> None:
    """From here on no descriptor is sent either. A second filter: the first one was there before the set-up's last
    word."""
    number = MACHINES[MACHINE].calls
    rules = [step for name in AFTER_SETUP.split() for step in ((_EQUAL, 0, 1, number[name]), _REFUSE)]
    attach([(_LOAD, 0, 0, _NUMBER), *rules, (_RETURN, 0, 0, _ALLOW)])


def install_with_tcp() -> None:
    """The filter for a program of the system that speaks TCP to others: all rules for a shell where nothing but
    Landlock guards the files, and no socket of another kind.

    Needs no_new_privs. Raises OSError where there is no table.
    """
    machine = MACHINES.get(MACHINE)
    if machine is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {MACHINE}")
    attach(program(machine, execute=True, counted=True, own_root=False, tcp=True))


def refuse_programs() -> None:
    """From here on this process and all it starts run no other program. For one of our own that reads hostile data.

    Needs no_new_privs. Raises OSError where there is no table.
    """
    machine = MACHINES.get(MACHINE)
    if machine is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {MACHINE}")
    rules = [step for name in EXEC.split() for step in ((_EQUAL, 0, 1, machine.calls[name]), _REFUSE)]
    attach([(_LOAD, 0, 0, _NUMBER), *rules, (_RETURN, 0, 0, _ALLOW)])


def attach(code: list[Instruction]) -> None:
    """Put a filter on this process. Raises OSError when the kernel refuses it."""
    attach_raw(raw(code))


def raw(code: list[Instruction]) -> bytes:
    """A filter as the kernel takes it."""
    return b"".join(struct.pack("HBBI", *step) for step in code)


def attach_raw(code: bytes) -> None:
    """`attach` for what `raw` made."""
    with _as_kernel_takes_it(code) as address:
        check(_libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.c_void_p(address), 0, 0))


def attach_with_listener(code: bytes) -> int:
    """`attach_raw`, and a descriptor from which whoever holds it learns of the calls that are told, and answers them.

    Whoever holds it may also let such a call through. Raises OSError where the kernel has no such thing (before Linux
    5.0), or this process has one already.
    """
    with _as_kernel_takes_it(code) as address:
        flags, filter_ = ctypes.c_ulong(_NEW_LISTENER), ctypes.c_void_p(address)
        return check(_libc.syscall(ctypes.c_long(_SECCOMP[MACHINE]), ctypes.c_ulong(_SET_MODE_FILTER), flags, filter_))


@contextlib.contextmanager
def _as_kernel_takes_it(code: bytes) -> Iterator[int]:
    """The address of a `sock_fprog`, which holds while the block lasts."""
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    address = ctypes.create_string_buffer(filter_, len(filter_))
    yield ctypes.addressof(address)


def available() -> bool:
    """Whether there is a table for this machine and a filter in this kernel."""
    return MACHINE in MACHINES and os.path.exists("/proc/sys/kernel/seccomp/actions_avail")
