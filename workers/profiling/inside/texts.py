"""A text file: its encoding, its lines, and its first characters as a document."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from typing import Any

from .bounds import Bounds
from .encodings import Encoding, detect
from .lines import call


class Text:
    """A text file. Only the parts that are looked at are decoded."""

    def __init__(self, path: str, size: int, bounds: Bounds) -> None:
        self.path = path
        self.bounds = bounds
        self.stem = os.path.splitext(os.path.basename(path))[0]
        self.is_sampled = size > bounds.whole
        self._size = size
        with open(path, "rb") as file:
            first = file.read(bounds.head if self.is_sampled else size)
        self._starts = [size * number // (bounds.blocks + 1) for number in range(1, bounds.blocks + 1)]
        self._raw = list(self._read_blocks()) if self.is_sampled else []
        self.encoding: Encoding = detect([first, *self._raw], whole=not self.is_sampled)
        decoded = self.encoding.decode(first)
        self.head = decoded[: decoded.rfind("\n") + 1] or decoded if self.is_sampled else decoded

    def arguments(self) -> dict[str, Any]:
        """What a reader must be told of the encoding, and of the size."""
        found: dict[str, Any] = {}
        if self.encoding.name != "utf-8":
            found["encoding"] = self.encoding.name
        if self.encoding.broken:
            found["encoding_errors"] = "replace"
        if self.is_sampled:
            found["low_memory"] = False
        return found

    def lines(self) -> Iterator[str]:
        """The lines at hand as readers end them: `splitlines` also ends them at marks that stand inside texts."""
        return (line.removesuffix("\n") for line in io.StringIO(self.head, newline=None))

    def blocks(self) -> Iterator[str]:
        """Whole lines from further places of the file."""
        name = "utf-16-le" if self.encoding.name == "utf-16" and not self._is_big_endian() else self.encoding.name
        name = "utf-16-be" if name == "utf-16" else name
        for raw in self._raw:
            block = raw.decode(name, errors="replace")
            first, last = block.find("\n") + 1, block.rfind("\n") + 1
            if 0 < first < last:
                yield block[first:last]

    def shown(self) -> str:
        """All of the text that is at hand: whole lines, from further places of a large file too."""
        return self.head + "".join(self.blocks()) if self.is_sampled else self.head

    def breaks_cells(self) -> bool:
        """Whether some quotation marks of the whole file have a line end between them."""
        mark, end = self._wide(b'"'), self._wide(b"\n")
        is_open = False
        with open(self.path, "rb") as file:
            while chunk := file.read(4 << 20):
                parts = chunk.split(mark)
                if any(end in part for part in parts[not is_open :: 2]):
                    return True
                is_open ^= len(parts) % 2 == 0
        return False

    def count_lines(self) -> int:
        """The lines of the whole file that are not blank, an unfinished last one counted too."""
        end, back = self._wide(b"\n"), self._wide(b"\r")
        blank = re.compile(re.escape(end) + b"(?=(?:" + re.escape(back) + b")?" + re.escape(end) + b")")
        lines, returns, last = 0, 0, end
        with open(self.path, "rb") as file:
            while chunk := file.read(4 << 20):
                lines += chunk.count(end)
                returns += chunk.count(back)
                kept = end + back if last.endswith(end + back) else last[-len(end) :]
                chunk = kept + chunk
                if end + end in chunk or end + back + end in chunk:
                    lines -= sum(1 for _ in blank.finditer(chunk))
                last = chunk
        if not lines and returns:
            lines, end = returns, back
        return lines + (not last.endswith(end))

    def _wide(self, letter: bytes) -> bytes:
        """An ASCII letter as this file writes it."""
        if self.encoding.name not in ("utf-16", "utf-16-le", "utf-16-be"):
            return letter
        return b"\0" + letter if self.encoding.name == "utf-16-be" or self._is_big_endian() else letter + b"\0"

    def _is_big_endian(self) -> bool:
        with open(self.path, "rb") as file:
            return file.read(2) == b"\xfe\xff"

    def _read_blocks(self) -> Iterator[bytes]:
        with open(self.path, "rb") as file:
            for start in self._starts:
                # an even place, so that characters of two bytes stay whole
                file.seek(start - start % 2)
                yield file.read(self.bounds.block)


def document(text: Text, kind: str) -> dict[str, Any]:
    """A text that is no table: its first characters, and the line that reads all of it."""
    arguments = {"encoding": text.encoding.name} | ({"errors": "replace"} if text.encoding.broken else {})
    return {
        "format": kind,
        "encoding": text.encoding.name,
        "text": text.head[: text.bounds.text],
        "read_hint": call("Path", text.path, {}) + call(".read_text", None, arguments),
    }
