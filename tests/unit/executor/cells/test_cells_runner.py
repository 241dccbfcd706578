"""What a cell made is taken in slices, and its result follows: whatever happens meanwhile, nothing of it is lost."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from patience import eventually

from executor.cell import Cell
from executor.cells import result_writer, run, runner
from executor.counters import Counters
from executor.disk import durable
from executor.disk.durable import Disk, ThreadSync
from executor.disk.kernel_sync import Synced
from executor.disk.line_file import LineFile
from executor.event_loop import Loop
from executor.files import home, workspace
from executor.files.home import Home
from executor.files.thread_files import KeptFile
from executor.files.workspace import Workspace
from executor.frames import Message
from executor.interpreters import lifecycle
from executor.interpreters.python import PythonInterpreter
from executor.interpreters.thread_interpreters import Interpreters
from executor.notebook import Notebook
from executor.notices import notice
from executor.sessions.session import Ending, Listener, Session
from executor.slices import SLICE, SlicedWork
from executor.state.checkpoints import Checkpoint
from executor.state.received_state import Receiver
from executor.values import Limits, Notice

LARGE = 5 * SLICE


class Subprocess:
    """A session without a process: the test says what it does. Its working folder is an ordinary one."""

    def __init__(self, listener: Listener, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.workspace = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self.file_user = self.refused = None
        self.ready, self.gone = True, False
        self.ran: list[str] = []
        self.interrupts = 0
        self._listener = listener

    def begin(self, state: object) -> None:
        """It would take its variables."""

    def send(self, message: Message) -> None:
        if message["type"] == "run":
            self.ran.append(message["cell"])

    def receive(self, receiver: Receiver) -> None:
        self._listener.session_saved(cast(Session, self), receiver)

    def kill(self, why: Notice, *, by_limit: bool = False) -> None:
        if not self.gone:
            self.gone, self.ready = True, False
            self._listener.session_gone(cast(Session, self), Ending(why, by_limit))

    def interrupt(self) -> None:
        """It would raise KeyboardInterrupt."""
        self.interrupts += 1

    def ask_where(self) -> None:
        """It would write down where it is."""

    def where(self) -> None:
        return None

    def drain(self) -> None:
        """All that it printed has been read."""

    def newly_killed_for_memory(self) -> int:
        return 0

    def reports(self, cell_id: str) -> None:
        self._says({"type": "result", "cell": cell_id, "status": "ok", "result": None, "error": None})

    def sends_no_variables(self) -> None:
        """It has compared them, and nothing has changed."""
        self._says({"type": "state", "keys": None, "why": None, "future": 1, "set_by": {}})

    def prints(self, text: str) -> None:
        self._listener.session_wrote(cast(Session, self), "stdout", text.encode())

    def _says(self, message: Message) -> None:
        lists = ("figures", "notices", "problems", "checks", "parts", "lost", "variables")
        self._listener.session_said(cast(Session, self), {key: [] for key in lists} | message)


@dataclass
class Asker:
    """A client that waits for cells."""

    answers: bool = False
    approves: bool = False
    results: list[Any] = field(default_factory=list)
    refusals: list[OSError] = field(default_factory=list)

    def result(self, result: str) -> None:
        self.results.append(json.loads(result))

    def refused(self, error: OSError) -> None:
        self.refusals.append(error)

    def output(self, stream: str, text: str) -> None:
        """It does not read along."""


class HeldDisk(ThreadSync):
    """Syncs that end when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_held = False
        self._held: list[Synced] = []

    def begin(self, written: Synced) -> None:
        if self.is_held:
            self._held.append(written)
        else:
            super().begin(written)

    def go_on(self) -> None:
        self.is_held = False
        for written in self._held:
            self.begin(written)


