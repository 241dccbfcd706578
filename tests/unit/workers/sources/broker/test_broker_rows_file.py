"""A result becomes a sealed file: whole and in order, and what goes wrong at any batch leaves no file behind."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from executor.linux import SEALS
from workers.sources.broker import rows_file
from workers.sources.errors import StatementFailed
from workers.sources.values import Result

SCHEMA = pa.schema([("n", pa.int64())])


def batch(number: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array([number * 10, number * 10 + 1])], schema=SCHEMA)


def result(batches: Iterator[pa.RecordBatch]) -> Result:
    return Result(SCHEMA, batches)


def open_files() -> set[str]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # the folder's own
            continue
    return {name for name in found if "memfd:rows" in name}


@pytest.mark.parametrize("count", [0, 1, 2, 3, 20])
def test_all_batches_are_in_the_file_in_their_order_and_it_is_sealed(count: int) -> None:
    descriptor, rows, size = rows_file.write(result(batch(at) for at in range(count)))
    with open(descriptor, "rb") as file:
        assert fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & SEALS == SEALS
        assert size == os.fstat(descriptor).st_size
        table = pa.ipc.open_stream(file).read_all()
    assert rows == 2 * count
    assert table["n"].to_pylist() == [number for at in range(count) for number in (at * 10, at * 10 + 1)]


def test_a_batch_is_read_while_the_one_before_is_written() -> None:
    third_is_read, seen = threading.Event(), list[bool]()

    def batches() -> Iterator[pa.RecordBatch]:
        yield batch(0)
        yield batch(1)
        third_is_read.set()
        yield batch(2)

    def grows(_: int) -> None:
        if seen:  # the first one is written where it was read
            seen.append(third_is_read.wait(20))
        else:
            seen.append(True)

    descriptor, rows, _ = rows_file.write(result(batches()), grows)
    os.close(descriptor)
    assert (rows, seen) == (6, [True, True, True])


def test_batches_are_read_on_the_thread_that_asked() -> None:
    on = set[int]()

    def batches() -> Iterator[pa.RecordBatch]:
        for at in range(4):
            on.add(threading.get_ident())
            yield batch(at)

    os.close(rows_file.write(result(batches()))[0])
    assert on == {threading.get_ident()}


@pytest.mark.parametrize("at", [0, 1, 2, 4])
def test_a_batch_that_there_is_no_memory_for_leaves_no_file(at: int) -> None:
    asked = list[int]()

    def grows(size: int) -> None:
        asked.append(size)
        if len(asked) == at + 1:
            raise MemoryError

    with pytest.raises(MemoryError):
        rows_file.write(result(batch(number) for number in range(5)), grows)
    assert len(asked) == at + 1  # nothing is written behind it
    assert open_files() == set()


@pytest.mark.parametrize("at", [0, 1, 3])
def test_what_reading_raises_leaves_no_file_and_no_thread(at: int) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(at):
            yield batch(number)
        raise StatementFailed("a value")

    before = threading.active_count()
    with pytest.raises(StatementFailed, match="a value"):
        rows_file.write(result(batches()))
    assert threading.active_count() == before
    assert open_files() == set()


def test_a_result_of_one_batch_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    descriptor, rows, _ = rows_file.write(result(iter([batch(0)])))
    os.close(descriptor)
    assert rows == 2


def test_no_memory_for_a_thread_is_no_memory_for_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(MemoryError):
        rows_file.write(result(batch(at) for at in range(3)))
    assert open_files() == set()
