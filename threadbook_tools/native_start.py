"""Starts a compiled program from its bytes: `python -I native_start.py FILE WORD...`. Needs the standard library alone.

It runs inside the walls, as a file beside the program. No file of the workspace may be executed there, or mapped as
code. So this interpreter reads the file, puts its parts where the file says, and jumps to its first instruction. The
process is the same one, behind the same walls: what the program may not do, this text may not do either
(docs/adr/0030). Only 64-bit x86, and only programs that need no loader of their own (linked statically).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import sys
from typing import Any, NoReturn

_PAGE = mmap.PAGESIZE
_LOAD, _INTERPRETER, _OWN_HEADERS = 1, 3, 6
_FIXED_ADDRESS = 2
_X86_64 = 62
_READ, _WRITE, _RUN = 1, 2, 4
_PRIVATE, _ANONYMOUS, _NOT_OVER_OTHERS = 0x02, 0x20, 0x10_0000
_STACK = 8 << 20
_JUMP = bytes.fromhex("4889fc 31d2 31ed ffe6")
"""mov rsp, rdi; xor edx, edx; xor ebp, ebp; jmp rsi"""
_HEADERS, _HEADER_SIZE, _HEADER_COUNT, _ENTRY, _NAME = 3, 4, 5, 9, 31
_HANDED_ON = (6, 11, 12, 13, 14, 15, 16, 17, 23, 25, 26, 33, 51)
"""What the kernel told this process (getauxval): page size, user, processor, random bytes, clock."""
_CANNOT_START = 126


def main() -> NoReturn:
    """Become the program on the command line. Ends with 126 and a sentence when it cannot be started."""
    path = sys.argv[1]
    try:
        with open(path, "rb") as file:
            image = file.read()
        _start(image, path)
    except (OSError, ValueError, struct.error) as error:
        print(f"{path} cannot be started: {error}", file=sys.stderr)
    sys.exit(_CANNOT_START)


def _start(image: bytes, path: str) -> None:
    libc = _libc()
    if image[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", image, 18)[0] != _X86_64:
        raise ValueError("it is no program of 64-bit x86")
    kind = struct.unpack_from("<H", image, 16)[0]
    entry, table = struct.unpack_from("<QQ", image, 24)
    size, count = struct.unpack_from("<HH", image, 54)
    heads = [struct.unpack_from("<IIQQQQQQ", image, table + number * size) for number in range(count)]
    if any(head[0] == _INTERPRETER for head in heads):
        raise ValueError("it needs a loader; link it statically")
    loads = [head for head in heads if head[0] == _LOAD]
    if not loads:
        raise ValueError("it has no code")
    low = min(head[3] for head in loads) & -_PAGE
    high = max(head[3] + head[6] for head in loads)
    fixed = kind == _FIXED_ADDRESS
    base = _map(libc, high - low, low if fixed else None) - low
    for _, _, offset, address, _, length, _, _ in loads:
        ctypes.memmove(base + address, image[offset : offset + length], length)
    for _, flags, _, address, _, _, length, _ in loads:
        first = (base + address) & -_PAGE
        rights = (_READ if flags & 4 else 0) | (_WRITE if flags & 2 else 0) | (_RUN if flags & 1 else 0)
        _protect(libc, first, base + address + length - first, rights)
    headers = next((base + head[3] for head in heads if head[0] == _OWN_HEADERS), base + low + table)
    keep = [ctypes.create_string_buffer(os.fsencode(word)) for word in (path, *sys.argv[1:])]
    name, *words = (ctypes.addressof(one) for one in keep)
    known = {number: libc.getauxval(number) for number in _HANDED_ON}
    known |= {_HEADERS: headers, _HEADER_SIZE: size, _HEADER_COUNT: count, _ENTRY: base + entry, _NAME: name}
    told = [part for number, value in known.items() if value for part in (number, value)]
    vector = [len(words), *words, 0, *_environment(libc), 0, *told, 0, 0]
    packed = struct.pack(f"<{len(vector)}Q", *vector)
    stack = _map(libc, _STACK)
    _protect(libc, stack, _PAGE, 0)  # who overflows it ends there
    top = (stack + _STACK - len(packed)) & -16
    ctypes.memmove(top, packed, len(packed))
    jump = _map(libc, _PAGE)
    ctypes.memmove(jump, _JUMP, len(_JUMP))
    _protect(libc, jump, _PAGE, _READ | _RUN)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # this interpreter's own answers are none of the program's
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(jump)(top, base + entry)


def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.getauxval.restype = ctypes.c_ulong
    libc.getauxval.argtypes = [ctypes.c_ulong]
    return libc


def _map(libc: Any, length: int, at: int | None = None) -> int:
    """Fresh memory; at a fixed address only where nothing is yet. Raises OSError."""
    flags = _PRIVATE | _ANONYMOUS | (_NOT_OVER_OTHERS if at else 0)
    found = int(libc.mmap(at, length, _READ | _WRITE, flags, -1, 0))
    if found == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), f"no memory for it: {os.strerror(ctypes.get_errno())}")
    return found


def _protect(libc: Any, at: int, length: int, rights: int) -> None:
    if libc.mprotect(at, length, rights):
        raise OSError(ctypes.get_errno(), f"its code may not be run: {os.strerror(ctypes.get_errno())}")


def _environment(libc: Any) -> list[int]:
    """Where the texts of the environment lie: the program gets the same ones."""
    found: list[int] = []
    table = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    while table and (at := table[len(found)]):
        found.append(at)
    return found


if __name__ == "__main__":
    main()
