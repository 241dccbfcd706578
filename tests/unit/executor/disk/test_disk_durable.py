"""Syncs run beside the loop, at the same time, and the calls that wait for them come in order."""

from __future__ import annotations

import errno
import os
import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from patience import PATIENCE_S, eventually
from services import missing

from executor.disk import durable, kernel_sync
from executor.disk.durable import Disk, ThreadSync, open_syncs, replace_durably
from executor.disk.kernel_sync import KernelSync, Synced
from executor.disk.line_file import LineFile
from executor.event_loop import Loop


class SlowDisk:
    """Notes what is synced; a sync waits until it may go on, one of `fast` does not."""

    def __init__(self) -> None:
        self.synced: list[Path] = []
        self.go = threading.Event()
        self.fast: set[Path] = set()
        self.fails: set[Path] = set()

    def sync(self, path: Path) -> None:
        if path not in self.fast:
            self.go.wait()
        self.synced.append(path)
        if path in self.fails:
            raise OSError(5, "Input/output error")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    disk = SlowDisk()
    monkeypatch.setattr(durable, "sync_path", disk.sync)
    return disk


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


A, B, C = Path("a"), Path("b"), Path("c")


def test_nothing_is_called_before_it_is_on_the_disk_and_calls_keep_their_order(loop: Loop, slow: SlowDisk) -> None:
    disk, called = Disk(loop, ThreadSync()), list[str]()
    disk.sync([A], lambda: called.append("first"))
    disk.sync([], lambda: called.append("second"))
    assert called == []
    slow.go.set()
    while len(called) < 2:
        loop.run_once()
    disk.close()
    assert called == ["first", "second"]


def test_what_several_wait_for_is_synced_for_all_and_the_last_path_of_each_request_last(
    loop: Loop, slow: SlowDisk
) -> None:
    disk, called = Disk(loop, ThreadSync()), list[str]()
    for name in ("one", "two"):
        disk.sync([B, C], lambda name=name: called.append(name))  # type: ignore[misc]
    slow.go.set()
    disk.close()
    assert called == ["one", "two"]
    assert slow.synced[0] == B
    assert slow.synced[-1] == C
    assert slow.synced.count(B) <= 2


def test_a_file_that_takes_long_delays_no_other_sync(loop: Loop, slow: SlowDisk) -> None:
    disk, called = Disk(loop, ThreadSync()), list[str]()
    slow.fast = {B}
    disk.sync([A], lambda: called.append("slow"))
    disk.sync([B], lambda: called.append("fast"))
    eventually(lambda: slow.synced == [B], "the second sync")
    slow.go.set()
    disk.close()
    assert called == ["slow", "fast"]


def test_what_was_written_during_a_sync_gets_one_of_its_own(loop: Loop, slow: SlowDisk) -> None:
    disk, called = Disk(loop, ThreadSync()), list[str]()
    for name in ("first", "second", "third"):
        disk.sync([A], lambda name=name: called.append(name))  # type: ignore[misc]
    slow.go.set()
    disk.close()
    assert called == ["first", "second", "third"]
    assert slow.synced == [A, A]


def test_without_anything_to_sync_or_to_wait_for_it_is_called_at_once(loop: Loop, slow: SlowDisk) -> None:
    disk, called = Disk(loop, ThreadSync()), list[str]()
    disk.sync([], lambda: called.append("now"))
    assert called == ["now"]
    disk.close()


def test_a_disk_that_refuses_ends_the_loop_and_nobody_is_told(loop: Loop, slow: SlowDisk) -> None:
    disk, called = Disk(loop, ThreadSync()), list[str]()
    slow.fails.add(B)
    slow.go.set()
    disk.sync([B, A], lambda: called.append("told"))
    with pytest.raises(OSError, match="Input/output"):
        disk.close()
    assert called == []


