"""Runs due schedules: the code of a report runs in the clean room on the current data, and changes are posted.

The janitor calls `begin_due`, which turns due times into rows. The rest is a separate process, with one run at a time
on each node. No model is asked, and no thread's lease is held. A run whose process died is taken up again, here or at
another node; what was posted already is recognised by its key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal

from core.authorization import Authorizer
from core.days_off import days_off
from core.errors import BlobsUnreachable, OursToFix, SlackFailed, SlackUnreachable
from core.installations.tokens import NotInstalled
from core.phrases import say
from core.schedule_times import BadTimes, following_time, moment, newest_time, zone_of
from core.schedules import RunOutcome, State
from core.settings import Settings
from core.slack import blocks as kit
from core.slack.text import clip, escape
from core.slack.writer import SlackWriter
from core.steps import Briefed, CellRan, FileAbstract, Step
from core.store import Store
from core.store.schedules import ClaimedRun, ScheduleRow
from core.telemetry import bind_fields, get_logger
from core.values import StoredFile, ThreadKey
from executor.client import HostUnavailable, RequestError
from workers.agent.effective_steps import effective_steps
from workers.agent.rerun import Plan, figures_now, plan, tools_of
from workers.profiling.file_profiles import describe_code, read_abstracts
from workers.schedules import telling
from workers.schedules.drift import drift, newest_of
from workers.service.rooms import Place, opened_rooms
from workers.sources.broker.client import BrokerClient
from workers.sources.errors import SourceAway
from workers.turn.clean_room import NotWanted, Room, RoomTaken
from workers.turn.files import DESCRIBE_TIMEOUT_S
from workers.turn.live_rows import LiveRows
from workers.turn.unposted import is_final, name_of_refusal, reason_of_refusal

log = get_logger(__name__)

LOOK_EVERY_S = 2.0
TRIES = 5
"""Runs of one due time that may fail without a fault of code or data."""
MOST_CLAIMS = 30
"""After this many failures to post a run, also by our own fault, it is not posted; the next run reports the changes
since then."""
AWAY_S = 15.0
"""A run that could not be made is tried again after this. While a source is away, other runs go on."""
SPARE_S = 240.0
"""A claim counts for the longest time of a clean room and this."""
_DETAIL_CHARS = 300


class Drifted(Exception):
    """The new data are not what the code was written for."""

    def __init__(self, details: Sequence[str]) -> None:
        super().__init__("; ".join(details))
        self.details = tuple(details)


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
            if _is_day_off(own, schedule, first):
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
    with opened_rooms(settings) as rooms:

        def runner_of(place: Place, of: Callable[[str], Runner] | None = None) -> Runner:
            own = place.settings
            return Runner(own, rooms.store, place.slack, place.room, broker if own.sources else None, of=of)

        of = rooms.of
        runner = runner_of(rooms.only, None if of is None else lambda team: runner_of(of(team)))
        runner.begin()
        while True:
            if not runner.next():
                time.sleep(LOOK_EVERY_S)


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
        self._slack = slack
        self._room = room
        self._broker = broker
        self._away_s = away_s
        self._clock = clock
        self._access = Authorizer(settings, store, slack)

    def begin(self) -> None:
        """This process has just started: what the one before it had taken up is free again."""
        try:
            self._store.free_runs(self._settings.node_id)
        except OursToFix as error:
            log.warning("schedules_not_ready", error=error)

    def next(self) -> bool:
        """Make the next due report, or put it off; False when there is none, or when that failed. Never raises."""
        try:
            claimed = self._store.claim_run(self._settings.node_id, self._stale())
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
                outcome = self._outcome(claimed)
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
        told = self._tell(claimed, outcome) if claimed.tries <= MOST_CLAIMS else "away"
        if told == "away" and claimed.tries < MOST_CLAIMS:
            return True
        if told != "told" and not outcome.why:
            outcome = outcome.model_copy(update={"figures": claimed.schedule.shown})  # people saw no others
        self._store.end_run(claimed.id, claimed.tries, outcome, told=True)
        return True

    # --- running

    def _outcome(self, claimed: ClaimedRun) -> RunOutcome:
        schedule = claimed.schedule
        if claimed.tries > TRIES:
            return RunOutcome(why="host")
        if self._clock() - claimed.due_at > timedelta(hours=self._settings.schedules.late_hours):
            return RunOutcome(why="late")
        if _is_day_off(self._settings, schedule, claimed.due_at):
            return RunOutcome(why="off")
        if self._slack.has_left(schedule.owner):
            return RunOutcome(why="left")
        turns = self._turns(schedule)
        made = plan(effective_steps(turns), asks_sources=True) if turns else None
        if made is None or not made.parts:
            return RunOutcome(why="gone")
        if made.left_out:
            return RunOutcome(why="effects", details=tuple(each.title for each in made.left_out))
        inputs, changed = self._inputs(schedule)
        if tools := tools_of(made):
            return RunOutcome(why="effects", details=tuple(tools))
        rows = LiveRows(
            self._settings,
            self._store,
            self._access,
            self._broker,
            self._room.blobs,
            schedule=schedule,
            run=f"{schedule.id}:{claimed.due_at.timestamp():.0f}:{claimed.tries}",
        )

        def is_unwanted() -> bool:
            if self._store.run_is_wanted(claimed.id, claimed.tries):
                return False
            rows.stop()
            return True

        prepare = partial(self._look_at, turns, [(old, new) for old, new in changed if old.sha256 != new.sha256])
        began = time.monotonic()
        try:
            ran = self._room.rerun(
                schedule.thread_id,
                turns,
                made,
                inputs,
                prepare=prepare,
                answers=rows.of,
                stop=is_unwanted,
            )
        except Drifted as error:
            return RunOutcome(why="drift", details=error.details)
        seconds = round(time.monotonic() - began, 1)
        if rows.is_away and claimed.tries < TRIES:
            raise SourceAway(rows.refused)
        if rows.refused or rows.is_away:
            return RunOutcome(why="source", details=(rows.refused,), seconds=seconds)
        if isinstance(ran, str):
            return RunOutcome(why="memory" if ran == "memory" else "too_long", seconds=seconds)
        outcome = self._judged(schedule, turns, made, ran, rows)
        new = tuple(dict.fromkeys(file.name for old, file in changed if old.sha256 != file.sha256))
        return outcome.model_copy(update={"seconds": seconds, "files": new})

    def _judged(
        self,
        schedule: ScheduleRow,
        turns: Sequence[Sequence[Step]],
        made: Plan,
        ran: Mapping[str, CellRan],
        rows: LiveRows,
    ) -> RunOutcome:
        """The figures of a run, or why they are not to be shown."""
        if rows.drift:
            return RunOutcome(why="drift", details=tuple(dict.fromkeys(rows.drift)))
        parts = [part for _, part in made.parts]
        failed = [ran[part.cell.cell_id] for part in parts if part.kept == "whole"]
        if broken := next((cell for cell in failed if cell.status != "ok"), None):
            return RunOutcome(why="failed", details=(_failure(broken),))
        figures = figures_now(effective_steps(turns), made, ran)
        seen = {figure.place for figure in figures}
        if missing := [figure.name for figure in schedule.shown if figure.place not in seen]:
            return RunOutcome(why="drift", details=tuple(f"{name} is not shown any more" for name in missing[:5]))
        return RunOutcome(figures=tuple(figures))

    def _turns(self, schedule: ScheduleRow) -> list[list[Step]]:
        """The thread up to the report; empty when that is gone."""
        found: list[list[Step]] = []
        for turn_id, steps in self._store.thread_steps(schedule.thread_id).items():
            found.append(steps)
            if turn_id == schedule.turn_id:
                return found
        return []

    def _inputs(self, schedule: ScheduleRow) -> tuple[list[StoredFile], list[tuple[StoredFile, StoredFile]]]:
        """The files to be placed, under the names that the code knows, and each old file with the one in its place."""
        key = ThreadKey.parse(schedule.thread_id)
        inputs = schedule.order.inputs
        found = newest_of(inputs, schedule.order.pattern, self._store.channel_files(key.team, key.channel))
        pairs = list(zip(inputs, found, strict=True))
        return [new.model_copy(update={"name": old.name}) for old, new in pairs], pairs

    def _look_at(
        self, turns: Sequence[Sequence[Step]], changed: Sequence[tuple[StoredFile, StoredFile]], room: str
    ) -> None:
        """Compare new files with the descriptions of those that the code was written for. Raises Drifted."""
        described = {
            file.sha256: file for steps in turns for step in steps if isinstance(step, Briefed) for file in step.files
        }
        before: list[FileAbstract] = [described[old.sha256] for old, _ in changed if old.sha256 in described]
        if not before:
            return
        paths = [file.path for file in before]
        result = self._room.sessions.run(room, "look", describe_code(paths), timeout_s=DESCRIBE_TIMEOUT_S)
        now, problems = read_abstracts(result, "en", paths)
        names = {old.sha256: new.name for old, new in changed}
        called = {file.path: names[file.sha256] for file in before}  # people know the new file by its own name
        found = [f"{called.get(problem.name, problem.name)}: {problem.why}" for problem in problems]
        there = {file.path: file for file in now}
        for file in before:
            if file.path in there:
                found += drift(file, there[file.path].model_copy(update={"path": called[file.path]}))
        if found:
            raise Drifted(found)

    # --- telling

    def _tell(self, claimed: ClaimedRun, outcome: RunOutcome) -> Literal["told", "refused", "away"]:
        """Post its outcome, once. "refused": its thread does not show it; "away": that has to be tried again.

        Where Slack refuses it until somebody acts, the schedule pauses, and its owner hears it privately.
        """
        schedule = claimed.schedule
        thread, language = ThreadKey.parse(schedule.thread_id), schedule.order.language
        key = f"{schedule.id}:{claimed.due_at.timestamp():.0f}"
        said, blocks = self._said(claimed, outcome)
        told: Literal["told", "refused"] = "told"
        refused = ""
        try:
            if said:
                try:
                    self._slack.post(None, thread, key, said, blocks)
                except (SlackFailed, SlackUnreachable) as error:
                    refused = name_of_refusal(error)
                    if not refused and isinstance(error, SlackUnreachable):
                        raise
                    log.warning("run_not_posted", error=error)
                    told = "refused"
            if refused:
                self._tell_owner(claimed, outcome, refused, f"{key}:unposted")
            if outcome.why in _STOPS:
                reason = clip("; ".join(outcome.details), _DETAIL_CHARS) or outcome.why
                self._store.set_schedule_state(schedule.id, "stopped", reason)
            elif refused:
                state: State = "stopped" if is_final(refused) else "paused"
                self._store.set_schedule_state(schedule.id, state, say("schedule_refused", language, error=refused))
        except OursToFix as error:
            log.warning("run_not_told", error=error, language=language)
            return "away"
        return told

    def _tell_owner(self, claimed: ClaimedRun, outcome: RunOutcome, refused: str, key: str) -> None:
        """Tell the owner privately, once per `key`, what Slack refused in the thread. Nothing of the data is in it.

        A direct message that Slack refuses too is left out. Raises SlackUnreachable if that may pass by itself.
        """
        schedule = claimed.schedule
        thread, order, language = ThreadKey.parse(schedule.thread_id), schedule.order, schedule.order.language
        further = "run_unposted_gone" if is_final(refused) else "run_unposted_paused"
        text = say(
            "run_unposted",
            language,
            said=escape(clip(schedule.said, 120)),
            due=escape(moment(claimed.due_at, order.zone, language)),
            channel=thread.channel,
            reason=reason_of_refusal(refused, language),
            further=say("run_unposted_stopped" if outcome.why in _STOPS else further, language),
        )
        try:
            self._slack.begin_privately(None, thread, schedule.owner, key, text)
        except (SlackFailed, SlackUnreachable) as error:
            if not name_of_refusal(error) and isinstance(error, SlackUnreachable):
                raise
            log.warning("owner_not_told", user=schedule.owner, error=error)

    def _said(self, claimed: ClaimedRun, outcome: RunOutcome) -> tuple[str, list[kit.Block] | None]:
        """The text and blocks of a run; an empty text when there is nothing to say."""
        schedule = claimed.schedule
        order, language = schedule.order, schedule.order.language
        said = escape(clip(schedule.said, 120))
        due, following = (escape(moment(at, order.zone, language)) for at in (claimed.due_at, schedule.next_at))
        details = escape(clip("; ".join(outcome.details), _DETAIL_CHARS))
        if outcome.why == "source":
            return say("run_waits_source", language, said=said, due=due, details=details, next=following), None
        if outcome.why == "off":
            return say("run_day_off", language, said=said, due=due, next=following), None
        if outcome.why in ("late", "host"):
            return say("run_left_out", language, said=said, due=due, next=following), None
        if outcome.why:
            given = {"said": said, "details": details, "owner": escape(self._slack.user_name(schedule.owner))}
            return (say(_SENTENCES[outcome.why], language, **given) if outcome.why in _SENTENCES else ""), None
        changed = telling.changes(schedule.shown, outcome.figures)
        if not changed:
            return "", None
        if order.threshold is not None and not telling.crosses(order.threshold, schedule.shown, outcome.figures):
            return "", None
        files = escape(", ".join(outcome.files))
        head = say("run_changed", language, said=said, count=len(changed), files=files)
        lines = telling.lines(changed, language)
        about = [say("run_same_code", language)]
        if self._clock() - claimed.due_at > timedelta(minutes=10):
            about.append(say("run_late", language, due=due))
        body = "\n".join(lines)
        return f"{head}\n{escape(body)}", [kit.section(head), kit.paragraph(body), kit.context(*about)]


_STOPS = frozenset({"effects", "failed", "drift", "too_long", "memory", "left", "gone"})
_SENTENCES = {
    "drift": "run_stopped_drift",
    "failed": "run_stopped_failed",
    "left": "run_stopped_left",
    "effects": "run_stopped_failed",
    "too_long": "run_stopped_limits",
    "memory": "run_stopped_limits",
}


def _is_day_off(settings: Settings, schedule: ScheduleRow, due_at: datetime) -> bool:
    """Whether the day of a due time is one on which the schedule does not run: it may have been added since."""
    if not schedule.order.on_days_off:
        return False
    return days_off(settings.schedules).is_off(due_at.astimezone(zone_of(schedule.order.zone)).date())


def _failure(cell: CellRan) -> str:
    last = cell.error.strip().rpartition("\n")[2] or cell.error_name or cell.status
    return f"{cell.title}: {last}" if cell.title else last
