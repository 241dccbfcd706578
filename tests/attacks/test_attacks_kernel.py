"""A Python cell can open no socket, run no program and reach no kernel interface that escapes are made of (promise 2).

Each attack prints BREACHED when it gets somewhere. The control is the same code without walls: it must get there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_kit import NEEDS_X86, need_layer
from patience import PATIENCE_S
from services import missing
from situations import CAP_SYS_NICE, CAP_SYS_RESOURCE, has_capability

from executor.attacks import FILES, METADATA, POWERS, PROGRAMS, REACH, SOCKETS, given
from executor.client import SessionClient
from executor.sandbox import seccomp
from executor.values import Sandbox

ATTACKS = FILES | SOCKETS | PROGRAMS | POWERS
HERE = given(HOST_PID=os.getpid())
MACHINE_MAY_LACK = {"open a vsock", "open a pair of another family", "run curl", "send out of band"}
A_MACHINE_MAY_REFUSE_ALL = {"unshare a user namespace", "clone into a user namespace"}
NEEDS_CAPABILITY = {"lower its own priority's floor": CAP_SYS_NICE, "lift its own limits": CAP_SYS_RESOURCE}


@NEEDS_X86
@pytest.mark.parametrize("name", ATTACKS)
def test_the_walls_hold_and_the_attack_is_a_real_one(name: str, attack, control, sandbox: Sandbox) -> None:
    code = REACH + HERE + ATTACKS[name].code
    held = attack(code)
    assert held.status == "ok", held.error
    assert "BREACHED" not in held.stdout
    breached = "BREACHED" in control(code).stdout or plain(code)  # the latter has capabilities, if this user has any
    needed = NEEDS_CAPABILITY.get(name)
    powerless = os.geteuid() != 0 or (needed is not None and not has_capability(needed))
    if not powerless and name not in MACHINE_MAY_LACK:  # the powerless are refused much of it without any wall
        if not breached and name in A_MACHINE_MAY_REFUSE_ALL:
            need_layer(sandbox, "namespaces")
        assert breached, "this attack gets nowhere without walls either: it proves nothing"


def plain(code: str) -> bool:
    """Whether an attack gets somewhere in a process like any other."""
    script = "import os, tempfile\nos.chdir(tempfile.mkdtemp())\n" + code
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False
    )
    (Path(sys.prefix) / "attack").unlink(missing_ok=True)
    return "BREACHED" in ran.stdout


A_FILE_SYSTEM_MAY_LACK = {"setxattr", "fsetxattr", "removexattr", "fremovexattr", "chattr", "fchmodat2"}


def metadata_of(path: Path) -> tuple[object, ...]:
    """All that can be changed of a file but its content; not when it was last read."""
    status = path.stat()
    flags = ""
    with contextlib.suppress(OSError), path.open() as file:
        flags = fcntl.ioctl(file, 0x8008_6601, bytes(8)).hex()
    marks = [(name, os.getxattr(path, name)) for name in os.listxattr(path)]
    return status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, flags, marks


@NEEDS_X86
@pytest.mark.parametrize("way", METADATA)
def test_a_cell_changes_no_mode_owner_time_or_mark_of_a_file_of_the_service(
    walled: SessionClient,
    uncounted_reduced: SessionClient,
    unwalled: SessionClient,
    thread: str,
    own_library: Path,
    way: str,
) -> None:
    """Landlock does not look at these. The file is one that every session may read, and so has a descriptor of."""
    own_library.write_text("x = 1")
    own_library.chmod(0o644)
    with contextlib.suppress(OSError):
        os.setxattr(own_library, "user.kept", b"x")
    before = metadata_of(own_library)
    code = REACH + given(CANARY=str(own_library)) + METADATA[way].code
    for client in (walled, uncounted_reduced):
        result = client.run(thread, "1", code)
        assert result.status in ("ok", "error")
        assert metadata_of(own_library) == before
    unwalled.run(thread, "1", code)
    if os.geteuid() == 0 and way not in A_FILE_SYSTEM_MAY_LACK and "chown" not in way:  # nobody has a group to give
        assert metadata_of(own_library) != before, "without walls it changes nothing either: it proves nothing"


@pytest.fixture
def own_library() -> Iterator[Path]:
    """A file among the libraries, of this user if it may make one there; else its own, which no wall lets be read."""
    for folder in (Path(sys.prefix), Path(tempfile.mkdtemp(prefix="threadbook-attack-"))):
        path = folder / f"attack-{os.getpid()}.txt"
        with contextlib.suppress(OSError):
            path.write_text("")
            break
    yield path
    path.unlink()


COPIES = """
import os, pathlib, shutil, tarfile, tempfile, zipfile
pathlib.Path("a.csv").write_text("n\\n1\\n")
os.chmod("a.csv", 0o600)
shutil.copy("a.csv", "b.csv"), shutil.copy2("a.csv", "c.csv")
shutil.copytree(".", "all"), shutil.move("c.csv", "d.csv")
with zipfile.ZipFile("z.zip", "w") as file: file.write("a.csv")
with zipfile.ZipFile("z.zip") as file: file.extractall("from-zip")
with tarfile.open("t.tar", "w") as file: file.add("a.csv")
with tarfile.open("t.tar") as file: file.extractall("from-tar", filter="data")
with tempfile.NamedTemporaryFile() as file: shutil.copystat("a.csv", file.name)
os.utime("a.csv"), os.chown("a.csv", -1, -1), pathlib.Path("a.csv").touch()
shutil.unpack_archive(shutil.make_archive("m", "zip", "all"), "from-m")
made = ("b.csv", "d.csv", "from-zip/a.csv", "from-tar/a.csv", "from-m/a.csv")
print(all(pathlib.Path(name).exists() for name in made))
"""


@pytest.mark.parametrize("walls", ["walled", "uncounted", "uncounted_reduced"])
def test_copying_packing_and_unpacking_work_behind_each_of_the_walls(
    request: pytest.FixtureRequest, walls: str, thread: str
) -> None:
    result = request.getfixturevalue(walls).run(thread, "1", COPIES)
    assert (result.status, result.stdout) == ("ok", "True\n"), result.error


@NEEDS_X86
@pytest.mark.parametrize("reason", seccomp.DENIED)
def test_every_denied_system_call_is_refused(attack, reason: str) -> None:
    """With arguments that do nothing: EPERM must come before the kernel looks at them."""
    numbers = {name: seccomp.MACHINES["x86_64"].calls[name] for name in seccomp.DENIED[reason].split()}
    code = f"""
