"""Running the code of a second way to a report's figures, in a session of its own with the same inputs."""

from __future__ import annotations

import time

from core.errors import BlobsUnreachable
from core.steps import RouteBegan, RouteRan
from core.telemetry import get_logger
from executor.client import HostUnavailable, RequestError
from executor.values import CellResult
from workers.agent.actions import RunRoute
from workers.agent.report.second_route import read_answers
from workers.agent.text import clip
from workers.sources.errors import Refused
from workers.turn.clean_rooms.checking import inputs_of
from workers.turn.clean_rooms.room import Room, RoomTaken
from workers.turn.limits import refused_import
from workers.turn.live import show_progress
from workers.turn.open_turn import OpenTurn
from workers.turn.privacy import with_values
from workers.turn.requests.sources import SourceRequests

log = get_logger(__name__)

_ERROR_CHARS = 4_000
_NO_ANSWERS = "`answers` is no dictionary of names and numbers."
_SHOW = """

def _plain(value):
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if hasattr(value, "to_dict"):
        return _plain(value.to_dict())
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number - number == 0 else None
_plain(answers)
"""
"""What is run behind the code: its dictionary as plain numbers, for the trusted side to read."""


def run_route(turn: OpenTurn, action: RunRoute) -> None:
    """Run the code and store its outcome; no fault of that costs the report.

    It is stored first that it begins: a worker that finds that another one died in it does not try again.
    """
    if why := refused_import(turn.context.settings, action.code):
        turn.append(RouteRan(cell_id=action.cell_id, status="error", code=action.code, error=why))
        return
    turn.append(RouteBegan(cell_id=action.cell_id))
    show_progress(turn, "status_second_route")
    context = turn.context
    room = Room(context.settings, context.blobs, context.sessions, context.files)
    requests = _Requests(turn, action.cell_id, code=action.code) if context.broker is not None else None
    limit_s = min(context.settings.check.second_route_s, turn.environment.cell_timeout_s)
    began = time.monotonic()
    try:
        with context.waiting.one_more():
            code = with_values(turn, action.code) + _SHOW
            inputs = inputs_of(turn)
            result = room.run(turn.thread_id, inputs, action.cell_id, code, requests, turn.is_unwanted, limit_s)
        step = _ran(action, result, has_rows=requests is not None and any(not one.error for one in requests.statements))
    except (HostUnavailable, RequestError, BlobsUnreachable, RoomTaken) as error:
        log.warning("second_route_away", error=error)
        step = RouteRan(cell_id=action.cell_id, status="away", code=action.code)
    turn.append(step.model_copy(update={"seconds": round(time.monotonic() - began, 1)}))


def _ran(action: RunRoute, result: CellResult, *, has_rows: bool) -> RouteRan:
    answers = read_answers(result.result.text) if result.status == "ok" and result.result is not None else None
    error = result.error
    status = "error" if result.status == "ok" and answers is None else result.status
    told = (error.traceback or error.message) if error else "" if answers else _NO_ANSWERS
    return RouteRan(
        cell_id=action.cell_id,
        status=status,
        code=action.code,
        result=answers or "",
        error=clip(told, _ERROR_CHARS) if status == "error" else "",
        read=has_rows or result.files_read is None or bool(result.files_read),
    )


class _Requests(SourceRequests):
    """The statements of a second way. Nobody sees its code, so nobody is asked whether one of them may run."""

    def _require_yes(self, source: str, sql: str, expected: int) -> None:
        raise Refused(f"This statement on {source} needs a person's yes, and nobody is asked about this code.")

    def _kept(self, descriptor: int) -> None:
        """The rows are not kept: no clean room runs this code again."""
