"""Records which system calls sessions make, and writes the list that `[sandbox] syscalls = "allow"` keeps to.

    python tests/attacks/record_calls.py [--add] [--only duckdb]

Session hosts run under strace: behind each kind of wall they do what people use the libraries for
(`tests/library_jobs.py`), then the product's own tests of sessions. Only calls made after the filter of system calls
was put on count: what the walls themselves are built with is not in the list. A call that a library made is listed with
its kin (`KIN`), which do the same for another libc or another processor. `--add` keeps what the list has already.
Nothing runs in the shape of an attack, so that the list has no call for its sake.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]

from library_jobs import LIBRARY_JOBS, NEED_NAMESPACES, SHELL_JOBS  # noqa: E402  run as a program, these are not on the path
from test_attacks_kernel import ONE_CALL  # noqa: E402

from executor import launch  # noqa: E402
from executor.launch import running_host  # noqa: E402
from executor.sandbox import allowed, seccomp  # noqa: E402
from executor.values import Limits  # noqa: E402

TESTS = (
    "tests/unit/workers/profiling/test_abstracts_session.py",
    "tests/unit/workers/builder/test_builder_compiled.py",
    "tests/unit/workers/memory/test_memory_function_sessions.py",
    "tests/unit/threadbook_tools/test_tools_session.py",
    "tests/unit/executor/test_executor_bash.py",
    "tests/unit/executor/test_executor_undo.py",
    "tests/unit/executor/test_executor_moving.py",
    "tests/unit/executor/test_executor_state.py",
    "tests/unit/executor/test_executor_cells.py",
)
"""Of the product's own tests those that run cells, files, programs and commands."""
_OWN_TESTS = "own tests"
SITUATIONS = ((), ("libraries",), ("namespaces", "cgroup"))
"""Layers that are left out: each kind of wall sets a session up in another way, and imports are made in a session."""
KIN = (
    "open openat creat",
    "stat lstat fstat newfstatat statx",
    "access faccessat faccessat2",
    "getdents getdents64",
    "readlink readlinkat",
    "mkdir mkdirat",
    "rmdir unlink unlinkat",
    "rename renameat renameat2",
    "link linkat",
    "symlink symlinkat",
    "mknod mknodat",
    "chmod fchmod fchmodat fchmodat2",
    "chown fchown lchown fchownat",
    "utime utimes futimesat utimensat",
    "truncate ftruncate fallocate",
    "read readv pread64 preadv preadv2",
    "write writev pwrite64 pwritev pwritev2",
    "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr",
    "fsync fdatasync msync",
    "statfs fstatfs",
    "chdir fchdir getcwd",
    "dup dup2 dup3",
    "pipe pipe2",
    "poll ppoll select pselect6",
    "epoll_create epoll_create1",
    "epoll_wait epoll_pwait epoll_pwait2",
    "eventfd eventfd2",
    "fork vfork clone",
    "wait4 waitid",
    "exit exit_group",
    "kill tkill tgkill",
    "getpgrp getpgid",
    "alarm setitimer getitimer",
    "pause rt_sigsuspend",
    "nanosleep clock_nanosleep",
    "getrlimit prlimit64 setrlimit",
    "getpid getppid gettid",
    "getuid geteuid getgid getegid getresuid getresgid getgroups",
    "rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait rt_sigreturn sigaltstack restart_syscall",
    "timer_create timer_settime timer_gettime timer_getoverrun timer_delete",
    "getsockname getpeername getsockopt shutdown",
    "set_robust_list set_tid_address rseq arch_prctl",
    "mmap munmap mprotect mremap brk madvise",
    "sendto recvfrom recvmsg sendmsg",
    "sched_getaffinity sched_getscheduler sched_getparam sched_get_priority_max sched_get_priority_min",
)
"""Each line does one thing, in ways that differ by age, processor or libc, and of which none can do more."""
VDSO = "clock_gettime gettimeofday time clock_getres getcpu"
"""What the kernel's own page answers in the process, so that no recording sees it. Where the machine's clock cannot be
read from there, libc calls the kernel."""

_CALL = re.compile(r"^(\w+)\(")
_CHILD = re.compile(r"^(?:clone|clone3|fork|vfork)\(.* = (\d+)(?: /\* (\d+) in strace's PID NS \*/)?$")
_FILTERED = re.compile(r"^(?:prctl\(PR_SET_SECCOMP|seccomp\(SECCOMP_SET_MODE_FILTER).* = 0$")


@contextmanager
def traced(folder: Path) -> Iterator[None]:
    """Session hosts that this process starts run under strace, which writes to `folder`."""
    numbers, start = itertools.count(), subprocess.Popen

    def spawn(command: list[str], **options: object) -> object:
        place = folder / f"{os.getpid()}-{next(numbers)}"
        place.mkdir(parents=True)
        # -D: the tracer is a grandchild, so that the host has the pid that its starter expects.
        strace = ["strace", "-D", "-ff", "-qq", "--decode-pids=pidns", "-s", "0", "-o", str(place / "of")]
        return start([*strace, *command], **options)  # type: ignore[call-overload]

    usual, launch.subprocess = launch.subprocess, SimpleNamespace(**vars(subprocess) | {"Popen": spawn})  # type: ignore
    try:
        yield
    finally:
        launch.subprocess = usual


_whole_run = ExitStack()


def pytest_sessionstart(session: object) -> None:
    """As a plugin of pytest: the hosts of the tests are traced."""
    _whole_run.enter_context(traced(Path(os.environ["THREADBOOK_TRACES"])))


