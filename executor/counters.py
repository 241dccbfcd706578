"""What a session host has counted of its sessions since it began."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Sessions by what became of them. `lived_s` sums the seconds of those that have ended.

    `idle` and `memory`: put to rest because nobody used them, or because the machine's memory ran short. `restored` and
    `not_restored`: whose kept variables came back with a new process, or could not.
    """

    started: int = 0
    ended: int = 0
    lived_s: float = 0.0
    idle: int = 0
    memory: int = 0
    restored: int = 0
    not_restored: int = 0
