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
from attack_kit import NEEDS_X86, REACH, need_layer
from services import missing
from situations import CAP_SYS_NICE, has_capability

from executor.client import SessionClient
from executor.sandbox import seccomp
from executor.values import Sandbox

FILES = {
    "read a file of the host": 'tries(lambda: open("/etc/shadow").read(1))',
    "list the host's folders": 'tries(lambda: os.listdir("/root"), lambda: os.listdir("/var"))',
    "write into a library": 'tries(lambda: open(os.path.join(sys.prefix, "attack"), "w").write("x"))',
    "make a symbolic link": 'tries(lambda: os.symlink("/etc/passwd", "link") or "made")',
    "make a pipe": 'tries(lambda: os.mkfifo("pipe") or "made")',
    "make a device": 'tries(lambda: os.mknod("device", 0o20666, os.makedev(1, 3)) or "made")',
}
SOCKETS = {
    "open a UDP socket": "tries(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)))",
    "ask for a name": "tries(lambda: socket.socket(type=socket.SOCK_DGRAM).connect(('127.0.0.1', 53)) or 'connected')",
    "open a TCP socket": "tries(lambda: socket.socket().bind(('127.0.0.1', 0)) or 'bound')",
    "open an abstract socket": "tries(lambda: socket.socket(socket.AF_UNIX).bind('\\0attack%d' % os.getpid()) or 1)",
    "open a unix socket": "tries(lambda: socket.socket(socket.AF_UNIX).bind('sock') or 'bound')",
    "open a netlink socket": "tries(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).fileno())",
    "open a raw socket": "tries(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).fileno())",
    "open a packet socket": "tries(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).fileno())",
    "open a vsock": "tries(lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).fileno())",
    "open a pair of another family": "tries(lambda: socket.socketpair(socket.AF_TIPC)[0].fileno())",
    "send out of band": """
import _socket
tries(lambda: _socket.socketpair(1, 1, 0)[0].send(b"x", _socket.MSG_OOB))
""",
    "receive out of band": """
import _socket
def answers(receive):
    ends = _socket.socketpair(1, 1, 0)
    try: return receive(ends[0])
    except OSError as error: return error.errno != errno.EPERM and "the kernel looked"
tries(*[lambda one=one: answers(one) for one in (
    lambda end: end.recv(1, _socket.MSG_OOB),
    lambda end: end.recvmsg(1, 0, _socket.MSG_OOB),
    lambda end: call(299, end.fileno(), 0, 0, 1, 0),
)])
""",
    "set up io_uring": "b = ctypes.create_string_buffer(256)\ntries(lambda: call(425, 1, ctypes.addressof(b)))",
}
PROGRAMS = {
    "run a program": 'import subprocess as s\ntries(lambda: s.run(["/bin/true"]).returncode == 0 and "ran")',
    "run curl": 'import subprocess as s\ntries(lambda: s.run(["curl", "--version"], stdout=-3).returncode == 0)',
    "run itself": 'import subprocess as s\ntries(lambda: s.run([sys.executable, "-c", ""]).returncode == 0)',
    "run a program by descriptor": """
def run():
    file = os.open("/bin/true", os.O_RDONLY)
    child = os.fork()
    if child == 0:
        try: os.execve(file, ["true"], {})
        finally: os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
tries(run)
""",
    "run a program from memory": """
def run():
    file = os.memfd_create("program")
    os.write(file, open("/bin/true", "rb").read())
    child = os.fork()
    if child == 0:
        try: os.execve(file, ["true"], {})
        finally: os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
tries(run)
""",
}
POWERS = {
    "become root": "tries(lambda: os.setuid(0) or 'root')",
    "unshare a user namespace": "tries(lambda: call(272, 0x10000000))",
    "clone into a user namespace": "tries(lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0))",
    "trace itself": "tries(lambda: call(101, 0, 0, 0, 0))",
    "use the key ring": "tries(lambda: call(250, 0, -3, 1))",
    "make shared memory": "tries(lambda: call(29, 0, 4096, 0o1600))",
    "lower its own priority's floor": "tries(lambda: os.setpriority(os.PRIO_PROCESS, 0, -1) or 'set')",
}
ATTACKS = FILES | SOCKETS | PROGRAMS | POWERS
MACHINE_MAY_LACK = {"open a vsock", "open a pair of another family", "run curl", "send out of band"}
A_MACHINE_MAY_REFUSE_ALL = {"unshare a user namespace", "clone into a user namespace"}
NEEDS_CAPABILITY = {"lower its own priority's floor": CAP_SYS_NICE}