def pytest_sessionfinish(session: object) -> None:
    """They are not any more."""
    _whole_run.close()


def calls_of(folder: Path) -> set[str]:
    """The calls that processes made behind the filter, in all that was traced into `folder`."""
    return set().union(*(_calls_of_host(place) for place in folder.iterdir()))


def _calls_of_host(place: Path) -> set[str]:
    lines = {path.suffix[1:]: path.read_text(errors="replace").splitlines() for path in place.iterdir()}
    made = set[str]()
    inside: dict[str, int] = {}
    for pid, its in lines.items():
        filtered = next((at for at, line in enumerate(its) if _FILTERED.match(line)), None)
        if filtered is not None:
            inside[pid] = filtered + 1
    inside.pop(min(inside, key=int, default=""), None)  # the first session attacks its sandbox: nobody needs its calls
    left = list(inside)
    while left:
        pid = left.pop()
        for line in lines[pid][inside[pid] :]:
            if call := _CALL.match(line):
                made.add(call[1])
            if (child := _CHILD.match(line)) and (number := child[2] or child[1]) in lines and number not in inside:
                inside[number] = 0
                left.append(number)
    return made


def recorded(only: str) -> dict[str, set[str]]:
    """System call → what needed it. `only`: one job, or the product's own tests."""
    needed_by: dict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as name:
        for at, without in enumerate(SITUATIONS):
            for who, code in (LIBRARY_JOBS | SHELL_JOBS).items():
                if only not in ("", who):
                    continue
                folder = Path(name) / f"{at} {who}"
                _do(folder, who, code, without)
                for call in calls_of(folder):
                    needed_by[call].add(who)
        if only not in ("", _OWN_TESTS):
            return needed_by
        folder = Path(name) / "tests"
        environment = os.environ | {"PYTHONPATH": f"{ROOT}:{Path(__file__).parent}", "THREADBOOK_TRACES": str(folder)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "record_calls", "-p", "no:rerunfailures", *TESTS]
        subprocess.run(command, cwd=ROOT, env=environment, check=False)  # slow as it is, a test may run out of patience
        for call in calls_of(folder):
            needed_by[call].add(_OWN_TESTS)
    return needed_by


def _do(folder: Path, who: str, code: str, without: tuple[str, ...]) -> None:
    folder.mkdir()
    limits = Limits(cell_timeout_s=600, spare_sessions=0)
    with traced(folder), running_host(limits=limits, without=without, bash=True, syscalls="deny") as client:
        if who in SHELL_JOBS:
            result = client.bash("T:1", "1", code, approve=lambda _: True)
        else:
            result = client.run("T:1", "1", code)
    works = who not in NEED_NAMESPACES or "namespaces" not in without
    if works and result.stdout.splitlines()[-1:] != ["done"]:
        raise RuntimeError(f"{who} did not do its work without {without}: {result.error} {result.stderr[-500:]}")
    print(f"{who}, without {', '.join(without) or 'nothing'}", flush=True)


def with_kin(needed_by: dict[str, set[str]]) -> dict[str, set[str]]:
    """The calls that were made, and those that do the same elsewhere, without those that sessions are refused."""
    whole = {call: set(who) for call, who in needed_by.items()}
    for line in KIN:
        kin = line.split()
        made = [call for call in kin if call in needed_by]
        for call in kin if made else ():
            whole.setdefault(call, {f"as {made[0]}"})
    whole |= {call: {"the vDSO"} for call in VDSO.split()}
    refused = " ".join(seccomp.DENIED.values()).split()
    newer = [call for call in whole if call.startswith("syscall_")]  # strace has no name for it yet
    return {call: who for call, who in whole.items() if call not in {*refused, *newer, "clone3"}}


def numbers() -> dict[str, dict[str, int]]:
    """Machine → name → number, from the kernel's headers (Debian: linux-libc-dev)."""
    found = {}
    for machine, header in (("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")):
        text = (Path("/usr/include") / header).read_text()
        found[machine] = {
            ONE_CALL.get(name, name): int(number)
            for name, number in re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", text, re.M)
        } | {call: known for call, known in seccomp.MACHINES[machine].calls.items() if known > 440}
    return found


def write(needed_by: dict[str, set[str]]) -> None:
    """Write the list, sorted by name."""
    known = numbers()
    with allowed.FILE.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["call", *known, "needed by"])
        for call in sorted(needed_by):
            rows.writerow([call, *(known[machine].get(call, "") for machine in known), _who(needed_by[call])])


def _who(names: Iterable[str]) -> str:
    """In the order of the jobs; what all of them need is nobody's in particular."""
    order = [*LIBRARY_JOBS, *SHELL_JOBS]
    if set(order) <= set(names):
        return "all"
    return " · ".join(sorted(names, key=lambda name: order.index(name) if name in order else len(order)))


def main() -> None:
    """Record, and write the list."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--add", action="store_true", help="keep what the list has already")
    parser.add_argument("--only", default="", help=f"a job, or {_OWN_TESTS!r}")
    options = parser.parse_args()
    found = recorded(options.only)
    if options.add:
        for row in allowed.rows():
            for who in row.needed_by.split(" · ") if not row.needed_by.startswith("as ") else ():
                found[row.call] |= {*LIBRARY_JOBS, *SHELL_JOBS} if who == "all" else {who}
    found = with_kin(found)
    write(found)
    print(f"{len(found)} system calls are in {allowed.FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