class Desk:
    """A notebook in a loop that the test turns."""

    def __init__(self, folder: Path) -> None:
        self.loop = Loop()
        self.work = SlicedWork(self.loop)
        self.home = Home(folder / "home")
        self.asker = Asker()
        self.started: list[Subprocess] = []
        self.syncs = HeldDisk()
        disk = Disk(self.loop, self.syncs)
        thread = self.home.thread("t")
        folder_of_thread = Workspace(thread, self.home, None)

        def start(listener: Listener) -> Session:
            self.started.append(Subprocess(listener, folder / f"workspace {len(self.started)}"))
            return cast(Session, self.started[-1])

        def interpreters(notebook: Notebook, owner: Any) -> Any:
            checkpoint = Checkpoint(thread.folder, "t", b"key", {})
            made = PythonInterpreter(
                thread,
                owner,
                loop=self.loop,
                disk=disk,
                checkpoint=checkpoint,
                counters=Counters(),
                start=start,
                state_limit=lambda: 1 << 30,
            )
            return Interpreters(made, None)

        self.notebook = Notebook(
            thread,
            loop=self.loop,
            disk=disk,
            work=self.work,
            home=self.home,
            workspace=folder_of_thread,
            limits=Limits(),
            interpreters=interpreters,
        )

    @property
    def subprocess(self) -> Subprocess:
        return self.started[-1]

    def ask(self, cell_id: str) -> None:
        self.notebook.submit(Cell(cell_id, "1", 60.0), cast(Any, self.asker))

    def begin(self, cell_id: str) -> None:
        """Ask for a cell, with a subprocess that is ready."""
        self.ask(cell_id)
        if not self.subprocess.ran:
            self.subprocess._listener.session_ready(cast(Session, self.subprocess))
        self.until(lambda: self.subprocess.ran[-1:] == [cell_id])

    def until(self, what: Callable[[], object]) -> None:
        self.loop.call_later(60.0, lambda: pytest.fail("it did not happen"))
        while not what():
            self.loop.run_once()

    def turn(self) -> None:
        """Let everything that is due now happen, and what follows from it."""
        for _ in range(5):
            self.loop.call_later(0.0, lambda: None)
            self.loop.run_once()

    def end(self, cell_id: str) -> Any:
        """A cell that made nothing ends, and so does the keeping of its variables; its result."""
        self.subprocess.reports(cell_id)
        self.subprocess.sends_no_variables()
        self.until(lambda: len(self.asker.results) and self.notebook.kept)
        return self.asker.results.pop()

    def journal(self) -> list[str]:
        """What each line of the journal says, in their order."""
        lines = (self.notebook.thread.folder / "cells.jsonl").read_text().splitlines()
        return ["result" if "result" in (found := json.loads(line)) else next(iter(found)) for line in lines]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.notebook.close()
    made.loop.close()


def make_large(desk: Desk, name: str = "large.bin") -> bytes:
    content = os.urandom(LARGE)
    (desk.subprocess.folder / name).write_bytes(content)
    return content


def ended_with_a_large_file(desk: Desk) -> bytes:
    """The cell c1 has made a large file and has ended just now."""
    desk.begin("c1")
    content = make_large(desk)
    desk.subprocess.reports("c1")
    return content


@contextmanager
def giving(desk: Desk, folder: Path, content: bytes) -> Iterator[list[str]]:
    """Somebody gives the thread a file, which is open in this block; the name that it has got, once it is placed."""
    (folder / "given").write_bytes(content)
    placed: list[str] = []
    with (folder / "given").open("rb") as file:
        put = desk.notebook.put("sales.csv", file.fileno(), 1 << 30)
        desk.work.do("t", put, placed.append, lambda error: pytest.fail(str(error)))
        yield placed


def is_whole(result: Any, content: bytes) -> bool:
    names = [artifact["name"] for artifact in result["artifacts"]]
    return (result["status"], names) == ("ok", ["large.bin"]) and Path(
        result["artifacts"][0]["path"]
    ).read_bytes() == content


def test_others_are_served_while_a_large_file_of_a_cell_is_taken(desk: Desk) -> None:
    content = ended_with_a_large_file(desk)
    turns = []
    desk.loop.call_later(0.0, lambda: turns.append(len(desk.asker.results)))
    desk.until(lambda: desk.asker.results)
    assert turns == [0]
    assert is_whole(desk.asker.results[0], content)


def test_the_begin_of_a_long_cell_is_synced_also_right_after_a_short_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_LONG_CELL_S", 0.3)
    desk.begin("c1")
    desk.end("c1")
    desk.begin("c2")
    desk.syncs.is_held = True
    desk.until(lambda: any(isinstance(written, LineFile) for written in desk.syncs._held))
    assert desk.notebook.running == "c2"
    desk.syncs.go_on()
    desk.end("c2")


