"""Every limit ends in a sentence and the thread goes on; floods leave our own memory flat (promises 7 and 11)."""

from __future__ import annotations

from pathlib import Path

import pytest
from attack_kit import descendants, need_layer, processes, resident, wait_for

from executor.client import SessionClient
from workers.delivery.notices import worded

SEVERAL = """
import os, time
for turn in range(8):
    if os.fork() == 0:
        x = bytearray(b'x') * (200 << 20)
        time.sleep(10)
        os._exit(0)
for turn in range(8): os.wait()
"""
LIMITS_MET = {
    "time": ("while True: pass", "timeout", ("was stopped after 3 s in line 1: `while True: pass`",)),
    "memory of one process": ("x = bytearray(900 << 20)", "error", ("needed more memory than its 400 MB",)),
    "memory of several processes": (SEVERAL, "ok killed", ("400 MB of memory",)),
    "size of files": (
        "for turn in range(10_000):\n    with open(f'f{turn}', 'wb') as f: f.write(b'x' * (1 << 20))",
        "error killed",
        ("files needed more than their 64 MB", "larger than the 64 MB"),
    ),
    "number of files": (  # where the kernel does not count them, a watcher comes by
        "for turn in range(30_000): open(f'n{turn}', 'w').close()\nimport time\ntime.sleep(600)",
        "error killed",
        ("were more than 2,000", "made more than 2,000 files"),
    ),
    "size of a file": (
        "import os\nos.posix_fallocate(os.open('f', os.O_CREAT | os.O_WRONLY), 0, 1 << 30)",
        "error",
        ("a file of more than 64 MB",),
    ),
    "descriptors": ("import os\nkept = [os.dup(1) for turn in range(5_000)]", "error", ("more than 256 files open",)),
    "processes": (
        "import os, time\nfor turn in range(3_000):\n    if os.fork() == 0:\n"
        "        time.sleep(60)\n        os._exit(0)",
        "error killed",
        # without a cgroup, an ordinary user's watcher cannot tell what forks share: their memory may be first
        ("started more than 24 processes", "more than its 400 MB of memory"),
    ),
    "output": ("for turn in range(400_000): print('x' * 20)", "ok", ()),
}


@pytest.mark.parametrize("limit", LIMITS_MET)
def test_each_limit_ends_in_a_sentence_and_the_thread_goes_on(
    walled: SessionClient, attack, thread: str, limit: str
) -> None:
    code, statuses, sentences = LIMITS_MET[limit]
    attack("kept = 7")
    result = attack(code, **({"timeout_s": 3} if limit == "time" else {}))
    assert result.status in statuses.split(), (result.error, worded(result, "en"))
    if limit == "output":
        assert "characters left out here" in result.stdout
        assert [file.name for file in result.artifacts] == ["stdout.txt"]
    else:
        assert any(sentence in worded(result, "en") for sentence in sentences), worded(result, "en")
        assert result.notices
    assert walled.run(thread + "-other", "1", "print(1 + 1)").stdout == "2\n"
    assert attack("print(1 + 1, kept)").stdout == "2 7\n"


def can_be_looked_into(pid: int) -> bool:
    """Whether this user, who is the host's, may see which pages a process shares."""
    try:
        return bool(Path(f"/proc/{pid}/smaps_rollup").read_text())
    except PermissionError:
        return False


SHARED = """
import os, time
x = bytearray(b"x") * (100 << 20)
for turn in range(8):
    if os.fork() == 0:
        time.sleep(2)
        os._exit(0)
for turn in range(8): os.wait()
"""


@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_memory_that_forks_share_counts_once(request: pytest.FixtureRequest, walls: str, thread: str) -> None:
    """Whether the kernel counts, or we do by looking; what may not be looked into counts for the most it can hold."""
    client: SessionClient = request.getfixturevalue(walls)
    client.run(thread, "0", "kept = 7")
    if not can_be_looked_into(next(one.pid for one in client.sessions() if one.thread_id == thread)):
        need_layer(request.getfixturevalue("sandbox"), "cgroup")
    result = client.run(thread, "1", SHARED)
    assert (result.status, result.notices) == ("ok", ())


