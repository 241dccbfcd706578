"""What the host keeps on disk: files by content hash, and per thread a journal of its cells and a list of its files.

<home>/files/<first two>/<sha256>         content, written once, readable by the service only
<home>/threads/<thread>/cells.jsonl       one line when a cell starts, one with its result; `cells` when it moved here
<home>/threads/<thread>/files.json        the files of the thread's workspace: name, hash, size, input or not
<home>/threads/<thread>/files.before.json the same before the last cell that changed one, and that cell
<home>/threads/<thread>/state/            its variables, as checkpoints.py keeps them
<home>/threads/<thread>/workspace/        the workspace itself, where it is a folder of the host
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

from executor.frames import Message, ProtocolError
from executor.wire import content_name, integer, optional_text, text

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of a thread's workspace as the host keeps it.

    `given` is the name under which a person gave it, None for a cell's own.
    """

    name: str
    sha256: str
    size: int
    given: str | None = None


def kept_file_from(data: Mapping[str, Any]) -> KeptFile:
    """A KeptFile from JSON. Raises ProtocolError for a name that leads out of a folder."""
    name = text(data, "name", 4_096)
    if any(part in ("", ".", "..") for part in name.split("/")):
        raise ProtocolError(f"{name!r} names no file below a folder")
    return KeptFile(name, content_name(data), integer(data, "size"), optional_text(data, "given", 4_096))


class TooLarge(Exception):
    """The source has more bytes than it may have."""