def test_a_cell_that_made_a_small_file_waits_for_no_other_thread(desk: Desk) -> None:
    desk.begin("c1")
    (desk.subprocess.folder / "small.txt").write_text("made")

    def endless() -> Iterator[None]:
        while True:
            yield

    desk.work.do("another thread", cast(Any, endless()), lambda _: None, lambda _: None)
    desk.subprocess.reports("c1")
    assert desk.notebook.thread.result("c1") is not None


@pytest.mark.parametrize("how", ["dies", "closed"])
def test_what_a_cell_made_is_told_whole_although_its_subprocess_ends_meanwhile(desk: Desk, how: str) -> None:
    content = ended_with_a_large_file(desk)
    if how == "dies":
        desk.subprocess.kill(notice("killed"))
    else:
        desk.notebook.close()
    after = Home(desk.home.root).thread("t")
    assert is_whole(after.result("c1"), content)
    assert list(after.files.by_name) == ["large.bin"]


def test_a_reset_forgets_also_the_files_that_were_being_taken(desk: Desk) -> None:
    ended_with_a_large_file(desk)
    desk.notebook.reset()
    assert desk.notebook.thread.result("c1") is not None
    assert desk.notebook.thread.files.by_name == {}
    assert list((desk.home.root / "files").glob("*/*")) == list((desk.home.root / "tmp").iterdir()) == []


def test_a_thread_is_reset_although_the_list_of_another_one_cannot_be_read(desk: Desk) -> None:
    ended_with_a_large_file(desk)
    (desk.home.root / "threads" / "other" / "files.json").mkdir(parents=True)
    desk.notebook.reset()
    assert desk.notebook.thread.files.by_name == {}


def test_what_was_not_kept_is_told_when_a_subprocess_ends_while_the_files_of_a_cell_are_taken(desk: Desk) -> None:
    ended_with_a_large_file(desk)
    desk.subprocess.kill(notice("killed"))
    desk.until(lambda: desk.asker.results)
    desk.asker.results.clear()
    desk.begin("c2")
    assert [each["code"] for each in desk.end("c2")["notices"]] == ["changes_not_kept"]


def test_variables_that_come_before_the_result_are_kept_after_it(desk: Desk) -> None:
    ended_with_a_large_file(desk)
    desk.subprocess.sends_no_variables()
    desk.until(lambda: "settled" in desk.journal())
    assert desk.journal() == ["cell", "result", "settled"]
    assert desk.notebook.thread.unsaved_cells == []


def test_variables_are_kept_once_the_result_of_their_cell_is_on_the_disk(desk: Desk) -> None:
    """After a power cut in between they would be those of a cell that has died, as far as is written down."""
    ended_with_a_large_file(desk)
    desk.subprocess.sends_no_variables()
    desk.syncs.is_held = True
    desk.until(lambda: desk.notebook.thread.result("c1") is not None)
    desk.turn()
    assert not desk.notebook.kept
    desk.syncs.go_on()
    desk.until(lambda: "settled" in desk.journal())


def test_variables_that_have_come_are_not_late_however_long_the_files_of_their_cell_take(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "_CHECKPOINT_S", 0.0)
    ended_with_a_large_file(desk)
    desk.subprocess.sends_no_variables()
    desk.until(lambda: desk.notebook.kept)
    assert not desk.subprocess.gone
    desk.until(lambda: "settled" in desk.journal())


def refusing(code: int) -> Callable[..., Any]:
    """What stands for a disk that refuses to write."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return refuse


def test_a_result_that_the_disk_refuses_is_told_also_when_a_request_has_ended_the_subprocess(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell without a result would hold its thread up for ever."""
    ended_with_a_large_file(desk)
    with monkeypatch.context() as disk:
        disk.setattr(desk.notebook.thread, "finished", refusing(errno.EDQUOT))
        desk.notebook.reset()
        desk.turn()
    assert [error.errno for error in desk.asker.refusals] == [errno.EDQUOT]
    desk.ask("c1")
    desk.until(lambda: desk.asker.results)
    assert [told["code"] for told in desk.asker.results[0]["notices"]] == ["result_refused"]
    assert desk.asker.results[0]["status"] == "died"


