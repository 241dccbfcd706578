"""A thread moves to another host: its variables, its files and the names of its cells come along."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hosts import bare_host
from patience import eventually

from executor.client import SessionClient
from executor.files.exported import ExportedSession
from executor.launch import start_host, stop_host
from executor.values import Limits
from workers.delivery.notices import worded

pytestmark = pytest.mark.process

THREAD = "T1:C1:1.0"
KEY = b"shared by the hosts of one team!"


@contextmanager
def host(folder: Path, key: bytes = KEY) -> Iterator[SessionClient]:
    socket = folder / "host.sock"
    process = start_host(socket, folder / "home", die_with_parent=True, key=key, bash=True)
    try:
        yield SessionClient(socket)
    finally:
        stop_host(process)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SessionClient, SessionClient]]:
    with ExitStack() as both:
        first, second = (both.enter_context(host(tmp_path_factory.mktemp(name))) for name in "ab")
        yield first, second


def move(source: SessionClient, target: SessionClient, thread_id: str = THREAD) -> ExportedSession:
    exported = source.export_session(thread_id)
    for sha256 in exported.contents:
        assert target.keep(exported.paths[sha256]) == sha256
    target.import_session(thread_id, ExportedSession.from_json(exported.to_json()))
    return exported


def test_variables_and_files_come_along_large_ones_too(hosts: tuple[SessionClient, SessionClient]) -> None:
    here, there = hosts
    here.run(
        THREAD, "c1", "small = {'a': 1}\nlarge = bytes(range(256)) * 4000\nopen('made.txt', 'w').write('by a cell')"
    )
    exported = move(here, there)
    assert len(exported.contents) >= 2
    result = there.run(THREAD, "c2", "print(small, len(large), open('made.txt').read())")
    assert (result.status, result.stdout) == ("ok", "{'a': 1} 1024000 by a cell\n")
    assert [variable.cell_id for variable in there.vars(THREAD) if variable.name == "small"] == ["c1"]


def test_two_large_variables_with_the_same_content_come_along(hosts: tuple[SessionClient, SessionClient]) -> None:
    here, there = hosts
    thread = "T1:C1:1.5"
    here.run(thread, "c1", "raw = bytes(300_000)\nbackup = bytes(bytearray(raw))")
    assert len(move(here, there, thread).parts) == 1
    result = there.run(thread, "c2", "print(len(raw), len(backup))")
    assert (result.status, result.stdout) == ("ok", "300000 300000\n")


def test_coming_back_what_was_there_before_is_older_and_ends(hosts: tuple[SessionClient, SessionClient]) -> None:
    here, there = hosts
    thread = "T1:C1:2.0"
    here.run(thread, "c1", "x = 1")
    move(here, there, thread)
    there.run(thread, "c2", "x = x + 1")
    move(there, here, thread)
    assert here.run(thread, "c3", "print(x)").stdout == "2\n"


def test_what_a_cell_wrote_at_another_host_is_not_told_as_undone(hosts: tuple[SessionClient, SessionClient]) -> None:
    here, there = hosts
    thread = "T1:C1:2.1"
    here.run(thread, "c1", "x = 1\nopen('made.txt', 'w').close()")
    move(here, there, thread)
    assert there.undo(thread, "c1") is False
    assert there.run(thread, "c2", "import os\nprint(x, os.listdir())").stdout == "1 ['made.txt']\n"


def test_coming_back_no_list_of_before_the_move_is_brought_back(hosts: tuple[SessionClient, SessionClient]) -> None:
    here, there = hosts
    thread = "T1:C1:2.2"
    here.run(thread, "c1", "open('first.txt', 'w').close()")
    move(here, there, thread)
    there.run(thread, "c2", "open('second.txt', 'w').close()")
    move(there, here, thread)
    assert [here.undo(thread, cell) for cell in ("c2", "c1")] == [False, False]
    here.run(thread, "c3", "open('third.txt', 'w').close()")
    assert here.undo(thread, "c3") is True
    assert here.run(thread, "c4", "import os\nprint(sorted(os.listdir()))").stdout == "['first.txt', 'second.txt']\n"


def test_a_file_that_a_cell_changed_is_not_restored_at_another_host_but_after_a_reset(
    hosts: tuple[SessionClient, SessionClient], tmp_path: Path
) -> None:
    here, there = hosts
    thread = "T1:C1:2.3"
    (tmp_path / "in.csv").write_text("raw")
    here.put(thread, "in.csv", tmp_path / "in.csv")
    here.run(thread, "c1", "open('in.csv', 'w').write('clean')")
    move(here, there, thread)
    assert there.put(thread, "in.csv", tmp_path / "in.csv", restore=True) == ""
    there.reset(thread)
    assert there.put(thread, "in.csv", tmp_path / "in.csv", restore=True) == "in.csv"
    assert there.run(thread, "c2", "print(open('in.csv').read())").stdout == "raw\n"


def test_a_file_that_a_cell_touched_is_still_the_one_that_somebody_gave(
    hosts: tuple[SessionClient, SessionClient], tmp_path: Path
) -> None:
    host, thread = hosts[0], "T1:C1:2.4"
    (tmp_path / "in.csv").write_text("raw")
    host.put(thread, "in.csv", tmp_path / "in.csv")
    host.run(thread, "c1", "import os\nos.utime('in.csv')")
    host.reset(thread)
    assert host.run(thread, "c2", "import os\nprint(os.listdir())").stdout == "['in.csv']\n"


def test_coming_back_a_thread_has_a_new_shell_and_not_the_one_of_long_ago(
    hosts: tuple[SessionClient, SessionClient],
) -> None:
    here, there = hosts
    thread = "T1:C1:2.5"
    here.bash(thread, "b1", "x=1; mkdir deep; cd deep; touch file", approve=lambda command: True)
    for source, target in ((here, there), (there, here)):
        move(source, target, thread)
    result = here.bash(thread, "b2", 'echo "[$x]"; ls', approve=lambda command: True)
    assert (result.stdout, result.notices) == ("[]\ndeep\n", ())


def test_what_could_not_be_kept_is_said_at_the_other_host(hosts: tuple[SessionClient, SessionClient]) -> None:
    here, there = hosts
    thread = "T1:C1:3.0"
    here.run(thread, "c1", "x = 5\ngenerator = (n for n in range(3))")
    move(here, there, thread)
    result = there.run(thread, "c2", "print(x)")
    assert result.stdout == "5\n"
    assert result.notices
    assert "generator" in worded(result, "en")


def test_cells_that_could_not_be_kept_are_told_at_the_other_host(hosts: tuple[SessionClient, SessionClient]) -> None:
    here, there = hosts
    thread = "T1:C1:6.0"
    here.run(thread, "c1", "n = 7")
    here.run(thread, "c2", "import io\nio.BytesIO = None\nn = 8")
    move(here, there, thread)
    result = there.run(thread, "c3", "print(n)")
    assert (result.stdout, [notice.code for notice in result.notices]) == ("7\n", ["changes_uncertain"])
    assert there.run(thread, "c4", "print(n)").notices == ()


def test_what_another_key_signed_is_not_restored(hosts: tuple[SessionClient, SessionClient], tmp_path: Path) -> None:
    here, _ = hosts
    thread = "T1:C1:4.0"
    here.run(thread, "c1", "x = 5")
    with host(tmp_path, key=b"another key") as stranger:
        move(here, stranger, thread)
        result = stranger.run(thread, "c2", "print('x' in globals())")
    assert result.stdout == "False\n"
    assert result.notices
    assert "tampered" in worded(result, "en")


def test_the_key_is_in_no_environment_and_on_no_command_line(tmp_path: Path) -> None:
    with host(tmp_path) as client:
        pid = client.ping().pid
        seen = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
        for child in children:
            seen += Path(f"/proc/{child}/environ").read_bytes() + Path(f"/proc/{child}/cmdline").read_bytes()
        kept = list((tmp_path / "home").rglob("key"))
    assert children
    assert KEY not in seen
    assert kept == []


def test_nothing_at_all_moves_as_well(hosts: tuple[SessionClient, SessionClient]) -> None:
    here, there = hosts
    exported = move(here, there, "T1:C1:5.0")
    assert json.loads(exported.to_json()) == {"state": None, "files": [], "cells": [], "unsettled": []}
    assert there.run("T1:C1:5.0", "c1", "print('fresh')").stdout == "fresh\n"


def test_the_host_counts_what_became_of_its_sessions(tmp_path: Path) -> None:
    with bare_host(limits=Limits(idle_s=0.1)) as client:
        client.run(THREAD, "c1", "x = 1")
        eventually(lambda: not client.sessions(), "rest")
        client.run(THREAD, "c2", "x")
        counters = client.ping().counters
    assert (counters.started, counters.idle, counters.memory, counters.restored, counters.not_restored) == (
        2,
        1,
        0,
        1,
        0,
    )
    assert counters.ended >= 1
    assert counters.lived_s > 0
