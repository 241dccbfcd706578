"""Where only listed system calls are allowed: the libraries do their work, and every other call is refused."""

from __future__ import annotations

import ast
import errno
from collections.abc import Iterator

import pytest
from attack_kit import NEEDS_X86, need_layer
from library_jobs import LIBRARY_JOBS, NEED_NAMESPACES, SHELL_JOBS
from record_calls import KIN, VDSO
from test_attacks_kernel import ENTRIES, HEADERS, MACHINE_CODE, NEWER_THAN_HEADERS, header_numbers

from executor.attacks import REACH
from executor.client import SessionClient
from executor.launch import running_host
from executor.notices import notice
from executor.sandbox import allowed, seccomp
from executor.sandbox.calls import MACHINE
from executor.values import Limits, Sandbox
from tryout.commands import attack_check
from workers.delivery.notices import worded

LIMITS = Limits(cell_timeout_s=240, spare_sessions=0)
WALLS = {"strong": (), "reduced": ("namespaces", "cgroup")}


@pytest.fixture(scope="module", params=WALLS)
def listed(request: pytest.FixtureRequest) -> Iterator[SessionClient]:
    """A host whose sessions are held to the list, behind each kind of wall."""
    with running_host(limits=LIMITS, bash=True, syscalls="allow", without=WALLS[request.param]) as client:
        yield client


@pytest.fixture(scope="module")
def unlisted() -> Iterator[SessionClient]:
    """The control: a host whose sessions are held to the list of the denied alone."""
    with running_host(limits=LIMITS, syscalls="deny") as client:
        yield client


@pytest.mark.parametrize("library", LIBRARY_JOBS)
def test_a_library_does_its_work(listed: SessionClient, thread: str, library: str) -> None:
    contained = listed.ping().sandbox.layers["namespaces"].startswith("on")
    if library in NEED_NAMESPACES and not contained:
        pytest.skip("without namespaces it does not work with any list")
    result = listed.run(thread, "1", LIBRARY_JOBS[library])
    assert (result.status, result.stdout.splitlines()[-1:]) == ("ok", ["done"]), result.error


@pytest.mark.parametrize("job", SHELL_JOBS)
def test_the_programs_of_a_shell_do_their_work(listed: SessionClient, thread: str, job: str) -> None:
    result = listed.bash(thread, "1", SHELL_JOBS[job], approve=lambda _: True)
    assert (result.status, result.stdout.splitlines()[-1:]) == ("ok", ["done"]), result.stderr


PROBE = """
answers = {}
for number in NUMBERS_TO_TRY:
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6) != -1: answers[number] = "done"
    else: answers[number] = errno.errorcode[ctypes.get_errno()]
print(answers)
"""


def answers_to(client: SessionClient, thread: str, numbers: list[int]) -> dict[int, str]:
    """Number of a system call → its errno, called with arguments that do nothing."""
    result = client.run(thread, "1", REACH + f"NUMBERS_TO_TRY = {numbers!r}" + PROBE)
    assert result.status == "ok", (result.error, result.notices)
    return {int(number): str(word) for number, word in ast.literal_eval(result.stdout).items()}


@NEEDS_X86
def test_every_call_that_is_not_in_the_list_is_refused(listed: SessionClient, thread: str) -> None:
    """All numbers that a kernel of today or of the next years may know."""
    others = sorted(set(range(1_000)) - set(allowed.numbers("x86_64").values()) - TRAMPOLINES - ANSWERED)
    answers = answers_to(listed, thread, others)
    denied = {seccomp.MACHINES["x86_64"].calls[name] for text in seccomp.DENIED.values() for name in text.split()}
    for number in others:
        newer = number >= 424 and number not in denied
        assert answers[number] == ("ENOSYS" if newer else "EPERM"), number


TRAMPOLINES = {335, 336}
"""uretprobe and uprobe, which no filter sees: from anywhere but the kernel's own page they end the process."""
ANSWERED = {seccomp.MACHINES["x86_64"].calls[name] for name in " ".join([seccomp.CONTAINED, *seccomp.METADATA]).split()}
"""The other filter answers these as if done, or as a file system that knows no marks."""
LOOKED_AT = ("get_mempolicy", "sched_rr_get_interval", "sync_file_range", "get_robust_list", "mlockall", "tee")


