"""Threads of this node whose last cell may not be in the file store yet: a file for each, in the home folder.

The mark is set before a cell begins and removed when its session was exported. So a service that stops knows which
sessions it still has to export, however its workers died.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote


class Unexported:
    """The marks of a home folder. When the disk refuses a mark, the cell runs all the same."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "unexported"

    def add(self, thread_id: str) -> None:
        """Mark a thread."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file(thread_id).touch()

    def remove(self, thread_id: str) -> None:
        """Remove a thread's mark."""
        with suppress(OSError):
            self._file(thread_id).unlink(missing_ok=True)

    def threads(self) -> list[str]:
        """The marked threads."""
        try:
            return sorted(unquote(path.name) for path in self._folder.iterdir())
        except OSError:
            return []

    def _file(self, thread_id: str) -> Path:
        return self._folder / quote(thread_id, safe="")
