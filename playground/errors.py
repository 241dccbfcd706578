"""Slack's own way of saying no: HTTP 200 with `{"ok": false, "error": name}`."""

from __future__ import annotations

from typing import Any


class SlackError(Exception):
    """An answer with ok=false. `extra` joins the reply beside `error` (for example `needed`, `response_metadata`)."""

    def __init__(self, error: str, **extra: Any) -> None:
        super().__init__(error)
        self.error = error
        self.extra = extra

    def reply(self) -> dict[str, Any]:
        """The JSON body that the caller receives."""
        return {"ok": False, "error": self.error, **self.extra}


def invalid_arguments(*messages: str) -> SlackError:
    """`invalid_arguments` with one `[ERROR] ...` line per complaint."""
    return SlackError("invalid_arguments", response_metadata={"messages": [f"[ERROR] {each}" for each in messages]})