class FailingTogether:
    """Syncs that fail, all at the same moment."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._begun: list[Synced] = []

    def begin(self, written: Synced) -> None:
        self._begun.append(written)
        os.eventfd_write(self.fd, 1)

    def ended(self) -> kernel_sync.Ended:
        with suppress(BlockingIOError):
            os.eventfd_read(self.fd)
        begun, self._begun = self._begun, []
        return [(written, OSError(errno.EIO, "Input/output error")) for written in begun]

    def close(self) -> None:
        os.close(self.fd)


def test_a_disk_that_refuses_several_files_at_once_holds_up_no_end(loop: Loop) -> None:
    disk, called, raised = Disk(loop, FailingTogether()), list[str](), queue.Queue[OSError]()
    disk.sync([A], lambda: called.append("first"))
    disk.sync([B], lambda: called.append("second"))
    with pytest.raises(OSError, match="Input/output"):
        loop.run_once()

    def close() -> None:
        try:
            disk.close()
        except OSError as error:
            raised.put(error)

    threading.Thread(target=close, daemon=True).start()
    assert raised.get(timeout=PATIENCE_S).errno == errno.EIO
    assert called == []


def test_a_sync_that_fails_is_told_to_who_asked_and_others_go_on(loop: Loop, slow: SlowDisk) -> None:
    disk, called, failed = Disk(loop, ThreadSync()), list[str](), list[OSError]()
    slow.fails.add(A)
    slow.go.set()
    disk.sync([A], lambda: called.append("told"), failed.append)
    disk.sync([B], lambda: called.append("other"), failed.append)
    disk.close()
    assert called == ["other"]
    assert [error.errno for error in failed] == [errno.EIO]


def test_what_others_rely_on_and_is_not_synced_fails_all_who_wait(loop: Loop, slow: SlowDisk) -> None:
    disk, called, failed = Disk(loop, ThreadSync(), lambda path, error: path == A), list[str](), list[OSError]()
    slow.fails.add(A)
    disk.sync([A], lambda: called.append("told"), failed.append)
    disk.sync([B, A], lambda: called.append("other"), failed.append)
    slow.go.set()
    disk.close()
    assert (called, len(failed)) == ([], 2)


def test_a_machine_whose_kernel_makes_no_syncs_says_so_and_has_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> KernelSync:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(durable, "KernelSync", refuses)
    said: list[str] = []
    syncs = open_syncs(said.append)
    syncs.close()
    assert isinstance(syncs, ThreadSync)
    assert len(said) == 1
    assert "Function not implemented" in said[0]


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    (tmp_path / "files.json").write_text("before")
    replace_durably(tmp_path / "files.json", b"after")
    assert [path.name for path in tmp_path.iterdir()] == ["files.json"]
    assert (tmp_path / "files.json").read_text() == "after"


@pytest.fixture(params=[KernelSync, ThreadSync])
def disk(request: pytest.FixtureRequest, loop: Loop) -> Disk:
    try:
        return Disk(loop, request.param())
    except OSError as error:
        missing("syncs by the kernel", str(error))


def test_files_folders_and_what_is_gone_are_synced_together(disk: Disk, tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(200)]
    for file in files[:150]:
        file.write_text("written")
    called: list[str] = []
    disk.sync([*files, tmp_path], lambda: called.append("all"))
    disk.sync(files[:1], lambda: called.append("again"))
    assert called == []
    disk.close()
    assert called == ["all", "again"]


def test_what_a_call_asks_for_comes_after_the_calls_of_its_group(disk: Disk, loop: Loop, tmp_path: Path) -> None:
    called: list[str] = []

    def asks() -> None:
        called.append("first")
        disk.sync([], lambda: called.append("third"))

    disk.sync([tmp_path], lambda: None)
    disk.sync([tmp_path], asks)
    disk.sync([], lambda: called.append("second"))
    while len(called) < 3:
        loop.run_once()
    disk.close()
    assert called == ["first", "second", "third"]


def test_a_file_that_cannot_be_synced_is_an_error_and_closing_returns(disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    disk.sync([tmp_path / "file" / "below"], lambda: None)
    with pytest.raises(OSError, match="Not a directory"):
        disk.close()


def test_nothing_stays_open_after_the_syncs(disk: Disk, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for number in range(100):
        (tmp_path / str(number)).write_text("written")
        disk.sync([tmp_path / str(number), tmp_path], lambda: None)
    disk.close()
    assert len(os.listdir("/proc/self/fd")) < before


class Noted(ThreadSync):
    """Syncs of a test: it sees what has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[Synced] = []

    def begin(self, written: Synced) -> None:
        self.begun.append(written)
        super().begin(written)


