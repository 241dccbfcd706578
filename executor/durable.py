"""Makes files durable against a power cut, while the loop goes on.

A sync takes milliseconds, and the loop serves every thread. So requests wait together for the syncs that are under way,
a file that several of them name is synced once, and `then` is called in the loop, in the order of the requests, when
all of it is on the disk. The kernel makes the syncs by itself (kernel_sync.py), or threads do where it does not.
"""

from __future__ import annotations

import os
import select
import stat
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from executor.event_loop import Loop
from executor.kernel_sync import Ended, KernelSync

_AT_ONCE = 8

Then = Callable[[], None]
_Request = tuple[Sequence[Path], Then]


def sync_path(path: Path) -> None:
    """Return when the content of a file, or the names in a folder, are on the disk. One that is gone is no error."""
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            (os.fsync if is_folder else os.fdatasync)(descriptor)
        finally:
            os.close(descriptor)


def replace_durably(path: Path, content: bytes) -> None:
    """Give a file a new content, whole or not at all. Its folder is still to be synced."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fdatasync(file.fileno())
    fresh.replace(path)


class Syncs(Protocol):
    """Syncs that are made beside the loop."""

    @property
    def fd(self) -> int:
        """Becomes readable when one has ended."""

    def begin(self, path: Path) -> None:
        """Sync a file, or the names in a folder. One that is gone is no error."""

    def ended(self) -> Ended:
        """Those that have ended since the last call, with the error of each."""

    def close(self) -> None:
        """Let go of everything, once all has ended."""


class Disk:
    """Syncs for one event loop."""

    def __init__(self, loop: Loop, syncs: Syncs | None = None) -> None:
        """`syncs` makes them; the kernel by default, or threads where it cannot."""
        self._loop = loop
        self._syncs = syncs or _syncs()
        self._waiting: list[_Request] = []
        self._batch: list[_Request] = []
        """The requests whose files are synced now."""
        self._last: list[Path] = []
        """Those of their files that are synced after all the others."""
        self._left = 0
        """How many files are being synced."""
        self._errors: dict[Path, OSError | None] = {}
        loop.watch_read(self._syncs.fd, self._on_ended)

    def sync(self, paths: Sequence[Path], then: Then) -> None:
        """Sync, the last path after the others, then call; at once when there is nothing to sync or to wait for.

        What was written to the paths until now is on the disk by then, and so is all that was asked for before. When
        the disk refuses, the loop raises OSError.
        """
        if not paths and not self._batch:
            then()
            return
        self._waiting.append((tuple(paths), then))
        if not self._batch:
            self._begin()

    def close(self) -> None:
        """Return when all that was asked for is done, the calls included. Raises OSError when the disk refuses."""
        self._loop.forget(self._syncs.fd)
        ready = select.poll()
        ready.register(self._syncs.fd, select.POLLIN)
        try:
            while self._batch:
                ready.poll()
                self._on_ended()
        finally:
            self._syncs.close()

    def _begin(self) -> None:
        """Sync for all requests that wait. What is asked for meanwhile waits for the next time."""
        self._batch, self._waiting = self._waiting, []
        self._errors = {}
        self._last = _distinct(paths[-1:] for paths, _ in self._batch)
        self._start(_distinct(paths[:-1] for paths, _ in self._batch))

    def _start(self, paths: Sequence[Path]) -> None:
        self._left = len(paths)
        for path in paths:
            self._syncs.begin(path)
        if not paths:
            self._go_on()

    def _on_ended(self) -> None:
        ended = self._syncs.ended()
        self._errors |= ended
        self._left -= len(ended)
        if ended and not self._left:
            self._go_on()

    def _go_on(self) -> None:
        """All of one step is on the disk: the last files come next, then the calls."""
        if last := [path for path in self._last if path not in self._errors]:
            self._last = []
            self._start(last)
            return
        try:
            for paths, then in self._batch:
                if (error := next((error for path in paths if (error := self._errors[path])), None)) is not None:
                    raise error
                then()
        finally:
            self._batch = []
        if self._waiting:
            self._begin()


def _syncs() -> Syncs:
    try:
        return KernelSync()
    except OSError:
        return ThreadSync()


def _distinct(groups: Iterable[Sequence[Path]]) -> list[Path]:
    return list(dict.fromkeys(path for paths in groups for path in paths))


class ThreadSync:
    """Threads that make syncs, for a kernel that does not make them by itself."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="disk")
        self._ended: deque[tuple[Path, OSError | None]] = deque()
        self.fd, self._wake = os.pipe()
        os.set_blocking(self.fd, False)

    def begin(self, path: Path) -> None:
        """Sync a file, or the names in a folder. One that is gone is no error."""
        self._pool.submit(self._sync, path)

    def ended(self) -> Ended:
        """Those that have ended since the last call, with the error of each."""
        with suppress(BlockingIOError):
            os.read(self.fd, 1 << 16)
        return [self._ended.popleft() for _ in range(len(self._ended))]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
        os.close(self.fd)
        os.close(self._wake)

    def _sync(self, path: Path) -> None:
        error = None
        try:
            sync_path(path)
        except OSError as raised:
            error = raised
        self._ended.append((path, error))
        os.write(self._wake, b"\0")
