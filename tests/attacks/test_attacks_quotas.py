"""What a machine has only so much of: memory, and the kernel's quotas that all its users share (promise 7).

Each attack prints BREACHED when it gets somewhere. The control is the same code without walls: it must get there.
"""

from __future__ import annotations

import os

import pytest
from attack_kit import NEEDS_X86, REACH, descendants, need_layer, processes, wait_for

from executor.client import SessionClient
from executor.launch import running_host
from executor.values import CellResult
from workers.delivery.notices import worded

HOLDS = """
import mmap, time
MB, libc.mmap.restype = 1 << 20, ctypes.c_void_p
def out_of_sight(memory):
    memory.madvise(mmap.MADV_DONTNEED)
    return memory
def fill(memory, size):
    for at in range(0, size, MB): memory[at:at + MB] = b"x" * MB
    return memory
def held(megabytes):
    time.sleep(4)  # longer than any watcher looks away
    try: gone = os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError: gone = 0
    if not gone: breached("%d MB held" % megabytes)
"""
FILLED = """
import _socket, fcntl
def attack():
    PAIR
    sums, tell = os.pipe()
    for turn in range(20):
        if os.fork() == 0:
            filled = 0
            try:
                while True:
                    for end in PAIR[::-1]:
                        os.set_blocking(end, False)
                        try: fcntl.fcntl(end, 1031, MB)
                        except OSError: pass
                        try:
                            while True: filled += os.write(end, b"x" * 65536)
                        except OSError: pass
            except OSError: pass
            os.write(tell, b"%10d" % filled)
            time.sleep(60)
    total = sum(int(os.read(sums, 10)) for turn in range(20))
    if total > 600 * MB: held(total / MB)
tries(attack)
"""
MEMORY = {
    "files without a name": """
def attack():
    files = [os.memfd_create("m") for turn in range(20)]
    for file in files:
        for turn in range(60): os.write(file, b"x" * MB)
    held(1200)
tries(attack)
""",
    "memory that several processes map": """
def attack():
    ready, tell = os.pipe()
    for turn in range(3):
        shared = mmap.mmap(-1, 300 * MB)  # before the fork: an error ends the attack here
        if os.fork() == 0:
            fill(shared, 300 * MB)
            os.write(tell, b"!")
            time.sleep(60)
            os._exit(0)
        del shared
    os.close(tell)
    if all(os.read(ready, 1) for turn in range(3)): held(900)
tries(attack)
""",
    "shared memory put out of sight": """
def attack():
    mmap.mmap(-1, MB)
    for turn in range(4):
        if os.fork() == 0:
            kept = [out_of_sight(fill(mmap.mmap(-1, 20 * MB), 20 * MB)) for turn in range(15)]
            time.sleep(60)
    time.sleep(2)
    held(1200)
tries(attack)
""",
    "a device mapped by several processes": """
def attack():
    file = os.open("/dev/zero", os.O_RDWR)
    for turn in range(4):
        if os.fork() == 0:
            kept = [out_of_sight(fill(mmap.mmap(file, 20 * MB), 20 * MB)) for turn in range(15)]
            time.sleep(60)
    time.sleep(3)
    held(1200)
tries(attack)
""",
    "what sockets hold": FILLED.replace("PAIR", "[_socket.socket.detach(one) for one in _socket.socketpair(1, 1, 0)]"),
    "what pipes hold": FILLED.replace("PAIR", "os.pipe()"),
}


def hold(client: SessionClient, thread: str, what: str) -> CellResult:
    client.run(thread, "0", "kept = 7")
    result = client.run(thread, "1", REACH + HOLDS + MEMORY[what])
    client.run(thread, "2", "print(1 + 1, kept)")
    client.reset(thread)
    return result


