"""Separate sessions for code that may see only the inputs of a thread.

In the clean room the code behind a report runs again, with the same inputs and query results; there is one per node. A
second way to its figures runs in one of a few others. A lock on a file gives each room to one holder, so it is free as
soon as the holder dies. The next holder or the janitor deletes what a holder left.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.blobs import Blobs
from core.clean_room import CleanRoom, Unchecked
from core.settings import Settings
from core.steps import CellRan, Step
from core.telemetry import get_logger
from core.values import StoredFile, ThreadKey
from executor.client import HostUnavailable, OnRequest, RequestError, SessionClient
from executor.values import Artifact, CellResult
from workers.agent.actions import RunCell
from workers.agent.code.program import Part
from workers.agent.report.rerun import Plan, compare, plan, rerun_step, with_codes
from workers.agent.thread.effective_steps import effective_steps
from workers.memory.functions.importing import setup_code
from workers.privacy.masking import restored, values_of
from workers.turn.cell_results import cell_ran
from workers.turn.files import ThreadFiles
from workers.turn.requests.kept_rows import answers_again
from workers.turn.stop_check import StopCheck, stopped_by

log = get_logger(__name__)

_TEAM = "clean-room"
"""In place of the team in the ids of rooms at the session host. No thread has such an id."""
WAIT_FOR_ROOM_S = 20.0
"""Who has a person waiting waits no longer. Whoever is patient waits as long as the longest check takes, and this."""
CLEAN_ROOM = (0,)
SECOND_ROUTES = (1, 2, 3, 4)
"""The numbers of the rooms for second ways: so many run on a node at once."""
_LOOK_EVERY_S = 0.1


class RoomTaken(Exception):
    """Another report of this node is being checked."""


class NotWanted(Exception):
    """Nobody waits for the outcome any more: the thread was purged, or a person stopped it."""


@dataclass(frozen=True, slots=True)
class Room:
    """The resources of a clean room. `sessions` gives it the limits of the checked thread.

    `is_patient`: nobody waits for an answer meanwhile, so the check that is made now may take its time.
    """

    settings: Settings
    blobs: Blobs
    sessions: SessionClient
    files: ThreadFiles
    is_patient: bool = False

    def check(
        self,
        thread_id: str,
        turns: Sequence[Sequence[Step]],
        inputs: Sequence[StoredFile],
        stop: StopCheck = lambda: False,
        codes: Mapping[str, str] | None = None,
    ) -> CleanRoom | None:
        """Run what the last of these turns of a thread reports once more; None when no cell stands behind it.

        `turns` are all up to that one, as they are stored. `stop` says that nobody waits any more. `codes` stand in the
        place of the code of some cells: a playbook's stages have to give what the cells gave. Raises RoomTaken,
        NotWanted, HostUnavailable, BlobsUnreachable.
        """
        effective = effective_steps(turns)
        made = plan(effective)
        limit_s = self.settings.report.clean_room_s
        if made is None:
            return None
        if not made.parts:
            return CleanRoom(state="unchecked", reason="effects", left_out=made.left_out)
        made = with_codes(made, codes) if codes else made
        if made.expected_s > limit_s:
            return _unchecked("too_long", made, limit_s)
        with self._taken(thread_id, CLEAN_ROOM) as room:
            began = time.monotonic()
            self.files.place(room, inputs)
            ran = self._run(room, made, values_of(turns), began + limit_s, stop)
        seconds = round(time.monotonic() - began, 1)
        if isinstance(ran, str):
            return _unchecked(ran, made, limit_s, seconds)
        outcome = compare(effective, made, ran)
        return outcome.model_copy(update={"seconds": seconds})

    def rerun(
        self,
        thread_id: str,
        turns: Sequence[Sequence[Step]],
        made: Plan,
        inputs: Sequence[StoredFile],
        *,
        prepare: Callable[[str], object],
        answers: Callable[[CellRan], OnRequest],
        stop: StopCheck = lambda: False,
    ) -> dict[str, CellRan] | Unchecked:
        """Run the cells of a plan on other data: the cells as they ran, or why they did not end.

        `prepare` looks at the inputs in the room before any cell; what it raises ends the run. `answers` makes what a
        cell gets from data sources. Raises RoomTaken, NotWanted, HostUnavailable, BlobsUnreachable.
        """
        limit_s = self.settings.report.clean_room_s
        with self._taken(thread_id, CLEAN_ROOM) as room:
            began = time.monotonic()
            self.files.place(room, inputs)
            prepare(room)
            return self._run(room, made, values_of(turns), began + limit_s, stop, answers=answers)

    def run(  # noqa: PLR0917 - what a cell is and what it may ask
        self,
        thread_id: str,
        inputs: Sequence[StoredFile],
        cell_id: str,
        code: str,
        on_request: OnRequest | None,
        stop: StopCheck,
        limit_s: float,
        *,
        read: Callable[[CellResult], object] = lambda ran: None,
    ) -> CellResult:
        """Run one cell in a fresh session with these inputs, which is deleted behind it with all files that it made.

        `read` gets the result while these files are there. Raises RoomTaken, HostUnavailable, RequestError,
        BlobsUnreachable.
        """
        with self._taken(thread_id, SECOND_ROUTES) as room:
            self.files.place(room, inputs)
            with stopped_by(stop, partial(self.sessions.interrupt, room)):
                ran = self.sessions.run(room, cell_id, code, timeout_s=limit_s, on_request=on_request)
            read(ran)
            return ran

    def _run(
        self,
        room: str,
        made: Plan,
        values: dict[str, str],
        ends_at: float,
        stop: StopCheck,
        *,
        answers: Callable[[CellRan], OnRequest] | None = None,
    ) -> dict[str, CellRan] | Unchecked:
        """The cells as they ran now, or why they were not run to their end. `values` stand behind placeholders."""
        ran: dict[str, CellRan] = {}
        for number, part in made.parts:
            if stop():
                raise NotWanted
            left_s = ends_at - time.monotonic()
            if left_s <= 0:
                return "too_long"
            action = RunCell(part.cell.call_id, f"{number}", part.cell.title, restored(part.code, values))
            with stopped_by(stop, partial(self.sessions.interrupt, room)):
                result = self._cell(room, part, action, left_s, answers)
            if stop():
                raise NotWanted
            if result.status == "timeout" and time.monotonic() >= ends_at - 1:
                return "too_long"
            if result.status in ("killed", "died"):
                return "memory"
            step = cell_ran(action, result, _named, _named_text, "en")
            ran[part.cell.cell_id] = rerun_step(part.cell, step)
        return ran

    def _cell(
        self,
        room: str,
        part: Part,
        action: RunCell,
        left_s: float,
        answers: Callable[[CellRan], OnRequest] | None,
    ) -> CellResult:
        given = answers_again(self.blobs, part.cell) if answers is None else answers(part.cell)
        if part.cell.functions:  # as they were then: a later version must not change an old report
            self.sessions.run(room, f"{action.cell_id}:team", setup_code(part.cell.functions), timeout_s=left_s)
        return self.sessions.run(room, action.cell_id, action.code, timeout_s=left_s, on_request=given)

    @contextmanager
    def _taken(self, thread_id: str, numbers: Sequence[int]) -> Iterator[str]:
        """Inside the block one of these rooms is ours, and its session is empty: its id. Raises RoomTaken."""
        wait_s = WAIT_FOR_ROOM_S + (self.settings.report.clean_room_s if self.is_patient else 0.0)
        with _locked(self.settings, wait_s, numbers) as number:
            room = ThreadKey(_TEAM, ThreadKey.parse(thread_id).channel, f"{number}").id  # the limits of the channel
            _empty(self.settings, self.sessions, number)
            self.sessions.purge(room)
            _note(self.settings, number).write_text(room)
            try:
                yield room
            finally:
                with suppress(HostUnavailable, RequestError):
                    _empty(self.settings, self.sessions, number)


def clear_room(settings: Settings, sessions: SessionClient) -> None:
    """Delete what rooms left behind whose holder died. Raises HostUnavailable."""
    for number in (*CLEAN_ROOM, *SECOND_ROUTES):
        if _note(settings, number).exists():
            with suppress(RoomTaken), _locked(settings, 0.0, (number,)):
                _empty(settings, sessions, number)


def _empty(settings: Settings, sessions: SessionClient, number: int) -> None:
    note = _note(settings, number)
    with suppress(FileNotFoundError):
        if (room := note.read_text()).startswith(f"{_TEAM}:"):
            sessions.purge(room)
        note.unlink()


def _note(settings: Settings, number: int) -> Path:
    """This file names a room's session while it may hold anything of a thread."""
    return settings.home / f"{_name(number)}.used"


