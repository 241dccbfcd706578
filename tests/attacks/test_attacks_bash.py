"""Attacks on the walls from the thread's shell, which may run programs. Each prints BREACHED when it gets somewhere."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attack_kit import need_layer, wait_for

from executor.client import SessionClient
from executor.launch import running_host
from executor.values import CellResult, Sandbox
from workers.delivery.notices import worded

Command = Callable[..., CellResult]

PYTHON = sys.executable


def commands(client: SessionClient, thread: str) -> Command:
    numbers = itertools.count(1)
    return lambda command, **options: client.bash(
        thread, f"s{next(numbers)}", command, approve=lambda _: True, **options
    )


@pytest.fixture
def shell(walled: SessionClient, thread: str) -> Command:
    return commands(walled, thread)


@pytest.fixture
def open_shell(unwalled: SessionClient, thread: str) -> Command:
    """The positive control."""
    return commands(unwalled, thread)


@pytest.fixture(scope="module")
def listener() -> Iterator[int]:
    """The port of a server of the host, on its loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def python(code: str) -> str:
    return f"{PYTHON} -c '{code}' && echo BREACHED"


FROM_MEMORY = (
    'import os; f = os.memfd_create("x", 0); os.write(f, open("/bin/true", "rb").read()); '
    'os.execv("/proc/self/fd/%d" % f, ["x"])'
)
TRACE = "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"
BECOME = (
    "import os; u = os.getuid(); g = os.getgid(); os.setresuid({0}, {1}, {2}) if {3} else os.setresgid({0}, {1}, {2})"
)
AS_ROOT_ONLY = ("read a file of the host", "write into a system folder", "write into a library")
WITH_CAPABILITIES_ONLY = (
    "leave by the root of the first process",
    "read the memory of the first process",
    "mount something",
    "set another effective user",
    "set another effective group",
)
NEEDS_A_PRIVATE_ROOT = ("load a program of the workspace by the loader",)
A_MACHINE_MAY_REFUSE_ALL = ("enter new namespaces",)
ATTACKS = {
    "read a file of the host": "cat /etc/shadow >/dev/null && echo BREACHED",
    "write into a system folder": "echo x >/usr/attack && rm /usr/attack && echo BREACHED",
    "write into a library": f"echo x >{sys.prefix}/attack && rm {sys.prefix}/attack && echo BREACHED",
    "reach a server of the host": "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo BREACHED",
    "send a datagram": "echo x >/dev/udp/127.0.0.1/9 && echo BREACHED",
    "open a socket from a program": python("import socket; socket.socket()"),
    "run a program of the workspace": "cp /bin/true attack && chmod +x attack && ./attack && echo BREACHED",
    "run a program of the scratch folder": 'cp /bin/true "$HOME/attack" && "$HOME/attack" && echo BREACHED',
    "run a script of the workspace": "printf '#!/bin/sh\\n' >attack && chmod +x attack && ./attack && echo BREACHED",
    "run a program from memory": python(FROM_MEMORY),
    "load a program of the workspace by the loader": (
        "cp /bin/true attack; for ld in /lib64/ld-linux-*.so.2 /lib/ld-linux-*.so.1; do "
        "[ -e $ld ] && $ld ./attack && echo BREACHED; done"
    ),
    "see a process of the host": "kill -0 $HOST && echo BREACHED",
    "read what a process of the host has open": "ls /proc/$HOST/fd && echo BREACHED",
    "leave by the root of the first process": "ls /proc/1/root/ && echo BREACHED",
    "read the memory of the first process": "head -c 1 /proc/1/maps && echo BREACHED",
    "make a symbolic link": "ln -s /etc/passwd link && echo BREACHED",
    "make a pipe": "mkfifo pipe && echo BREACHED",
    "trace a process": python(TRACE),
    "mount something": "mkdir m && mount -t tmpfs none m && umount m && echo BREACHED",
    "enter new namespaces": "unshare --user true && echo BREACHED",
    # to become what one is already is a call like any other: only the one that make needs is answered
    "set all ids of its user": python(BECOME.format("u", "u", "u", 1)),
    "set the saved id of its user": python(BECOME.format(-1, "u", "u", 1)),
    "set the real id of its group": python(BECOME.format("g", "g", -1, 0)),
    "set another effective user": python(BECOME.format(-1, "u + 1", -1, 1)),
    "set another effective group": python(BECOME.format(-1, "g + 1", -1, 0)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_the_walls_hold_from_a_shell_too(
    name: str, walled: SessionClient, sandbox: Sandbox, shell: Command, open_shell: Command, listener: int
) -> None:
    if name in NEEDS_A_PRIVATE_ROOT:
        need_layer(sandbox, "private root")
    given = f"HOST={os.getpid()} PORT={listener}\n"
    held = shell(given + ATTACKS[name])
    assert held.status in ("ok", "error"), worded(held, "en")
    assert "BREACHED" not in held.stdout, held.stdout
    if name in WITH_CAPABILITIES_ONLY or (os.geteuid() and name in AS_ROOT_ONLY):
        return  # a shell has none even in the control: what it is refused anyway needs no control
    breached = "BREACHED" in open_shell(given + ATTACKS[name]).stdout
    if not breached and name in A_MACHINE_MAY_REFUSE_ALL:
        need_layer(sandbox, "namespaces")
    assert breached, "this attack gets nowhere without walls either"


@pytest.mark.parametrize("name", sorted(ATTACKS.keys() - {*NEEDS_A_PRIVATE_ROOT, "see a process of the host"}))
def test_landlock_and_seccomp_alone_hold_nearly_all_of_it(name: str, reduced: SessionClient, listener: int) -> None:
    shell = commands(reduced, name)
    assert "BREACHED" not in shell(f"HOST={os.getpid()} PORT={listener}\n{ATTACKS[name]}").stdout


@pytest.fixture(scope="module")
def reduced() -> Iterator[SessionClient]:
    with running_host(without=("namespaces",), bash=True) as client:
        yield client


def test_programs_of_the_system_run(shell: Command) -> None:
    """What the walls must not stop."""
    result = shell("printf 'b 2\\na 1\\n' | sort | awk '{print $2}' | tr 12 xy >sorted; cat sorted; date >/dev/null")
    assert (result.status, result.stdout) == ("ok", "x\ny\n")


def test_a_program_of_a_shell_starts_others_as_make_does(shell: Command) -> None:
    """Answered as if done: whoever asks to become the user that it is keeps every id and every file."""
    start = (
        "import os; before = os.getresuid(), os.getresgid(); os.seteuid(os.getuid()); os.setegid(os.getgid()); "
        'pid = os.posix_spawn("/bin/sh", ["sh", "-c", "echo made >file; cat file"], {}, resetids=True); '
        "print(os.waitpid(pid, 0)[1], (os.getresuid(), os.getresgid()) == before)"
    )
    assert shell(f"{PYTHON} -c '{start}'").stdout == "made\n0 True\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
@pytest.mark.parametrize("more", ["", "-j3"])
def test_make_starts_its_commands(shell: Command, more: str) -> None:
    shell("printf 'all: one two\\n%%:\\n\\t@echo $@ >$@; cat $@\\n' >Makefile")
    made = shell(f"make {more} all")
    assert (made.status, sorted(made.stdout.split())) == ("ok", ["all", "one", "two"]), made.stderr


def test_a_shell_has_no_capability_and_gains_none(shell: Command, sandbox: Sandbox) -> None:
    need_layer(sandbox, "private root")  # without a /proc of its own a shell cannot look at itself
    status = shell("cat /proc/$$/status").stdout
    kept = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {kept[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (kept["NoNewPrivs"], kept["Seccomp"]) == ("1", "2")


def test_no_credential_is_in_the_environment_of_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-planted-4711")
    with running_host(bash=True) as client:
        shell = commands(client, "t")
        found = shell("env; tr '\\0' '\\n' </proc/$$/environ").stdout
        assert "PATH=" in found
        assert "planted" not in found
        assert shell("export X=planted; env").stdout.count("planted") == 1


def test_a_shell_cannot_notice_that_another_thread_exists(
    walled: SessionClient, sandbox: Sandbox, thread: str, open_shell: Command
) -> None:
    victim, spy = commands(walled, thread + "-victim"), commands(walled, thread + "-spy")
    victim("secret=CANARY-4711; echo $secret >canary-file; cp canary-file /tmp/canary-tmp; sleep 600 & sleep=$!")
    look = """
for top in /tmp /dev/shm /workspace /proc "$TMPDIR" ..; do find "$top" -maxdepth 4 -name '*canary*'; done 2>/dev/null
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -x '[s]leep'
"""
    seen = spy(look).stdout
    if sandbox.level == "strong":
        assert seen == ""
    open_shell("echo x >canary-control; sleep 600 & true")
    assert "canary-control" in open_shell(look).stdout
    assert "sleep" in open_shell(look).stdout
    after = victim("echo $secret $(cat canary-file); kill -0 $sleep && echo alive")
    assert after.stdout == "CANARY-4711 CANARY-4711\nalive\n"


def test_the_python_process_of_a_thread_cannot_answer_for_its_shell(walled: SessionClient, thread: str) -> None:
    """Python forges the end of a command that runs: it ends its own thread's session, and is not believed."""
    forge = """
import json, os, struct, threading, time
body = json.dumps({"type": "result", "cell": "s1", "status": "ok", "result": None, "error": None,
                   "exit_status": 0, "notice": "forged"}).encode()
def answer():
    while not os.path.exists("running"): time.sleep(0.05)
    for fd in range(200, 256):
        try: os.write(fd, struct.pack(">I", len(body)) + body)
        except OSError: pass
threading.Thread(target=answer).start()
"""
    assert walled.run(thread, "p", forge).status == "ok"
    result = commands(walled, thread)("touch running; sleep 600; echo done")
    assert result.status == "died"
    assert "forged" not in worded(result, "en")
    assert walled.run(thread, "p2", "print(1 + 1)").stdout.endswith("2\n")


LIMITS_MET = {
    "time": ("while :; do :; done", "timeout", "was stopped after 1 s"),
    "memory of one program": (f"{PYTHON} -c 'x = bytearray(2000 << 20)'", "error", None),
    "memory of several programs": (
        f"for i in 1 2 3 4 5 6; do {PYTHON} -c 'import time; x = b\"x\" * (200 << 20); time.sleep(10)' & done; wait",
        "ok error killed",
        "memory",
    ),
    "size of files": ("yes | head -c 200M >large", "error killed", None),
    "number of files": ("for i in $(seq 30000); do : >n$i || break; done; : >last && sleep 600", "error killed", None),
    "output": ("yes | head -c 20000000", "ok", None),
}


@pytest.mark.parametrize("limit", LIMITS_MET)
def test_each_limit_holds_in_a_shell_and_the_thread_goes_on(
    walled: SessionClient, shell: Command, thread: str, limit: str
) -> None:
    command, statuses, sentence = LIMITS_MET[limit]
    result = shell(command, **({"timeout_s": 1} if limit == "time" else {}))
    assert result.status in statuses.split()
    assert sentence is None or sentence in worded(result, "en")
    assert len(result.stdout) < 2 << 20
    assert shell("echo $((1 + 1))").stdout == "2\n"
    assert walled.run(thread, "p", "print(1 + 1)").stdout == "2\n"
    assert commands(walled, thread + "-other")("echo 2").stdout == "2\n"


def test_a_fork_bomb_in_a_shell_starves_nobody(walled: SessionClient, shell: Command, thread: str) -> None:
    result = shell("bomb() { bomb | bomb & }; bomb; sleep 600", timeout_s=2)
    assert result.status in ("timeout", "killed", "died", "error")
    assert commands(walled, thread + "-other")("echo 2").stdout == "2\n"
    walled.reset(thread)
    assert shell("echo 2").stdout == "2\n"


def test_what_a_shell_leaves_running_is_gone_after_reset(walled: SessionClient, shell: Command, thread: str) -> None:
    mark = f"{600 + os.getpid() % 100}.{thread[6:-2]}4711"  # seconds that nobody else sleeps
    shell(f"for i in 1 2 3; do setsid sleep {mark} & done; (sleep {mark} &)")
    assert wait_for(lambda: _sleepers(mark) == 4), "they did not start: this test proves nothing"
    walled.reset(thread)
    assert wait_for(lambda: _sleepers(mark) == 0)


def _sleepers(mark: str) -> int:
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found += (entry / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode()
            except OSError:
                continue
    return found


def test_no_file_of_the_host_comes_out_of_a_shell(shell: Command, open_shell: Command) -> None:
    for run in (shell, open_shell):
        result = run(
            "ln -s /etc/passwd a.txt; ln /etc/passwd b.txt; mkfifo c.txt; truncate -s 4M d.txt; echo fine >e.txt"
        )
        assert [file.name for file in result.artifacts] == ["e.txt"]