@pytest.mark.parametrize("what", MEMORY)
@pytest.mark.parametrize("walls", ["walled", "uncounted", "uncounted_reduced"])
def test_no_session_holds_more_memory_than_its_limit_in_any_shape(
    request: pytest.FixtureRequest, walls: str, thread: str, what: str
) -> None:
    result = hold(request.getfixturevalue(walls), thread, what)
    assert "BREACHED" not in result.stdout
    assert result.status in ("ok", "error", "killed", "died"), worded(result, "en")


@pytest.mark.parametrize("what", MEMORY)
def test_the_same_memory_can_be_held_where_no_wall_is(unwalled: SessionClient, thread: str, what: str) -> None:
    """Or its watcher, who may look into every process there, has seen it."""
    result = hold(unwalled, thread, what)
    if what != "what pipes hold":  # of which the kernel gives every user a bounded share, behind walls and without
        assert "BREACHED" in result.stdout or result.status == "killed", "it proves nothing"


QUOTAS = {
    "asynchronous reads and writes": "n = ctypes.c_ulong()\ntries(lambda: call(206, 4096, ctypes.addressof(n)))",
    "pages of a hundredfold size": (
        "libc.mmap.restype = ctypes.c_void_p\nif call(9, 0, 2 << 20, 3, 0x40022, -1, 0): breached('mapped')"
    ),
    "a file of such pages": "tries(lambda: os.memfd_create('m', 4) > 0)",
    "a lease on a library, for which its next writer waits": (
        "import fcntl\nfile = os.open('leased', os.O_CREAT | os.O_RDONLY)\n"
        "tries(lambda: fcntl.fcntl(file, 1024, fcntl.F_RDLCK) == 0)"
    ),
    "a watch on a folder by the old way": (
        "import fcntl\ntries(lambda: fcntl.fcntl(os.open('.', os.O_RDONLY), 1026, 2) == 0)"
    ),
    "a watch on a file": "tries(lambda: libc.inotify_init() > 0)",
    "a queue of messages": "tries(lambda: libc.mq_open(b'/q%d' % os.getpid(), 0o102, 0o600, 0) > 0)",
    "shared memory of the old kind": "tries(lambda: call(29, 0, 4096, 0o1600))",
    "semaphores of the old kind": "tries(lambda: call(64, 0, 1, 0o1600))",
    "a key": "tries(lambda: call(248, ctypes.addressof(ctypes.create_string_buffer(b'user')), 0, 0, 0, -3))",
    "a counter of the processor": (
        "given = ctypes.create_string_buffer(200)\ntries(lambda: call(298, ctypes.addressof(given), 0, -1, -1, 0))"
    ),
    "a terminal": "tries(lambda: os.open('/dev/ptmx', os.O_RDWR))",
    "faults handled by itself": "tries(lambda: call(323, 1))",
    "descriptors under way in a socket": (
        "import array, socket\none, other = socket.socketpair()\ntries(lambda: socket.send_fds(one, [b'x'], [0]) > 0)"
    ),
    "a core file by the machine's helper": (
        "import resource\ntries(lambda: libc.prctl(4, 1, 0, 0, 0) == 0, "
        "lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)) or 'set')"
    ),
}
NEEDS_MORE = {"a queue of messages", "a counter of the processor", "a key", "faults handled by itself", "a terminal"}
"""What a machine, or a limit of the process, may refuse everybody."""


@NEEDS_X86
@pytest.mark.parametrize("quota", QUOTAS)
def test_no_session_takes_of_what_the_machine_has_little_of(attack, control, quota: str) -> None:
    held = attack(REACH + QUOTAS[quota])
    assert "BREACHED" not in held.stdout
    if quota not in NEEDS_MORE and "page" not in quota:
        assert "BREACHED" in control(REACH + QUOTAS[quota]).stdout, "without walls it gets nowhere either"


ESCAPES = {
    "a child of its parent": "pid = libc.syscall(*[ctypes.c_long(word) for word in (56, 0x8000 | 17, 0, 0, 0, 0)])",
    "an orphan that it does not adopt": """
libc.prctl(36, 0, 0, 0, 0)
pid = os.fork()
if pid == 0:
    pid = os.fork()
    if pid: os._exit(0)
else: os.wait()
""",
}