class Home:
    """The host's folder."""

    def __init__(self, root: Path, key: bytes = b"") -> None:
        """`key` signs checkpoints in place of one of this home's own: hosts that hand threads over share it."""
        self.root = root
        self._key = key
        self._files = root / "files"
        for folder in (root, self._files, root / "threads", root / "tmp"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for leftover in (root / "tmp").iterdir():
            leftover.unlink()

    def temporary(self) -> Path:
        """A fresh path for a file in the making; whoever asked removes it or hands it to `adopt`."""
        descriptor, path = tempfile.mkstemp(dir=self.root / "tmp")
        os.close(descriptor)
        return Path(path)

    def path_of(self, sha256: str) -> Path:
        """Where the content with this hash is, or will be."""
        return self._files / sha256[:2] / sha256

    def keep(self, descriptor: int, limit: int) -> tuple[str, int]:
        """Copy the rest of an open file into the store: (sha256, size). Raises TooLarge beyond `limit` bytes."""
        digest = hashlib.sha256()
        size = 0
        path = self.temporary()
        try:
            with path.open("wb") as copy:
                while chunk := os.read(descriptor, _CHUNK):
                    size += len(chunk)
                    if size > limit:
                        raise TooLarge  # noqa: TRY301  the copy is removed below, whatever ended it
                    digest.update(chunk)
                    copy.write(chunk)
            self._place(path, digest.hexdigest())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return digest.hexdigest(), size

    def adopt(self, path: Path) -> tuple[str, int]:
        """Move a temporary file of ours into the store: (sha256, size)."""
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        self._place(path, sha256)
        return sha256, size

    def _place(self, path: Path, sha256: str) -> None:
        target = self.path_of(sha256)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        path.replace(target)

    def sweep(self, unused_s: float) -> int:
        """Remove content that no thread's workspace has and that was put here longer than `unused_s` ago.

        Results of cells name content too, for whoever asks again soon: hence the age. Returns how many were removed.
        """
        wanted = {
            record["sha256"]
            for listing in (self.root / "threads").glob("*/files.json")
            for record in json.loads(listing.read_bytes())
        }
        removed = 0
        for content in self._files.glob("*/*"):
            if content.name not in wanted and time.time() - content.stat().st_mtime > unused_s:
                content.unlink()
                removed += 1
        return removed

    @property
    def probe(self) -> Path:
        """The folder in which a host tries its walls."""
        return self.root / "probe"

    def secret_for_probe(self) -> Path:
        """A file that no subprocess may be able to read, beside fresh folders for the one that tries."""
        for folder in ("workspace", "scratch"):
            (self.probe / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        canary = self.probe / "canary"
        canary.write_text("a file of the host")
        return canary

    def clear_probe(self) -> None:
        """Remove what the probe needed."""
        shutil.rmtree(self.probe, ignore_errors=True)

    def secret(self) -> bytes:
        """The key of this home's checkpoints, made when there is none. Never leaves the host process."""
        if self._key:
            return self._key
        path = self.root / "key"
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(descriptor, os.urandom(32))
            os.close(descriptor)
        return path.read_bytes()

    def thread(self, thread_id: str) -> ThreadHome:
        """The folder of one thread, made when there is none."""
        return ThreadHome(self.root / "threads" / quote(thread_id, safe=""), thread_id)

    def thread_ids(self) -> list[str]:
        """Every thread that has a folder here."""
        return sorted(unquote(entry.name) for entry in (self.root / "threads").iterdir())


class ThreadHome:
    """What is kept of one thread."""

    def __init__(self, folder: Path, thread_id: str) -> None:
        self.thread_id = thread_id
        self.folder = folder
        self.workspace = folder / "workspace"
        self.scratch = folder / "scratch"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._journal: BinaryIO = (folder / "cells.jsonl").open("a+b")
        self._finished: dict[str, tuple[int, int]] = {}
        self.unfinished: set[str] = set()
        self.unsettled: list[str] = []
        """Cells whose changes of the variables are, as far as is written down, not kept (yet), and nobody was told."""
        self.told = False
        """Whether the last result said what was lost with the subprocess before, and nothing was kept since."""
        self.undone_cell: str | None = None
        """The last cell, if it was undone."""
        self.cell_ids: list[str] = []
        """In the order in which they began: cell number n is at n - 1."""
        for offset, line in self._lines():
            self._index(offset, line)
        self.files: dict[str, KeptFile] = self._read_files()

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        self._journal.seek(0)
        offset = 0
        for line in self._journal:
            if line.endswith(b"\n"):
                yield offset, line
            offset += len(line)
        if offset and not line.endswith(b"\n"):
            self._journal.write(b"\n")  # a torn last line must not swallow the next one
            self._journal.flush()

    def _index(self, offset: int, line: bytes) -> None:
        try:
            record = json.loads(line)
            if "cells" in record:
                self.cell_ids = [str(cell) for cell in record["cells"]]
                self.unsettled, self.told = [str(cell) for cell in record.get("unsettled", ())], False
                return
            if "settled" in record:
                self.unsettled, self.told = [], False
                return
            if "undone" in record:
                self.undone_cell = str(record["undone"])
                self.unsettled = [cell for cell in self.unsettled if cell != self.undone_cell]
                return
            cell, ended = record["cell"], "result" in record
        except (ValueError, TypeError, KeyError):
            return
        if ended:
            self._finished[cell] = (offset, len(line))
            self.unfinished.discard(cell)
            self._count_unsettled(cell, settles=bool(record.get("settles")), told=bool(record.get("told")))
        else:
            self._begin(cell)

    def _begin(self, cell_id: str) -> None:
        self.unfinished.add(cell_id)
        self.cell_ids.append(cell_id)
        self.undone_cell = None

    def started(self, cell_id: str) -> int:
        """Write down that a cell begins; returns its number in the thread, from 1."""
        self._append({"cell": cell_id})
        self._begin(cell_id)
        return len(self.cell_ids)

    def finished(self, cell_id: str, result: Message, *, settles: bool = False, told: bool = False) -> None:
        """Write down a cell's result.

        With `settles`, what it left in the variables is about to be kept; with `told`, the result says what of the
        cells before it was not.
        """
        self._finished[cell_id] = self._append({"cell": cell_id, "settles": settles, "told": told, "result": result})
        self.unfinished.discard(cell_id)
        self._count_unsettled(cell_id, settles=settles, told=told)

    def _count_unsettled(self, cell_id: str, *, settles: bool, told: bool) -> None:
        self.told = told
        if told:
            self.unsettled = []
        if settles:
            self.unsettled.append(cell_id)

    def settled(self) -> None:
        """Write down that nothing of any cell is left to be kept."""
        if self.unsettled:
            self._append({"settled": self.unsettled[-1]})
            self.unsettled, self.told = [], False

    def undone(self, cell_id: str) -> None:
        """Write down that nothing of this cell is to be kept any more."""
        self._append({"undone": cell_id})
        self.undone_cell = cell_id
        self.unsettled = [cell for cell in self.unsettled if cell != cell_id]

    def result(self, cell_id: str) -> Message | None:
        """The stored result of a cell that has finished."""
        place = self._finished.get(cell_id)
        if place is None:
            return None
        self._journal.seek(place[0])
        stored: Message = json.loads(self._journal.read(place[1]))["result"]
        return stored

    def _append(self, record: Message) -> tuple[int, int]:
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        offset = self._journal.seek(0, os.SEEK_END)
        self._journal.write(line)
        self._journal.flush()
        return offset, len(line)

    def _read_files(self) -> dict[str, KeptFile]:
        try:
            records = json.loads((self.folder / "files.json").read_bytes())
        except FileNotFoundError:
            return {}
        return {record["name"]: KeptFile(**record) for record in records}

    def set_files(self, files: dict[str, KeptFile]) -> None:
        """Replace the list of the workspace's files."""
        self.files = files
        path = self.folder / "files.json.new"
        path.write_text(json.dumps([asdict(file) for file in files.values()]))
        path.replace(self.folder / "files.json")

    def set_files_by(self, cell_id: str, files: dict[str, KeptFile]) -> None:
        """Replace the list as a cell left it, and keep how it was before."""
        record = {"cell": cell_id, "files": [asdict(file) for file in self.files.values()]}
        path = self.folder / "files.before.json.new"
        path.write_text(json.dumps(record))
        path.replace(self._before)
        self.set_files(files)

    def undo_files(self, cell_id: str) -> bool:
        """The list as it was before this cell, with what people gave since; False when the cell changed no file."""
        try:
            record = json.loads(self._before.read_bytes())
        except (FileNotFoundError, ValueError):
            return False
        if record["cell"] != cell_id:
            return False
        before = {kept["name"]: KeptFile(**kept) for kept in record["files"]}
        given = {name: file for name, file in self.files.items() if file.given is not None}
        self.set_files(given | before)
        self._before.unlink()
        return True

    @property
    def _before(self) -> Path:
        return self.folder / "files.before.json"

    def adopt(self, files: dict[str, KeptFile], cell_ids: list[str], unsettled: list[str]) -> None:
        """Go on where another host was: its files, the cells that began there, and those it could not keep."""
        self.set_files(files)
        self._append({"cells": cell_ids, "unsettled": unsettled})
        self.cell_ids, self.unsettled = list(cell_ids), list(unsettled)
        self.told, self.undone_cell = False, None

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()
