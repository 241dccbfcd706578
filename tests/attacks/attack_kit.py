"""What attacks share: the words they are written in, and how the machine is looked at from outside while they go on."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S
from services import missing

from executor.values import Sandbox

NEEDS_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")


def need_layer(sandbox: Sandbox, layer: str) -> None:
    """Skip a test of a layer that this machine lacks, by name; in CI that is a failure."""
    state = sandbox.layers[layer]
    if not state.startswith("on"):
        missing(f"the sandbox layer {layer!r}", state)


def wait_for(what: Callable[[], bool]) -> bool:
    """Whether it came true within a patience that a loaded machine needs."""
    deadline = time.monotonic() + PATIENCE_S
    while not what() and time.monotonic() < deadline:
        time.sleep(0.05)
    return what()


def processes(name: str) -> list[int]:
    """The pids of the living processes that call themselves so."""
    found = []
    for pid in pids():
        try:
            entry = Path(f"/proc/{pid}")
            if (entry / "comm").read_text().strip() == name and " Z " not in (entry / "stat").read_text():
                found.append(pid)
        except OSError:
            continue
    return found


def pids() -> Iterator[int]:
    """Every process of the machine that can be seen."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def descendants(pid: int) -> list[int]:
    """`pid` and all processes below it."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*"):
            try:
                found += [int(word) for word in (task / "children").read_text().split()]
            except OSError:
                continue
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
