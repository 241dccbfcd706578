"""P2 by itself: where the microseconds of a trivial cell go. `python -m bench cells`.

Rounds are interleaved: two processes that pass a byte through pipes (the machine's floor), a plain child without a
sandbox, the product until the result is there and on the disk, and ipykernel. "cpu" is processor time per cell of each
process, which other work on the machine disturbs least.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.rivals.contestants import Ipykernel, PlainChild
from bench.rivals.environment import LeftOut
from executor.client import SessionClient
from executor.launch import running_host
from executor.values import Limits

ROUNDS, CELLS = 8, 150
CELL = "x = x + 1"
THREAD = "T:cells"
FLOOR, CHILD, OURS, KERNEL = "pipe there and back", "plain child", "Threadbook", "ipykernel"


class _Echo:
    """A forked process that sends back each byte that it gets."""

    def __init__(self) -> None:
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._out)
            while data := os.read(to_child, 1):
                os.write(from_child, data)
            os._exit(0)

    def ask(self) -> None:
        os.write(self._out, b"x")
        os.read(self._in, 1)

    def end(self) -> None:
        os.close(self._out)
        os.waitpid(self._pid, 0)


class _Ours:
    """Trivial cells in one thread, through the public client."""

    def __init__(self, client: SessionClient) -> None:
        self._client = client
        self._number = 0
        client.run(THREAD, "first", "import pandas as pd, matplotlib.pyplot as plt\nx = 1")

    def result(self) -> None:
        """Until the result is there, and on the disk."""
        self._number += 1
        result = self._client.run(THREAD, str(self._number), CELL)
        if result.status != "ok":
            raise RuntimeError(f"a measured cell ended as {result.status}")

    def check(self) -> None:
        """Every cell has run once."""
        found = self._client.run(THREAD, "last", "print(x)").stdout
        if found != f"{self._number + 1}\n":
            raise RuntimeError(f"{self._number} cells left x = {found}")


def measure() -> dict[str, Any]:
    """Measure, print the table, and return the raw figures in seconds."""
    times: dict[str, list[float]] = {}
    cpu: dict[str, float] = {}
    echo = _Echo()  # a fork, so before anything else is opened
    with ExitStack() as opened:
        opened.callback(echo.end)
        client = opened.enter_context(running_host(limits=Limits(idle_s=3600)))
        ours = _Ours(client)
        contestants: dict[str, Callable[[], object]] = {FLOOR: echo.ask, OURS: ours.result}
        for name, make in ((CHILD, PlainChild), (KERNEL, Ipykernel)):
            try:
                run = opened.enter_context(make().open("x = 1")).run
            except LeftOut as why:
                print(f"left out: {name}: {why}")
            else:
                contestants[name] = lambda run=run: run(CELL)
        processes = {"client": os.getpid(), "host": client.ping().pid, "subprocess": client.sessions()[0].pid}
        for _ in range(ROUNDS):
            for name, ask in contestants.items():
                before = {process: _cpu_s(pid) for process, pid in processes.items()}
                times.setdefault(name, []).extend(_timed(ask, CELLS if name != KERNEL else CELLS // 10))
                if name == OURS:
                    for process, pid in processes.items():
                        cpu[process] = cpu.get(process, 0.0) + _cpu_s(pid) - before[process]
        ours.check()
    cells = ROUNDS * CELLS
    cpu = {process: seconds / cells for process, seconds in cpu.items()}
    _print(times, cpu)
    return {"times_s": times, "cpu_s": cpu}


def _timed(ask: Callable[[], object], count: int) -> list[float]:
    found = []
    for _ in range(count):
        begin = time.perf_counter()
        ask()
        found.append(time.perf_counter() - begin)
    return found


def _cpu_s(pid: int) -> float:
    """Processor time of all threads of a process, as the scheduler counts it."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def _print(times: dict[str, list[float]], cpu: dict[str, float]) -> None:
    print(f"| cell `{CELL}` | p10 | p50 | p90 | p50 is |")
    print("| --- | --- | --- | --- | --- |")
    ours = statistics.median(times[OURS])
    for name, found in sorted(times.items(), key=lambda item: statistics.median(item[1])):
        low, *_, high = statistics.quantiles(found, n=10)
        middle = statistics.median(found)
        shown = " | ".join(f"{seconds * 1e6:.0f} µs" for seconds in (low, middle, high))
        print(f"| {name} | {shown} | {middle / ours:.2f} of ours |")
    spent = ", ".join(f"{process} {seconds * 1e6:.0f} µs" for process, seconds in cpu.items())
    print(f"cpu per cell: {spent}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    importlib.import_module("bench.cells").measure()
