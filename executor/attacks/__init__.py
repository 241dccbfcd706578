"""Attacks on a session's sandbox, as cells: the tests run them, and `threadbook doctor --attack` on a user's own host.

An attack prints BREACHED when it gets somewhere. It begins with `REACH`, and with `given(...)` where it is to reach
something of the host or of another thread. Nothing here runs anything: it is text.
"""

from __future__ import annotations

from executor.attacks.files import FILES, HOST_FILES, METADATA
from executor.attacks.kernel import POWERS, PROGRAMS, SOCKETS
from executor.attacks.kind import REACH, Attack, given
from executor.attacks.neighbours import NEIGHBOURS, VICTIMS_CELL
from executor.attacks.quotas import DISK, ESCAPES, MEMORY, QUOTAS

__all__ = [
    "ATTACKS",
    "DISK",
    "ESCAPES",
    "FILES",
    "HOST_FILES",
    "MEMORY",
    "METADATA",
    "NEIGHBOURS",
    "POWERS",
    "PROGRAMS",
    "QUOTAS",
    "REACH",
    "SOCKETS",
    "VICTIMS_CELL",
    "Attack",
    "given",
]

ATTACKS = {
    "files": FILES,
    "files of the host": HOST_FILES,
    "what is known of files": METADATA,
    "sockets": SOCKETS,
    "programs": PROGRAMS,
    "powers": POWERS,
    "other threads": NEIGHBOURS,
    "the watcher": ESCAPES,
    "what a machine has little of": QUOTAS,
    "disk": DISK,
    "memory": MEMORY,
}
"""Kind → name → attack."""
