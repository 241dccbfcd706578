"""Runs the code behind posted reports once more, one report at a time on each node, and draws the badge under them.

It is a separate process: it holds no thread's lease, so the next message is answered at once. All work is in the Store.
If the process dies during a check, this or another node takes up the report again. After a few tries its badge says
that it was not checked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, partial

from core.clean_room import CleanRoom, Unchecked
from core.errors import BlobsUnreachable, OursToFix, SlackFailed
from core.installations.tokens import NotInstalled
from core.rows import VoteRow
from core.settings import Settings
from core.slack.sanitize import addresses
from core.slack.views.report_badge import badge_block, with_badge
from core.slack.views.report_votes import with_votes
from core.slack.writing.writer import SlackWriter
from core.steps import Asked, Step
from core.store import Store
from core.store.clean_rooms import ClaimedCheck
from core.telemetry import bind_fields, get_logger
from core.values import ThreadKey
from executor.client import HostUnavailable, RequestError
from workers.service.clean_room_process import Place, Rooms, serve
from workers.turn.clean_rooms.room import NotWanted, Room, RoomTaken, clear_room

log = get_logger(__name__)

TRIES = 5
"""Clean rooms of one report that may fail without a fault of its code."""
AWAY_S = 15.0
"""How long a session host or a file store is not asked again after it did not answer: it may be starting."""
MOST_CLAIMS = 30
"""After this many failures to draw its badge, a report keeps the badge "not checked yet"."""
REDRAWS = 3
"""Times that a badge is drawn while people vote."""
SPARE_S = 120.0
"""A claim counts for the longest time of a clean room and this."""

Turns = Callable[[], list[list[Step]]]
"""Gives the thread up to the report that is checked. Raises NotWanted."""


def run(settings: Settings) -> None:
    """Check reports until the process ends."""

    def checker_of(rooms: Rooms, place: Place, of: Callable[[str], Checker] | None) -> Checker:
        return Checker(place.settings, rooms.store, place.slack, place.room, of=of)

    serve(settings, checker_of)


class Checker:
    """The clean room of one node."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        slack: SlackWriter,
        room: Room,
        *,
        away_s: float = AWAY_S,
        of: Callable[[str], Checker] | None = None,
    ) -> None:
        """`of` gives the one that checks the reports of a workspace, where there are many; it raises NotInstalled."""
        self._of = of
        self._settings = settings
        self._store = store
        self._slack = slack
        self._room = room
        self._away_s = away_s

    def begin(self) -> None:
        """This process has just started: what the one before it had taken up is free again."""
        try:
            self._store.free_clean_rooms(self._settings.node_id)
            clear_room(self._settings, self._room.sessions)
        except (OursToFix, HostUnavailable, RequestError) as error:
            log.warning("clean_room_not_ready", error=error)

    def next(self) -> bool:
        """Check the next report; False when there is none, or when it has to be tried again later. Never raises."""
        try:
            stale = datetime.now(UTC) - timedelta(seconds=self._settings.report.clean_room_s + SPARE_S)
            claimed = self._store.claim_clean_room(self._settings.node_id, stale)
            if claimed is None:
                return False
            with bind_fields(thread=claimed.thread_id, turn=claimed.turn_id):
                return self._check_there(claimed)
        except OursToFix as error:
            log.warning("clean_room_postponed", error=error)
            return False
        except Exception:
            log.exception("clean_room_failed")
            return False

    def _check_there(self, claimed: ClaimedCheck) -> bool:
        """Do it with what the thread's workspace has. Where that has uninstalled the app, nobody sees the badge."""
        try:
            there = self if self._of is None else self._of(ThreadKey.parse(claimed.thread_id).team)
        except NotInstalled as error:
            log.info("clean_room_left_out", error=error)
            self._store.end_clean_room(claimed.turn_id, claimed.tries, _unchecked("interrupted"), shown=True)
            return True
        return there._check(claimed)

    def _check(self, claimed: ClaimedCheck) -> bool:
        turns = cache(partial(self._turns, claimed))  # read once, if at all
        outcome = claimed.outcome
        if outcome is None:
            try:
                outcome = self._outcome(claimed, turns)
            except NotWanted:
                return True
            except (HostUnavailable, RequestError, BlobsUnreachable, RoomTaken) as error:
                log.warning("clean_room_away", error=error)
                if claimed.tries < TRIES:
                    time.sleep(self._away_s)
                    self._store.free_clean_rooms(self._settings.node_id)
                    return False
                outcome = _unchecked("host")
            except Exception:
                log.exception("clean_room_failed")
                outcome = _unchecked("failed")
            if not self._store.end_clean_room(claimed.turn_id, claimed.tries, outcome, shown=False):
                return True
        log.info("report_checked", state=outcome.state, reason=outcome.reason, seconds=outcome.seconds)
        if self._show(claimed, outcome, turns) or claimed.tries >= MOST_CLAIMS:
            self._store.end_clean_room(claimed.turn_id, claimed.tries, outcome, shown=True)
        return True

    def _outcome(self, claimed: ClaimedCheck, turns: Turns) -> CleanRoom:
        if claimed.tries > TRIES:
            return _unchecked("interrupted")
        unwanted = partial(self._unwanted, claimed)
        found = self._room.check(claimed.thread_id, turns(), claimed.order.inputs, unwanted)
        return found or _unchecked("effects")

    def _turns(self, claimed: ClaimedCheck) -> list[list[Step]]:
        """The thread up to this report."""
        found: list[list[Step]] = []
        for turn_id, steps in self._store.thread_steps(claimed.thread_id).items():
            found.append(steps)
            if turn_id == claimed.turn_id:
                return found
        raise NotWanted

    def _unwanted(self, claimed: ClaimedCheck) -> bool:
        return not self._store.clean_room_is_wanted(claimed.turn_id, claimed.tries)

    def _show(self, claimed: ClaimedCheck, outcome: CleanRoom, turns: Turns) -> bool:
        """Draw the badge; False when that has to be tried again."""
        row = self._store.outbox_get(f"{claimed.turn_id}:{claimed.order.slot}")
        if row is None or not row.ts:  # nobody knows where the report stands: its badge stays as it is
            return True
        thread, own = ThreadKey.parse(claimed.thread_id), badge_block(outcome, claimed.language)
        order = claimed.order
        try:
            try:
                known = addresses(" ".join(step.text for step in turns()[-1] if isinstance(step, Asked)))
                for votes in self._votes(claimed.turn_id):
                    blocks = with_badge(order.blocks, outcome, claimed.language)
                    blocks = with_votes(blocks, votes, claimed.language) if votes else blocks
                    self._slack.update(None, thread, row.ts, order.text, blocks, whole=True, known=known)
            except SlackFailed as error:
                log.warning("badge_not_drawn", error=error)
                self._slack.post(None, thread, f"{claimed.turn_id}:clean-room", own["elements"][0]["text"], [own])
        except OursToFix as error:
            log.warning("badge_postponed", error=error)
            return False
        return True

    def _votes(self, turn_id: str) -> Iterator[list[tuple[str, VoteRow]]]:
        """The votes with the names of the people, read again whenever somebody voted meanwhile."""
        shown: list[VoteRow] | None = None
        for _ in range(REDRAWS):
            votes = self._store.votes(turn_id)
            if votes == shown:
                return
            yield [(self._slack.user_name(vote.user), vote) for vote in votes]
            shown = votes


def _unchecked(reason: Unchecked) -> CleanRoom:
    return CleanRoom(state="unchecked", reason=reason)