def test_what_is_synced_soon_begins_with_the_next_request_and_is_called_before_it(loop: Loop, tmp_path: Path) -> None:
    syncs, called = Noted(), list[str]()
    disk = Disk(loop, syncs)
    disk.sync_soon([tmp_path / "soon"], lambda: called.append("soon"))
    assert syncs.begun == []
    disk.sync([tmp_path / "now"], lambda: called.append("now"))
    assert syncs.begun == [tmp_path / "soon", tmp_path / "now"]
    disk.close()
    assert called == ["soon", "now"]


def test_a_request_without_files_waits_for_what_is_synced_soon(loop: Loop, tmp_path: Path) -> None:
    disk, called = Disk(loop, Noted()), list[str]()
    disk.sync_soon([tmp_path], lambda: called.append("soon"))
    disk.sync([], lambda: called.append("after"))
    assert called == []
    disk.close()
    assert called == ["soon", "after"]


def test_what_is_synced_soon_begins_by_itself_when_nobody_asks(loop: Loop, tmp_path: Path) -> None:
    disk, called = Disk(loop, Noted()), list[str]()
    disk.sync_soon([tmp_path], lambda: called.append("soon"))
    while not called:
        loop.run_once()
    disk.close()


def test_what_is_synced_soon_is_on_the_disk_when_all_is_finished(loop: Loop, tmp_path: Path) -> None:
    syncs, called = Noted(), list[str]()
    disk = Disk(loop, syncs)
    disk.sync([tmp_path], lambda: disk.sync_soon([tmp_path / "soon"], lambda: called.append("soon")))
    disk.finish()
    assert called == ["soon"]
    assert tmp_path / "soon" in syncs.begun
    disk.close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What is opened to be synced."""
    found: list[Path] = []
    plain_open = os.open

    def noting_open(path: Path, *more: int) -> int:
        found.append(path)
        return plain_open(path, *more)

    monkeypatch.setattr(kernel_sync.os, "open", noting_open)
    return found


def test_a_file_that_stays_open_is_synced_as_it_is(disk: Disk, tmp_path: Path, opened: list[Path]) -> None:
    file, called = LineFile(tmp_path / "lines"), list[str]()
    file.append(b"a line\n")
    opened.clear()
    disk.sync([file], lambda: called.append("synced"))
    disk.close()
    file.close()
    assert called == ["synced"]
    assert opened == ([] if isinstance(disk._syncs, KernelSync) else [tmp_path / "lines"])


def test_a_file_that_was_closed_meanwhile_is_synced_by_its_name(disk: Disk, tmp_path: Path, opened: list[Path]) -> None:
    """Its descriptor may be that of another file by then."""
    file = LineFile(tmp_path / "lines")
    file.close()
    other = LineFile(tmp_path / "other")
    opened.clear()
    disk.sync([file], lambda: None)
    disk.close()
    other.close()
    assert opened == [tmp_path / "lines"]


def test_a_torn_file_that_a_full_disk_cannot_mend_does_not_stay_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "lines").write_bytes(b"whole\ntor")
    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            LineFile(tmp_path / "lines")
    assert os.listdir("/proc/self/fd") == before
    lines = LineFile(tmp_path / "lines")
    assert [line for _, line in lines.lines()] == [b"whole\n", b"tor\n"]
    lines.close()
