"""Runs due schedules: each is run (`runs.py`), and what changed is posted (`posts.py`).

The janitor calls `begin_due`, which turns due times into rows. The rest is a separate process, with one run at a time
on each node. No model is asked, and no thread's lease is held. A run whose process died is taken up again, here or at
another node; what was posted already is recognised by its key.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from core.errors import BlobsUnreachable, OursToFix, SlackUnreachable
from core.installations.tokens import NotInstalled
from core.schedule_times import BadTimes, following_time, newest_time
from core.schedules.values import RunOutcome
from core.settings import Settings
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.store.schedules import ClaimedRun
from core.telemetry import bind_fields, get_logger
from core.values import ThreadKey
from executor.client import HostUnavailable, RequestError
from workers.service.clean_room_process import Place, Rooms, serve
from workers.service.schedules.posts import SchedulePosts
from workers.service.schedules.runs import TRIES, ScheduledRuns, is_day_off
from workers.sources.broker.client import BrokerClient
from workers.sources.errors import SourceAway
from workers.turn.clean_rooms.room import NotWanted, Room, RoomTaken

log = get_logger(__name__)

MOST_CLAIMS = 30
"""After this many failures to post a run, also by our own fault, it is not posted; the next run reports the changes
since then."""
AWAY_S = 15.0
"""A run that could not be made is tried again after this. While a source is away, other runs go on."""
SPARE_S = 240.0
"""A claim counts for the longest time of a clean room and this."""


def begin_due(store: Store, at: datetime, settings: Settings) -> int:
    """Make the runs of all schedules whose time has come; returns their number.

    A time whose day became a day off since it was found is moved or left out. Times that were missed meanwhile are one
    run, that of the last one; the next time is the first one behind `at`. Any number of janitors may do this at once,
    and each may die anywhere.
    """
    begun = 0
    for schedule in store.due_schedules(at):
        own = settings.for_workspace(ThreadKey.parse(schedule.thread_id).team)
        try:
            first = schedule.next_at
            if is_day_off(own, schedule, first):
                first = following_time(own.schedules, schedule.order, first - timedelta(seconds=1))
            if first > at:
                store.move_schedule(schedule.id, schedule.next_at, first)
                continue
            due_at = newest_time(own.schedules, schedule.order, first, at)
            following = following_time(own.schedules, schedule.order, at)
        except BadTimes as error:
            store.set_schedule_state(schedule.id, "stopped", error.key)
            continue
        begun += store.begin_run(schedule.id, schedule.next_at, following, due_at)
    return begun


def run(settings: Settings) -> None:
    """Make due reports until the process ends."""
    broker = BrokerClient(settings.broker_socket)

    def runner_of(rooms: Rooms, place: Place, of: Callable[[str], Runner] | None) -> Runner:
        own = place.settings
        return Runner(own, rooms.store, place.slack, place.room, broker if own.sources else None, of=of)

    serve(settings, runner_of)


class Runner:
    """The scheduled runs of one node."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        slack: SlackWriter,
        room: Room,
        broker: BrokerClient | None = None,
        *,
        away_s: float = AWAY_S,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        of: Callable[[str], Runner] | None = None,
    ) -> None:
        """`of` gives the one that makes the reports of a workspace, where there are many; it raises NotInstalled."""
        self._of = of
        self._settings = settings
        self._store = store
        self._away_s = away_s
        self._clock = clock
        self._runs = ScheduledRuns(settings, store, slack, room, broker, clock=clock)
        self._posts = SchedulePosts(store, slack, clock)

    def begin(self) -> None:
        """This process has just started: what the one before it had taken up is free again."""
        try:
            self._store.free_runs(self._settings.node_id)
        except OursToFix as error:
            log.warning("schedules_not_ready", error=error)

    def next(self) -> bool:
        """Make the next due report, or put it off; False when there is none, or when that failed. Never raises."""
        try:
            claimed = self._store.claim_run(self._settings.node_id, self._stale(), self._clock())
            if claimed is None:
                return False
            with bind_fields(thread=claimed.schedule.thread_id, schedule=claimed.schedule.id):
                return self._work_there(claimed)
        except OursToFix as error:
            log.warning("schedule_postponed", error=error)
            return False
        except Exception:
            log.exception("schedule_failed")
            return False

    def _stale(self) -> datetime:
        """The time before which a claim counts no more."""
        return self._clock() - timedelta(seconds=self._settings.report.clean_room_s + SPARE_S)

    def _work_there(self, claimed: ClaimedRun) -> bool:
        """Do it with what the thread's workspace has. Where that has uninstalled the app, the schedule ends."""
        try:
            there = self if self._of is None else self._of(ThreadKey.parse(claimed.schedule.thread_id).team)
        except NotInstalled as error:
            log.info("schedule_stopped", error=error)
            self._store.set_schedule_state(claimed.schedule.id, "stopped", "uninstalled")
            self._store.end_run(claimed.id, claimed.tries, RunOutcome(why="gone"), told=True)
            return True
        return there._work(claimed)

    def _work(self, claimed: ClaimedRun) -> bool:
        outcome = claimed.outcome
        if not self._store.run_is_wanted(claimed.id, claimed.tries):  # it was paused or stopped meanwhile
            self._store.end_run(claimed.id, claimed.tries, RunOutcome(why="gone"), told=True)
            return True
        if outcome is None:
            try:
                outcome = self._runs.outcome(claimed)
            except NotWanted:
                self._store.end_run(claimed.id, claimed.tries, RunOutcome(why="gone"), told=True)
                return True
            except (HostUnavailable, RequestError, BlobsUnreachable, RoomTaken, SlackUnreachable, SourceAway) as error:
                log.warning("schedule_away", error=error)
                if claimed.tries < TRIES:
                    self._store.postpone_run(claimed.id, claimed.tries, self._stale() + timedelta(seconds=self._away_s))
                    if isinstance(error, SourceAway):
                        return True
                    time.sleep(self._away_s)  # no other run of this node would do better now
                    return False
                outcome = RunOutcome(why="host")
            if not self._store.end_run(claimed.id, claimed.tries, outcome, told=False):
                return True
        log.info("schedule_ran", why=outcome.why, seconds=outcome.seconds)
        told = self._posts.post(claimed, outcome) if claimed.tries <= MOST_CLAIMS else "away"
        if told == "away" and claimed.tries < MOST_CLAIMS:
            return True
        if told != "told" and not outcome.why:
            outcome = outcome.model_copy(update={"figures": claimed.schedule.shown})  # people saw no others
        self._store.end_run(claimed.id, claimed.tries, outcome, told=True)
        return True
