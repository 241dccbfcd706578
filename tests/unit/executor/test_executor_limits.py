"""A thread's own limits: carried with each cell, held by the real host, never above what the host was started with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import pytest
from hosts import bare_host
from patience import eventually

from core.team_settings import SessionLimits
from executor.client import RequestError, SessionClient
from executor.values import HOST_LIMITS, Limits
from workers.delivery.notices import worded

pytestmark = pytest.mark.process

USUAL = Limits(cell_timeout_s=60, cell_grace_s=0.5, memory_mb=512, processes=32, workspace_mb=32, workspace_files=100)
MAXIMUM = Limits(cell_timeout_s=60, cell_grace_s=0.5, memory_mb=1024, workspace_mb=64)

BUILT_IN = """
import os, resource
disk = os.statvfs(".")
print(resource.getrlimit(resource.RLIMIT_NPROC)[0], resource.getrlimit(resource.RLIMIT_NOFILE)[0],
      disk.f_blocks * disk.f_frsize >> 20, disk.f_files)
"""


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    with bare_host(limits=USUAL, maximum=MAXIMUM, bash=True) as client:
        yield client._path


def client(socket: Path, **limits: float) -> SessionClient:
    return SessionClient(socket, lambda _: limits)


def strong(socket: Path) -> bool:
    return client(socket).ping().sandbox.level == "strong"


def test_each_thread_gets_its_own_limits(socket: Path) -> None:
    of: dict[str, Mapping[str, float]] = {"a": {"cell_timeout_s": 0.3}, "b": {"memory_mb": 300}, "c": {}}
    threads = SessionClient(socket, lambda thread_id: of[thread_id])
    endless, large = "import time\ntime.sleep(1)\nprint(1)", "x = bytearray(400 << 20)\nprint(1)"
    assert threads.run("a", "1", endless).status == "timeout"
    assert [threads.run(thread, "2", endless).stdout for thread in "bc"] == ["1\n", "1\n"]
    assert worded(threads.run("b", "3", large), "en") == (
        "the cell needed more memory than its 300 MB. All variables are kept."
    )
    assert threads.run("c", "3", large).stdout == "1\n"


def test_what_is_built_into_the_walls_is_the_threads_own(socket: Path, thread: str) -> None:
    if not strong(socket):
        pytest.skip("this machine gives no namespaces")
    own = client(socket, processes=20, descriptors=250, workspace_mb=48, workspace_files=300)
    assert own.run(thread, "1", BUILT_IN).stdout == "20 250 48 300\n"
    assert client(socket).run(thread + "-other", "1", BUILT_IN).stdout == "32 256 32 100\n"


def test_a_shell_has_the_limits_of_its_thread(socket: Path, thread: str) -> None:
    own = client(socket, descriptors=250, cell_timeout_s=0.3)
    assert own.bash(thread, "1", "ulimit -n", approve=lambda _: True, timeout_s=30).stdout == "250\n"
    assert own.bash(thread, "2", "sleep 60", approve=lambda _: True).status == "timeout"


def test_new_limits_hold_at_once_where_the_host_counts_and_else_from_the_next_start(socket: Path, thread: str) -> None:
    client(socket).run(thread, "1", "n = 7")
    own = client(socket, cell_timeout_s=0.3, output_kb=1, descriptors=250)
    assert own.run(thread, "2", "import time\ntime.sleep(60)").status == "timeout"
    assert len(own.run(thread, "3", "print('x' * 5_000)", timeout_s=30).stdout) < 1_200
    descriptors = "import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    assert own.run(thread, "4", descriptors, timeout_s=30).stdout == "256\n"
    own.run(thread, "5", "import os\nos._exit(1)", timeout_s=30)
    assert own.run(thread, "6", descriptors + "\nprint(n)", timeout_s=30).stdout == "250\n7\n"


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"memory_mb": 2048}, "memory_mb = 2048 is more than the 1024 that this session host was started with"),
        ({"memory_gb": 1}, "unknown limits: memory_gb"),
        ({"spare_sessions": 0}, "only the whole host has such a limit"),
        ({"processes": 0}, "processes must be above zero"),
    ],
)
def test_a_limit_that_the_host_cannot_grant_is_refused_with_the_reason(
    socket: Path, thread: str, limits: dict[str, float], sentence: str
) -> None:
    with pytest.raises(RequestError, match=sentence):
        client(socket, **limits).run(thread, "1", "1")
    with pytest.raises(RequestError, match=sentence):
        client(socket, **limits).bash(thread, "1", "true", approve=lambda _: True)
    assert client(socket).run(thread, "1", "1").status == "ok"


def test_the_settings_and_the_executor_know_the_same_limits() -> None:
    settings = {name: field.default for name, field in SessionLimits.model_fields.items()}
    executor = {field.name: field.default for field in fields(Limits) if field.name not in HOST_LIMITS}
    assert settings == executor


def test_a_cell_that_the_sandbox_refuses_a_call_is_told_so(socket: Path) -> None:
    result = client(socket).run("refused", "1", "import os\nos.chroot('.')")
    assert [notice.code for notice in result.notices][:1] == ["call_refused"]
    assert worded(result, "en").lower().startswith("the sandbox refuses a system call")


def test_a_cell_that_can_start_no_more_threads_is_told_how_many_it_may_have(socket: Path) -> None:
    started = "import threading\nfor _ in range(200):\n    threading.Thread(target=threading.Event().wait).start()"
    result = client(socket, processes=30).run("threads", "1", started)
    assert worded(result, "en").startswith("a cell may have 30 processes and threads in all")


def test_a_file_for_which_the_working_folder_has_no_room_is_kept_and_named_in_the_next_result(tmp_path: Path) -> None:
    """Only a cell can make room: a client that asked again would ask for ever."""
    (tmp_path / "large.csv").write_bytes(os.urandom(4 << 20))
    with bare_host(limits=Limits(workspace_mb=8)) as client:
        client.run("t", "1", "import os\nopen('made.bin', 'wb').write(os.urandom(6 << 20))")
        assert client.put("t", "large.csv", tmp_path / "large.csv") == "large.csv"
        result = client.run("t", "2", "os.remove('made.bin')\nprint(os.path.exists('large.csv'))")
        assert (result.stdout, [notice.code for notice in result.notices]) == ("False\n", ["files_not_placed"])
        client.run("t", "3", "os._exit(1)")
        assert client.run("t", "4", "import os\nprint(os.path.getsize('large.csv'))").stdout == "4194304\n"


def test_a_file_whose_last_version_was_not_taken_is_told_when_it_comes_back(tmp_path: Path) -> None:
    with bare_host(tmp_path, Limits(idle_s=0.1, artifact_mb=1)) as client:
        client.run("t", "1", "open('a.txt', 'w').write('old')")
        client.run("t", "2", "open('a.txt', 'w').write('new' * 1_000_000)")
        eventually(lambda: not client.sessions(), "rest")
        result = client.run("t", "3", "print(open('a.txt').read())")
        assert result.stdout == "old\n"
        assert [(notice.code, notice.values) for notice in result.notices] == [("files_older", {"names": "a.txt"})]
        assert client.run("t", "4", "1").notices == ()
