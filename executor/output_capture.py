"""What a subprocess printed, kept in bounded memory.

A head and a tail, progress bars collapsed, the whole in a file when long.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class WholeOutput(NamedTuple):
    """A file with all that was printed. Its digest was made while it was written: it need not be read again."""

    path: Path
    sha256: str
    size: int


class Capture:
    """One stream of one cell.

    `limit` is how many characters are kept; once they are exceeded the whole goes to a file at `overflow()`, up to
    `file_limit` bytes.
    """

    def __init__(self, limit: int, overflow: Callable[[], Path], file_limit: int) -> None:
        self._half = limit // 2
        self._overflow = overflow
        self._file_limit = file_limit
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._line = ""
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._dropped = 0
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._file_size = 0
        self._digest = hashlib.sha256()

    def feed(self, data: bytes) -> str:
        """Take bytes as they came; returns the text of the lines they completed, for those who watch."""
        return self._take(self._decode(data))

    def _take(self, text: str) -> str:
        text = self._line + text
        cut = text.rfind("\n") + 1
        lines, self._line = text[:cut], text[cut:]
        if "\r" in self._line:
            # keep a last "\r": it may be half of a "\r\n"
            self._line = _last_state(self._line[:-1]) + "\r" if self._line.endswith("\r") else _last_state(self._line)
        if "\r" in lines:
            lines = "".join(_last_state(line.removesuffix("\r")) + "\n" for line in lines[:-1].split("\n"))
        if len(self._line) > self._half:
            # one endless line: hand over what there is
            lines, self._line = lines + self._line, ""
        lines = _CONTROL.sub("", lines)
        if lines:
            self._keep(lines)
        return lines

    def _keep(self, text: str) -> None:
        room = self._half - self._head_size
        if room > 0:
            self._head.append(text[:room])
            self._head_size += len(self._head[-1])
            text = text[room:]
        if not text:
            return
        self._write_whole(text)
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size - len(self._tail[0]) >= self._half:
            lost = len(self._tail.popleft())
            self._tail_size -= lost
            self._dropped += lost

    def _write_whole(self, text: str) -> None:
        try:
            self._add_to_file(text)
        except OSError:  # a full disk: the head and the tail are in memory, the rest is not kept
            self._file_limit = 0
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.close()
                self._file = None
            if self._path is not None:
                self._path.unlink(missing_ok=True)

    def _add_to_file(self, text: str) -> None:
        if self._file_limit == 0:
            return
        if self._file is None:
            self._path = self._overflow()
            self._file = self._path.open("wb")
            text = "".join(self._head) + text
        data = text.encode(errors="replace")[: self._file_limit - self._file_size]
        self._file_size += self._file.write(data)
        self._digest.update(data)

    def finish(self) -> str:
        """The text to show, with a line in the middle that says what was left out."""
        last = self._decode(b"", True)
        if last or self._line:
            self._line += last
            rest, self._line = _CONTROL.sub("", _last_state(self._line.removesuffix("\r"))), ""
            if rest:
                self._keep(rest)
        tail = "".join(self._tail)
        if len(tail) > self._half:
            self._dropped += len(tail) - self._half
            tail = tail[-self._half :]
        if self._dropped:
            tail = f"\n[... {self._dropped:,} characters left out here ...]\n{tail}"
        return "".join(self._head) + tail

    @property
    def dropped(self) -> int:
        """Characters that `finish` left out."""
        return self._dropped

    def close(self) -> WholeOutput | None:
        """The file with the whole output, when the text had to be shortened; the caller owns it from here on."""
        if self._file is None or self._path is None:
            return None
        whole = self._dropped > 0
        try:
            self._file.close()
        except OSError:
            whole = False
        self._file = None
        if whole:
            return WholeOutput(self._path, self._digest.hexdigest(), self._file_size)
        self._path.unlink()
        return None


def _last_state(line: str) -> str:
    """A line as a terminal shows it in the end.

    What was drawn after the last carriage return that something followed.
    """
    for state in reversed(line.split("\r")):
        if state:
            return state
    return ""
