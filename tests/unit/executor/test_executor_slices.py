"""Long work is done in slices; in between the loop serves everybody else."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from executor.counters import Counters
from executor.disk.durable import Disk, ThreadSync
from executor.event_loop import Loop
from executor.files.file_watcher import Watcher
from executor.files.home import Home, TooLarge
from executor.files.thread_files import KeptFile
from executor.files.workspace import Workspace, place
from executor.frames import ProtocolError
from executor.housekeeping import Housekeeping
from executor.interpreters.thread_interpreters import Interpreters
from executor.notebook import Notebook
from executor.sessions.session import Session
from executor.slices import SLICE, SlicedWork, Work, at_once
from executor.subprocesses import Subprocesses
from executor.values import Limits


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


def counts(name: str, slices: int, said: list[str]) -> Work[str]:
    for number in range(1, slices + 1):
        said.append(f"{name}{number}")
        if number < slices:
            yield
    return name


def fails(error: Exception) -> None:
    raise error


def test_the_loop_serves_others_between_two_slices(loop: Loop) -> None:
    work, said = SlicedWork(loop), list[str]()
    work.do("t", counts("a", 3, said), said.append, fails)
    loop.call_later(0.0, lambda: said.append("other"))
    while said[-1] != "a":
        loop.run_once()
    assert said[0] == "a1"
    assert said[-2:] == ["a3", "a"]
    assert "other" in said[1:-2]


def test_short_work_is_over_at_once(loop: Loop) -> None:
    said: list[str] = []
    SlicedWork(loop).do("t", counts("a", 1, said), said.append, fails)
    assert said == ["a1", "a"]


def test_one_work_follows_the_other_also_when_the_first_one_fails(loop: Loop) -> None:
    work, said = SlicedWork(loop), list[str]()

    def breaks() -> Work[None]:
        yield
        raise OSError("no room")

    work.do("t", breaks(), lambda _: said.append("never"), lambda error: said.append(str(error)))
    work.do("t", counts("a", 2, said), said.append, fails)
    assert said == []
    while said[-1:] != ["a"]:
        loop.run_once()
    assert said == ["no room", "a1", "a2", "a"]


def test_what_follows_a_work_may_ask_for_more(loop: Loop) -> None:
    work, said = SlicedWork(loop), list[str]()

    def more(name: str) -> None:
        said.append(name)
        work.do("t", counts("b", 2, said), said.append, fails)

    work.do("t", counts("a", 2, said), more, fails)
    while said[-1] != "b":
        loop.run_once()
    assert said == ["a1", "a2", "a", "b1", "b2", "b"]


def test_a_large_file_is_kept_in_many_slices_and_removed_when_it_is_too_large(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (tmp_path / "large").write_bytes(os.urandom(5 * SLICE + 1))
    with (tmp_path / "large").open("rb") as file:
        assert sum(1 for _ in home.keep(file.fileno(), 10 * SLICE)) == 6
        file.seek(0)
        with pytest.raises(TooLarge):
            at_once(home.keep(file.fileno(), 2 * SLICE))
    assert list((home.root / "tmp").iterdir()) == []
    (kept,) = (home.root / "files").glob("*/*")
    assert kept.read_bytes() == (tmp_path / "large").read_bytes()


def test_a_file_that_grows_while_it_is_kept_is_kept_in_slices_too(tmp_path: Path) -> None:
    home, source = Home(tmp_path / "home"), tmp_path / "growing"
    source.write_bytes(bytes(SLICE + 1))
    with source.open("rb") as file:
        file.seek(2)  # the first read comes short
        read, grown = os.read, list[int]()

        def grows(descriptor: int, length: int) -> bytes:
            found = read(descriptor, length)
            if not grown:
                grown.append(len(found))
                with source.open("ab") as more:
                    more.write(bytes(5 * SLICE))
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "read", grows)
            assert sum(1 for _ in home.keep(file.fileno(), 10 * SLICE)) == 6
    assert grown == [SLICE - 1]


def test_a_file_to_which_somebody_adds_bytes_as_fast_as_they_are_read_is_kept_in_slices_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, left = Home(tmp_path / "home"), list(b"a" * 1_000)
    monkeypatch.setattr(os, "read", lambda *_: bytes([left.pop()]) if left else b"")
    assert sum(1 for _ in home.keep(0, SLICE)) > 10


def test_a_large_file_appears_in_the_folder_when_it_is_whole(tmp_path: Path) -> None:
    """A cell may run meanwhile: half a file is no file of its own."""
    (tmp_path / "large").write_bytes(b"new" * SLICE)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "sales.csv").write_text("old")
    root = os.open(tmp_path / "workspace", os.O_RDONLY | os.O_DIRECTORY)
    try:
        seen = [
            (tmp_path / "workspace" / "sales.csv").read_bytes()[:3]
            for _ in place(root, "sales.csv", tmp_path / "large", None)
        ]
    finally:
        os.close(root)
    assert seen
    assert set(seen) == {b"old"}
    assert (tmp_path / "workspace" / "sales.csv").read_bytes() == b"new" * SLICE
    assert os.listdir(tmp_path / "workspace") == ["sales.csv"]


def notebook_of(home: Home, loop: Loop, watcher: Watcher | None = None) -> tuple[Notebook, Workspace]:
    """A notebook without a subprocess, and its workspace."""
    thread = home.thread("t")
    python: Any = SimpleNamespace(close=lambda: None, session=None)
    workspace = Workspace(thread, home, watcher)
    notebook = Notebook(
        thread,
        loop=loop,
        disk=Disk(loop, ThreadSync()),
        work=SlicedWork(loop),
        home=home,
        workspace=workspace,
        limits=Limits(),
        interpreters=lambda notebook, owner: Interpreters(python, None),
    )
    return notebook, workspace


def test_half_a_file_does_not_stay_where_files_cannot_be_made_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large").write_bytes(os.urandom(3 * SLICE))
    (tmp_path / "folder").mkdir()
    opens, sends, sent = os.open, os.sendfile, list[int]()

    def names_all(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return opens(path, flags, mode, dir_fd=dir_fd)

    def soon_full(out: int, source: int, offset: int, count: int) -> int:
        if sent:
            raise OSError(errno.ENOSPC, "No space left on device")
        sent.append(sends(out, source, offset, count))
        return sent[0]

    root = os.open(tmp_path / "folder", os.O_RDONLY | os.O_DIRECTORY)
    monkeypatch.setattr(os, "open", names_all)
    monkeypatch.setattr(os, "sendfile", soon_full)
    with pytest.raises(OSError, match="No space"):
        at_once(place(root, "sales.csv", tmp_path / "large", None))
    os.close(root)
    assert sent == [SLICE]
    assert os.listdir(tmp_path / "folder") == []


def test_a_thread_that_gets_a_file_is_not_closed_as_unused(loop: Loop, tmp_path: Path) -> None:
    """The file would be refused, with the words that its thread was deleted."""
    home = Home(tmp_path / "home")
    notebook, _ = notebook_of(home, loop)
    notebooks = {"t": notebook}
    subprocesses = cast(Subprocesses, SimpleNamespace(counted_by_kernel=True))
    limits = Limits(idle_s=0.0)
    housekeeping = Housekeeping(
        loop=loop, home=home, limits=limits, subprocesses=subprocesses, notebooks=notebooks, counters=Counters()
    )
    (tmp_path / "large").write_bytes(os.urandom(3 * SLICE))
    with (tmp_path / "large").open("rb") as file:
        put = notebook.put("sales.csv", file.fileno(), 1 << 30)
        next(put)
        housekeeping.begin()
        assert at_once(put) == "sales.csv"
    housekeeping.begin()
    assert notebooks == {}


def entered(workspace: Workspace, folder: Path) -> None:
    """Let a subprocess be ready, whose working folder is this one."""
    enter(workspace, folder)
    at_once(workspace.fill())


def enter(workspace: Workspace, folder: Path) -> None:
    """The same, and nothing is in the folder yet."""
    folder.mkdir()
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    workspace.enter(cast(Session, SimpleNamespace(workspace=root, file_user=None)))


def given(notebook: Notebook, tmp_path: Path, content: bytes, name: str = "sales.csv") -> Work[str]:
    """Somebody gives this file."""
    (tmp_path / "given").write_bytes(content)
    with (tmp_path / "given").open("rb") as file:
        return (yield from notebook.put(name, file.fileno(), 1 << 30))


@pytest.mark.parametrize("how", ["filled", "given"])
def test_nothing_more_is_copied_into_a_folder_whose_subprocess_has_ended(loop: Loop, tmp_path: Path, how: str) -> None:
    """The next subprocess would wait for it, and the memory of the folder would be in use until then."""
    notebook, workspace = notebook_of(Home(tmp_path / "home"), loop)
    work: Work[Any] = given(notebook, tmp_path, os.urandom(9 * SLICE))
    if how == "filled":
        at_once(work)
        enter(workspace, tmp_path / "folder")
        work = workspace.fill()
        next(work)
    else:
        entered(workspace, tmp_path / "folder")
        for _ in range(11):
            next(work)
    next(work)
    workspace.leave()
    assert list(work) == []


def test_a_folder_is_filled_once_also_when_the_work_for_the_one_before_has_to_wait_until_it_is_there(
    loop: Loop, tmp_path: Path
) -> None:
    """Otherwise files that a cell has changed by then would be as before, and not count as changed."""
    notebook, workspace = notebook_of(Home(tmp_path / "home"), loop)
    at_once(given(notebook, tmp_path, b"old"))
    enter(workspace, tmp_path / "folder 1")
    waits = workspace.fill()
    workspace.leave()
    enter(workspace, tmp_path / "folder 2")
    for work in (waits, workspace.fill()):
        at_once(work)
        with (tmp_path / "folder 2" / "sales.csv").open("a") as file:
            file.write(" changed")
    assert (tmp_path / "folder 2" / "sales.csv").read_text() == "old changed changed"
    workspace.leave()


def test_a_file_that_comes_while_a_folder_is_still_empty_is_put_there_once(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook, workspace = notebook_of(Home(tmp_path / "home"), loop)
    sends, sent = os.sendfile, list[int]()

    def counted(out: int, source: int, offset: int, count: int) -> int:
        sent.append(sends(out, source, offset, count))
        return sent[-1]

    monkeypatch.setattr(os, "sendfile", counted)
    put = given(notebook, tmp_path, os.urandom(3 * SLICE))
    next(put)
    enter(workspace, tmp_path / "folder")
    fill = workspace.fill()
    at_once(put)
    at_once(fill)
    assert sum(sent) == (tmp_path / "folder" / "sales.csv").stat().st_size == 3 * SLICE
    workspace.leave()


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    made = Watcher()
    yield made
    os.close(made.fd)


@pytest.mark.parametrize("is_named", [False, True], ids=["without a name first", "with its name"])
def test_what_a_cell_does_while_a_file_is_given_counts_as_its_own_and_the_giving_does_not(
    loop: Loop, tmp_path: Path, watcher: Watcher, monkeypatch: pytest.MonkeyPatch, *, is_named: bool
) -> None:
    notebook, workspace = notebook_of(Home(tmp_path / "home"), loop, watcher)
    folder = tmp_path / "folder"
    at_once(given(notebook, tmp_path, b"old", "old.csv"))
    entered(workspace, folder)
    opens, sends, did = os.open, os.sendfile, list[str]()

    def names_all(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if is_named and flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return opens(path, flags, mode, dir_fd=dir_fd)

    def in_between(out: int, source: int, offset: int, count: int) -> int:
        if not did:
            did.append((folder / "old.csv").read_text())
            (folder / "made.txt").write_text("made")
        return sends(out, source, offset, count)

    workspace.watch()
    monkeypatch.setattr(os, "open", names_all)
    monkeypatch.setattr(os, "sendfile", in_between)
    assert at_once(given(notebook, tmp_path, b"new" * SLICE)) == "sales.csv"
    assert workspace.seen() == (("old.csv",), True)
    assert [file.name for file in at_once(workspace.collect("c1", notebook.limits, changed=True)).taken] == ["made.txt"]
    workspace.leave()


def test_a_file_that_is_made_after_the_end_of_a_cell_is_found_at_the_end_of_the_next_one(
    loop: Loop, tmp_path: Path, watcher: Watcher
) -> None:
    """A thread of the cell may write on. The subprocess may be put to rest after the next cell, and its folder ends."""
    notebook, workspace = notebook_of(Home(tmp_path / "home"), loop, watcher)
    entered(workspace, tmp_path / "folder")
    found: list[list[str]] = []
    for cell_id, makes in (("c1", "one.txt"), ("c2", "")):
        workspace.watch()
        if makes:
            (tmp_path / "folder" / makes).write_text("made")
        _, changed = workspace.seen()
        taken = at_once(workspace.collect(cell_id, notebook.limits, changed=changed)).taken
        found.append([file.name for file in taken])
        (tmp_path / "folder" / "late.txt").write_text("made")
    assert found == [["one.txt"], ["late.txt"]]
    workspace.leave()


def test_a_cell_that_only_reads_has_changed_nothing_also_after_the_folder_was_filled(
    loop: Loop, tmp_path: Path, watcher: Watcher
) -> None:
    notebook, workspace = notebook_of(Home(tmp_path / "home"), loop, watcher)
    at_once(given(notebook, tmp_path, b"old", "old.csv"))
    entered(workspace, tmp_path / "folder")
    workspace.watch()
    (tmp_path / "folder" / "old.csv").read_text()
    assert workspace.seen() == (("old.csv",), False)
    workspace.leave()


def test_a_file_that_comes_replaces_none_that_a_cell_has_made_meanwhile(loop: Loop, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    notebook, workspace = notebook_of(home, loop)
    entered(workspace, tmp_path / "folder")
    (tmp_path / "large").write_bytes(b"given" * SLICE)
    with (tmp_path / "large").open("rb") as file:
        put = notebook.put("sales.csv", file.fileno(), 1 << 30)
        while not list((home.root / "files").glob("*/*")):
            next(put)
        (tmp_path / "folder" / "sales.csv").write_text("made")
        at_once(workspace.collect("c1", notebook.limits, changed=True))
        assert at_once(put) == "sales-2.csv"
    workspace.leave()
    assert (tmp_path / "folder" / "sales.csv").read_text() == "made"
    assert (tmp_path / "folder" / "sales-2.csv").read_bytes() == b"given" * SLICE
    assert {kept.name: kept.given for kept in notebook.thread.files.by_name.values()} == {
        "sales.csv": None,
        "sales-2.csv": "sales.csv",
    }


def test_a_file_that_the_full_disk_refused_is_listed_when_it_is_given_again(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    home = Home(tmp_path / "home")
    notebook, _ = notebook_of(home, loop)
    (tmp_path / "given").write_bytes(b"given")
    for is_full in (True, False):
        with (tmp_path / "given").open("rb") as file, monkeypatch.context() as disk:
            if is_full:
                disk.setattr("executor.files.thread_files.replace_durably", full)
                with pytest.raises(OSError, match="No space left"):
                    at_once(notebook.put("sales.csv", file.fileno(), 1 << 30))
            else:
                assert at_once(notebook.put("sales.csv", file.fileno(), 1 << 30)) == "sales.csv"
    assert list(home.thread(notebook.thread.thread_id).files.by_name) == ["sales.csv"]


def test_a_file_that_cannot_be_placed_is_not_left_by_a_thread_that_was_deleted_meanwhile(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    notebook, workspace = notebook_of(home, loop)
    entered(workspace, tmp_path / "folder")
    (tmp_path / "large").write_bytes(os.urandom(3 * SLICE))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with (tmp_path / "large").open("rb") as file:
        put = notebook.put("sales.csv", file.fileno(), 1 << 30)
        while not list((home.root / "files").glob("*/*")):
            next(put)
        workspace.leave()
        notebook.close()
        home.purge("t")
        monkeypatch.setattr(os, "sendfile", full)
        with pytest.raises(ProtocolError, match="deleted"):
            at_once(put)
    assert list((home.root / "files").glob("*/*")) == []


def test_a_file_that_is_left_out_is_told_once_for_each_folder_that_has_no_room_for_it(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook, workspace = notebook_of(Home(tmp_path / "home"), loop)
    (tmp_path / "small").write_bytes(b"a,b\n")
    with (tmp_path / "small").open("rb") as file:
        at_once(notebook.put("sales.csv", file.fileno(), 1 << 30))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "sendfile", full)
        for number in (1, 2):
            entered(workspace, tmp_path / f"folder {number}")
            told = [(each.code, each.values) for each in workspace.take_untold()]
            assert told == [("files_not_placed", {"names": "sales.csv (No space left on device)"})]
            assert workspace.take_untold() == ()
            workspace.leave()
    entered(workspace, tmp_path / "folder 3")
    assert workspace.take_untold() == ()
    assert (tmp_path / "folder 3" / "sales.csv").read_bytes() == b"a,b\n"
    workspace.leave()


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_file_comes_although_the_subprocess_ends_and_leaves_nothing_when_its_thread_is_deleted(
    loop: Loop, tmp_path: Path, *, is_deleted: bool
) -> None:
    home = Home(tmp_path / "home")
    notebook, workspace = notebook_of(home, loop)
    entered(workspace, tmp_path / "folder")
    (tmp_path / "large").write_bytes(os.urandom(3 * SLICE))
    with (tmp_path / "large").open("rb") as file:
        put = notebook.put("sales.csv", file.fileno(), 1 << 30)
        while not list((home.root / "files").glob("*/*")):
            next(put)
        workspace.leave()
        if is_deleted:
            notebook.close()
            home.purge("t")
            with pytest.raises(ProtocolError, match="deleted"):
                at_once(put)
            assert list((home.root / "files").glob("*/*")) == []
        else:
            assert at_once(put) == "sales.csv"
            assert list(notebook.thread.files.by_name) == ["sales.csv"]


def test_a_file_that_comes_while_its_thread_is_deleted_leaves_nothing(loop: Loop, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    notebook, _ = notebook_of(home, loop)
    (tmp_path / "large").write_bytes(os.urandom(3 * SLICE))
    with (tmp_path / "large").open("rb") as file:
        put = notebook.put("sales.csv", file.fileno(), 1 << 30)
        next(put)
        notebook.close()
        home.purge("t")
        with pytest.raises(ProtocolError, match="deleted"):
            at_once(put)
    assert list((home.root / "files").glob("*/*")) == []
    assert not home.has("t")


def test_a_content_stays_while_a_thread_gets_it_and_another_one_is_deleted(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (tmp_path / "file").write_bytes(b"shared")
    with (tmp_path / "file").open("rb") as file:
        sha256, size = at_once(home.keep(file.fileno(), 1 << 20))
    other = home.thread("other")
    other.files.replace({"a.csv": KeptFile("a.csv", sha256, size, given="a.csv")})
    with home.using(sha256):
        home.purge("other")
        assert home.path_of(sha256).read_bytes() == b"shared"
    home.forget({sha256})
    assert not home.path_of(sha256).exists()
