"""What a client was told is on the disk, as far as an fsync can put it there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from patience import eventually
from power_cut import PowerCut

from executor.client import HostUnavailable, SessionClient
from executor.environment import clean_environment
from executor.files.home import Home, ThreadHome
from executor.launch import running_host

pytestmark = pytest.mark.process

KEY = b"shared by both nodes of the team"


class Node:
    """A session host whose folder goes through power cuts."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"
        self.home.mkdir()
        (self.home / "key").write_bytes(KEY)
        self._power = PowerCut(self.home, tmp_path / "power")
        self._socket = tmp_path / "s"

    @contextmanager
    def running(self) -> Iterator[SessionClient]:
        """The host, until the power is cut at the end of the block."""
        environment = clean_environment(self.home.parent / "zygote") | self._power.environment
        command = [sys.executable, "-m", "executor.host", "--socket", str(self._socket), "--home", str(self.home)]
        with subprocess.Popen(command, env=environment, start_new_session=True) as process:
            client = SessionClient(self._socket)
            try:
                eventually(lambda: answers(client), "the session host")
                yield client
            finally:
                everybody = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
                for signum in (signal.SIGSTOP, signal.SIGKILL):
                    for one in everybody:
                        with suppress(ProcessLookupError):  # it may have ended by itself before the host was stopped
                            os.kill(one.pid, signum)
                psutil.wait_procs(everybody)
        self._power.cut()


def answers(client: SessionClient) -> bool:
    try:
        client.ping()
    except HostUnavailable:
        return False
    return True


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_what_was_not_synced_is_gone_and_what_was_is_there(tmp_path: Path) -> None:
    """The test's own tool."""
    root = tmp_path / "root"
    (root / "old").mkdir(parents=True)
    (root / "old" / "removed").write_text("back")
    power = PowerCut(root, tmp_path / "power")
    code = """
import os
def sync(path): os.fsync(os.open(path, os.O_RDONLY))
open("synced", "w").write("1"); sync("synced"); open("synced", "a").write("2")
open("unnamed", "w").write("1")
os.remove("old/removed")
sync(".")
open("empty", "w").write("1"); sync(".")
open("late", "w").write("1"); sync("late")
os.replace("late", "synced")
"""
    subprocess.run([sys.executable, "-c", code], cwd=root, env={**os.environ, **power.environment}, check=True)
    power.cut()
    found = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}
    assert found == {"synced": "1", "unnamed": "", "empty": "", "old/removed": "back"}


def test_a_result_that_was_told_is_told_again_after_a_power_cut(node: Node) -> None:
    with node.running() as client:
        told = client.run("t", "1", "open('made.txt', 'w').write('x' * 100_000)\nprint('done')")
    assert Path(told.artifacts[0].path).read_bytes() == b"x" * 100_000
    with node.running() as client:
        assert client.run("t", "1", "raise SystemExit('it runs again')") == told


@pytest.mark.parametrize("size", [1, 300_000], ids=["small", "large"])
def test_variables_that_count_as_kept_are_there_after_a_power_cut(node: Node, size: int) -> None:
    with node.running() as client:
        client.run("t", "1", f"import numpy as np\nn = np.arange({size})")
        client.run("t", "2", "m = 8")
        client.export_session("t")
        client.run("t", "3", "1")  # what the cells before it left is on the disk before its result comes
    with node.running() as client:
        found = client.run("t", "4", "len(n), m")
    assert found.result
    assert found.result.text == f"({size}, 8)"


def test_variables_are_as_a_cell_left_them_or_the_next_result_says_that_they_may_not_be(node: Node) -> None:
    last = 0
    for number in range(1, 3):
        with node.running() as client:
            before = client.run("t", f"look {number}", "globals().get('n', 0)")
            said = [one.code for one in before.notices]
            seen = int(before.result.text) if before.result else -1
            assert seen == last or "changes_uncertain" in said, (seen, last, said)
            for _ in range(3):
                last = seen = seen + 1
                client.run("t", f"{number} {seen}", f"n = {seen}")


