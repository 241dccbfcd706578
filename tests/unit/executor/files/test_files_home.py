"""What the host keeps on disk, and for how long."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from executor.disk.line_file import LineFile, last_lines
from executor.files import collect as collecting
from executor.files import home as home_module
from executor.files.collect import snapshot
from executor.files.home import Home
from executor.files.thread_files import KeptFile
from executor.files.workspace import Workspace
from executor.frames import to_json
from executor.notices import notice
from executor.slices import at_once
from executor.values import Artifact, CellResult, Chart, Limits, Series
from executor.wire import result_from, result_to

WEEK_S = 7 * 24 * 3600.0


def put(home: Home, content: bytes, age_s: float) -> str:
    path = home.temporary()
    path.write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    home.adopt(path, sha256)
    then = time.time() - age_s
    os.utime(home.path_of(sha256), (then, then))
    return sha256


def test_content_that_no_thread_has_any_more_is_removed_after_a_week(tmp_path: Path) -> None:
    home = Home(tmp_path)
    held, dropped, fresh = (
        put(home, content, age) for content, age in ((b"held", 2 * WEEK_S), (b"dropped", 2 * WEEK_S), (b"fresh", 60))
    )
    thread = home.thread("t")
    thread.files.replace({"a.csv": KeptFile("a.csv", held, 4, given="a.csv")})
    thread.close()
    assert home.sweep(WEEK_S) == 1
    assert [home.path_of(sha256).exists() for sha256 in (held, dropped, fresh)] == [True, False, True]
    assert home.sweep(WEEK_S) == 0


@pytest.mark.parametrize("damaged", [b"", b'[{"name": "a.csv", "sha2', b"[3]", b'[{"name": "a.csv"}]', b"\xff\x00"])
def test_a_damaged_list_of_files_stops_no_thread(tmp_path: Path, damaged: bytes) -> None:
    home = Home(tmp_path)
    given, made = put(home, b"given", 2 * WEEK_S), put(home, b"made", 2 * WEEK_S)
    thread = home.thread("t")
    before = {"a.csv": KeptFile("a.csv", given, 5, given="a.csv")}
    thread.files.replace(before)
    thread.files.replace_by("c1", {**before, "b.csv": KeptFile("b.csv", made, 4)})
    thread.close()
    (thread.folder / "files.json").write_bytes(damaged)
    again = home.thread("t")
    assert again.files.by_name == before
    workspace = Workspace(again, home, None)
    assert [workspace.take_untold(), workspace.take_untold()] == [(notice("files_list_damaged"),), ()]
    again.files.replace(again.files.by_name)
    again.close()
    third = home.thread("t")
    assert third.files.by_name == before
    assert not third.files.is_damaged
    third.close()


def test_what_a_damaged_list_names_stays_until_the_thread_is_reset(tmp_path: Path) -> None:
    home = Home(tmp_path)
    made = put(home, b"made", 2 * WEEK_S)
    thread = home.thread("t")
    thread.files.replace({"a.csv": KeptFile("a.csv", made, 4)})
    thread.close()
    listing = thread.folder / "files.json"
    listing.write_bytes(listing.read_bytes()[:-1])
    again = home.thread("t")
    assert home.sweep(WEEK_S) == 0
    again.files.forget()
    assert home.sweep(WEEK_S) == 1
    again.close()


@pytest.mark.parametrize("name", ["files.before.json", "files.older.json", "files.replaced.json"])
def test_a_damaged_note_about_files_stops_no_thread_either(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path)
    thread = home.thread("t")
    thread.close()
    (thread.folder / name).write_text("{")
    again = home.thread("t")
    assert again.files.can_undo("c1", lambda _, __: True)
    again.close()


def test_content_that_undoing_the_last_change_brings_back_stays(tmp_path: Path) -> None:
    home = Home(tmp_path)
    before, after = put(home, b"before", 2 * WEEK_S), put(home, b"after", 2 * WEEK_S)
    thread = home.thread("t")
    thread.files.replace({"a.csv": KeptFile("a.csv", before, 6, given="a.csv")})
    thread.files.replace_by("c1", {"a.csv": KeptFile("a.csv", after, 5)})
    assert home.sweep(WEEK_S) == 0
    assert thread.files.undo("c1")
    assert home.path_of(thread.files.by_name["a.csv"].sha256).read_bytes() == b"before"
    thread.close()


@pytest.mark.parametrize("printed", ["", "x" * 200_000])
def test_a_purge_leaves_what_the_last_result_of_another_thread_names(tmp_path: Path, printed: str) -> None:
    home = Home(tmp_path)
    same = put(home, b"same", 0)
    made = Artifact("a.txt", "text/plain", 4, same, str(home.path_of(same)))
    purged, other = home.thread("purged"), home.thread("other")
    purged.files.replace({"a.txt": KeptFile("a.txt", same, 4)})
    other.started("c1")
    other.finished("c1", to_json(result_to(CellResult("c1", "ok", stdout=printed, artifacts=(made,)))), keeps=True)
    other.all_kept()
    purged.close()
    home.purge("purged")
    assert home.path_of(same).read_bytes() == b"same"
    other.started("c2")  # a client has stored the result before
    home.forget({same})
    assert not home.path_of(same).exists()
    other.close()


def test_a_thread_that_is_reset_keeps_not_even_what_its_last_result_names(tmp_path: Path) -> None:
    home = Home(tmp_path)
    sha256 = put(home, b"made", 0)
    thread = home.thread("t")
    made = Artifact("a.txt", "text/plain", 4, sha256, str(home.path_of(sha256)))
    thread.finished("c1", to_json(result_to(CellResult("c1", "ok", artifacts=(made,)))))
    home.forget({sha256}, of="t")
    assert not home.path_of(sha256).exists()
    thread.close()


def test_the_lines_of_a_file_are_read_from_its_end(tmp_path: Path) -> None:
    lines = [b"x" * length for length in (3, 70_000, 1, 65_535, 65_536, 140_000, 2)]
    (tmp_path / "a").write_bytes(b"\n".join(lines) + b"\n")
    assert list(last_lines(tmp_path / "a")) == lines[::-1]
    assert list(last_lines(tmp_path / "gone")) == []


@contextmanager
def an_ordinary_user(folder: Path) -> Iterator[None]:
    """Inside the block this process has no power over files of others, and `folder` is its working folder."""
    before, user = Path.cwd(), os.geteuid()
    folder.chmod(0o777)
    os.chdir(folder)
    os.seteuid(user or 65_534)
    try:
        yield
    finally:
        os.seteuid(user)
        os.chdir(before)


def test_a_folder_that_a_cell_has_locked_goes_with_its_thread(tmp_path: Path) -> None:
    with an_ordinary_user(tmp_path):
        home = Home(Path("home"))
        locked = home.thread("t").workspace / "locked"
        (locked / "below").mkdir(parents=True)
        (locked / "below" / "made.txt").write_text("by a cell")
        (locked / "below").chmod(0)
        locked.chmod(0)
        home.purge("t")
        assert not home.has("t")


def test_a_folder_that_a_cell_has_locked_does_not_stay_beside_the_next_subprocess(tmp_path: Path) -> None:
    with an_ordinary_user(tmp_path):
        home = Home(Path("home"))
        thread = home.thread("t")
        workspace = Workspace(thread, home, None)
        workspace.prepare()
        (thread.workspace / "locked").mkdir()
        (thread.workspace / "locked" / "made.txt").write_text("by a cell")
        (thread.workspace / "locked").chmod(0)
        workspace.prepare()
        assert sorted(path.name for path in thread.folder.iterdir()) == ["cells.jsonl", "scratch", "workspace"]


def test_a_given_file_stays_beside_more_entries_than_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    thread = home.thread("t")
    thread.workspace.mkdir()
    given = {f"{number}.csv": KeptFile(f"{number}.csv", "ab" * 32, 1, f"{number}.csv") for number in range(20)}
    for name in given:
        (thread.workspace / name).write_text("1")
    thread.files.replace(given)
    workspace = Workspace(thread, home, None)
    workspace.folder = os.open(thread.workspace, os.O_RDONLY | os.O_DIRECTORY)
    workspace.snapshot = snapshot(workspace.folder)
    (thread.workspace / "0.csv").unlink()
    monkeypatch.setattr(collecting, "_ENTRIES", 10)
    found = at_once(workspace.collect("c1", Limits(), changed=True))
    assert found.rejected[-1].why == notice("too_many_entries", limit=10)
    assert sorted(thread.files.by_name) == sorted(set(given) - {"0.csv"})
    monkeypatch.undo()
    assert at_once(workspace.collect("c2", Limits(), changed=True)).taken == ()
    assert thread.files.by_name == {name: file for name, file in given.items() if name != "0.csv"}
    workspace.leave()


def test_a_home_that_is_empty_has_nothing_to_remove(tmp_path: Path) -> None:
    assert Home(tmp_path).sweep(0) == 0


def test_a_journal_forgets_what_old_cells_printed_and_nothing_else(tmp_path: Path) -> None:
    home = Home(tmp_path)
    chart = Artifact(
        "a.png",
        "image/png",
        1,
        "ab" * 32,
        "/x",
        "figure",
        (Chart("T", "x", "y", (Series("line", "s", ((1, 2),), 1),)),),
    )
    thread = home.thread("t")
    printed = "x" * 1_000_000
    results = [CellResult(f"c{number}", "ok", stdout=printed, artifacts=(chart,)) for number in range(60)]
    for result in results:
        thread.started(result.id)
        thread.finished(result.id, to_json(result_to(result)), keeps=True)
    thread.started("runs")
    journal = next(tmp_path.glob("threads/*/cells.jsonl"))
    assert journal.stat().st_size < 10_000_000

    def look() -> tuple[object, ...]:
        first, last = (result_from(found) for cell in ("c0", "c59") if (found := thread.result(cell)))
        assert (first.stdout, first.artifacts[0].sha256) == ("", "ab" * 32)
        assert last == results[-1]
        return thread.cell_ids, thread.unfinished, thread.unsaved_cells, thread.notified, thread.undone_cell

    before = look()
    assert before[0] == [*(result.id for result in results), "runs"]
    thread.close()
    thread = home.thread("t")
    assert look() == before
    thread.close()


def test_a_journal_that_was_rewritten_is_synced_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old journal would be back after a power cut, without the cells that came later."""
    synced: list[Path] = []
    monkeypatch.setattr(home_module, "sync_path", synced.append)
    thread = Home(tmp_path).thread("t")
    for number in range(9):
        thread.started(f"c{number}")
        thread.take_unsynced()
        thread.finished(f"c{number}", to_json(result_to(CellResult(f"c{number}", "ok", stdout="x" * 1_000_000))))
    thread.take_unsynced()
    assert thread.folder not in synced
    thread.started("next")
    assert thread.folder in synced
    assert [one.path.name for one in thread.take_unsynced() if isinstance(one, LineFile)] == ["cells.jsonl"]
    thread.close()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_journal_that_a_full_disk_cannot_shorten_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(home_module, "_JOURNAL", 1_000)
    thread = Home(tmp_path).thread("t")
    with monkeypatch.context() as disk:
        disk.setattr(os, "fdatasync", full)
        for number in range(9):
            thread.started(f"c{number}")
            thread.finished(f"c{number}", to_json(result_to(CellResult(f"c{number}", "ok", stdout="x" * 2_000))))
    assert sorted(path.name for path in thread.folder.iterdir()) == ["cells.jsonl"]
    long = (thread.folder / "cells.jsonl").stat().st_size
    thread.started("c9")
    assert (thread.folder / "cells.jsonl").stat().st_size < long
    assert thread.cell_ids == [f"c{number}" for number in range(10)]
    thread.close()


