"""Lines of bytes in a file that only grows and stays open while it does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_CHUNK = 1 << 16


class LineFile:
    """One file, made when it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        """-1 once it is closed: the kernel gives the number to another file then."""
        self.size = os.fstat(self.descriptor).st_size
        if self.size and os.pread(self.descriptor, 1, self.size - 1) != b"\n":
            try:
                self.append(b"\n")  # a torn last line must not swallow the next one
            except OSError:
                self.close()
                raise

    @property
    def closed(self) -> bool:
        """Whether nothing can be added any more."""
        return self.descriptor < 0

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """(offset, line) of each whole line."""
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                yield offset, line
                offset += len(line)

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of it."""
        return os.pread(self.descriptor, length, offset)

    def append(self, line: bytes) -> tuple[int, int]:
        """Add a line whole or not at all; returns its offset and length. Raises OSError when the disk has no room."""
        offset, rest = self.size, memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]
        except OSError:
            os.ftruncate(self.descriptor, offset)
            raise
        self.size = offset + len(line)
        return offset, len(line)

    def close(self) -> None:
        """Let go of the file."""
        if not self.closed:
            descriptor, self.descriptor = self.descriptor, -1
            os.close(descriptor)


def last_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, the last one first. A file that is gone has none."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        rest, place = b"", file.seek(0, os.SEEK_END)
        while place:
            size = min(place, _CHUNK)
            place = file.seek(place - size)
            first, *lines = (file.read(size) + rest).split(b"\n")
            yield from filter(None, reversed(lines))
            rest = first
        yield from filter(None, [rest])