for name, number in {numbers!r}.items():
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    if result != -1 or ctypes.get_errno() != errno.EPERM: print(name, result, ctypes.get_errno())
"""
    assert attack(REACH + code).stdout == ""


MACHINE_CODE = """
import ctypes, mmap, os
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
code.write(bytes.fromhex({hex!r}))
enter = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
child = os.fork()
if child == 0:
    os._exit(1 if enter() > 0 else 0)
status = os.waitpid(child, 0)[1]
print("BREACHED" if os.WIFEXITED(status) and os.WEXITSTATUS(status) else "held", status)
"""
ENTRIES = {
    "the usual one: getpid of the 64-bit table": "b8270000000f05c3",
    "int 0x80: getpid of the 32-bit table": "b814000000cd80c3",
    "x32: getpid with the x32 bit": "b8270000400f05c3",
}


@NEEDS_X86
@pytest.mark.parametrize("entry", ENTRIES)
def test_other_entries_to_the_kernel_are_deadly(attack, control, entry: str) -> None:
    code = MACHINE_CODE.format(hex=ENTRIES[entry])
    if entry.startswith("the usual"):  # the control of the code itself: it can tell a call that worked
        assert "BREACHED" in attack(code).stdout
        return
    assert "BREACHED" not in attack(code).stdout
    if entry.startswith("int"):
        assert "BREACHED" in control(code).stdout, "this kernel has no 32-bit entry: the test proves nothing"


def test_the_table_of_calls_has_a_number_for_every_denied_call() -> None:
    old = {"inotify_init", "modify_ldt", "iopl", "ioperm", "uselib", "ustat", "sysfs"}
    old |= {"chmod", "chown", "lchown", "utime", "utimes", "futimesat"}
    absent = {"aarch64": old, "x86_64": set()}
    for machine, table in seccomp.MACHINES.items():
        every = [*seccomp.DENIED.values(), seccomp.EXEC, *seccomp.METADATA]
        denied = set(" ".join(every).split())
        assert denied - set(table.calls) == absent[machine]


HEADERS = {
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"),),
    "x86_64": (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm/unistd_64.h")),
}
NEWER_THAN_HEADERS = {
    *("statmount", "listmount", "open_tree_attr", "fchmodat2"),
    *("setxattrat", "removexattrat", "file_setattr"),
}
"""Of Linux 6.6 to 6.17, with the same number on every machine: the headers of a stable system may not know them."""


ONE_CALL = {"fstatat": "newfstatat"}
"""What the headers of aarch64 call otherwise than those of x86-64."""


def header_numbers(machine: str) -> dict[str, int]:
    """Name → number of a machine's system calls."""
    header = next((path for path in HEADERS[machine] if path.exists()), None)
    if header is None:
        missing("the kernel's headers", "install linux-libc-dev")
    numbers = {}
    for line in header.read_text().splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "#define" and words[1].startswith("__NR") and words[2].isdigit():
            name = words[1].removeprefix("__NR3264_").removeprefix("__NR_")
            numbers[ONE_CALL.get(name, name)] = int(words[2])
    return numbers


@NEEDS_X86
@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    """The generic table is what aarch64 uses; the installed headers of any machine hold it."""
    numbers = header_numbers(machine)
    table = seccomp.MACHINES[machine].calls
    assert set(table) - set(numbers) <= NEWER_THAN_HEADERS
    assert {name: number for name, number in table.items() if numbers.get(name, number) != number} == {}