@NEEDS_X86
@pytest.mark.parametrize("walls", ["walled", "uncounted", "uncounted_reduced"])
@pytest.mark.parametrize("escape", ESCAPES)
def test_nothing_that_a_session_starts_is_out_of_its_watchers_sight(
    request: pytest.FixtureRequest, walls: str, thread: str, escape: str
) -> None:
    client: SessionClient = request.getfixturevalue(walls)
    mark = f"away-{os.getpid() % 9999}-{thread[6:-2]}"[-15:]
    stay = f"""
import time
if pid == 0:
    libc.prctl(15, b"{mark}", 0, 0, 0)
    time.sleep(600)
time.sleep(0.5)
"""
    result = client.run(thread, "1", REACH + ESCAPES[escape] + stay)
    assert result.status == "ok", result.error
    live = next(one.pid for one in client.sessions() if one.thread_id == thread)
    assert set(processes(mark)) <= set(descendants(live))
    client.reset(thread)
    assert wait_for(lambda: processes(mark) == [])


WORK = """
import asyncio, io, multiprocessing, os, shutil, sqlite3, sys, zipfile
import matplotlib.pyplot as plt, numpy as np, pandas as pd, pyarrow as pa, pyarrow.parquet as pq
from sklearn.ensemble import RandomForestClassifier
frame = pd.DataFrame({"a": range(1_000), "b": np.random.rand(1_000)})
frame.to_parquet("f.parquet")
assert pq.read_table("f.parquet", memory_map=True).num_rows == 1_000
shutil.copy("f.parquet", "copy.parquet")
with zipfile.ZipFile("f.zip", "w") as packed: packed.write("copy.parquet")
with zipfile.ZipFile("f.zip") as packed: packed.extractall("out")
with sqlite3.connect("f.db") as base: frame.to_sql("t", base)
mapped = np.memmap("m.bin", dtype="f8", mode="w+", shape=1_000)
mapped[:] = 1
model = RandomForestClassifier(n_estimators=5, n_jobs=2).fit(frame[["a"]], frame["b"] > 0.5)
async def later():
    await asyncio.sleep(0.01)
    return await asyncio.to_thread(lambda: 5)
child = multiprocessing.Process(target=lambda: open("child", "w").write("x"))
child.start()
child.join()
plt.plot(frame["b"])
print(asyncio.run(later()), len(os.listdir("out")), os.path.exists("child"), mapped.sum())
"""


@pytest.mark.parametrize("walls", ["walled", "uncounted", "uncounted_reduced"])
def test_what_analysis_needs_works_behind_each_of_these_walls(
    request: pytest.FixtureRequest, walls: str, thread: str
) -> None:
    result = request.getfixturevalue(walls).run(thread, "1", WORK)
    assert (result.status, result.stdout) == ("ok", "5 1 True 1000.0\n"), (result.error, worded(result, "en"))
    assert "image/png" in [file.mimetype for file in result.artifacts]


@pytest.mark.parametrize("without", [(), ("cgroup",)])
def test_duckdb_works_behind_a_private_root(without: tuple[str, ...]) -> None:
    """Without one it aborts: it cannot bear that a file of cgroups is there and may not be read. They stay unreadable,
    for they name the sessions of all threads."""
    pytest.importorskip("duckdb")
    code = "import duckdb\nopen('a.csv', 'w').write('n\\n1\\n2\\n')\nprint(duckdb.sql(\"select sum(n) from 'a.csv'\"))"
    with running_host(without=without) as client:  # with the usual limits: its buffers take more than the small ones
        need_layer(client.ping().sandbox, "private root")
        result = client.run("t", "1", code)
    assert result.status == "ok", (result.error, worded(result, "en"), result.stderr)
    assert " 3 " in result.stdout
