"""Times and periods as people type them behind an option of a command."""

from __future__ import annotations

import re
from datetime import UTC, datetime

MOST_DAYS = 36_500
"""A hundred years."""
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?")


def moment(text: str) -> datetime:
    """A date, or a date and a time, in UTC unless it has another offset. Raises ValueError, a sentence for people.

    A number such as 2026 is none: it would be seconds since 1970.
    """
    try:
        at = datetime.fromisoformat(text.strip()) if _MOMENT.fullmatch(text.strip()) else None
        if at is not None:
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):  # the 31st of November; a time before the first year
        pass
    raise ValueError(f"It takes a date such as 2026-11-30, or with a time in UTC 2026-11-30T09:00; {text!r} is none.")


def days(text: str) -> int:
    """A number of days. Raises ValueError, a sentence for people."""
    count = int(text) if re.fullmatch(r"\d{1,5}", text.strip()) else 0
    if not 1 <= count <= MOST_DAYS:
        raise ValueError(f"It takes a number of days from 1 to {MOST_DAYS}, such as 90; {text!r} is none.")
    return count
