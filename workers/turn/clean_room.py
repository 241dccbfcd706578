"""The clean room: the code behind a report runs again in a session of its own, with the same inputs and query results.

There is one room per node. A lock on a file sees to that, so it is free as soon as its holder dies. What a holder left
behind is deleted by the next one, or by the janitor.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.blobs import Blobs
from core.clean_room import CleanRoom, Unchecked
from core.settings import Settings
from core.steps import CellRan, Step
from core.telemetry import get_logger
from core.values import StoredFile, ThreadKey
from executor.client import HostUnavailable, RequestError, SessionClient
from executor.values import Artifact, CellResult
from workers.agent.actions import RunCell
from workers.agent.effective_steps import effective_steps
from workers.agent.program import Part
from workers.agent.rerun import Plan, compare, plan, rerun_step
from workers.privacy.masking import masked_in, restored
from workers.turn.cell_results import cell_ran
from workers.turn.files import ThreadFiles
from workers.turn.kept_rows import KeptRows
from workers.turn.stop_check import StopCheck, stopped_by

log = get_logger(__name__)

_TEAM = "clean-room"
"""In place of the team in the ids of rooms at the session host. No thread has such an id."""
WAIT_FOR_ROOM_S = 20.0
_LOOK_EVERY_S = 0.1


class RoomTaken(Exception):
    """Another report of this node is being checked."""


class NotWanted(Exception):
    """Nobody waits for the outcome any more: the thread was purged, or a person stopped it."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a clean room works with. `sessions` gives the room the limits of the thread that is checked."""

    settings: Settings
    blobs: Blobs
    sessions: SessionClient
    files: ThreadFiles

    def check(
        self,
        thread_id: str,
        turns: Sequence[Sequence[Step]],
        inputs: Sequence[StoredFile],
        stop: StopCheck = lambda: False,
    ) -> CleanRoom | None:
        """Run what the last of these turns of a thread reports once more; None when no cell stands behind it.

        `turns` are all up to that one, as they are stored. `stop` says that nobody waits any more. Raises RoomTaken,
        NotWanted, HostUnavailable, BlobsUnreachable.
        """
        effective = effective_steps(turns)
        made = plan(effective)
        limit_s = self.settings.report.clean_room_s
        if made is None:
            return None
        if not made.parts:
            return CleanRoom(state="unchecked", reason="effects", left_out=made.left_out)
        if made.expected_s > limit_s:
            return _unchecked("too_long", made, limit_s)
        began = time.monotonic()
        with self._taken(thread_id) as room:
            self.files.place(room, inputs)
            ran = self._run(room, made, masked_in(turns), began + limit_s, stop)
        seconds = round(time.monotonic() - began, 1)
        if isinstance(ran, str):
            return _unchecked(ran, made, limit_s, seconds)
        outcome = compare(effective, made, ran)
        return outcome.model_copy(update={"seconds": seconds})

    def _run(
        self, room: str, made: Plan, values: dict[str, str], ends_at: float, stop: StopCheck
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
                result = self._cell(room, part, action, left_s)
            if stop():
                raise NotWanted
            if result.status == "timeout" and time.monotonic() >= ends_at - 1:
                return "too_long"
            if result.status in ("killed", "died"):
                return "memory"
            step = cell_ran(action, result, _named, _named_text, "en")
            ran[part.cell.cell_id] = rerun_step(part.cell, step)
        return ran

    def _cell(self, room: str, part: Part, action: RunCell, left_s: float) -> CellResult:
        answers = KeptRows(self.blobs, part.cell) if part.cell.statements else None
        return self.sessions.run(room, action.cell_id, action.code, timeout_s=left_s, on_request=answers)

    @contextmanager
    def _taken(self, thread_id: str) -> Iterator[str]:
        """Inside the block the room is ours, and its session is empty: its id. Raises RoomTaken."""
        room = ThreadKey(_TEAM, ThreadKey.parse(thread_id).channel, "0").id  # it has the limits of the channel
        with _locked(self.settings, WAIT_FOR_ROOM_S):
            _empty(self.settings, self.sessions)
            self.sessions.purge(room)
            _note(self.settings).write_text(room)
            try:
                yield room
            finally:
                with suppress(HostUnavailable, RequestError):
                    _empty(self.settings, self.sessions)


def clear_room(settings: Settings, sessions: SessionClient) -> None:
    """Delete what a clean room left behind whose holder died. Raises HostUnavailable."""
    if _note(settings).exists():
        with suppress(RoomTaken), _locked(settings, 0.0):
            _empty(settings, sessions)


def _empty(settings: Settings, sessions: SessionClient) -> None:
    note = _note(settings)
    with suppress(FileNotFoundError):
        if (room := note.read_text()).startswith(f"{_TEAM}:"):
            sessions.purge(room)
        note.unlink()


def _note(settings: Settings) -> Path:
    """This file names the room's session while it may hold anything of a thread."""
    return settings.home / "clean-room.used"


@contextmanager
def _locked(settings: Settings, wait_s: float) -> Iterator[None]:
    """The lock of this node's room; it ends with its holder. Raises RoomTaken."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(settings.home / "clean-room.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + wait_s
        while not _lock(descriptor):
            if time.monotonic() >= until:
                raise RoomTaken
            time.sleep(_LOOK_EVERY_S)
        yield
    finally:
        os.close(descriptor)


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
