"""Notes of what jobs put into the file store, on the node's disk, until the thread's steps name it.

A worker that is killed cannot give up what it put for a thread that is purged meanwhile, and the purge does not know
of it. The janitor of the node finds its note. The notes of a killed worker stay until the thread is purged, or needs
what they name. They also name the contents of which half may be there.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

from core.blobs import Blobs, contents_put
from core.settings import Settings
from core.store import Store, StoreUnreachable
from core.telemetry import get_logger

log = get_logger(__name__)

LOOK_EVERY_S = 600.0
HALF_S = 15.0
"""A content to which nothing was written for so long belongs to a process that is gone."""
_SHA256 = re.compile(r"^[0-9a-f]{64}$", re.MULTILINE)


@contextmanager
def noting_contents(settings: Settings, store: Store, blobs: Blobs, thread_id: str) -> Iterator[set[str]]:
    """Collects the hashes of the contents that are put in the block, and notes them on the disk until it ends well.

    Halves of contents that a killed job before it left are removed first.
    """
    note = _folder(settings) / quote(thread_id, safe="")
    is_left = note.exists()  # by a job that did not end well: what it put may have been put for nothing
    if is_left:
        _remove_halves(note, blobs)
    with contents_put(note) as put:
        yield put
    if not (put or is_left):
        return
    with suppress(OSError, StoreUnreachable):
        if not is_left or all(store.needs_content(sha256) for sha256 in _contents(note)):
            note.unlink(missing_ok=True)


class PutNotes:
    """Looks at the notes of a node from time to time."""

    def __init__(self, settings: Settings, store: Store, blobs: Blobs) -> None:
        self._settings = settings
        self._store = store
        self._blobs = blobs
        self._looked_at: float | None = None

    def sweep(self) -> None:
        """Give up what was put for threads that are purged, if it is time. Raises StoreUnreachable, OSError."""
        now = time.monotonic()
        if self._looked_at is None or now - self._looked_at >= LOOK_EVERY_S:
            give_up_noted(self._settings, self._store, self._blobs)
            self._looked_at = now


def give_up_noted(settings: Settings, store: Store, blobs: Blobs) -> int:
    """Give up what was put for threads that are purged; returns of how many. Raises StoreUnreachable, OSError.

    Halves of contents that killed workers left are removed.
    """
    given_up = 0
    for note in _notes(settings):
        thread_id = unquote(note.name)
        _remove_halves(note, blobs)
        contents = _contents(note)
        if store.give_up_contents(thread_id, contents):
            note.unlink(missing_ok=True)
            log.info("contents_given_up", thread=thread_id, contents=len(contents))
            given_up += 1
    return given_up


def _remove_halves(note: Path, blobs: Blobs) -> None:
    with suppress(OSError):
        for sha256 in _contents(note):
            blobs.remove_partials(sha256, older_than_s=HALF_S)


def _notes(settings: Settings) -> list[Path]:
    with suppress(FileNotFoundError):
        return list(_folder(settings).iterdir())
    return []


def _contents(note: Path) -> set[str]:
    return set(_SHA256.findall(note.read_text(errors="replace")))


def _folder(settings: Settings) -> Path:
    return settings.home / "puts"
