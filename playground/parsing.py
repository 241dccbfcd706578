"""What arrives as JSON, read once for every door: only what a page and an event can carry on."""

from __future__ import annotations

import json
from typing import Any


def parsed_json(text: str | bytes) -> Any:
    """The value of a JSON text. ValueError also for endless nesting, for NaN, and for half of a surrogate pair."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("the JSON holds half of a surrogate pair, which no text can show") from None
    return value


def json_object(text: str | bytes) -> dict[str, Any]:
    """The same for an object. ValueError for anything else."""
    value = parsed_json(text)
    if not isinstance(value, dict):
        raise ValueError("the body is a JSON object")  # noqa: TRY004  a ValueError is what every door answers
    return value