def _name(number: int) -> str:
    return f"clean-room-{number}" if number else "clean-room"


@contextmanager
def _locked(settings: Settings, wait_s: float, numbers: Sequence[int] = CLEAN_ROOM) -> Iterator[int]:
    """The lock of the first of these rooms that is free, with its number; it ends with its holder. Raises RoomTaken.

    Whoever waits holds the door meanwhile. So a process that checks one report after the other keeps nobody out.
    """
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    until = time.monotonic() + wait_s
    with ExitStack() as opened:
        locks = {number: _opened(opened, settings.home / f"{_name(number)}.lock") for number in numbers}
        with ExitStack() as waiting:
            door = _opened(waiting, settings.home / f"{_name(numbers[0])}.door")
            _first_free({0: door}, until)
            taken = _first_free(locks, until)
        yield taken


def _opened(opened: ExitStack, path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    opened.callback(os.close, descriptor)
    return descriptor


def _first_free(locks: Mapping[int, int], until: float) -> int:
    """The number of the first lock that is free, which is ours from now on. Raises RoomTaken after `until`."""
    while (taken := next((number for number, lock in locks.items() if _lock(lock)), None)) is None:
        if time.monotonic() >= until:
            raise RoomTaken
        time.sleep(_LOOK_EVERY_S)
    return taken


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unchecked(reason: Unchecked, made: Plan, limit_s: float, seconds: float = 0.0) -> CleanRoom:
    return CleanRoom(state="unchecked", reason=reason, limit_s=limit_s, seconds=seconds, left_out=made.left_out)


def _named(artifact: Artifact) -> StoredFile:
    """A file of the room by its hash. It is not kept."""
    return StoredFile(name=artifact.name, mimetype=artifact.mimetype, size=artifact.size, sha256=artifact.sha256)


def _named_text(name: str, text: str) -> StoredFile:
    return StoredFile(name=name, mimetype="text/plain", size=len(text), sha256="0" * 64)