def test_a_disk_that_fails_after_a_journal_was_replaced_takes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host ends then; the next one finds the new journal, or the old one after a power cut."""

    def failing(path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(home_module, "_JOURNAL", 1_000)
    monkeypatch.setattr(home_module, "sync_path", failing)
    thread = Home(tmp_path).thread("t")
    for number in range(2):
        thread.finished(f"c{number}", to_json(result_to(CellResult(f"c{number}", "ok", stdout="x" * 2_000))))
    with pytest.raises(OSError, match="Input/output error"):
        thread.started("c2")
    thread.close()
    again = Home(tmp_path).thread("t")
    assert [bool(again.result(f"c{number}")) for number in range(3)] == [True, True, False]
    assert again.unfinished == set()
    again.close()


def test_a_disk_that_refuses_the_line_of_what_is_kept_ends_no_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: LineFile, line: bytes) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    thread = Home(tmp_path).thread("t")
    thread.started("c1")
    thread.finished("c1", to_json(result_to(CellResult("c1", "ok"))), keeps=True)
    with monkeypatch.context() as disk:
        disk.setattr(LineFile, "append", full)
        thread.all_kept()
    assert thread.unsaved_cells == []
    thread.close()
    again = Home(tmp_path).thread("t")
    assert again.unsaved_cells == ["c1"]
    again.kept_up_to("c1")  # as its checkpoint says
    assert again.unsaved_cells == []
    again.close()


@pytest.mark.parametrize("refused", ["cells.jsonl", "files.json"])
def test_the_folder_of_a_thread_is_synced_although_the_disk_refused_a_part_of_it_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """A power cut would take the folder with all results that were told."""

    def failing(path: Path | str, *_: object, **__: object) -> NoReturn:
        raise OSError(errno.EIO, "Input/output error")

    home = Home(tmp_path)
    with monkeypatch.context() as disk:
        disk.setattr(home_module, "LineFile" if refused == "cells.jsonl" else "ThreadFiles", failing)
        with pytest.raises(OSError, match="Input/output error"):
            home.thread("t")
    thread = home.thread("t")
    thread.started("c1")
    assert {thread.folder, thread.folder.parent} <= set(thread.take_unsynced())
    thread.close()


@pytest.mark.parametrize(("kept", "unsaved"), [("c2", ["c3"]), ("c3", []), ("", ["c1", "c2", "c3"])])
def test_only_cells_after_the_last_one_that_is_kept_count_as_unsaved(
    kept: str, unsaved: list[str], tmp_path: Path
) -> None:
    """A power cut may take the line that says so, and leave the checkpoint."""
    thread = Home(tmp_path).thread("t")
    for cell in ("c1", "c2", "c3"):
        thread.started(cell)
        thread.finished(cell, to_json(result_to(CellResult(cell, "ok"))), keeps=True)
    thread.kept_up_to(kept)
    assert thread.unsaved_cells == unsaved
    thread.close()
    again = Home(tmp_path).thread("t")
    assert again.unsaved_cells == unsaved
    again.close()
