"""What comes of a scheduled run: the report's code runs in the clean room on the current data, and gives its figures.

A run shows nothing where its time is over, its owner has left, or the new data are not what the code was written for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from core.authorization import Authorizer
from core.days_off import days_off
from core.phrases import say
from core.schedule_times import zone_of
from core.schedules.values import Figure, RunOutcome, Why
from core.settings import Settings
from core.slack.writing.writer import SlackWriter
from core.steps import Briefed, CellRan, FileAbstract, Step
from core.store import Store
from core.store.schedules import ClaimedRun, ScheduleRow
from core.values import Language, StoredFile, ThreadKey
from workers.agent.report.rerun import Plan, plan, tools_of
from workers.agent.report.stated_figures import figures_now
from workers.agent.thread.effective_steps import effective_steps
from workers.profiling.file_profiles import describe_code, read_abstracts
from workers.schedules.drift import drift, newest_of
from workers.schedules.telling import called
from workers.sources.broker.client import BrokerClient
from workers.sources.errors import SourceAway
from workers.turn.clean_rooms.room import Room
from workers.turn.files import DESCRIBE_TIMEOUT_S
from workers.turn.requests.live_rows import LiveRows
from workers.turn.telling import told_in

TRIES = 5
"""Runs of one due time that may fail without a fault of code or data."""
_MOST_FIGURES = 5
"""Names that a message lists of figures that a run does not show."""


class Drifted(Exception):
    """The new data are not what the code was written for."""

    def __init__(self, details: Sequence[str]) -> None:
        super().__init__("; ".join(details))
        self.details = tuple(details)


class ScheduledRuns:
    """Runs the due reports of one workspace."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        slack: SlackWriter,
        room: Room,
        broker: BrokerClient | None,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._store = store
        self._slack = slack
        self._room = room
        self._broker = broker
        self._clock = clock
        self._access = Authorizer(settings, store, slack)

    def outcome(self, claimed: ClaimedRun) -> RunOutcome:
        """Run the code behind the report. Raises NotWanted when the schedule was paused or stopped meanwhile.

        Raises what says that a later try may do better: HostUnavailable, RequestError, BlobsUnreachable, RoomTaken,
        SlackUnreachable, SourceAway.
        """
        if why := self._why_not_begun(claimed):
            return RunOutcome(why=why)
        schedule = claimed.schedule
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

        others = [(old, new) for old, new in changed if old.sha256 != new.sha256]
        prepare = partial(self._check_new_files, turns, others, language=schedule.order.language)
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
            return RunOutcome(why="drift", details=self._told(schedule, turns, error.details))
        seconds = round(time.monotonic() - began, 1)
        if rows.is_away and claimed.tries < TRIES:
            raise SourceAway(rows.refused)
        if rows.refused or rows.is_away:
            return RunOutcome(why="source", details=(rows.refused,), seconds=seconds)
        if isinstance(ran, str):
            return RunOutcome(why="memory" if ran == "memory" else "too_long", seconds=seconds)
        outcome = self._judged(schedule, turns, made, ran, rows)
        new = tuple(dict.fromkeys(file.name for _, file in others))
        return outcome.model_copy(update={"seconds": seconds, "files": new})

    def _why_not_begun(self, claimed: ClaimedRun) -> Why:
        """Why the code is not run at all, "" if it is."""
        schedule = claimed.schedule
        if claimed.tries > TRIES:
            return "host"
        if self._clock() - claimed.due_at > timedelta(hours=self._settings.schedules.late_hours):
            return "late"
        if is_day_off(self._settings, schedule, claimed.due_at):
            return "off"
        return "left" if self._slack.has_left(schedule.owner) else ""

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
            return RunOutcome(why="drift", details=self._told(schedule, turns, tuple(dict.fromkeys(rows.drift))))
        parts = [part for _, part in made.parts]
        failed = [ran[part.cell.cell_id] for part in parts if part.kept == "whole"]
        if broken := next((cell for cell in failed if cell.status != "ok"), None):
            return RunOutcome(why="failed", details=self._told(schedule, turns, (_failure(broken),)))
        figures = figures_now(effective_steps(turns), made, ran)
        if schedule.shown and {each.place for each in figures}.isdisjoint(each.place for each in schedule.shown):
            return RunOutcome(why="drift", details=_not_shown(schedule.shown, schedule.order.language))
        return RunOutcome(figures=tuple(figures))

    def _told(
        self, schedule: ScheduleRow, turns: Sequence[Sequence[Step]], details: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The details as everybody in the thread may read them: they quote values of the data."""
        told = told_in(self._settings, self._access, schedule.thread_id, turns)
        return tuple(filter(None, map(told, details))) or (say("details_held", schedule.order.language),)

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

    def _check_new_files(
        self,
        turns: Sequence[Sequence[Step]],
        changed: Sequence[tuple[StoredFile, StoredFile]],
        room: str,
        *,
        language: Language,
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
        now, problems = read_abstracts(result, language, paths)
        names = {old.sha256: new.name for old, new in changed}
        called = {file.path: names[file.sha256] for file in before}  # people know the new file by its own name
        found = [f"{called.get(problem.name, problem.name)}: {problem.why}" for problem in problems]
        there = {file.path: file for file in now}
        for file in before:
            if file.path in there:
                found += drift(file, there[file.path].model_copy(update={"path": called[file.path]}), language)
        if found:
            raise Drifted(found)


def _not_shown(figures: Sequence[Figure], language: Language) -> tuple[str, ...]:
    return tuple(say("drift_figure", language, name=called(each, language)) for each in figures[:_MOST_FIGURES])


def is_day_off(settings: Settings, schedule: ScheduleRow, due_at: datetime) -> bool:
    """Whether the day of a due time is one on which the schedule does not run: it may have been added since."""
    if not schedule.order.on_days_off:
        return False
    return days_off(settings.schedules).is_off(due_at.astimezone(zone_of(schedule.order.zone)).date())


def _failure(cell: CellRan) -> str:
    last = cell.error.strip().rpartition("\n")[2] or cell.error_name or cell.status
    return f"{cell.title}: {last}" if cell.title else last
