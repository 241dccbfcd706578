"""Where the stack of `threadbook up` (`make run`) is, for the commands that look into it from another terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.settings import Settings, environment_with, load_settings

HOME = Path(".threadbook") / "run"
_FILE = "stack.json"
_NAMES = ("SLACK_API_URL", "REDIS_URL", "DATABASE_URL", "THREADBOOK_HOME", "THREADBOOK_FILES")
_MOST_BYTES = 10_000
_PAGE = re.compile(r"https?://(?:127\.0\.0\.1|localhost)(?::\d+)?/([CDG][A-Z0-9]+)/(\d{10,})\.(\d{6})/?")


@contextmanager
def noted(settings: Settings) -> Iterator[None]:
    """Write down where a stack is while the block runs."""
    file = settings.home / _FILE
    values = (
        settings.slack_api_url,
        settings.redis_url,
        settings.database_url,
        str(settings.home),
        settings.files,
    )
    file.write_text(json.dumps({"pid": os.getpid(), **dict(zip(_NAMES, values, strict=True))}), encoding="utf-8")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def instead_of(settings: Settings, home: Path = HOME) -> Settings:
    """The settings of the stack that runs here, where no real Slack is set; else those that were given."""
    if settings.slack_bot_token is not None or (found := _read(home / _FILE)) is None:
        return settings
    print(f"threadbook: this is the stack that `threadbook up` started in {home}", file=sys.stderr)
    return load_settings(environment_with(**found))


def _read(file: Path) -> dict[str, str] | None:
    """What was noted by a process of this user that still runs."""
    try:
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_uid != os.geteuid():
                return None
            kept = json.loads(opened.read(_MOST_BYTES))
        os.kill(kept["pid"], 0)
        values = {name: kept[name] for name in _NAMES}
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    return values if all(isinstance(value, str) for value in values.values()) else None


def as_link(name: str) -> str:
    """The address of a thread's page in the playground as the link that Slack would give; else what was given."""
    page = _PAGE.fullmatch(name.strip())
    return f"/archives/{page[1]}/p{page[2]}{page[3]}" if page else name
