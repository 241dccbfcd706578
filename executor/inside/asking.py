"""What a cell may ask of the people and systems outside.

`query(sql)`, `ask(question)`, `note(text)`. Each blocks for its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Exchange = Callable[[str, Mapping[str, Any]], Any]


class RequestRefused(RuntimeError):
    """The request was answered with a refusal; the message says why and what to do."""


def helpers(exchange: Exchange) -> dict[str, Callable[..., Any]]:
    """The functions that cells find among the built-ins.

    `exchange(kind, payload)` returns the reply or raises RequestRefused.
    """

    def query(sql: str, source: str = "", params: Mapping[str, Any] | None = None) -> Any:
        """Run one read-only statement on a data source of the team and return its rows."""
        return exchange("query", {"sql": str(sql), "source": str(source), "params": dict(params or {})})

    def ask(question: str, options: list[str] | None = None) -> Any:
        """Ask the people in the thread and wait for the answer."""
        return exchange("ask", {"question": str(question), "options": [str(option) for option in options or []]})

    def note(text: str) -> None:
        """Leave a note in the thread's report."""
        exchange("note", {"text": str(text)})

    return {"query": query, "ask": ask, "note": note}
