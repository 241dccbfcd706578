"""What a machine has only so much of: memory, and the kernel's quotas that all its users share (promise 7).

Each attack prints BREACHED when it gets somewhere. The control is the same code without walls: it must get there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from attack_kit import NEEDS_X86, descendants, need_layer, processes, wait_for

from executor.attacks import DISK, MEMORY, QUOTAS, REACH
from executor.client import SessionClient
from executor.environment import clean_environment
from executor.launch import running_host, stop_host, wait_for_host
from executor.sessions.processor_share import NICE
from executor.values import CellResult, Limits
from workers.delivery.notices import worded


def hold(client: SessionClient, thread: str, what: str) -> CellResult:
    client.run(thread, "0", "kept = 7")
    result = client.run(thread, "1", REACH + MEMORY[what].code)
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


@pytest.mark.parametrize("where", DISK)
@pytest.mark.parametrize("walls", ["walled", "uncounted", "uncounted_reduced"])
def test_no_session_fills_the_disk_wherever_it_writes(
    request: pytest.FixtureRequest, walls: str, thread: str, where: str
) -> None:
    client: SessionClient = request.getfixturevalue(walls)
    client.run(thread, "0", "kept = 7")
    result = client.run(thread, "1", REACH + DISK[where].code)
    after = client.run(thread, "2", "print(1 + 1, kept)")
    client.reset(thread)
    if "BREACHED" in result.stdout and DISK[where].needs:
        need_layer(client.ping().sandbox, DISK[where].needs)
    assert "BREACHED" not in result.stdout
    assert after.stdout == "2 7\n"


@pytest.mark.parametrize("where", sorted(DISK.keys() - {"files deeper than anybody looks"}))
def test_the_same_files_can_be_written_where_nobody_counts(tmp_path: Path, where: str) -> None:
    with running_host(limits=Limits(workspace_mb=1_000), without=("namespaces",)) as client:
        assert "BREACHED" in client.run("t", "1", REACH + DISK[where].code).stdout


NEEDS_MORE = {"a queue of messages", "a counter of the processor", "a key", "faults handled by itself", "a terminal"}
"""What a machine, or a limit of the process, may refuse everybody."""


@NEEDS_X86
@pytest.mark.parametrize("quota", QUOTAS)
def test_no_session_takes_of_what_the_machine_has_little_of(attack, control, quota: str) -> None:
    held = attack(REACH + QUOTAS[quota].code)
    assert "BREACHED" not in held.stdout
    if quota not in NEEDS_MORE and "page" not in quota:
        assert "BREACHED" in control(REACH + QUOTAS[quota].code).stdout, "without walls it gets nowhere either"


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


THREADS = """
import threading
go = threading.Event()
def work():
    held = [bytes(3_000) for _ in range(100)]
    go.wait()
    return held
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
go.set()
for thread in threads: thread.join()
print(len(threads))
"""


def test_a_cells_threads_do_not_use_up_its_memory_with_addresses(walled: SessionClient, thread: str) -> None:
    result = walled.run(thread, "1", THREADS)
    assert (result.status, result.stdout) == ("ok", "16\n"), result.error


IMPATIENT = """
from executor.sessions import processor_share
from executor.host import main
processor_share._BUSY_S, processor_share.EVERY_S, processor_share._FREE = 0.5, 0.1, 0.02
main()
"""
BUSY = """
import os, threading, time
for turn in range(3):
    if os.fork() == 0:
        if turn: os.setpgid(0, 0)
        while True: pass
threading.Thread(target=lambda: sum(iter(lambda: 1, 0)), daemon=True).start()
print("busy", flush=True)
while not os.path.exists("over"): time.sleep(0.05)
"""
BACK = """
tries(lambda: os.nice(-1), lambda: os.setpriority(os.PRIO_PROCESS, 0, 0) or "set",
      lambda: open("/proc/self/autogroup", "w").write("0") and "its group")
"""


def pid_of(client: SessionClient, thread: str) -> int:
    """The first process of a thread's session; 0 while it has none."""
    return next((one.pid for one in client.sessions() if one.thread_id == thread and one.pid), 0)


def niceness(pid: int) -> set[int]:
    """Of a process and all below it, their threads too."""
    if not pid:
        return set()
    tasks = [int(task.name) for one in descendants(pid) for task in Path(f"/proc/{one}/task").glob("*")]
    return {os.getpriority(os.PRIO_PROCESS, task) for task in tasks}


@pytest.mark.parametrize("without", [(), ("namespaces",), ("cgroup",)])
def test_a_busy_neighbour_goes_behind_the_others_with_all_that_it_started(
    tmp_path: Path, thread: str, without: tuple[str, ...]
) -> None:
    """The host's rule for half a minute is tried in half a second.

    A loaded machine may leave this session less than the half of a processor that anybody may use.
    """
    own = os.getpriority(os.PRIO_PROCESS, 0)
    command = [sys.executable, "-c", IMPATIENT, "--socket", str(tmp_path / "s"), "--home", str(tmp_path / "home")]
    process = subprocess.Popen([*command, "--without", ",".join(without)], env=clean_environment(tmp_path / "cache"))
    try:
        wait_for_host(process, tmp_path / "s")
        client = SessionClient(tmp_path / "s")
        client.run("quiet", "1", "print(1 + 1)")
        with ThreadPoolExecutor(1) as pool:
            busy = pool.submit(client.run, thread, "1", BUSY)
            assert wait_for(lambda: niceness(pid_of(client, thread)) == {min(own + NICE, 19)}), client.sessions()
            assert len(descendants(pid_of(client, thread))) == 4
            assert niceness(pid_of(client, "quiet")) == {own}
            client.interrupt(thread)
            busy.result()
        assert "BREACHED" not in client.run(thread, "2", REACH + BACK).stdout
    finally:
        stop_host(process)