def test_a_file_that_was_given_is_there_after_a_power_cut(node: Node, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("a,b\n" * 50_000)
    with node.running() as client:
        client.put("t", "sales.csv", tmp_path / "sales.csv")
    with node.running() as client:
        shown = client.run("t", "1", "len(open('sales.csv').read())").result
        assert shown is not None
        assert shown.text == "200000"


def test_a_reset_stays_done_after_a_power_cut(node: Node) -> None:
    with node.running() as client:
        client.run("t", "1", "secret = 7\nopen('made.txt', 'w').write('x')")
        client.export_session("t")
        client.run("t", "2", "1")
        client.reset("t")
    with node.running() as client:
        shown = client.run("t", "3", "import os\n'secret' in globals(), os.listdir()").result
        assert shown is not None
        assert shown.text == "(False, [])"


def test_what_moved_here_is_here_after_a_power_cut(node: Node, tmp_path: Path) -> None:
    with running_host(key=KEY) as other:
        other.run("t", "1", "import numpy as np\nn = np.arange(300_000)")
        exported = other.export_session("t")
        copies = [Path(exported.paths[sha256]).read_bytes() for sha256 in exported.contents]
    with node.running() as client:
        for copy in copies:
            (tmp_path / "copy").write_bytes(copy)
            client.keep(tmp_path / "copy")
        client.import_session("t", exported)
    with node.running() as client:
        shown = client.run("t", "2", "len(n)").result
        assert shown is not None
        assert shown.text == "300000"


def test_the_key_of_a_home_is_whole_or_not_there(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    assert len(home.secret()) == 32
    assert Home(tmp_path / "home").secret() == home.secret()
    assert list((tmp_path / "home" / "tmp").iterdir()) == []


JOURNAL_BEGUN_ANEW = """
import os, signal, sys
from pathlib import Path
from executor.disk.durable import Disk, open_syncs
from executor.event_loop import Loop
from executor.files.home import ThreadHome

thread, disk = ThreadHome(Path(sys.argv[1]), "t"), Disk(Loop(), open_syncs(print))
thread.started("a")
disk.sync(thread.take_unsynced(), lambda: None)
disk.finish()
thread.started("b")
disk.sync(thread.take_unsynced(), lambda: None)
thread.finished("b", "1")
disk.sync(thread.take_unsynced(), lambda: os.kill(os.getpid(), signal.SIGKILL))
thread._shorten_at = 0
thread.started("c")
disk.finish()
"""
"""The result waits for its sync while the next cell has the journal begun anew. Told, the power is cut."""


def test_a_result_that_was_told_outlives_a_journal_that_was_begun_anew_before_its_sync(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    power = PowerCut(home, tmp_path / "power")
    command = [sys.executable, "-c", JOURNAL_BEGUN_ANEW, str(home / "thread")]
    ended = subprocess.run(command, env={**os.environ, **power.environment}, check=False)
    assert ended.returncode == -signal.SIGKILL
    power.cut()
    assert ThreadHome(home / "thread", "t").result("b") == 1


LOG_BEGUN_ANEW = """
import os, signal, sys
from pathlib import Path
from executor.state import checkpoint_log, checkpoints
from executor.disk.durable import Disk, open_syncs
from executor.event_loop import Loop

checkpoint = checkpoints.Checkpoint(Path(sys.argv[1]), "t", b"key", {})
disk = Disk(Loop(), open_syncs(print))

def keep(cell):
    checkpoint._log.sign({"thread": "t", "cell": cell, "parts": []})

keep("a")
disk.sync(checkpoint.take_unsynced(), lambda: None)
disk.finish()
keep("b")
disk.sync(checkpoint.take_unsynced(), lambda: None)
keep("c")
disk.sync(checkpoint.take_unsynced(), lambda: os.kill(os.getpid(), signal.SIGKILL))
checkpoint_log._LIMIT = -(1 << 20)
keep("d")
disk.finish()
"""
"""The same for the log of the variables, after cell c."""


def test_variables_that_are_noted_as_kept_outlive_a_log_that_was_begun_anew_before_its_sync(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    power = PowerCut(home, tmp_path / "power")
    command = [sys.executable, "-c", LOG_BEGUN_ANEW, str(home)]
    ended = subprocess.run(command, env={**os.environ, **power.environment}, check=False)
    assert ended.returncode == -signal.SIGKILL
    power.cut()
    assert b'"cell":"c"' in (home / "state" / "log.jsonl").read_bytes()
