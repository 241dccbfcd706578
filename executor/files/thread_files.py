"""The files of one thread's workspace, as the host has written them down.

<thread>/files.json          the files that are there: name, hash, size, input or not
<thread>/files.before.json   the same before the last cell that changed one, and that cell; `null` after a move, when
                             another host had it
<thread>/files.replaced.json what people gave and cells changed or removed: [name, hash] of each
<thread>/files.older.json    files whose last version was not taken: name, and the cell that made it
<thread>/files*.damaged.json a list that could not be read, set aside: what it names stays until a reset or a purge
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from executor.disk.durable import replace_durably
from executor.frames import ProtocolError
from executor.wire import content_name, integer, optional_text, text

Read = TypeVar("Read")


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


def free_name(name: str, taken: Mapping[str, KeptFile], is_there: Callable[[str], bool] = lambda name: False) -> str:
    """`name`, or with -2, -3 ... before its ending when a file or a folder of one has it, or `is_there` says so."""
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    folders = {str(folder) for file in taken if "/" in file for folder in PurePosixPath(file).parents}
    number, candidate = 1, name
    while candidate in taken or candidate in folders or is_there(candidate):
        number += 1
        candidate = f"{stem}-{number}{dot}{ending}"
    return candidate


class ThreadFiles:
    """One thread's. A change raises OSError, and nothing has changed, when the disk has no room for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_written = False
        """Since `take_unsynced` was last called."""
        self.is_damaged = False
        """Whether the list could not be read, so that it is the one before the last change, as far as that is known."""
        listed: dict[str, KeptFile] | None = {}
        if self._path("files.json").exists():
            listed = self._read("files.json", _files_from, None)
        self.is_damaged = listed is None
        self.by_name: dict[str, KeptFile] = self._files_before() if listed is None else listed
        self.older: dict[str, str] = self._read("files.older.json", _texts_from, {})
        """Files that are kept as they were before a cell changed them, by name; that cell's version was not taken."""
        self.replaced: set[tuple[str, str]] = self._read("files.replaced.json", _pairs_from, set())
        """(name, sha256) of the files that people gave and that cells have changed or removed since."""

    def replace(self, files: dict[str, KeptFile]) -> None:
        """Replace the list."""
        self._write("files.json", _records(files.values()))
        self.by_name = files

    def replace_by(self, cell_id: str, files: dict[str, KeptFile]) -> None:
        """Replace the list as a cell left it, and keep how it was before."""
        self._write("files.before.json", {"cell": cell_id, "files": _records(self.by_name.values())})
        self._set_replaced(self.replaced | (_given_among(self.by_name) - _given_among(files)))
        self.replace(files)

    def set_older(self, older: dict[str, str]) -> None:
        """Note the files whose last version was not taken."""
        if older != self.older:
            self._write("files.older.json", older)
            self.older = older

    def can_undo(self, cell_id: str, is_later: Callable[[str, str], bool]) -> bool:
        """Whether it is known how the files were before this cell, or that it changed none.

        `is_later` tells whether one cell of the thread began after another one.
        """
        record = self._before()
        if record is None:
            return True
        if record["cell"] == cell_id:
            return record["files"] is not None
        return not is_later(record["cell"], cell_id)

    def undo(self, cell_id: str) -> bool:
        """The list as it was before this cell, with what people gave since; False when the cell changed no file.

        A file whose name another one gets back has a free one from now on.
        """
        record = self._before()
        if record is None or record["cell"] != cell_id or record["files"] is None:
            return False
        files = dict(record["files"])
        there = _given_among(files)
        for file in self.by_name.values():
            if file.given is not None and (file.given, file.sha256) not in there:
                name = free_name(file.name, files)
                files[name] = dataclasses.replace(file, name=name)
        self.replace(files)
        return True

    def forget(self) -> None:
        """Leave only what people gave, also of how it was before the last cell. All that they gave may come again."""
        self._set_replaced(set())
        self.set_older({})
        self.replace({name: file for name, file in self.by_name.items() if file.given is not None})
        for left in (self._path("files.before.json"), *self._folder.glob("files*.damaged.json")):
            left.unlink(missing_ok=True)

    def adopt(self, files: dict[str, KeptFile], replaced: set[tuple[str, str]], last_cell: str | None) -> None:
        """Go on with the files of another host, on which this was the last cell that began."""
        self._set_replaced(replaced)
        self.set_older({})
        if last_cell is not None:
            self._write("files.before.json", {"cell": last_cell, "files": None})
        else:
            self._path("files.before.json").unlink(missing_ok=True)
        self.replace(files)

    def take_unsynced(self) -> list[Path]:
        """The folder, if a list was written in it since the last call: what is written has no name on the disk yet."""
        written, self._is_written = self._is_written, False
        return [self._folder] if written else []

    def _set_replaced(self, replaced: set[tuple[str, str]]) -> None:
        if replaced != self.replaced:
            self._write("files.replaced.json", sorted(replaced))
            self.replaced = replaced

    def _before(self) -> dict[str, Any] | None:
        """The cell that last changed a file, and the list before it; None when no cell has changed one.

        The list is None where another host had it. It stays after an undo: it then says that no cell before this one
        can be undone.
        """
        return self._read("files.before.json", _before_from, None)

    def _files_before(self) -> dict[str, KeptFile]:
        """The list before the last change, as far as it is known."""
        record = self._before()
        return {} if record is None or record["files"] is None else dict(record["files"])

    def _read(self, name: str, parse: Callable[[Any], Read], otherwise: Read) -> Read:
        """What a file holds; `otherwise` when there is none. One that was damaged is set aside."""
        try:
            return parse(json.loads(self._path(name).read_bytes()))
        except FileNotFoundError:
            return otherwise
        except (ValueError, TypeError, LookupError, AttributeError, ProtocolError):
            self._path(name).replace(self._path(name).with_suffix(".damaged.json"))
            return otherwise

    def _write(self, name: str, content: object) -> None:
        replace_durably(self._path(name), json.dumps(content).encode())
        self._is_written = True

    def _path(self, name: str) -> Path:
        return self._folder / name


def _files_from(records: Any) -> dict[str, KeptFile]:
    return {record["name"]: KeptFile(**{**record, "sha256": content_name(record)}) for record in records}


def _texts_from(record: Any) -> dict[str, str]:
    return {str(name): str(cell) for name, cell in record.items()}


def _pairs_from(records: Any) -> set[tuple[str, str]]:
    return {(str(name), str(sha256)) for name, sha256 in records}


def _before_from(record: Any) -> dict[str, Any] | None:
    if record is None:
        return None
    return {"cell": str(record["cell"]), "files": None if record["files"] is None else _files_from(record["files"])}


def _records(files: Collection[KeptFile]) -> list[dict[str, Any]]:
    return [asdict(file) for file in files]


def _given_among(files: Mapping[str, KeptFile]) -> set[tuple[str, str]]:
    """(name, sha256) of those that people gave."""
    return {(file.given, file.sha256) for file in files.values() if file.given is not None}