@NEEDS_X86
@pytest.mark.parametrize("name", ATTACKS)
def test_the_walls_hold_and_the_attack_is_a_real_one(name: str, attack, control, sandbox: Sandbox) -> None:
    code = REACH + ATTACKS[name]
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
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    (Path(sys.prefix) / "attack").unlink(missing_ok=True)
    return "BREACHED" in ran.stdout


METADATA = """
import ctypes, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
path, number = {path!r}, {number!r}
def call(number, *words):
    libc.syscall.restype = ctypes.c_long
    plain = (bytes, ctypes.Array)
    libc.syscall(*[word if isinstance(word, plain) else ctypes.c_long(word) for word in (number, *words)])
def opened(): return os.open(path, os.O_RDONLY)
name, here = os.fsencode(path), -100
times = ctypes.create_string_buffer(struct.pack("4q", 1, 0, 1, 0))
attribute = struct.pack("=QIII", 0, 0, 0, 0)
ways = {{
    "chmod": lambda: os.chmod(path, 0o777),
    "fchmod": lambda: os.fchmod(opened(), 0o777),
    "fchmod of a path": lambda: os.chmod(f"/proc/self/fd/{{os.open(path, os.O_PATH)}}", 0o777),
    "fchmodat": lambda: os.chmod(os.path.basename(path), 0o777, dir_fd=os.open(os.path.dirname(path), os.O_PATH)),
    "fchmodat2": lambda: call(452, here, name, 0o777, 0),
    "chown": lambda: os.chown(path, -1, 12345),
    "lchown": lambda: os.lchown(path, -1, 12345),
    "fchown": lambda: os.fchown(opened(), -1, 12345),
    "fchownat": lambda: call(260, here, name, -1, 12345, 0),
    "utime": lambda: call(132, name, 0),
    "utimes": lambda: call(235, name, times),
    "futimesat": lambda: call(261, here, name, times),
    "utimensat": lambda: os.utime(path, (1, 1)),
    "futimens": lambda: os.utime(opened(), (1, 1)),
    "setxattr": lambda: os.setxattr(path, "user.mark", b"x"),
    "fsetxattr": lambda: os.setxattr(opened(), "user.mark", b"x"),
    "removexattr": lambda: os.removexattr(path, "user.kept"),
    "fremovexattr": lambda: os.removexattr(opened(), "user.kept"),
    "chattr": lambda: fcntl.ioctl(opened(), 0x40086602, struct.pack("l", 0x80)),
}}
ways[number]()
"""
WAYS = [line.split('"')[1] for line in METADATA.splitlines() if line.startswith('    "')]
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
@pytest.mark.parametrize("way", WAYS)
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
    code = METADATA.format(path=str(own_library), number=way)
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


@NEEDS_X86
@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    """The generic table is what aarch64 uses; the installed headers of any machine hold it."""
    header = next((path for path in HEADERS[machine] if path.exists()), None)
    if header is None:
        missing("the kernel's headers", "install linux-libc-dev")
    numbers = {}
    for line in header.read_text().splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "#define" and words[1].startswith("__NR") and words[2].isdigit():
            numbers[words[1].removeprefix("__NR3264_").removeprefix("__NR_")] = int(words[2])
    table = seccomp.MACHINES[machine].calls
    assert set(table) - set(numbers) <= NEWER_THAN_HEADERS
    assert {name: number for name, number in table.items() if numbers.get(name, number) != number} == {}
