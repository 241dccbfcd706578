"""What tools print as JSON. They run beside hostile code, so it is looked at like anything else from there."""

from __future__ import annotations

import json
from typing import Any

MOST_ROWS = 200


def rows_of(text: str, key: str = "") -> list[dict[str, Any]]:
    """The objects in a JSON list, or in the list under `key` of a JSON object; none when it is something else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if key:
        value = value.get(key) if isinstance(value, dict) else None
    return [row for row in value if isinstance(row, dict)][:MOST_ROWS] if isinstance(value, list) else []


def number(value: object) -> int:
    """A line number; 0 for what is none."""
    return value if isinstance(value, int) and 0 <= value < 10_000_000 else 0