@NEEDS_X86
def test_the_list_refuses_what_the_list_of_the_denied_lets_through(
    listed: SessionClient, unlisted: SessionClient, thread: str
) -> None:
    numbers = header_numbers("x86_64")
    tried = [numbers[name] for name in LOOKED_AT]
    assert set(answers_to(listed, thread, tried).values()) <= {"EPERM", "ENOSYS"}
    let_through = answers_to(unlisted, thread, tried)
    assert not set(let_through.values()) & {"EPERM", "ENOSYS"}, let_through


NEVER = {
    "add_key",
    "bpf",
    "io_uring_setup",
    "io_uring_enter",
    "userfaultfd",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "keyctl",
    "request_key",
    "perf_event_open",
    "kexec_load",
    "init_module",
    "mount",
    "umount2",
    "pivot_root",
    "setns",
    "unshare",
    "open_by_handle_at",
    "io_setup",
    "socket",
    "connect",
    "kcmp",
    "pidfd_getfd",
    "fanotify_init",
    "inotify_init1",
    "memfd_secret",
    "modify_ldt",
    "personality",
    "quotactl",
    "reboot",
    "swapon",
    "clone3",
}


def test_the_list_has_nothing_that_escapes_are_made_of() -> None:
    assert not {row.call for row in allowed.rows()} & {*NEVER, *" ".join(seccomp.DENIED.values()).split()}


@NEEDS_X86
@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if not entry.startswith("the usual")])
def test_other_entries_to_the_kernel_are_deadly(listed: SessionClient, thread: str, entry: str) -> None:
    assert "BREACHED" not in listed.run(thread, "1", MACHINE_CODE.format(hex=ENTRIES[entry])).stdout


def test_every_named_attack_is_held(sandbox: Sandbox) -> None:
    need_layer(sandbox, "namespaces")
    found = attack_check.attack(syscalls="allow")
    assert (found.level, found.breached) == ("strong", [])


def test_a_host_says_which_list_it_keeps_to(listed: SessionClient, unlisted: SessionClient) -> None:
    said = listed.ping().sandbox
    assert said.syscalls == "allow"
    assert said.layers["allow-list"].startswith("on: ")
    assert unlisted.ping().sandbox.syscalls == "deny"


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_in_the_list_are_those_of_the_kernels_headers(machine: str) -> None:
    numbers = header_numbers(machine)
    listed = allowed.numbers(machine)
    known = {name: numbers.get(name) for name in listed.keys() - NEWER_THAN_HEADERS}
    assert known == {name: listed[name] for name in known}
    assert {row.call for row in allowed.rows() if row.call in numbers} - NEWER_THAN_HEADERS == set(known)


def test_what_one_machine_may_do_the_other_may_too() -> None:
    """aarch64 has no calls of the old kind: each has kin that it has."""
    old = {"time"}  # clock_gettime tells it
    everywhere = allowed.numbers("aarch64").keys() & allowed.numbers("x86_64").keys()
    kin = {call: line.split() for line in KIN for call in line.split()}
    alone = [row.call for row in allowed.rows() if row.call not in everywhere]
    without = [call for call in alone if not everywhere & set(kin.get(call, ()))]
    assert set(without) <= old


@NEEDS_X86
def test_the_time_can_be_read_where_the_machine_has_no_fast_way_to(listed: SessionClient, thread: str) -> None:
    """A recording does not see these where the process itself answers them; elsewhere every library needs them."""
    calls = [number for name, number in header_numbers("x86_64").items() if name in VDSO.split()]
    answers = answers_to(listed, thread, calls)
    assert not {"EPERM", "ENOSYS"} & set(answers.values())
    assert len(answers) == len(VDSO.split())


def test_every_call_in_the_list_says_who_needed_it() -> None:
    assert [row.call for row in allowed.rows() if not row.needed_by] == []


REFUSED = """
numbers = {"tee": TEE, "mlockall": MLOCKALL}
def refused(name):
    ctypes.set_errno(0)
    assert libc.syscall(ctypes.c_long(numbers[name]), *[ctypes.c_long(-1)] * 6) == -1
    return ctypes.get_errno()
"""


def reach_of_refused() -> str:
    """Code that makes calls which the list alone refuses."""
    numbers = header_numbers(MACHINE)
    return REACH + REFUSED.replace("TEE", f"{numbers['tee']}").replace("MLOCKALL", f"{numbers['mlockall']}")


