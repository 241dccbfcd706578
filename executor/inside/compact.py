"""Memory that sessions write to, put close together before they are forked.

A session copies each page of 4 KB that it writes to. CPython counts references in the objects themselves, so merely
running a function writes to its code, and that lies between code that no session runs. What sessions run is therefore
copied to one place. What they make anew would lie in holes that freed objects have left all over the memory, each on
a page of its own. So the holes are filled.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

_POOL, _POOL_HEADER = 16 << 10, 48  # of CPython's allocator (Objects/obmalloc.c): objects of one size share a pool
_STEP, _LARGEST = 16, 512  # bytes; larger objects come from libc
_BYTES_HEADER = 33  # of a bytes object, which is that much larger than its content
_LARGEST_CHUNK, _FINE_CHUNKS, _SMALLEST_CHUNK, _CHUNK_HEADER = 64 << 10, 4 << 10, 32, 8
_ENOUGH = 2 << 20  # bytes of one size: another Python may have no such pools
_kept: list[object] = []
"""What fills the holes."""


@contextmanager
def watching_code() -> Iterator[set[CodeType]]:
    """The code that runs in this thread while the block lasts."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        seen.add(frame.f_code)

    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)


def code_of_a_fork() -> set[CodeType]:
    """The code that libraries have every forked child run, found out by forking one."""
    reader, writer = os.pipe()
    with watching_code() as seen:
        pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, b"".join(struct.pack("Q", id(code)) for code in seen))
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as told:
        numbers = {number for (number,) in struct.iter_unpack("Q", told.read())}
    os.waitpid(pid, 0)
    return {function.__code__ for function in _functions() if id(function.__code__) in numbers}


def code_of(modules: Iterable[ModuleType]) -> set[CodeType]:
    """The code of all functions of these modules."""
    names = {module.__name__ for module in modules}
    return {function.__code__ for function in _functions() if function.__module__ in names}


def gather(codes: set[CodeType]) -> None:
    """Copy the code of functions to one place. What runs at this moment goes on with what it has."""
    found = {id(code) for code in codes}  # by identity: code that looks the same is equal
    fill_holes()
    for function in _functions():
        if id(function.__code__) in found:
            function.__code__ = _copy(function.__code__)


def _functions() -> list[FunctionType]:
    return [one for one in gc.get_objects() if type(one) is FunctionType]


def _copy(code: CodeType) -> CodeType:
    constants = tuple(_copy(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=constants)


def fill_holes() -> None:
    """Take the free memory between objects, for good: what is made from here on lies together."""
    for size in range(_STEP, _LARGEST + 1, _STEP):
        _fill_pools(size)
    _fill_heap()


def _fill_pools(size: int) -> None:
    """Make objects of `size` bytes until a whole pool of them was fresh."""
    whole = (_POOL - _POOL_HEADER) // size
    make = _maker(size)
    last = run = 0
    for _ in itertools.repeat(None, _ENOUGH // size):
        _kept.append(made := make())
        run = run + 1 if id(made) - last == size else 1
        last = id(made)
        if run == whole:
            return


def _maker(size: int) -> Callable[[], object]:
    if size == _STEP:
        return object
    if size == 2 * _STEP:
        return itertools.count(0.5).__next__  # floats
    return lambda: bytes(size - _BYTES_HEADER)


def _fill_heap() -> None:
    """The same for libc's memory: chunks of each size until they come from its end. Only glibc can say so."""
    libc: Any = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return
    libc.mallinfo2.restype = _Heap
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    size = _LARGEST_CHUNK
    while size >= _SMALLEST_CHUNK:
        before = libc.mallinfo2()
        libc.malloc(size - _CHUNK_HEADER)
        after = libc.mallinfo2()
        if (after.arena, after.keepcost) != (before.arena, before.keepcost):
            size = size // 2 if size > _FINE_CHUNKS else size - _STEP


class _Heap(ctypes.Structure):
    """What mallinfo2 of glibc returns. `arena` is the heap's size, `keepcost` what is free at its end, in bytes."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )
