"""Requests of a running cell: each kind goes to the module that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workers.agent.actions import RunCell
from workers.turn.open_turn import OpenTurn
from workers.turn.requests.sources import SourceRequests
from workers.turn.requests.tools import ToolRequests


class CellRequests:
    """Answers the requests of one cell: statements for data sources, calls of tools."""

    def __init__(self, turn: OpenTurn, action: RunCell, on_ran: Callable[[], object]) -> None:
        """`on_ran` is called after each statement that gave rows."""
        self.sources = SourceRequests(turn, action.cell_id, on_ran, action.code, action.user)
        self.tools = ToolRequests(turn, action.cell_id, action.user)

    def __call__(self, kind: str, payload: Mapping[str, Any]) -> Any:
        """The answer. Raises SourceError or ToolError, a sentence for the cell."""
        return self.tools(payload) if kind == "tool" else self.sources(kind, payload)

    def begin(self) -> None:
        """The cell is about to be sent off."""
        self.sources.begin()
        self.tools.begin()

    def stop(self) -> None:
        """Somebody wants the cell to end."""
        self.sources.stop()
        self.tools.stop()
