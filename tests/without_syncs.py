"""Tests wait for no disk. Only a power cut loses what was not synced, and no test in this process outlives one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event


@contextmanager
def used() -> Iterator[None]:
    """Inside the block this process syncs no file, and its SQLite databases none. Processes that it starts still do."""

    def unsynced(connection: Any, _record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", unsynced)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("fsync", "fdatasync"):
                patch.setattr(os, name, os.fstat)  # a descriptor that is closed is an error still
            yield
    finally:
        event.remove(Engine, "connect", unsynced)
