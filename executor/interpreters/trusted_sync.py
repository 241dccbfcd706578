"""Syncs what is written for one thread. After a sync that failed, only what is on the disk for sure is trusted."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from executor.cell import Attached
from executor.disk.durable import Disk
from executor.disk.kernel_sync import Synced
from executor.files.home import ThreadHome
from executor.interpreters.thread_interpreters import Interpreters
from executor.notices import notice, words_of
from executor.values import Notice


class TrustedSync:
    """One thread's. A sync that the disk fails costs this thread its cell; other threads go on."""

    def __init__(self, thread: ThreadHome, disk: Disk, interpreters: Interpreters) -> None:
        self.refusals: dict[str, Notice] = {}
        """Of cells without a result: why the disk refused it."""
        self._thread = thread
        self._disk = disk
        self._interpreters = interpreters
        self._unsynced_results: set[str] = set()
        """Cells whose result is written down, and not yet on the disk for sure."""
        self._failures = 0

    def sync(self, paths: Sequence[Synced], then: Callable[[], None], failed: Callable[[OSError], None]) -> None:
        """Sync what was written for this thread, then call; `failed` when this sync, or another one since, failed."""
        before = self._failures

        def synced() -> None:
            if self._failures == before:
                then()
            else:
                failed(OSError(errno.EIO, os.strerror(errno.EIO)))

        def refused(error: OSError) -> None:
            if self._failures == before:
                self.failed(error)
            failed(error)

        self._disk.sync(paths, synced, refused)

    def failed(self, error: OSError) -> None:
        """Trust nothing that was written for this thread and is not on the disk for sure.

        Cells whose results were on their way count as died, and the next subprocess goes on from what is kept.
        """
        self._failures += 1
        self.refusals |= dict.fromkeys(self._unsynced_results, notice("result_not_synced", error=words_of(error)))
        self._thread.distrust(self._unsynced_results)
        self._unsynced_results.clear()
        for interpreter in self._interpreters:
            interpreter.distrust()
        with suppress(OSError):
            self._thread.kept_up_to(self._interpreters.python.last_cell())
        self._interpreters.end(notice("disk_refused", error=words_of(error)))
        self._interpreters.python.unsaved.go_on_from_what_is_kept()

    def result_written(self, cell_id: str) -> None:
        """A cell's result is written down; its sync comes next."""
        self._unsynced_results.add(cell_id)

    def result_told(self, cell_id: str) -> None:
        """The result is on the disk, or was told to be lost."""
        self._unsynced_results.discard(cell_id)

    def tell_stored(self, cell_id: str, result: str, attached: Attached) -> None:
        """Send a result that is written down, once it is on the disk."""

        def tell() -> None:
            self.result_told(cell_id)
            attached.result(result)

        self.sync(self._thread.take_unsynced(), tell, attached.refused)
