"""Describes one file in its own process. If the file crashes the reader, the session and its variables stay.

A reader of a hostile file may take all memory, never end, or crash its process. So this process has little memory and
time, and its output is limited.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from .bounds import Bounds
from .kinds import Unusable

_LONGEST = 3_000_000
"""Bytes of what is said of one file; the answer of all is cut to `Bounds.answer` later."""


def apart(work: Callable[[], dict[str, Any]], bounds: Bounds, seconds: float) -> dict[str, Any]:
    """What `work` returns, done by a fork of this process with bounded memory, within this many seconds.

    Raises Unusable "too_much" when it takes more than it may, or when its process ends without a word.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        _child(work, theirs, bounds)
    os.close(theirs)
    try:
        said = _read(ours, time.monotonic() + seconds)
    finally:
        os.close(ours)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
    try:
        answer = json.loads(said)
    except ValueError:
        raise Unusable("too_much", detail="its reader was stopped") from None
    return answer if isinstance(answer, dict) else {}


def _child(work: Callable[[], dict[str, Any]], answer: int, bounds: Bounds) -> None:
    """In the fork: do it, say it, and end without any of the session's own endings."""
    gc.disable()  # a collection would write to, and so copy, all pages that the fork shares with the session
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a person's stop ends it
        with contextlib.suppress(OSError):  # a sandbox without namespaces may show neither /dev/null nor /proc
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)  # what a library prints is no output of the cell
        with contextlib.suppress(OSError, ValueError):  # the session's own limit holds in any case
            _limit_memory(bounds.memory)
        said = json.dumps(work()).encode()
    except BaseException as error:
        too_much = isinstance(error, MemoryError | RecursionError)
        code, detail = ("too_much", "memory") if too_much else ("corrupt", type(error).__name__)
        said = json.dumps({"problem": {"code": code, "values": {"detail": detail}}}).encode()
    try:
        view = memoryview(said[:_LONGEST])
        while view:
            view = view[os.write(answer, view) :]
    finally:
        os._exit(0)


def _limit_memory(more: int) -> None:
    """Let this process map this many bytes beyond what it has."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        mapped = next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmSize:")), 0)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = mapped + more
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def _read(source: int, until: float) -> bytes:
    """All that is said before `until`; raises Unusable when it is not done by then."""
    said = bytearray()
    while len(said) <= _LONGEST:
        ready, _, _ = select.select([source], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise Unusable("too_much", detail="time")
        if not (part := os.read(source, 1 << 16)):
            break
        said += part
    return bytes(said)
