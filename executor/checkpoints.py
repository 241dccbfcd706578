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
import hmac
import json
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from executor.durable import replace_durably, sync_path
from executor.frames import Message, ProtocolError
from executor.kernel_sync import Synced
from executor.line_file import LineFile
from executor.notices import for_log, notice
from executor.said import lost_from, lost_pair, name_from, shape_from, why_from
from executor.values import Notice
from executor.wire import content_name, integer, mapping, sequence, text, texts

_MANY_PARTS, _MANY_NAMES = 1_000, 2_000
_SMALL, _INLINE = 64 << 10, 256 << 10  # a part of at most so many bytes is in the log itself, all of them up to so many
_MAPPED, _MANY_MAPPED = 1 << 20, 32  # parts from this size on, and as many, are handed over as the files they are
_ALIGNED = 64  # bytes; arrays begin at multiples of it
_LOG_LIMIT = 1 << 20
_LOG = "log.jsonl"
_F_ADD_SEALS, _ALL_SEALS = 1033, 0xF


UndoOutcome = Literal["undone", "nothing", "gone"]
"""Of undoing a cell. "nothing": it left no trace, or is undone already · "gone": another one left something since, or
what was before it is not kept any more."""


class Refused(Exception):
    """The checkpoint is not to be used; `why` says so."""

    def __init__(self, why: Notice) -> None:
        super().__init__(for_log(why))
        self.why = why


@dataclass(frozen=True, slots=True)
class Announced:
    """What a subprocess says it is about to send.

    `keys` is None when nothing could be kept, and then `why` says why.
    """

    keys: tuple[str, ...] | None
    parts: tuple[tuple[str, int, int], ...]
    lost: tuple[tuple[str, str], ...]
    variables: tuple[Message, ...]
    set_by: dict[str, int]
    future: int
    why: Notice | None

    @property
    def size(self) -> int:
        """Bytes that follow."""
        return sum(size for _, size, _ in self.parts)


def announced(message: Mapping[str, Any]) -> Announced:
    """A `state` message, checked."""
    parts = tuple(
        (_key(part), integer(part, "size"), integer(part, "checksum"))
        for part in sequence(message, "parts", _MANY_PARTS)
    )
    variables = []
    for item in sequence(message, "variables", _MANY_NAMES):
        variable: Message = {name: name_from(text(item, name)) for name in ("name", "type")}
        variable |= {"shape": shape_from(text(item, "shape"))}
        variables.append(variable | {name: integer(item, name) for name in ("bytes", "cell")})
    set_by = mapping(message, "set_by")
    keys = None if message.get("keys") is None else texts(message, "keys", 20, _MANY_PARTS)
    sent = [key for key, _, _ in parts]
    if len(set(sent)) < len(sent) or not set(sent) <= set(keys or ()):
        raise ProtocolError("it sends parts that are not to be kept")
    return Announced(
        keys=keys,
        parts=parts,
        lost=lost_from(message),
        variables=tuple(variables),
        set_by={str(name)[:300]: integer(set_by, name) for name in list(set_by)[:_MANY_NAMES]},
        future=integer(message, "future"),
        why=why_from(message),
    )


def _key(part: Mapping[str, Any]) -> str:
    key = text(part, "key", 20)
    if not key.isalnum():
        raise ProtocolError("a part's key is letters and digits")
    return key


