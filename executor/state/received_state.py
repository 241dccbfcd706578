"""What a subprocess sends of its variables: what it announces, and the bytes of the parts as they come.

<thread>/state/<sha256>      a part that is too large for the line of its checkpoint
<thread>/state/incoming      a part that has not come whole yet
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from executor.frames import Message, ProtocolError
from executor.said import lost_from, name_from, shape_from, why_from
from executor.values import Notice
from executor.wire import integer, mapping, sequence, text, texts

MANY_PARTS: Final = 1_000
_MANY_NAMES = 2_000
_SMALL, _INLINE = 64 << 10, 256 << 10  # a part of at most so many bytes is in the log itself, all of them up to so many


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
        for part in sequence(message, "parts", MANY_PARTS)
    )
    variables = []
    for item in sequence(message, "variables", _MANY_NAMES):
        variable: Message = {name: name_from(text(item, name)) for name in ("name", "type")}
        variable |= {"shape": shape_from(text(item, "shape"))}
        variables.append(variable | {name: integer(item, name) for name in ("bytes", "cell")})
    set_by = mapping(message, "set_by")
    keys = None if message.get("keys") is None else texts(message, "keys", 20, MANY_PARTS)
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
        for sha256 in files_of(self.done) - set(self._needed_beside(self)):
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
            part["stamp"] = stamp(self._folder / part["sha256"])
        self.done[key] = part


def files_of(parts: Mapping[str, Message]) -> set[str]:
    """The sha256 of the parts that are files of their own."""
    return {str(part["sha256"]) for part in parts.values() if "data" not in part}


def stamp(path: Path) -> list[int]:
    """Changes whenever somebody writes to the file, because only the kernel sets the last of these times."""
    status = path.stat()
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
