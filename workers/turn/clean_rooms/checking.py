"""The clean room as a turn sees it: what is stored for a run after the report, and the run before it."""

from __future__ import annotations

from collections.abc import Sequence

from core.clean_room import WAITING, CleanRoom, CleanRoomOrder
from core.errors import BlobsUnreachable
from core.slack.blocks import SlackMessage
from core.telemetry import get_logger
from core.values import StoredFile
from executor.client import HostUnavailable, RequestError
from workers.turn.clean_rooms.room import NotWanted, Room, RoomTaken
from workers.turn.live import show_progress
from workers.turn.open_turn import OpenTurn

log = get_logger(__name__)


def order_of(turn: OpenTurn, messages: Sequence[SlackMessage]) -> CleanRoomOrder:
    """The order for a clean room after the report. The badge is in the report's last message."""
    last = messages[-1]
    return CleanRoomOrder(
        state="due",
        slot=f"report:{len(messages) - 1}",
        text=last.text,
        blocks=tuple(last.blocks),
        inputs=inputs_of(turn),
    )


def check_before(turn: OpenTurn) -> CleanRoom:
    """Run the code behind the report once more before it is posted; no fault of that costs the report.

    It is stored that it begins. A worker that finds that another one began and died does not try again.
    """
    store, turn_id = turn.context.store, turn.row.id
    known = store.clean_room(turn_id)
    if known is not None and known != WAITING:
        return known
    if known is None:
        order = CleanRoomOrder(state="before", inputs=inputs_of(turn))
        store.save_report(turn.lease, turn_id, "", [], clean_room=order)
    tries = store.begin_clean_room(turn.lease, turn_id)
    outcome = _checked(turn) if tries == 1 else CleanRoom(state="unchecked", reason="interrupted")
    store.end_clean_room(turn_id, tries, outcome, shown=True)
    return outcome


def _checked(turn: OpenTurn) -> CleanRoom:
    context = turn.context
    show_progress(turn, "status_clean_room")
    room = Room(context.settings, context.blobs, context.sessions, context.files)
    try:
        outcome = room.check(turn.thread_id, turn.turns, inputs_of(turn), turn.is_unwanted)
    except NotWanted:
        return CleanRoom(state="unchecked", reason="stopped")
    except (HostUnavailable, RequestError, BlobsUnreachable, RoomTaken) as error:
        log.warning("clean_room_away", error=error)
        return CleanRoom(state="unchecked", reason="host")
    except Exception:
        log.exception("clean_room_failed")
        return CleanRoom(state="unchecked", reason="failed")
    return outcome or CleanRoom(state="unchecked", reason="effects")


def inputs_of(turn: OpenTurn) -> tuple[StoredFile, ...]:
    """The files that people had given by now, in their order."""
    return tuple(turn.context.store.thread_files(turn.thread_id)) if turn.has_files else ()
