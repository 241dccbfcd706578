"""A result as a sealed file in memory, in Arrow's stream format: it can be passed on, and nobody can change it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator

import pyarrow as pa

from executor.linux import SEALS
from workers.sources.values import Result


def write(result: Result, grows: Callable[[int], None] = lambda size: None) -> tuple[int, int, int]:
    """Read the whole result into a new file. Returns (open descriptor, rows, bytes of the file).

    `grows` is called with the bytes of each batch before they are written. What it and the reading raise is raised
    here, and then there is no file.
    """
    descriptor = os.memfd_create("rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        schema = result.schema
        for at, name in enumerate(_distinct(schema.names)):
            schema = schema.set(at, schema.field(at).with_name(name))
        rows = 0
        with open(descriptor, "wb", closefd=False) as file, pa.ipc.new_stream(file, schema) as stream:
            for batch in result.batches:
                grows(batch.nbytes)
                stream.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
                rows += batch.num_rows
        size = os.lseek(descriptor, 0, os.SEEK_END)
        os.lseek(descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, rows, size


def _distinct(names: list[str]) -> Iterator[str]:
    """The names, with a number behind those that were there before: a frame could not tell them apart."""
    seen: set[str] = set()
    for name in names:
        fresh, number = name, 1
        while fresh in seen:
            number += 1
            fresh = f"{name}_{number}"
        seen.add(fresh)
        yield fresh
