"""A thread's variables, as the host keeps them: opaque bytes in parts, bound to the thread by an HMAC.

The host never looks into the bytes. They came out of a sandbox of this thread and go only into another one of it.

    <thread>/state/log.jsonl     {"body": {...}, "hmac": ...}, one line per checkpoint, the last one counts
    <thread>/state/<sha256>      a part that is too large for the line

The one before the last is kept too, with its parts: what the last cell did can be undone.

Parts are on the disk before the line that names them is written (`Receiver.files`), so a power cut leaves the last line
whole with its parts, or the one before it.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from executor.disk.durable import sync_path
from executor.disk.kernel_sync import Synced
from executor.frames import Message, ProtocolError
from executor.notices import notice
from executor.said import lost_pair
from executor.state.checkpoint_log import CheckpointLog, Refused, stored_lines
from executor.state.received_state import MANY_PARTS, Announced, Receiver, files_of, stamp
from executor.values import Notice
from executor.wire import content_name, mapping, sequence

_MAPPED, _MANY_MAPPED = 1 << 20, 32  # parts from this size on, and as many, are handed over as the files they are
_ALIGNED = 64  # bytes; arrays begin at multiples of it
_LOG = "log.jsonl"
_F_ADD_SEALS, _ALL_SEALS = 1033, 0xF


UndoOutcome = Literal["undone", "nothing", "gone"]
"""Of undoing a cell. "nothing": it left no trace, or is undone already · "gone": another one left something since, or
what was before it is not kept any more."""


class Checkpoint:
    """The kept state of one thread."""

    def __init__(self, folder: Path, thread_id: str, key: bytes, versions: Mapping[str, str]) -> None:
        self._folder = folder / "state"
        self._thread_id = thread_id
        self._versions = dict(versions)
        self._unsynced: dict[Synced, None] = {}
        self._log = CheckpointLog(self._folder / _LOG, thread_id, key, self._unsynced)
        if not self._folder.exists():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._unsynced[folder] = None
        sweep(self._folder)
        self._parts: dict[str, Message] = {}
        self._lost: tuple[tuple[str, str], ...] = ()
        self._kept: set[str] = set()
        """The sha256 of files that are here because of this process, until they are of no use."""
        self._receiver: Receiver | None = None
        """The last one, until it is committed."""

    @property
    def exists(self) -> bool:
        """Whether there is anything to restore."""
        try:
            self._log.last()
        except FileNotFoundError:
            return False
        except Refused:
            pass  # it is there, and will be told as lost
        return True

    def take_unsynced(self) -> list[Synced]:
        """What was written here since the last call, in the order in which it is to be synced."""
        written = list(self._unsynced)
        self._unsynced.clear()
        return written

    def receive(self, what: Announced) -> Receiver:
        """Where the bytes of a new checkpoint go; `commit` makes it the one that counts."""
        self._receiver = Receiver(self._folder, what, self._needed_beside)
        return self._receiver

    def _needed_beside(self, receiver: Receiver) -> set[str]:
        """The sha256 of files that stay when this receiver is abandoned, which may be after the next one has begun."""
        newer = {} if self._receiver is receiver or self._receiver is None else self._receiver.done
        return self._kept | files_of(self._parts) | files_of(newer)

    def prepare(self, receiver: Receiver, cell: str = "", *, also_of_others: bool = False) -> None:
        """Sign what `commit` with the same arguments would write, if nothing changes until then."""
        with suppress(ProtocolError):  # `commit` raises it, in its turn
            if (body := self._body(receiver, cell, also_of_others=also_of_others)) is not None:
                self._log.prepare(body)

    def commit(self, receiver: Receiver, cell: str = "", *, also_of_others: bool = False) -> None:
        """The bytes have all come: from here on this is what a new subprocess gets. `cell` is the one that ran.

        With `also_of_others` they hold what cells before it left, too: it cannot be undone by itself.
        """
        body = self._body(receiver, cell, also_of_others=also_of_others)
        if body is None:
            return
        before = files_of(self._parts)
        self._log.sign(body)
        self._parts, self._lost = {part["key"]: part for part in body["parts"]}, receiver.what.lost
        self._receiver = None
        useful = files_of(self._parts) | before
        for sha256 in self._kept - useful:
            (self._folder / sha256).unlink(missing_ok=True)
        self._kept = useful

    def drop(self, cell: str, why: Notice) -> None:
        """Keep nothing of what was, because this cell left what cannot be kept: `open` gives the reason.

        The cell cannot be undone.
        """
        body: Message = {
            "thread": self._thread_id,
            "versions": self._versions,
            "parts": [],
            "lost": [],
            "variables": [],
        }
        body |= {"set_by": {}, "future": 0, "cell": cell, "also_of_others": True, "unkept": asdict(why)}
        self._log.sign(body)
        self._receiver = None
        for sha256 in self._kept | files_of(self._parts):
            (self._folder / sha256).unlink(missing_ok=True)
        self._parts, self._lost, self._kept = {}, (), set()

    def _body(self, receiver: Receiver, cell: str, *, also_of_others: bool) -> Message | None:
        """What a new checkpoint says; None when nothing is new. Raises ProtocolError for a part that is missing."""
        fresh, what = receiver.done, receiver.what
        parts = {key: fresh.get(key) or self._parts.get(key) for key in what.keys or ()}
        if any(part is None for part in parts.values()):
            raise ProtocolError("it kept a part that was never sent")
        if not fresh and parts == self._parts and what.lost == self._lost:
            return None
        return {
            "thread": self._thread_id,
            "versions": self._versions,
            "parts": list(parts.values()),
            "lost": [list(one) for one in what.lost],
            "variables": list(what.variables),
            "set_by": what.set_by,
            "future": what.future,
            "cell": cell,
            "also_of_others": also_of_others,
            "first": not self._log.is_open and not self.exists,
        }

    def undo(self, cell: str) -> UndoOutcome:
        """Go back to what was kept before this cell ran. Only what we signed for this thread is signed once more."""
        lines = stored_lines(self._folder / _LOG)
        bodies = [stored["body"] for stored in lines]
        if not bodies or bodies[-1].get("undid") == cell or cell not in (body.get("cell") for body in bodies):
            return "nothing"
        last = bodies[-1]
        if last.get("cell") != cell or "undid" in last or last.get("also_of_others"):
            return "gone"
        if last.get("first"):
            self.forget()
            return "undone"
        if len(lines) < 2 or not self._log.is_ours(lines[-2]):
            return "gone"
        if not all("data" in part or self._holds(part) for part in bodies[-2]["parts"]):
            return "gone"
        body = {**bodies[-2], "undid": cell}
        self._log.sign(body)
        self._parts = {part["key"]: part for part in body["parts"]}
        self._lost = tuple((str(name), str(why)) for name, why in body["lost"])
        return "undone"

    def open(self) -> tuple[Message, list[int]]:
        """(the `restore` message, read-only descriptors of the bytes, which the caller closes).

        The first is a sealed copy of the smaller parts. A large part is not copied: its file is handed over, for the
        subprocess to map. Raises Refused, or FileNotFoundError when there is none,
        or OSError while the disk refuses what a sync that failed made necessary.
        """
        self._log.trust()
        body: Message = self._log.genuine()["body"]
        if body["versions"] != self._versions:
            raise Refused(notice("other_versions"))
        if "unkept" in body:
            raise Refused(Notice(**body["unkept"]))
        descriptors = [os.memfd_create("state", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)]
        try:
            places = [_hand_over(self._folder, part, descriptors) for part in body["parts"]]
            fcntl.fcntl(descriptors[0], _F_ADD_SEALS, _ALL_SEALS)
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        self._parts = {part["key"]: part for part in body["parts"]}
        self._lost = tuple((str(name), str(why)) for name, why in body["lost"])
        parts = [
            {name: part[name] for name in ("key", "size", "checksum")} | {"file": file, "offset": offset}
            for part, (file, offset) in zip(body["parts"], places, strict=True)
        ]
        return {"type": "restore", "parts": parts, "set_by": body["set_by"], "future": body["future"]}, descriptors

    def describe(self) -> tuple[list[tuple[str, str]], list[Message]]:
        """(names that the last checkpoint could not keep, and why; what variables there were)."""
        try:
            body = self._log.genuine()["body"]
        except (FileNotFoundError, Refused):
            return [], []
        return [lost_pair(str(name), str(why)) for name, why in body["lost"]], list(body["variables"])

    def last_cell(self) -> str:
        """The last cell that left something that is kept; "" where nothing is."""
        try:
            return str(self._log.genuine()["body"].get("cell") or "")
        except (FileNotFoundError, Refused):
            return ""

    def exported(self) -> tuple[Message | None, dict[str, Path]]:
        """(the signed line that counts, None when nothing is kept; the parts that are not in it, by sha256)."""
        try:
            stored = self._log.last()
        except (FileNotFoundError, Refused):
            return None, {}
        large = [str(part["sha256"]) for part in stored["body"]["parts"] if "data" not in part]
        return stored, {sha256: self._folder / sha256 for sha256 in large}

    def adopt(self, stored: Message | None, path_of: Callable[[str], Path]) -> None:
        """Replace what is kept by what another host had. It is believed no sooner than `open` has checked it."""
        self.forget()
        if stored is None:
            return
        parts = sequence(mapping(stored, "body"), "parts", MANY_PARTS)
        self._kept = {content_name(part) for part in parts if "data" not in part}  # equal variables are one content
        for sha256 in self._kept:
            os.link(path_of(sha256), self._folder / sha256)
            sync_path(self._folder / sha256)
        sync_path(self._folder)
        self._log.adopt(stored)

    def distrust(self) -> None:
        """A sync has failed: before the next subprocess gets what is kept, the log is written to a new file.

        The parts are on the disk: theirs were synced before the line that names them was written.
        """
        self._log.distrust()

    def forget(self) -> None:
        """Remove everything."""
        self._log.forget()
        self._parts, self._lost, self._kept = {}, (), set()
        for entry in self._folder.iterdir():
            entry.unlink()
        self._unsynced[self._folder] = None

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _holds(self, part: Message) -> bool:
        return (self._folder / str(part["sha256"])).exists()


def sweep(folder: Path) -> int:
    """Remove the files of a state folder that none of its last two checkpoints names. Returns how many.

    Call it only while nothing is received into the folder. Such files stay after a host was killed, or was lied to.
    """
    others = [entry for entry in folder.iterdir() if entry.name != _LOG]
    if not others:
        return 0
    bodies = [stored["body"] for stored in stored_lines(folder / _LOG)][-2:]
    named = {part.get("sha256") for body in bodies for part in body.get("parts", ()) if isinstance(part, dict)}
    unnamed = [entry for entry in others if entry.name not in named]
    for entry in unnamed:
        entry.unlink(missing_ok=True)
    return len(unnamed)


def _hand_over(folder: Path, part: Message, descriptors: list[int]) -> tuple[int, int]:
    """Where the subprocess finds a part's bytes: (which of `descriptors`, from which byte on)."""
    file = None if "data" in part else _open_part(folder, part)
    if file is not None and part["size"] >= _MAPPED and len(descriptors) <= _MANY_MAPPED:
        descriptors.append(file)
        return len(descriptors) - 1, 0
    memory = descriptors[0]
    begin = os.lseek(memory, -(-os.fstat(memory).st_size // _ALIGNED) * _ALIGNED, os.SEEK_SET)
    if file is None:
        os.write(memory, base64.b64decode(part["data"]))
        return 0, begin
    try:
        offset = 0
        while sent := os.sendfile(memory, file, offset, 1 << 30):
            offset += sent
    finally:
        os.close(file)
    return 0, begin


def _open_part(folder: Path, part: Message) -> int:
    """A read-only descriptor of a part's file, whose content has been checked."""
    path = folder / str(part["sha256"])
    try:
        with path.open("rb") as file:
            # what nobody touched since it was signed is not read once more
            if part.get("stamp") != stamp(path) and hashlib.file_digest(file, "sha256").hexdigest() != part["sha256"]:
                raise Refused(notice("tampered"))
            return os.dup(file.fileno())
    except FileNotFoundError:
        raise Refused(notice("part_missing")) from None
