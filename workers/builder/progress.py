"""What a build tells while it goes on. The command line and the card in a thread draw it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Progress:
    """One thing that happened. `component` is "" for what concerns the whole program."""

    kind: Literal["plan", "kept", "asked", "version", "rolled back", "component", "tests", "note"]
    component: str = ""
    text: str = ""
    good: bool = True


OnProgress = Callable[[Progress], None]
