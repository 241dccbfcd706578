"""A thread cannot notice that others exist, and whatever it leaves behind is gone on reset (promises 3 and 4)."""

from __future__ import annotations

import os
import signal

import pytest
from attack_kit import descendants, need_layer, processes, wait_for

from executor.attacks import NEIGHBOURS, REACH, VICTIMS_CELL, given
from executor.client import SessionClient
from executor.values import Sandbox

NOT_WITHOUT_A_KERNEL = {"read its memory", "read its environment", "trace it", "read its memory by call"}
"""What `hide_memory` stops by itself, walls or not, unless the attacker is root."""


@pytest.mark.parametrize("reach", NEIGHBOURS)
def test_a_thread_cannot_notice_that_another_exists(
    walled: SessionClient, unwalled: SessionClient, sandbox: Sandbox, thread: str, reach: str
) -> None:
    victim = thread + "-victim"

    def spied(client: SessionClient) -> str:
        folder = client.run(victim, "1", VICTIMS_CELL + "print(os.getcwd())").stdout.strip()
        assert folder
        live = {session.thread_id: session.pid for session in client.sessions()}
        code = given(VICTIM_PID=live[victim], VICTIM_FOLDER=folder) + NEIGHBOURS[reach].code
        result = client.run(thread + "-spy", "1", REACH + code)
        assert result.status == "ok", result.error
        after = client.run(victim, "2", "print(secret, open('canary-file.txt').read())")
        assert after.stdout == "CANARY-4711 CANARY-4711\n"
        client.reset(victim)
        return result.stdout

    found = spied(walled)
    if "BREACHED" in found:
        need_layer(sandbox, "namespaces")
    assert "BREACHED" not in found
    if reach not in NOT_WITHOUT_A_KERNEL:
        assert "BREACHED" in spied(unwalled), "without walls it gets nowhere either: it proves nothing"


DAEMONS = """
import ctypes, os, time
for turn in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            {cover}
            ctypes.CDLL(None).prctl(15, b"{mark}", 0, 0, 0)
            time.sleep(600)
        os._exit(0)
"""
COVERS = {
    "a daemon": "pass",
    "one that ignores signals": "import signal; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 13, 15)]",
    "one that has closed everything": "os.closerange(0, 1024)",
    "one that does not want to die with its parent": "ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)",
}


@pytest.mark.parametrize("cover", COVERS)
@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_whatever_a_thread_leaves_running_is_gone_after_reset(
    request: pytest.FixtureRequest, walls: str, thread: str, cover: str
) -> None:
    """With and without a pid namespace, which takes it along; without one the zygote finds it as its orphan."""
    client: SessionClient = request.getfixturevalue(walls)
    mark = f"left-{os.getpid() % 9999}-{thread[6:-2]}"[-15:]
    client.run(thread, "1", DAEMONS.format(mark=mark, cover=COVERS[cover]))
    assert wait_for(lambda: len(processes(mark)) == 5), "the daemons did not start: this test proves nothing"
    client.reset(thread)
    assert wait_for(lambda: processes(mark) == [])
    assert client.run(thread, "2", "print(1 + 1)").stdout == "2\n"


def test_whatever_threads_leave_running_is_gone_with_a_zygote_that_dies(unwalled: SessionClient, thread: str) -> None:
    """Its subprocesses die with it, and what they started has nobody but the host."""
    mark = f"left-{os.getpid() % 9999}-{thread[6:-2]}"[-15:]
    for number in range(4):
        unwalled.run(f"{thread}-{number}", "1", DAEMONS.format(mark=mark, cover="pass"))
    assert wait_for(lambda: len(processes(mark)) == 20), "the daemons did not start: this test proves nothing"
    os.kill(descendants(unwalled.ping().pid)[1], signal.SIGKILL)
    assert wait_for(lambda: processes(mark) == [])
    assert unwalled.run(f"{thread}-0", "2", "print(1 + 1)").stdout == "2\n"


def test_a_fork_bomb_is_gone_after_reset(walled: SessionClient, thread: str) -> None:
    mark = f"bomb-{os.getpid() % 9999}-{thread[6:-2]}"[-15:]
    bomb = f"""
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"{mark}", 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    while True:
        try: os.fork()
        except OSError: time.sleep(0.01)
"""
    walled.run(thread, "1", bomb)
    live = lambda: thread in [session.thread_id for session in walled.sessions()]  # noqa: E731
    went_off = lambda: len(processes(mark)) > 2 or not live()  # a watcher, where there is no cgroup, is as fast  # noqa: E731
    assert wait_for(went_off), "the bomb did not go off: this test proves nothing"
    walled.reset(thread)
    assert wait_for(lambda: processes(mark) == [])


def test_whatever_a_thread_wrote_is_gone_after_reset(walled: SessionClient, sandbox: Sandbox, thread: str) -> None:
    write = VICTIMS_CELL + "os.makedirs('deep/er')\nopen('deep/er/canary-deep', 'w').write(secret)\n"
    look = """
import os, tempfile
found = []
for top in (".", os.environ["TMPDIR"], "/dev/shm"):
    for folder, folders, files in os.walk(top): found += [name for name in files if "canary" in name]
print(sorted(found))
"""
    walled.run(thread, "1", write)
    before = walled.run(thread, "2", look).stdout
    assert "canary-file.txt" in before
    assert "canary-deep" in before
    assert "canary-tmp" in before
    walled.reset(thread)
    assert walled.run(thread, "3", look).stdout == "[]\n"
    assert walled.run(thread, "4", "secret").error.name == "NameError"
