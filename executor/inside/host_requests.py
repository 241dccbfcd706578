"""What a cell may ask of systems outside: `query(sql)`, where somebody is attached who answers.

The function blocks until the answer is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Exchange = Callable[[str, Mapping[str, Any]], Any]


class RequestRefused(RuntimeError):
    """The request was answered with a refusal; the message says why and what to do."""


def request_functions(exchange: Exchange) -> dict[str, Callable[..., Any]]:
    """The functions that a cell finds among the built-ins when its requests are answered.

    `exchange(kind, payload)` returns the reply or raises RequestRefused.
    """

    def query(sql: str, source: str = "", params: Mapping[str, Any] | None = None) -> Any:
        """Run one read-only statement on a data source of the team and return its rows."""
        return exchange("query", {"sql": str(sql), "source": str(source), "params": dict(params or {})})

    return {"query": query}