def test_a_cell_that_fails_is_told_which_calls_were_refused(listed: SessionClient, thread: str) -> None:
    failing = "refused('tee'), refused('mlockall'), refused('tee')\nraise RuntimeError('could not lock')"
    result = listed.run(thread, "1", reach_of_refused() + failing)
    assert result.notices[0] == notice("calls_refused", names="tee, mlockall")
    assert "tee, mlockall" in worded(result, "en")
    assert "calls_refused" not in {one.code for one in listed.run(thread, "2", "1 / 0").notices}


def test_a_cell_that_goes_on_without_a_refused_call_is_told_nothing(listed: SessionClient, thread: str) -> None:
    result = listed.run(thread, "1", reach_of_refused() + "print(errno.errorcode[refused('tee')])")
    assert (result.status, result.stdout, result.notices) == ("ok", "EPERM\n", ())


def test_a_command_that_fails_is_told_which_calls_were_refused(listed: SessionClient, thread: str) -> None:
    result = listed.bash(thread, "1", "sync; false", approve=lambda _: True)
    assert result.notices[0] == notice("calls_refused", names="sync")


def test_no_session_holds_the_descriptor_that_could_let_a_call_through(listed: SessionClient, thread: str) -> None:
    look = """
import fcntl, os
for number in range(1024):
    try: print(os.readlink(f"/proc/self/fd/{number}"))
    except OSError: pass
    try: fcntl.ioctl(number, 0xC0182101, bytes(24))
    except OSError as error: assert error.errno != 2, number  # ENOENT: it answers calls, and none waits
"""
    result = listed.run(thread, "1", look)
    assert result.status == "ok", result.error
    assert "seccomp" not in result.stdout


def test_calls_without_end_are_all_refused_and_keep_the_host_from_nobody(listed: SessionClient, thread: str) -> None:
    """After a hundred the host answers no more, and the kernel refuses by itself."""
    flood = "import threading\nseen = []\ndef flood(): seen.extend(refused('tee') for _ in range(5_000))\n"
    flood += "many = [threading.Thread(target=flood) for _ in range(8)]\n[one.start() for one in many]\n"
    flood += (
        "[one.join() for one in many]\nprint(len(seen), {errno.errorcode[one] for one in seen} <= {'EPERM', 'ENOSYS'})"
    )
    assert listed.run(thread, "1", reach_of_refused() + flood).stdout == "40000 True\n"
    assert listed.run(f"{thread}-neighbour", "1", "print(1)").stdout == "1\n"
    assert listed.run(thread, "2", "print(refused('mlockall') in (errno.EPERM, errno.ENOSYS))").stdout == "True\n"


def test_a_signal_that_comes_while_a_refused_call_waits_lets_nothing_through(
    listed: SessionClient, thread: str
) -> None:
    code = "import signal\nsignal.signal(signal.SIGALRM, lambda *_: None)\n"
    code += "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
    code += "print({refused('tee') for _ in range(2_000)} <= {errno.EPERM, errno.ENOSYS, errno.EINTR})"
    assert listed.run(thread, "1", reach_of_refused() + code).stdout == "True\n"


@pytest.mark.parametrize("machine", HEADERS)
def test_every_call_that_only_the_list_refuses_has_its_name(machine: str) -> None:
    known = {*allowed.numbers(machine), *seccomp.MACHINES[machine].calls, *" ".join(seccomp.DENIED.values()).split()}
    numbers = {name: number for name, number in header_numbers(machine).items() if number < 424 and name not in known}
    of_32_bits = {name for name in numbers if "time64" in name or name in OF_32_BITS}
    assert allowed.named(machine) == {number: name for name, number in numbers.items() if name not in of_32_bits}


OF_32_BITS = {
    *("clock_gettime64", "clock_settime64", "clock_adjtime64", "clock_getres_time64", "arch_specific_syscall"),
    *("timer_gettime64", "timer_settime64", "timerfd_gettime64", "timerfd_settime64"),
}


def test_where_the_kernel_tells_nobody_the_calls_are_refused_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    put_on: list[bytes] = []

    def without_listener(code: bytes) -> int:
        raise OSError(errno.EINVAL, "before Linux 5.0")

    monkeypatch.setattr(seccomp, "attach_with_listener", without_listener)
    monkeypatch.setattr(seccomp, "attach_raw", put_on.append)
    assert allowed.install(put_on.append).endswith("nobody is told which")  # type: ignore[arg-type]
    assert put_on == [seccomp.raw(seccomp.only(seccomp.MACHINES[MACHINE], allowed.numbers(MACHINE).values()))]
