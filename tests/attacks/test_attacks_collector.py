"""Nothing that a subprocess writes can make us read a file of ours (promise 5)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_kit import wait_for
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executor.client import SessionClient
from executor.files.collect import collect
from executor.files.home import Home
from executor.slices import at_once
from executor.values import Limits
from workers.delivery.notices import in_words

MARK = "a file of the host"
RACE_S = 20

RACE = """
import os, time
target, end = {target!r}, time.time() + {seconds}
def mine(): open("mine.txt", "w").write("mine"); os.rename("mine.txt", "a.txt")
def link(): os.symlink(target, "b.txt"); os.rename("b.txt", "a.txt")
def hard(): os.link(target, "h.txt"); os.rename("h.txt", "a.txt")
def pipe(): os.mkfifo("p.txt"); os.rename("p.txt", "a.txt")
def sparse(): os.truncate(os.open("s.txt", os.O_CREAT | os.O_WRONLY), 1 << 50)
def folder(): os.mkdir("d"); open("d/a.txt", "w").write("mine"); os.rename("d", "e")
def swap(): os.symlink(os.path.dirname(target), "f"); os.rename("e", "d"); os.rename("f", "e")
while time.time() < end:
    for trick in (mine, link, hard, pipe, sparse, folder, swap, link, mine):
        try: trick()
        except OSError: pass
        for name in ("b.txt", "h.txt", "p.txt", "s.txt", "f", "e"):
            try: os.unlink(name)
            except OSError: pass
"""


@pytest.fixture
def marked() -> Iterator[Path]:
    """A file of the host beside a workspace of nobody's: what no artifact may ever hold."""
    folder = Path(tempfile.mkdtemp(prefix="threadbook-marked-"))
    folder.chmod(0o755)
    (folder / "a.txt").write_text(MARK)
    yield folder / "a.txt"
    shutil.rmtree(folder, ignore_errors=True)


def test_a_race_of_names_brings_nothing_out_that_is_not_the_sessions_own(tmp_path: Path, marked: Path) -> None:
    """A process swaps names as fast as it can, for 20 seconds, under a collector that looks again and again.

    The control is a collector that asks first and opens then, by name: it is fooled in the same folder.
    """
    work = tmp_path / "work"
    work.mkdir()
    home, limits = Home(tmp_path / "home"), Limits(artifact_mb=1)
    root = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    racing = subprocess.Popen([sys.executable, "-c", RACE.format(target=str(marked), seconds=RACE_S)], cwd=work)
    taken = fooled = looks = 0
    try:
        while racing.poll() is None:
            looks += 1
            for file in at_once(collect(root, {}, home, limits)).taken:
                taken += 1
                assert home.path_of(file.sha256).read_text() in ("mine", ""), file.name
            fooled += naive(work / "a.txt")
    finally:
        racing.kill()
        racing.wait()
        os.close(root)
    assert taken > 0, "the race leaves the collector no file at all: it proves nothing"
    assert fooled > 0, f"nobody would have been fooled in {looks} looks: the race proves nothing"


def naive(path: Path) -> bool:
    """Whether a collector that trusts names hands out the host's file."""
    try:
        if not path.is_file():
            return False
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            return file.read() == MARK.encode()
    except OSError:
        return False


@pytest.mark.parametrize("walls", ["walled", "unwalled"])
def test_no_file_of_the_host_comes_out_as_an_artifact(
    request: pytest.FixtureRequest, walls: str, thread: str, marked: Path
) -> None:
    """Also without walls: the collector has to hold by itself. A fork goes on racing while files are collected."""
    client: SessionClient = request.getfixturevalue(walls)
    race = RACE.format(target=str(marked), seconds=600).replace("\n", "\n    ")
    client.run(thread, "1", f"import os\nif os.fork() == 0:\n    {race}\n    os._exit(0)")
    kept = []
    for turn in range(30):
        result = client.run(thread, f"r{turn}", f"open('c.txt', 'w').write('{turn}')\nimport time\ntime.sleep(0.02)")
        kept += [Path(artifact.path).read_text() for artifact in result.artifacts]
    client.reset(thread)
    assert kept
    assert MARK not in kept


def test_each_trap_is_refused_by_name_and_reason(unwalled: SessionClient, thread: str, marked: Path) -> None:
    """Made without walls, behind which most of them cannot even be made."""
    traps = f"""
import os
os.symlink({str(marked)!r}, "link.txt")
os.symlink({str(marked.parent)!r}, "folder")
os.link({str(marked)!r}, "hard.txt")
os.mkfifo("pipe.txt")
with open("sparse.bin", "wb") as file: file.truncate(4 << 20)
open("line\\nbreak.txt", "w").write("x")
open("n" * 200, "w").write("x")
open(b"bytes-\\xff.txt", "w").write("x")
"""
    result = unwalled.run(thread, "1", traps)
    assert result.status == "ok", result.error
    assert result.artifacts == ()
    reasons = {refused.name: in_words((refused.why,), "en") for refused in result.rejected}
    assert len(reasons) == 8
    assert reasons["link.txt"] == reasons["folder"] == "it is a symbolic link"
    assert "hard links" in reasons["hard.txt"]
    assert reasons["pipe.txt"] == "it is a pipe"
    assert reasons["sparse.bin"].startswith("it is sparse")
    assert all(name.isprintable() for name in reasons)


TRICKS = ("file", "link", "hard", "pipe", "folder", "sparse", "gone", "unreadable", "nested")


@given(tricks=st.lists(st.tuples(st.sampled_from(TRICKS), st.sampled_from("abc"), st.sampled_from("abc")), max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_whatever_a_workspace_is_made_of_only_its_own_plain_files_come_out(
    tricks: list[tuple[str, str, str]], tmp_path: Path, marked: Path
) -> None:
    work = Path(tempfile.mkdtemp(dir=tmp_path))
    for kind, one, other in tricks:
        play(kind, work / one, work / other, marked)
    home = Home(tmp_path / "home")
    root = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found = at_once(collect(root, {}, home, Limits(artifact_mb=1)))
    finally:
        os.close(root)
    for file in found.taken:
        assert home.path_of(file.sha256).read_text() == "mine"
        path = work / file.name
        assert not path.is_symlink()
        assert path.stat().st_nlink == 1
    named = {file.name for file in found.taken} | {refused.name for refused in found.rejected}
    assert {entry.name for entry in work.iterdir() if not entry.is_dir() or entry.is_symlink()} <= named


def play(kind: str, one: Path, other: Path, marked: Path) -> None:
    """One move of somebody who builds a hostile workspace; moves that do not fit are no moves."""
    try:
        match kind:
            case "file":
                one.write_text("mine") if not one.is_symlink() else None
            case "link":
                one.symlink_to(marked)
            case "hard":
                one.hardlink_to(marked)
            case "pipe":
                os.mkfifo(one)
            case "folder":
                one.mkdir()
            case "sparse":
                os.close(os.open(one, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                os.truncate(one, 1 << 30)
            case "gone":
                one.unlink()
            case "unreadable":
                one.chmod(0) if one.is_dir() and not one.is_symlink() else None
            case "nested":
                one.rename(other / one.name)
    except OSError:
        return


def test_the_race_ends_with_its_session(unwalled: SessionClient, thread: str) -> None:
    """What goes on in the background of a thread is gone with it, so that no test races into the next."""
    unwalled.run(thread, "1", "import os, time\nif os.fork() == 0:\n    time.sleep(600)")
    live = [session.pid for session in unwalled.sessions() if session.thread_id == thread]
    unwalled.reset(thread)
    assert wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in live))