class Checkpoint:
    """The kept state of one thread."""

    def __init__(self, folder: Path, thread_id: str, key: bytes, versions: Mapping[str, str]) -> None:
        self._folder = folder / "state"
        self._log = self._folder / _LOG
        self._thread_id = thread_id
        self._key = key
        self._versions = dict(versions)
        self._unsynced: dict[Synced, None] = {}
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
        self._file: LineFile | None = None
        self._prepared: tuple[Message, bytes] = {}, b""
        """What the next checkpoint will probably say, and its signed line."""
        self._line = b""
        """What this process appended last."""

    @property
    def exists(self) -> bool:
        """Whether there is anything to restore."""
        try:
            self._last()
        except FileNotFoundError:
            return False
        except Refused:
            pass  # it is there, and will be told as lost
        return True

    def take_unsynced(self) -> list[Synced]:
        """What was written here since the last call, in the order in which it is to be synced."""
        written, self._unsynced = list(self._unsynced), {}
        return written

    def receive(self, what: Announced) -> Receiver:
        """Where the bytes of a new checkpoint go; `commit` makes it the one that counts."""
        self._receiver = Receiver(self._folder, what, self._needed_beside)
        return self._receiver

    def _needed_beside(self, receiver: Receiver) -> set[str]:
        """The sha256 of files that stay when this receiver is abandoned, which may be after the next one has begun."""
        newer = {} if self._receiver is receiver or self._receiver is None else self._receiver.done
        return self._kept | _files(self._parts) | _files(newer)

    def prepare(self, receiver: Receiver, cell: str = "", *, also_of_others: bool = False) -> None:
        """Sign what `commit` with the same arguments would write, if nothing changes until then."""
        with suppress(ProtocolError):  # `commit` raises it, in its turn
            if (body := self._body(receiver, cell, also_of_others=also_of_others)) is not None:
                self._prepared = body, self._signed(body)

    def commit(self, receiver: Receiver, cell: str = "", *, also_of_others: bool = False) -> None:
        """The bytes have all come: from here on this is what a new subprocess gets. `cell` is the one that ran.

        With `also_of_others` they hold what cells before it left, too: it cannot be undone by itself.
        """
        body = self._body(receiver, cell, also_of_others=also_of_others)
        if body is None:
            return
        before = _files(self._parts)
        self._append_signed(body)
        self._parts, self._lost = {part["key"]: part for part in body["parts"]}, receiver.what.lost
        self._receiver = None
        useful = _files(self._parts) | before
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
        self._append_signed(body)
        self._receiver = None
        for sha256 in self._kept | _files(self._parts):
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
            "first": self._file is None and not self.exists,
        }

    def undo(self, cell: str) -> UndoOutcome:
        """Go back to what was kept before this cell ran. Only what we signed for this thread is signed once more."""
        lines = self._stored()
        bodies = [stored["body"] for stored in lines]
        if not bodies or bodies[-1].get("undid") == cell or cell not in (body.get("cell") for body in bodies):
            return "nothing"
        last = bodies[-1]
        if last.get("cell") != cell or "undid" in last or last.get("also_of_others"):
            return "gone"
        if last.get("first"):
            self.forget()
            return "undone"
        if len(lines) < 2 or not self._is_ours(lines[-2]):
            return "gone"
        if not all("data" in part or self._holds(part) for part in bodies[-2]["parts"]):
            return "gone"
        body = {**bodies[-2], "undid": cell}
        self._append_signed(body)
        self._parts = {part["key"]: part for part in body["parts"]}
        self._lost = tuple((str(name), str(why)) for name, why in body["lost"])
        return "undone"

    def open(self) -> tuple[Message, list[int]]:
        """(the `restore` message, read-only descriptors of the bytes, which the caller closes).

        The first is a sealed copy of the smaller parts. A large part is not copied: its file is handed over, for the
        subprocess to map. Raises Refused, or FileNotFoundError when there is none.
        """
        body: Message = self._genuine()["body"]
        if body["versions"] != self._versions:
            raise Refused(notice("other_versions"))
        if "unkept" in body:
            raise Refused(Notice(**body["unkept"]))
        descriptors = [os.memfd_create("state", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)]
        try:
            places = [self._hand_over(part, descriptors) for part in body["parts"]]
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
            body = self._genuine()["body"]
        except (FileNotFoundError, Refused):
            return [], []
        return [lost_pair(str(name), str(why)) for name, why in body["lost"]], list(body["variables"])

    def last_cell(self) -> str:
        """The last cell that left something that is kept; "" where nothing is."""
        try:
            return str(self._genuine()["body"].get("cell") or "")
        except (FileNotFoundError, Refused):
            return ""

    def exported(self) -> tuple[Message | None, dict[str, Path]]:
        """(the signed line that counts, None when nothing is kept; the parts that are not in it, by sha256)."""
        try:
            stored = self._last()
        except (FileNotFoundError, Refused):
            return None, {}
        large = [str(part["sha256"]) for part in stored["body"]["parts"] if "data" not in part]
        return stored, {sha256: self._folder / sha256 for sha256 in large}

    def adopt(self, stored: Message | None, path_of: Callable[[str], Path]) -> None:
        """Replace what is kept by what another host had. It is believed no sooner than `open` has checked it."""
        self.forget()
        if stored is None:
            return
        parts = sequence(mapping(stored, "body"), "parts", _MANY_PARTS)
        self._kept = {content_name(part) for part in parts if "data" not in part}  # equal variables are one content
        for sha256 in self._kept:
            os.link(path_of(sha256), self._folder / sha256)
            sync_path(self._folder / sha256)
        sync_path(self._folder)
        self._append(json.dumps(stored, separators=(",", ":")).encode() + b"\n")

    def forget(self) -> None:
        """Remove everything."""
        self.close()
        self._parts, self._lost, self._kept, self._line = {}, (), set(), b""
        for entry in self._folder.iterdir():
            entry.unlink()
        self._unsynced[self._folder] = None

    def close(self) -> None:
        """Close the log."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _holds(self, part: Message) -> bool:
        return (self._folder / str(part["sha256"])).exists()

    def _append_signed(self, body: Message) -> None:
        (prepared, line), self._prepared = self._prepared, ({}, b"")
        self._append(line if prepared == body else self._signed(body))

    def _signed(self, body: Message) -> bytes:
        signed = _canonical(body)
        return f'{{"body":{signed},"hmac":"{self._hmac(signed)}"}}\n'.encode()

    def _append(self, line: bytes) -> None:
        """One write per checkpoint; now and then the log is begun anew with its last two lines."""
        if self._file is not None and self._file.size > _LOG_LIMIT + 4 * len(line):
            self.close()
            replace_durably(self._log, self._line + line)
            self._line = line
            sync_path(self._folder)  # now: a line that waits for its sync gets that of the new log, by its name
            return
        if self._file is None:
            if not self._log.exists():
                self._unsynced[self._folder] = None
            self._file = LineFile(self._log)
        self._file.append(line)
        self._line = line
        self._unsynced[self._file] = None

    def _last(self) -> Message:
        """The last whole line: a host that died in the middle of one leaves the one before.

        Raises FileNotFoundError when it died in the first line: nothing was ever kept.
        """
        lines = self._log.read_bytes().split(b"\n")
        for line in reversed(lines):
            if (stored := _read_line(line)) is not None:
                return stored
        if len(lines) == 1:
            raise FileNotFoundError(self._log)
        raise Refused(notice("unreadable"))

    def _genuine(self) -> Message:
        """Like `_last`, but signed by us for this thread."""
        stored = self._last()
        if not self._is_ours(stored):
            raise Refused(notice("tampered"))
        return stored

    def _is_ours(self, stored: Message) -> bool:
        """Whether we signed this line for this thread."""
        body = stored["body"]
        signature = str(stored.get("hmac")).encode(errors="replace")  # letters that are none of ours do not compare
        return hmac.compare_digest(signature, self._sign(body).encode()) and body["thread"] == self._thread_id

    def _stored(self) -> list[Message]:
        """Every whole line; none when nothing is kept."""
        lines = self._log.read_bytes().split(b"\n") if self.exists else []
        return [stored for line in lines if (stored := _read_line(line)) is not None]

    def _hand_over(self, part: Message, descriptors: list[int]) -> tuple[int, int]:
        """Where the subprocess finds a part's bytes: (which of `descriptors`, from which byte on)."""
        file = None if "data" in part else self._open_part(part)
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

    def _open_part(self, part: Message) -> int:
        """A read-only descriptor of a part's file, whose content has been checked."""
        path = self._folder / str(part["sha256"])
        try:
            with path.open("rb") as file:
                # what nobody touched since it was signed is not read once more
                if (
                    part.get("stamp") != _stamp(path)
                    and hashlib.file_digest(file, "sha256").hexdigest() != part["sha256"]
                ):
                    raise Refused(notice("tampered"))
                return os.dup(file.fileno())
        except FileNotFoundError:
            raise Refused(notice("part_missing")) from None

    def _sign(self, body: object) -> str:
        return self._hmac(_canonical(body))

    def _hmac(self, text_: str) -> str:
        return hmac.digest(self._key, text_.encode(), "sha256").hex()


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""What is signed of a checkpoint: its JSON with the keys in order."""


def sweep(folder: Path) -> int:
    """Remove the files of a state folder that none of its last two checkpoints names. Returns how many.

    Call it only while nothing is received into the folder. Such files stay after a host was killed, or was lied to.
    """
    others = [entry for entry in folder.iterdir() if entry.name != _LOG]
    if not others:
        return 0
    try:
        lines = (folder / _LOG).read_bytes().split(b"\n")
    except FileNotFoundError:
        lines = []
    bodies = [stored["body"] for line in lines if (stored := _read_line(line)) is not None][-2:]
    named = {part.get("sha256") for body in bodies for part in body.get("parts", ()) if isinstance(part, dict)}
    unnamed = [entry for entry in others if entry.name not in named]
    for entry in unnamed:
        entry.unlink(missing_ok=True)
    return len(unnamed)


def _read_line(line: bytes) -> Message | None:
    try:
        stored = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return stored if isinstance(stored, dict) and isinstance(stored.get("body"), dict) else None


def _files(parts: Mapping[str, Message]) -> set[str]:
    return {str(part["sha256"]) for part in parts.values() if "data" not in part}


def _stamp(path: Path) -> list[int]:
    """Changes whenever somebody writes to the file, because only the kernel sets the last of these times."""
    status = path.stat()
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


class Receiver:
    """Takes the bytes of the announced parts, one after the other, as they come. Small ones stay in memory."""

    def __init__(self, folder: Path, what: Announced, needed_beside: Callable[[Receiver], Collection[str]]) -> None:
        """`needed_beside` says which files others need when this one is abandoned."""
        self.what = what
        self._needed_beside = needed_beside
        self._inline = 0
        self.left = what.size
        self.done: dict[str, Message] = {}
        self._folder = folder
        self._waiting = list(what.parts)
        self._file: BinaryIO | None = None
        self._small = bytearray()
        self._digest = hashlib.sha256()
        self._part_left = 0
        self._is_file = False
        """Whether the part that comes is a file of its own."""
        self._begin_part()

    def feed(self, data: bytes) -> None:
        """Bytes off the state descriptor, never more than are left. Raises OSError when the disk takes no more."""
        view = memoryview(data)
        self.left -= len(view)
        while view:
            piece = view[: self._part_left]
            if self._is_file and self._file is None:
                self._file = (self._folder / "incoming").open("wb")
            if self._file is None:
                self._small += piece
            else:
                self._file.write(piece)
                self._digest.update(piece)
            self._part_left -= len(piece)
            view = view[len(piece) :]
            if self._part_left == 0:
                self._end_part()
                self._begin_part()

    @property
    def files(self) -> list[Path]:
        """The parts that are files of their own, and their folder: to be synced before they are committed."""
        parts = [self._folder / part["sha256"] for part in self.done.values() if "data" not in part]
        return [*parts, self._folder] if parts else []

    def abandon(self) -> None:
        """The subprocess is gone; what came so far is of no use."""
        for sha256 in _files(self.done) - set(self._needed_beside(self)):
            (self._folder / sha256).unlink(missing_ok=True)
        if self._file is not None:
            with suppress(OSError):  # what is left to be written has no room
                self._file.close()
            self._file = None
            (self._folder / "incoming").unlink(missing_ok=True)

    def _begin_part(self) -> None:
        while self._waiting:
            self._part_left = self._waiting[0][1]
            self._small = bytearray()
            self._file = None
            self._digest = hashlib.sha256()
            self._is_file = self._part_left > _SMALL or self._inline + self._part_left > _INLINE
            if self._part_left:
                return
            self._end_part()

    def _end_part(self) -> None:
        key, size, checksum = self._waiting.pop(0)
        part: Message = {"key": key, "size": size, "checksum": checksum}
        if self._file is None:
            self._inline += size
            part |= {"sha256": "", "data": base64.b64encode(self._small).decode()}
        else:
            self._file.close()
            self._file = None
            part["sha256"] = self._digest.hexdigest()
            (self._folder / "incoming").replace(self._folder / part["sha256"])
            part["stamp"] = _stamp(self._folder / part["sha256"])
        self.done[key] = part
