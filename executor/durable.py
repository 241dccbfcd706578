"""Makes files durable against a power cut, in a thread of its own, while the loop goes on.

A sync takes milliseconds, and the loop serves every thread. So requests wait together, a file that several of them
name is synced once, and `then` is called in the loop, in the order of the requests, when all of it is on the disk.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from executor.event_loop import Loop

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


class Disk:
    """Syncs for one event loop."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._done: deque[tuple[Then, OSError | None]] = deque()
        self._pending = 0
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        loop.watch_read(self._woken, self._on_done)
        self._thread = threading.Thread(target=self._work, name="disk", daemon=True)
        self._thread.start()

    def sync(self, paths: Sequence[Path], then: Then) -> None:
        """Sync, the last path after the others, then call; at once when there is nothing to sync or to wait for.

        What was written to the paths until now is on the disk by then, and so is all that was asked for before. When
        the disk refuses, the loop raises OSError.
        """
        if not paths and not self._pending:
            then()
            return
        self._pending += 1
        self._requests.put((tuple(paths), then))

    def close(self) -> None:
        """Return when all that was asked for is done, the calls included. Raises OSError when the disk refuses."""
        self._loop.forget(self._woken)
        self._requests.put(None)
        self._thread.join()
        try:
            self._call_done()
        finally:
            os.close(self._woken)
            os.close(self._wake)

    def _on_done(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._woken, 1 << 16)
        self._call_done()

    def _call_done(self) -> None:
        while self._done:
            then, error = self._done.popleft()
            self._pending -= 1
            if error is not None:
                raise error
            then()

    def _work(self) -> None:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="disk") as pool:
            while self._work_on(self._batch(), pool):
                pass

    def _batch(self) -> list[_Request | None]:
        """The next request, and all that wait behind it."""
        batch = [self._requests.get()]
        with suppress(Empty):
            while True:
                batch.append(self._requests.get_nowait())
        return batch

    def _work_on(self, batch: Sequence[_Request | None], pool: Executor) -> bool:
        """Sync what the requests name, the last path of each after all the others; False when it is to end."""
        requests = [request for request in batch if request is not None]
        errors: dict[Path, OSError | None] = {}
        for part in (slice(None, -1), slice(-1, None)):
            due = dict.fromkeys(path for paths, _ in requests for path in paths[part] if path not in errors)
            # Side by side, several files cost the file system one commit.
            errors |= zip(due, (map if len(due) == 1 else pool.map)(_error_of, due), strict=True)
        for paths, then in requests:
            self._done.append((then, next((error for path in paths if (error := errors[path])), None)))
        os.write(self._wake, b"\0")
        return len(requests) == len(batch)


def _error_of(path: Path) -> OSError | None:
    try:
        sync_path(path)
    except OSError as error:
        return error
    return None
