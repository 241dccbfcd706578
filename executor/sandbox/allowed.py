"""The system calls that sessions may make where everything else is refused: the list, and its numbers per machine.

The list was recorded (`tests/attacks/record_calls.py`), not thought up. `allowed_calls.csv` names each call, its number
on each machine that has it, and what needed it. Its filter is put on beside that of the denied calls (`seccomp.py`):
the kernel asks both, what either refuses is refused, and where both do, the one put on last answers.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from executor.sandbox import seccomp
from executor.sandbox.calls import MACHINE

FILE = Path(__file__).with_name("allowed_calls.csv")
NAMED = Path(__file__).with_name("named_calls.csv")
"""The calls that the list alone refuses with EPERM: the session host is told when one is made."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the list. A machine that has no such call is not in `numbers`."""

    call: str
    numbers: dict[str, int]
    needed_by: str


def rows() -> list[Row]:
    """The list, by name. Raises OSError when the file is not there."""
    found = []
    with FILE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            call, needed_by = row.pop("call"), row.pop("needed by")
            found.append(Row(call, {machine: int(number) for machine, number in row.items() if number}, needed_by))
    return found


def numbers(machine: str) -> dict[str, int]:
    """Name → number of what may be called on this machine."""
    return {row.call: row.numbers[machine] for row in rows() if machine in row.numbers}


def named(machine: str) -> dict[int, str]:
    """Number → name of what is refused by name on this machine."""
    with NAMED.open(newline="", encoding="utf-8") as file:
        return {int(row[machine]): str(row["call"]) for row in csv.DictReader(file) if row[machine]}


@functools.cache
def compiled() -> tuple[bytes, bytes, int]:
    """The filter as the kernel takes it, the same without anybody who listens, and how many calls it lets through.
    Asked for first by the zygote."""
    machine, allowed = seccomp.MACHINES[MACHINE], numbers(MACHINE)
    telling = seccomp.only(machine, allowed.values(), named(MACHINE))
    return seccomp.raw(telling), seccomp.raw(seccomp.only(machine, allowed.values())), len(allowed)


def install(listen: Callable[[int], object]) -> str:
    """Put the filter on this process and all it will start. Needs no_new_privs. Raises OSError where the kernel refuses
    it.

    `listen` is given the descriptor at which refused calls are told, and closes it before any code of others runs: who
    holds it may let these calls through. Where the kernel has no such descriptor the calls are refused all the same.
    """
    telling, silent, count = compiled()
    try:
        listener = seccomp.attach_with_listener(telling)
    except OSError:
        seccomp.attach_raw(silent)
        return f"{count} system calls are allowed, all others refused; nobody is told which"
    listen(listener)
    return f"{count} system calls are allowed, all others refused"
