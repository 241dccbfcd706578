"""A result as a sealed file in memory, in Arrow's stream format: it can be passed on, and nobody can change it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from executor.linux import SEALS
from workers.sources.values import Result


def write(result: Result, grows: Callable[[int], None] = lambda size: None) -> tuple[int, int, int]:
    """Read the whole result into a new file. Returns (open descriptor, rows, bytes of the file).

    `grows` is called with the bytes of each batch before they are written. What it and the reading raise is raised
    here, and then there is no file. A batch is written while the next one is read, so two are held at a time.
    """
    descriptor = os.memfd_create("rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        schema = result.schema
        for at, name in enumerate(_distinct(schema.names)):
            schema = schema.set(at, schema.field(at).with_name(name))
        rows = 0
        with open(descriptor, "wb", closefd=False) as file, pa.ipc.new_stream(file, schema) as stream:

            def append(batch: pa.RecordBatch) -> None:
                grows(batch.nbytes)
                stream.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))

            with _Behind(append) as behind:
                for batch in result.batches:
                    behind.append(batch)
                    rows += batch.num_rows
        size = os.lseek(descriptor, 0, os.SEEK_END)
        os.lseek(descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, rows, size


class _Behind:
    """Appends batches one after the other on its own thread, one batch behind the reader.

    The first batch is appended at once: most results are small and need no thread. Reading stays where it was, because
    a driver's connection belongs to the thread that asked.
    """

    def __init__(self, write: Callable[[pa.RecordBatch], None]) -> None:
        self._write = write
        self._thread: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None
        self._is_first = True

    def __enter__(self) -> _Behind:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._thread is not None:
            self._thread.shutdown()  # the file is closed next: nothing may be writing into it
        if kind is None:
            self._wait()

    def append(self, batch: pa.RecordBatch) -> None:
        """Append this one after the one before. Raises what the one before raised."""
        self._wait()
        if self._is_first:
            self._is_first = False
            self._write(batch)
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "rows")
        try:
            self._last = self._thread.submit(self._write, batch)
        except RuntimeError:  # the kernel gives no memory for a thread's stack
            raise MemoryError from None

    def _wait(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.result()


def _distinct(names: list[str]) -> Iterator[str]:
    """The names, with a number behind those that were there before: a frame could not tell them apart. A name that
    the statement itself gives stays with its own column.
    """
    taken, seen = set(names), set[str]()
    for name in names:
        fresh, number = name, 1
        while name in seen and fresh in taken:
            number += 1
            fresh = f"{name}_{number}"
        seen.add(name)
        taken.add(fresh)
        yield fresh
