"""What a thread says, without how long anything took: two runs of one story differ in nothing else."""

from __future__ import annotations

import re

_TOOK = re.compile(r"(?: ·|:) [\d.]+ s$")


def timeless(text: str) -> str:
    """The text without the line under a report and without the time at the end of a step's line."""
    lines = (line for line in text.splitlines() if " cells · " not in line and " cell · " not in line)
    return "\n".join(_TOOK.sub("", line) for line in lines)