def test_a_cell_whose_begin_the_disk_refuses_has_not_run_and_may_be_asked_for_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.begin("c1")
    desk.end("c1")
    with monkeypatch.context() as disk:
        disk.setattr(desk.notebook.thread, "started", refusing(errno.EROFS))
        desk.ask("c2")
        desk.turn()
        assert [error.errno for error in desk.asker.refusals] == [errno.EROFS]
        assert desk.subprocess.ran == ["c1"]
    desk.begin("c2")
    assert desk.subprocess.ran == ["c1", "c2"]


def test_a_cell_that_gets_no_subprocess_for_want_of_a_folder_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for it again would wait for ever."""
    with monkeypatch.context() as disk:
        disk.setattr(Subprocess, "__init__", refusing(errno.EDQUOT))
        desk.ask("c1")
        desk.turn()
        assert [error.errno for error in desk.asker.refusals] == [errno.EDQUOT]
    desk.begin("c1")


def test_a_cell_whose_result_the_disk_refuses_ends_its_subprocess_and_the_next_one_goes_on_from_what_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.begin("c1")
    desk.end("c1")
    desk.begin("c2")
    with monkeypatch.context() as disk:
        disk.setattr(desk.notebook.thread, "finished", refusing(errno.EROFS))
        desk.subprocess.reports("c2")
        desk.turn()
        assert desk.subprocess.gone
        assert desk.asker.refusals
    desk.ask("c2")
    desk.until(lambda: desk.asker.results)
    assert desk.asker.results[0]["status"] == "died"
    assert desk.notebook.thread.unsaved_cells == []
    desk.ask("c3")
    desk.subprocess._listener.session_ready(cast(Session, desk.subprocess))
    desk.until(lambda: desk.subprocess.ran == ["c3"])


@pytest.mark.parametrize("what", ["list", "result"])
def test_a_disk_that_is_full_for_a_moment_costs_no_cell(desk: Desk, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(result_writer, "_AGAIN_S", 0.0)
    desk.begin("c1")
    (desk.subprocess.folder / "sales.csv").write_text("a,b")
    with monkeypatch.context() as disk:
        if what == "list":
            disk.setattr("executor.files.thread_files.replace_durably", refusing(errno.ENOSPC))
        else:
            disk.setattr(desk.notebook.thread, "finished", refusing(errno.ENOSPC))
        desk.subprocess.reports("c1")
        desk.turn()
        assert (desk.asker.results, desk.asker.refusals) == ([], [])
    desk.until(lambda: desk.asker.results)
    assert desk.asker.results[0]["status"] == "ok"
    assert [made["name"] for made in desk.asker.results[0]["artifacts"]] == ["sales.csv"]
    assert list(desk.notebook.thread.files.by_name) == ["sales.csv"]
    desk.subprocess.sends_no_variables()
    desk.until(lambda: desk.notebook.kept)


def test_a_subprocess_that_ends_while_the_disk_is_full_leaves_a_result_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.begin("c1")
    with monkeypatch.context() as disk:
        disk.setattr(desk.notebook.thread, "finished", refusing(errno.ENOSPC))
        desk.subprocess.reports("c1")
        desk.turn()
    desk.subprocess.kill(notice("killed"))
    desk.until(lambda: desk.asker.results)
    assert desk.asker.results[0]["status"] == "ok"


def test_a_result_that_is_too_large_for_the_disk_is_replaced_by_a_short_one_that_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.begin("c1")
    (desk.subprocess.folder / "sales.csv").write_text("a,b")
    with monkeypatch.context() as disk:
        disk.setattr("executor.files.thread_files.replace_durably", refusing(errno.EDQUOT))
        disk.setattr(result_writer, "_FULL_S", 0.0)
        desk.subprocess.reports("c1")
        desk.until(lambda: desk.asker.results)
    assert [told["code"] for told in desk.asker.results[0]["notices"]] == ["result_refused"]
    assert desk.subprocess.gone


def test_a_disk_that_stays_full_is_waited_for_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = desk.notebook.thread.finished

    def full_for_long(cell_id: str, result: str, **more: bool) -> None:
        if len(result) > 10_000:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        finished(cell_id, result, **more)

    def ends_with_much(cell_id: str, less: int = 0) -> None:
        desk.begin(cell_id)
        desk.subprocess.prints("x" * (20_000 - less) + "\n")
        desk.subprocess.reports(cell_id)

    with monkeypatch.context() as disk:
        disk.setattr(desk.notebook.thread, "finished", full_for_long)
        disk.setattr(result_writer, "_FULL_S", 0.0)
        ends_with_much("c1")
        desk.until(lambda: desk.asker.results)
        disk.setattr(result_writer, "_FULL_S", 3_600.0)
        desk.begin("c2")
        desk.end("c2")
        ends_with_much("c3", less=50)  # as a result is shorter by chance
        desk.until(lambda: desk.subprocess.gone)
        desk.until(lambda: desk.asker.results)
        assert [told["code"] for told in desk.asker.results.pop()["notices"]] == ["result_refused"]
    desk.asker.results.clear()
    ends_with_much("c4", less=50)
    desk.until(lambda: desk.asker.results)
    desk.subprocess.sends_no_variables()
    desk.until(lambda: desk.notebook.kept)
    with monkeypatch.context() as disk:  # there was room since: this may be for a moment
        disk.setattr(desk.notebook.thread, "finished", full_for_long)
        ends_with_much("c5")
        desk.turn()
        assert not desk.subprocess.gone


def test_a_cell_whose_result_is_written_keeps_it_when_the_disk_refuses_what_follows(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.begin("c1")
    with monkeypatch.context() as disk:
        disk.setattr(desk.home, "take_unsynced", refusing(errno.EIO))
        desk.subprocess.reports("c1")
    desk.until(lambda: desk.asker.results)
    assert [result["status"] for result in desk.asker.results] == ["ok"]
    assert desk.journal() == ["cell", "result"]


@contextmanager
def failing_syncs(path: Path) -> Iterator[None]:
    """Inside the block the disk refuses each sync of this path."""
    sync = durable.sync_path

    def refuses(other: Path) -> None:
        if other == path:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(other)

    with pytest.MonkeyPatch.context() as disk:
        disk.setattr(durable, "sync_path", refuses)
        yield


def test_a_result_whose_sync_fails_costs_its_cell_and_the_journal_is_written_anew(desk: Desk) -> None:
    """A second sync would succeed: the kernel has dropped what it could not write."""
    journal = desk.notebook.thread.folder / "cells.jsonl"
    desk.begin("c1")
    desk.end("c1")
    before = journal.stat().st_ino
    desk.begin("c2")
    with failing_syncs(journal):
        desk.subprocess.reports("c2")
        desk.until(lambda: desk.subprocess.gone)
    desk.until(lambda: desk.asker.results)
    assert journal.stat().st_ino != before
    assert [(told["status"], told["notices"][0]["code"]) for told in desk.asker.results] == [
        ("died", "result_not_synced")
    ]
    desk.asker.results.clear()
    desk.ask("c2")
    desk.until(lambda: desk.asker.results)
    assert desk.asker.results.pop()["notices"][0]["code"] == "result_not_synced"
    assert [line for line in desk.journal() if line != "settled"] == ["cell", "result", "cell", "result"]
    desk.ask("c3")
    desk.subprocess._listener.session_ready(cast(Session, desk.subprocess))
    desk.until(lambda: desk.subprocess.ran == ["c3"])
    assert desk.end("c3")["status"] == "ok"


def test_a_thread_waits_while_the_disk_refuses_a_new_journal_after_a_sync_that_failed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.begin("c1")
    with monkeypatch.context() as disk, failing_syncs(desk.notebook.thread.folder / "cells.jsonl"):
        disk.setattr(home, "replace_durably", refusing(errno.EIO))
        desk.subprocess.reports("c1")
        desk.until(lambda: desk.asker.refusals)
        with pytest.raises(OSError, match="Input/output"):
            desk.ask("c1")
    assert desk.asker.results == []
    desk.ask("c1")
    desk.until(lambda: desk.asker.results)
    assert [told["code"] for told in desk.asker.results[0]["notices"]] == ["result_not_synced"]


def test_a_cell_that_runs_when_a_sync_fails_ends_with_its_subprocess(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_LONG_CELL_S", 0.0)
    with failing_syncs(desk.notebook.thread.folder / "cells.jsonl"):
        desk.begin("c1")
        desk.until(lambda: desk.subprocess.gone)
    desk.until(lambda: desk.asker.results)
    assert desk.asker.results[0]["status"] == "died"
    assert desk.asker.results[0]["notices"][0]["values"]["why"]["code"] == "disk_refused"


def test_a_long_output_that_the_disk_refuses_costs_only_its_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.begin("c1")
    desk.subprocess.prints("x\n" * (Limits().output_kb << 11))
    monkeypatch.setattr(desk.home, "adopt", refusing(errno.ENOSPC))
    desk.subprocess.reports("c1")
    desk.until(lambda: desk.asker.results)
    assert "characters left out here" in desk.asker.results[0]["stdout"]
    assert (desk.asker.results[0]["status"], desk.asker.results[0]["artifacts"]) == ("ok", [])
    assert not list((desk.home.root / "tmp").iterdir())


def test_variables_that_the_disk_cannot_read_start_no_cell_and_the_thread_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "open", refusing(errno.EIO))
    desk.ask("c1")
    for _ in range(3):
        desk.subprocess._listener.session_ready(cast(Session, desk.subprocess))
        desk.turn()
    desk.until(lambda: desk.asker.results)
    said = desk.asker.results[0]["notices"][0]
    assert (said["code"], said["values"]["why"]["code"]) == ("not_started", "disk_refused")


def test_variables_whose_subprocess_ends_before_the_result_count_as_not_kept(desk: Desk) -> None:
    ended_with_a_large_file(desk)
    desk.subprocess.sends_no_variables()
    desk.subprocess.kill(notice("killed"))
    desk.until(lambda: desk.asker.results)
    assert desk.notebook.thread.unsaved_cells == ["c1"]


def test_the_next_cell_begins_after_the_result_of_the_one_before(desk: Desk) -> None:
    ended_with_a_large_file(desk)
    desk.ask("c2")
    desk.subprocess.sends_no_variables()
    desk.until(lambda: desk.subprocess.ran == ["c1", "c2"])
    assert desk.journal()[:3] == ["cell", "result", "cell"]


def test_a_cell_that_has_ended_is_not_stopped_while_its_files_are_taken(desk: Desk) -> None:
    content = ended_with_a_large_file(desk)
    assert not desk.notebook.interrupt()
    desk.until(lambda: desk.asker.results)
    assert is_whole(desk.asker.results[0], content)


def test_who_asks_for_a_cell_again_while_its_files_are_taken_gets_its_result(desk: Desk) -> None:
    content = ended_with_a_large_file(desk)
    desk.ask("c1")
    desk.until(lambda: desk.asker.results)
    assert all(is_whole(result, content) for result in desk.asker.results)


def test_what_is_printed_while_the_files_of_a_cell_are_taken_is_late(desk: Desk) -> None:
    ended_with_a_large_file(desk)
    desk.subprocess.prints("late\n")
    desk.subprocess.sends_no_variables()
    desk.until(lambda: desk.asker.results and desk.notebook.kept)
    assert desk.asker.results.pop()["stdout"] == ""
    desk.begin("c2")
    result = desk.end("c2")
    assert result["stdout"] == "late\n"
    assert [each["code"] for each in result["notices"]] == ["late_output"]


def test_a_file_that_is_given_while_those_of_a_cell_are_taken_is_not_the_cells(desk: Desk, tmp_path: Path) -> None:
    content = ended_with_a_large_file(desk)
    with giving(desk, tmp_path, os.urandom(LARGE)) as placed:
        desk.until(lambda: placed and desk.asker.results)
    assert is_whole(desk.asker.results[0], content)
    assert {file.name: file.given for file in desk.notebook.thread.files.by_name.values()} == {
        "large.bin": None,
        "sales.csv": "sales.csv",
    }
    desk.subprocess.sends_no_variables()
    desk.until(lambda: desk.notebook.kept)
    desk.asker.results.clear()
    desk.begin("c2")
    assert desk.end("c2")["artifacts"] == []


def test_what_a_cell_made_is_told_although_it_waits_behind_a_given_file_when_its_subprocess_ends(
    desk: Desk, tmp_path: Path
) -> None:
    desk.begin("c1")
    content = make_large(desk)
    with giving(desk, tmp_path, os.urandom(LARGE)) as placed:
        desk.subprocess.reports("c1")
        desk.subprocess.kill(notice("killed"))
        desk.ask("c2")
        desk.subprocess._listener.session_ready(cast(Session, desk.subprocess))
        desk.until(lambda: desk.subprocess.ran == ["c2"] and desk.asker.results)
    assert is_whole(desk.asker.results[0], content)
    assert placed == ["sales.csv"]
    assert sorted(os.listdir(desk.subprocess.folder)) == ["large.bin", "sales.csv"]


def test_a_content_that_a_cell_made_stays_although_the_only_other_thread_with_it_is_deleted(desk: Desk) -> None:
    desk.begin("c1")
    contents = {make_large(desk, "a.bin"), make_large(desk, "b.bin")}
    other = desk.home.thread("other")
    desk.subprocess.reports("c1")
    desk.until(lambda: list((desk.home.root / "files").glob("*/*")))
    (first,) = (desk.home.root / "files").glob("*/*")
    other.files.replace({"c.bin": KeptFile("c.bin", first.name, LARGE)})
    desk.home.purge("other")
    desk.until(lambda: desk.asker.results)
    assert {Path(artifact["path"]).read_bytes() for artifact in desk.asker.results[0]["artifacts"]} == contents


def test_a_cell_begins_once_the_files_of_its_thread_are_there_and_others_are_served_meanwhile(
    desk: Desk, tmp_path: Path
) -> None:
    content = os.urandom(LARGE)
    with giving(desk, tmp_path, content) as placed:
        desk.until(lambda: placed)
    desk.ask("c1")
    desk.subprocess._listener.session_ready(cast(Session, desk.subprocess))
    assert desk.subprocess.ran == []
    turns: list[list[str]] = []
    desk.loop.call_later(0.0, lambda: turns.append(list(desk.subprocess.ran)))
    desk.until(lambda: desk.subprocess.ran == ["c1"])
    assert turns == [[]]
    assert (desk.subprocess.folder / "sales.csv").read_bytes() == content
    assert desk.end("c1")["artifacts"] == []


def test_a_subprocess_that_ends_while_it_gets_its_files_is_followed_by_one_that_has_them_all(
    desk: Desk, tmp_path: Path
) -> None:
    with giving(desk, tmp_path, os.urandom(LARGE)) as placed:
        desk.until(lambda: placed)
    desk.ask("c1")
    first = desk.subprocess
    first._listener.session_ready(cast(Session, first))
    first.kill(notice("killed"))
    desk.until(lambda: desk.subprocess is not first)
    desk.subprocess._listener.session_ready(cast(Session, desk.subprocess))
    desk.until(lambda: desk.subprocess.ran == ["c1"])
    assert (desk.subprocess.folder / "sales.csv").stat().st_size == LARGE
    assert first.ran == []


@pytest.mark.parametrize("has_threads", [True, False])
def test_the_folder_of_a_subprocess_that_has_ended_is_closed_also_where_no_thread_can_start(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, has_threads: bool
) -> None:
    desk.begin("c1")
    folder = desk.subprocess.folder

    def refused(**_: object) -> None:
        raise RuntimeError("can't start new thread")

    if not has_threads:
        monkeypatch.setattr(workspace, "threading", SimpleNamespace(Thread=refused))
    desk.subprocess.kill(notice("killed"))
    opened = Path("/proc/self/fd")
    eventually(lambda: folder not in {each.resolve() for each in opened.iterdir()}, "the end of the descriptor")


def test_an_interrupt_is_sent_again_until_the_cell_has_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_AGAIN_S", (0.0, 0.0, 3_600.0))
    desk.begin("c1")
    assert desk.notebook.interrupt()
    desk.until(lambda: desk.subprocess.interrupts == 3)
    desk.end("c1")
    assert not desk.notebook.interrupt()
    desk.begin("c2")
    desk.turn()
    assert desk.subprocess.interrupts == 3