def test_a_fork_bomb_starves_nobody(walled: SessionClient, attack, thread: str) -> None:
    bomb = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)"
    result = attack(bomb, timeout_s=2)
    assert result.status in ("timeout", "killed", "died")
    assert result.notices
    assert walled.run(thread + "-other", "1", "print(1 + 1)").stdout == "2\n"
    assert attack("print(1 + 1)").stdout == "2\n"


def test_what_a_cell_leaves_growing_is_stopped_between_cells_and_the_next_one_says_so(attack, thread: str) -> None:
    """Where the kernel holds the count it simply cannot grow; where a watcher does, the session is ended."""
    mark = f"grow-{thread[6:-2]}"[-15:]
    attack(
        f"""
kept = 7
import ctypes, os, time
if os.fork() == 0:
    ctypes.CDLL(None).prctl(15, b"{mark}", 0, 0, 0)
    while True:
        try: os.fork()
        except OSError: time.sleep(0.01)
"""
    )
    assert wait_for(lambda: 24 >= len(processes(mark)) != 1 or not processes(mark))
    result = attack("print(kept)")
    assert result.stdout == "7\n"
    if not processes(mark):
        assert "started more than 24 processes" in worded(result, "en")


FLOODS = {
    "stdout": "import os\nline = b'x' * 65535 + b'\\n'\nfor turn in range(1600): os.write(1, line)",
    "stdout without an end of line": "import os\nfor turn in range(1600): os.write(1, b'x' * 65536)",
    "stderr": "import os\nline = b'x' * 65535 + b'\\n'\nfor turn in range(1600): os.write(2, line)",
    "a huge result": "class Huge:\n    def __repr__(self): return 'x' * (100 << 20)\nHuge()",
    "a huge error": "raise ValueError('x' * (100 << 20))",
    "a huge request": "try: ask_host('x' * (100 << 20))\nexcept Exception as error: print(type(error).__name__)",
    "many requests": "for turn in range(20_000):\n    try: ask_host('x' * 1000)\n    except Exception: pass",
    "many files": "for turn in range(1_900): open(f'many{turn}.txt', 'w').write('x' * 1000)",
    "many names": "globals().update({f'name{turn}' * 20: turn for turn in range(50_000)})",
    "a wide table": "import pandas as pd\npd.DataFrame([['x' * 1000] * 2_000] * 200)",
    "a frame that never ends": (
        "import os, struct\nfor fd in range(200, 256):\n    try:\n        os.write(fd, struct.pack('>I', 8 << 20))\n"
        "        for turn in range(10_000): os.write(fd, b'x' * 65536)\n    except OSError: pass"
    ),
    "frames without a pause": (
        "import os, struct\nframe = struct.pack('>I', 60_000) + b'{\"type\":\"note\"' + b' ' * 59_985 + b'}'\n"
        "for fd in range(200, 256):\n    try:\n        for turn in range(2_000): os.write(fd, frame)\n"
        "    except OSError: pass"
    ),
}
ROOM = 100 << 20


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_leaves_the_trusted_processes_memory_flat(walled: SessionClient, attack, flood: str) -> None:
    host = walled.ping().pid
    attack("ask_host = query", on_request=lambda *_: None)
    before = resident(host)
    result = attack(FLOODS[flood], timeout_s=20)
    assert result.status in ("ok", "error", "timeout", "killed", "died")
    assert len(result.stdout) + len(result.stderr) < 4 << 20
    assert resident(host) - before < ROOM
    assert attack("print(1 + 1)").stdout == "2\n"


def test_a_process_that_keeps_what_it_is_sent_would_be_seen(attack, walled: SessionClient, thread: str) -> None:
    """The control: the same look sees the growth of the subprocess that holds a flood's worth of bytes."""
    attack("print(1 + 1)")
    pid = next(session.pid for session in walled.sessions() if session.thread_id == thread)
    before = sum(resident(one) for one in descendants(pid))
    attack("kept = bytearray(b'x') * (120 << 20)")
    assert sum(resident(one) for one in descendants(pid)) - before > ROOM
