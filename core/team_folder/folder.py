"""The folder of the team's memory on disk: files are read again when they changed, and written whole.

People change the folder with editors and git while we work, so nothing of it is trusted to stay: each use looks at the
files again, and a write happens under a lock and looks at the page once more.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from core.errors import ThreadbookError
from core.team_folder.spaces import is_space, space_of

LONGEST_FILE: Final = 256 * 1024
"""Bytes of a page; a longer one is not read."""
MOST_FILES: Final = 500
"""Pages of one folder; the others are not read."""
UNREAD: Final = frozenset({"readme.md"})
_LOCK: Final = ".lock"


class NotWritten(ThreadbookError):
    """The folder cannot be written; the message says why, in the system's words."""


class Page(NamedTuple):
    """A file below the memory's folder, by its path there, and its text."""

    file: str
    text: str


class Unreadable(NamedTuple):
    """A file that was left out, and why."""

    file: str
    why: str


class TeamFolder:
    """The memory's folder. Safe to share between threads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[Path, tuple[tuple[int, int], Page | Unreadable]] = {}
        self._lock = threading.Lock()

    def pages(self, space: str, under: str = "") -> list[Page]:
        """The Markdown pages of a space (or of a folder in it) in the order of their names. Raises nothing."""
        return [found for found in self.all_pages(space, under) if isinstance(found, Page)]

    def all_pages(self, space: str, under: str = "") -> list[Page | Unreadable]:
        """The same, with the files that could not be read."""
        folder = self.root / space / under
        try:
            inside = folder.resolve()
            if not inside.is_relative_to((self.root / space).resolve()):
                return []
            names = sorted(entry.name for entry in os.scandir(inside) if _is_page(entry.name))
        except OSError:
            return []
        found: list[Page | Unreadable] = []
        for name in names[:MOST_FILES]:
            file = "/".join(filter(None, (space, under, name)))
            found.append(self._read(inside / name, file))
        found += [Unreadable("/".join(filter(None, (space, under))), f"holds more than {MOST_FILES} pages")] * (
            len(names) > MOST_FILES
        )
        return found

    def spaces(self) -> list[str]:
        """The spaces that the folder has."""
        found = []
        for pattern in ("everyone", "projects/*", "channels/*"):
            found += sorted(
                name
                for path in self.root.glob(pattern)
                if path.is_dir() and is_space(name := path.relative_to(self.root).as_posix())
            )
        return found

    def text(self, file: str) -> str:
        """The text of a file now, "" when it is not there. Raises NotWritten when it is no readable page."""
        found = self._read(self._path(file), file)
        if isinstance(found, Unreadable):
            if not self._path(file).exists():
                return ""
            raise NotWritten(f"{file} {found.why}")
        return found.text

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Inside the block nobody else of ours writes to the folder. Raises NotWritten."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise NotWritten(f"{self.root}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def write(self, file: str, text: str) -> None:
        """Put a page in place whole, also for after a power cut. Raises NotWritten, also for a page that is too long to
        be read again."""
        path = self._path(file)
        if len(text.encode()) > LONGEST_FILE:
            raise NotWritten(f"{file} would be longer than {LONGEST_FILE // 1024} KB")
        part = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.resolve().is_relative_to(self.root.resolve()) or path.is_symlink():
                raise NotWritten(f"{file} leads out of the folder")
            self.put_in_place(text, part, path)
        except OSError as error:
            raise NotWritten(f"{file}: {error.strerror}") from error

    def put_in_place(self, text: str, part: Path, path: Path) -> None:
        """Write a text to `part`, which then takes the place of `path`. After a power cut the old file is there or the
        new one, and the new one once this has returned. Raises OSError."""
        with part.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        for folder in path.parents:
            if folder.is_relative_to(self.root):  # any of these may be new
                _sync_names(folder)

    def delete(self, file: str) -> None:
        """Remove a page that has nothing in it any more. Raises NotWritten."""
        try:
            self._path(file).unlink(missing_ok=True)
        except OSError as error:
            raise NotWritten(f"{file}: {error.strerror}") from error

    def _path(self, file: str) -> Path:
        parts = Path(file).parts
        if not space_of(file) or ".." in parts or Path(file).is_absolute() or not _is_page(parts[-1]):
            raise NotWritten(f"{file!r} is no page of the team's memory")
        return self.root / file

    def _read(self, path: Path, file: str) -> Page | Unreadable:
        try:
            about = path.stat(follow_symlinks=False)
            stamp = about.st_mtime_ns, about.st_size
            with self._lock:
                known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            found = _page(path, file, about.st_size)
        except OSError as error:
            return Unreadable(file, error.strerror or "cannot be read")
        with self._lock:
            self._known[path] = stamp, found
        return found


def _sync_names(folder: Path) -> None:
    """Sync the names in a folder, on a disk that can: some shares of a network cannot."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _page(path: Path, file: str, size: int) -> Page | Unreadable:
    if path.is_symlink() or not path.is_file():
        return Unreadable(file, "is no plain file")
    if size > LONGEST_FILE:
        return Unreadable(file, f"is longer than {LONGEST_FILE // 1024} KB")
    try:
        return Page(file, path.read_text(encoding="utf-8-sig"))  # editors on Windows mark the beginning
    except UnicodeDecodeError:
        return Unreadable(file, "is not UTF-8 text")


def _is_page(name: str) -> bool:
    return name.lower().endswith(".md") and name.lower() not in UNREAD and not name.startswith((".", "_"))
