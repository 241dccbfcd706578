"""Requests of a running cell: each kind goes to the module that answers it, and what ended the cell is known from that.

A cell can raise any error in any words. So only a refusal that was sent to it counts as what ended it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from core.steps import CONFIRM_CALL, CellRan, EndedBy, Questioned, Step
from executor.values import CellResult
from workers.agent.actions import RunCell
from workers.sources import errors as of_sources
from workers.tools import errors as of_tools
from workers.turn.open_turn import OpenTurn
from workers.turn.requests import sources, tools
from workers.turn.requests.sources import SourceRequests
from workers.turn.requests.tools import ToolRequests

_COMPARED = 1_000
"""Characters of an error that are compared with a refusal. Its subprocess leaves out the middle of a longer one."""
_ENDED_BY: Mapping[type[Exception], EndedBy] = {
    of_sources.NeedsYes: "question",
    of_tools.NeedsYes: "question",
    of_sources.NotAllowed: "setup",
    of_tools.NotAllowed: "setup",
    of_sources.LoginCanWrite: "setup",
    of_sources.Misconfigured: "setup",
    of_sources.SourceAway: "source",
}


class CellRequests:
    """Answers the requests of one cell: statements for data sources, calls of tools."""

    def __init__(self, turn: OpenTurn, action: RunCell, on_ran: Callable[[], object]) -> None:
        """`on_ran` is called after each statement that gave rows."""
        self.sources = SourceRequests(turn, action.cell_id, on_ran, action.code, action.user)
        self.tools = ToolRequests(turn, action.cell_id, action.user)
        self._refused: dict[str, EndedBy] = dict.fromkeys(_asked_before(turn.steps), "question")

    def __call__(self, kind: str, payload: Mapping[str, Any]) -> Any:
        """The answer. Raises SourceError or ToolError, a sentence for the cell."""
        try:
            return self.tools(payload) if kind == "tool" else self.sources(kind, payload)
        except (of_sources.SourceError, of_tools.ToolError) as error:
            self._refused[str(error)[:_COMPARED]] = _meaning(error)
            raise

    def begin(self) -> None:
        """The cell is about to be sent off."""
        self.sources.begin()
        self.tools.begin()

    def stop(self) -> None:
        """Somebody wants the cell to end."""
        self.sources.stop()
        self.tools.stop()

    def ended(self, result: CellResult) -> EndedBy:
        """What the refusal says that ended the cell; "" when it ended otherwise."""
        if result.status != "error" or result.error is None:
            return ""
        return self._refused.get(result.error.message[:_COMPARED], "")


def _meaning(error: Exception) -> EndedBy:
    return next((ended for kind, ended in _ENDED_BY.items() if isinstance(error, kind)), "")


def _asked_before(steps: Sequence[Step]) -> Iterator[str]:
    """The refusals of a cell that has no step yet and whose worker died after it had people asked."""
    for step in reversed(steps):
        if isinstance(step, CellRan) and not step.is_own:
            return
        if isinstance(step, Questioned) and step.call_id.startswith(CONFIRM_CALL) and step.approval is not None:
            title = step.approval.title
            yield from (sources.ASKED_FIRST, tools.ASKED_FIRST)
            yield sources.needs_yes(title) if step.approval.reads else tools.needs_yes(title.partition(".")[0])
