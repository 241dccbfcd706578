"""Keeps the connections of a process to the SQLite file that stands at the Store's place.

A file that was deleted, moved or replaced goes on taking the writes of those who have it open, without an error. Nobody
finds these messages again, and Slack was told that they are kept.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError


def keep_to_its_place(engine: Engine, path: Path) -> None:
    """From now on the engine uses no file but the one at `path`. Only its first connection may make one there."""
    place = _Place(path.absolute())
    event.listen(engine, "do_connect", place.connect)
    event.listen(engine, "connect", place.note)
    event.listen(engine, "checkout", place.check)


class _Place:
    """Where the file is, and whether this process has found it there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was_there = False

    def connect(self, _dialect: object, _record: object, given: Any, named: Any) -> sqlite3.Connection | None:
        """Open the file; None leaves that to the driver, which makes a missing one."""
        if not self._was_there:
            return None
        opened: sqlite3.Connection = sqlite3.connect(f"{self._path.as_uri()}?mode=rw", *given[1:], uri=True, **named)
        return opened

    def note(self, _connection: object, record: Any) -> None:
        record.info["file"] = self._identity()
        self._was_there = True

    def check(self, _connection: object, record: Any, _proxy: object) -> None:
        """Give up a connection to another file; the pool opens a new one, or says that there is no file."""
        if record.info.get("file") != self._identity():
            raise DisconnectionError("another file stands at the place of the Store, or none")

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino
