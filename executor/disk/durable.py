"""Makes files durable against a power cut, while the loop goes on.

A sync takes milliseconds, and the loop serves every thread. So the syncs of all requests run at the same time, a file
that several of them name is synced once for all who wait, and `then` is called in the loop, in the order of the
requests, when all of it is on the disk. The kernel makes the syncs by itself (kernel_sync.py), or threads do where it
does not.
"""

from __future__ import annotations

import os
import select
import stat
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from executor.disk.kernel_sync import Ended, KernelSync, Synced
from executor.disk.line_file import LineFile
from executor.event_loop import Loop

_AT_ONCE = 8
_SOON_S = 0.005

Then = Callable[[], None]
Failed = Callable[[OSError], None]


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
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fdatasync(file.fileno())
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink()  # a full disk needs the room
        raise


class Syncs(Protocol):
    """Syncs that are made beside the loop."""

    @property
    def fd(self) -> int:
        """Becomes readable when one has ended."""

    def begin(self, written: Synced) -> None:
        """Sync a file, or the names in a folder. One that is gone is no error."""

    def ended(self) -> Ended:
        """Those that have ended since the last call, with the error of each."""

    def close(self) -> None:
        """Let go of everything, once all has ended."""


class _Request:
    """Somebody waits for some files."""

    def __init__(self, paths: Sequence[Synced], then: Then, failed: Failed | None) -> None:
        self.first = list(dict.fromkeys(paths[:-1]))
        self.last = [path for path in paths[-1:] if path not in self.first]
        """Synced after all the others."""
        self.then = then
        self.failed = failed
        self.left = 0
        """How many of its syncs are under way."""
        self.error: OSError | None = None

    @property
    def over(self) -> bool:
        """Whether nothing is left to be done for it."""
        return not self.left and (self.error is not None or not (self.first or self.last))


def _path_of(written: Synced) -> Path:
    return written.path if isinstance(written, LineFile) else written


class Disk:
    """Syncs for one event loop."""

    def __init__(self, loop: Loop, syncs: Syncs, distrust: Callable[[Path, OSError], bool] = lambda *_: False) -> None:
        """`distrust` is told of each path whose sync failed. It returns whether others rely on that path too."""
        self._loop = loop
        self._syncs = syncs
        self._distrust = distrust
        self._requests: deque[_Request] = deque()
        """In their order; the first one is not over."""
        self._under_way: dict[Synced, list[_Request]] = {}
        """Who waits for each sync that has begun."""
        self._next: dict[Synced, list[_Request]] = {}
        """Who came later. What they wrote may have missed the sync that is under way: another one follows it."""
        self._later: list[_Request] = []
        """Those of the requests that begin with the next one."""
        loop.watch_read(self._syncs.fd, self._on_ended)

    def sync(self, paths: Sequence[Synced], then: Then, failed: Failed | None = None) -> None:
        """Sync, the last path after the others, then call; at once when there is nothing to sync or to wait for.

        What was written to the paths until now is on the disk by then. When the disk refuses, `failed` is called with
        the error in place of `then`; without it the loop raises the OSError. The kernel may have dropped what it could
        not write, and a second sync would succeed all the same: whoever hears of a failure writes anew, to a new file.
        """
        if not paths and not self._requests:
            then()
            return
        request = _Request(paths, then, failed)
        self._requests.append(request)
        self._start_later()
        self._start(request)

    def sync_soon(self, paths: Sequence[Synced], then: Then, failed: Failed | None = None) -> None:
        """Like `sync`, for what nobody waits for: begun together with the next request, or a moment later.

        Two files that are synced at once make the disk write its own lists once.
        """
        if not paths:
            self.sync(paths, then, failed)
            return
        if not self._later:
            self._loop.call_later(_SOON_S, self._start_later)
        request = _Request(paths, then, failed)
        self._requests.append(request)
        self._later.append(request)

    def _start_later(self) -> None:
        later, self._later = self._later, []
        for request in later:
            self._start(request)

    def finish(self) -> None:
        """Return when all that was asked for is done, the calls included.

        Raises OSError when the disk refuses something that was asked for without `failed`.
        """
        ready = select.poll()
        ready.register(self._syncs.fd, select.POLLIN)
        while self._requests:
            self._start_later()
            if not self._requests[0].over:  # after an error one may be: no sync is under way then to wake us
                ready.poll()
            self._on_ended()

    def close(self) -> None:
        """Finish, and let go of everything. Raises OSError as `finish` does."""
        self._loop.forget(self._syncs.fd)
        try:
            self.finish()
        finally:
            self._syncs.close()

    def _start(self, request: _Request) -> None:
        """Begin the syncs of all its files but the last, or that of the last when the others are over."""
        paths = request.first or request.last
        request.left = len(paths)
        for path in paths:
            if path in self._under_way:
                self._next.setdefault(path, []).append(request)
            else:
                self._begin(path, [request])
        paths.clear()

    def _begin(self, path: Synced, waiting: list[_Request]) -> None:
        self._under_way[path] = waiting
        self._syncs.begin(path)

    def _on_ended(self) -> None:
        for path, error in self._syncs.ended():
            waiting = self._under_way.pop(path)
            if path in self._next:
                self._begin(path, self._next.pop(path))
            if error is not None and self._distrust(_path_of(path), error):
                self._fail_all(error)
            for request in waiting:
                request.left -= 1
                request.error = request.error or error
                if not request.left and request.last and request.error is None:
                    self._start(request)
        while self._requests and self._requests[0].over:
            request = self._requests.popleft()
            if request.error is None:
                request.then()
            elif request.failed is not None:
                request.failed(request.error)
            else:
                raise request.error

    def _fail_all(self, error: OSError) -> None:
        """What was to be synced for all is not: nobody who waits now has what it wrote on the disk for sure."""
        for request in self._requests:
            request.error = request.error or error


def open_syncs(report: Callable[[str], None]) -> Syncs:
    """The kernel's syncs, or threads with a word to `report` on a machine whose kernel makes none."""
    try:
        return KernelSync()
    except OSError as error:
        report(f"the kernel makes no syncs by itself ({error}): threads do, and a short cell takes longer")
        return ThreadSync()


class ThreadSync:
    """Threads that make syncs, for a kernel that does not make them by itself."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="disk")
        self._ended: deque[tuple[Synced, OSError | None]] = deque()
        self.fd, self._wake = os.pipe()
        os.set_blocking(self.fd, False)

    def begin(self, written: Synced) -> None:
        """Sync a file, or the names in a folder. One that is gone is no error."""
        self._pool.submit(self._sync, written)

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

    def _sync(self, written: Synced) -> None:
        error = None
        try:
            # by its name: a descriptor may be closed by the loop at any moment
            sync_path(_path_of(written))
        except OSError as raised:
            error = raised
        self._ended.append((written, error))
        os.write(self._wake, b"\0")
