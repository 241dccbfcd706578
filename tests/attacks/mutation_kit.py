"""What a mutation of the walls is made of: the rule, the line that takes it away, and the attacks that need it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from executor.attacks import ATTACKS, Attack
from executor.client import SessionClient
from executor.values import Syscalls

Beside = Callable[[SessionClient, Path], str]
"""An attack that no cell makes, but somebody who reaches the session host's home: what got through, or ""."""

PYTHON = "/usr/bin/python3"
"""A Python that every user may run."""
REDUCED = ("namespaces", "cgroup")
BY_NAME = {name: (kind, one) for kind, attacks in ATTACKS.items() for name, one in attacks.items()}


@dataclass(frozen=True)
class Mutation:
    """One rule less: `code` is added to `file` of the copy. `why` is the reason for which it may survive."""

    layer: str
    rule: str
    file: str
    code: str
    attacks: tuple[tuple[str, Attack], ...]
    without: tuple[str, ...] = ()
    why: str = ""
    syscalls: Syscalls = "deny"
    in_jail: bool = False
    """Whether it is a rule of the jail for git, and `file` is one of that."""
    beside: tuple[tuple[str, Beside], ...] = ()
    """Attacks from outside of a session, made after the others."""


def named(*names: str) -> tuple[tuple[str, Attack], ...]:
    """Attacks of `executor/attacks`."""
    return tuple((name, BY_NAME[name][1]) for name in names)


def written(name: str, code: str) -> tuple[tuple[str, Attack], ...]:
    """An attack that is of use here alone."""
    return ((name, Attack(name, code)),)


CAPABILITY = "the kernel asks for a capability first, and a session has none"
ASK_THE_KERNEL = "what the kernel itself answers"
"""The reason is looked for with the same call where no filter is."""
SECOND = "a second lock: {} stops it, too"


def asked(call: str) -> tuple[tuple[str, Attack], ...]:
    """The call with arguments that do nothing: any answer but EPERM is the kernel's own."""
    return written(f"{call} with nothing", f"tries(lambda: looked(lambda: call({call!r}, *[-1] * 6)))")
