"""Data source requests of a scheduled run: the current rows, with the rights of the schedule's owner.

The statements go through the same broker with the same limits as in a turn, and `may` is asked about the owner each
time. A cell gets rows only of the sources that it asked when the report was made. The result is compared with the rows
of the report: columns, types and distribution.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from pydantic import ValidationError

from core.actions import Action
from core.authorization import Authorizer
from core.blobs import Blobs
from core.errors import BlobMissing, OursToFix, SlackUnreachable
from core.phrases import say
from core.settings import Settings
from core.steps import CellRan, LookedUp, StatementRan, TableNote
from core.store import Store
from core.store.schedules import ScheduleRow
from core.telemetry import get_logger
from core.values import ThreadKey
from executor.client import OnRequest, WithFile
from workers.schedules.drift import table_drift
from workers.schedules.results import described
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Answered, Ask, Request, why_refused
from workers.sources.errors import LimitReached, Refused, SourceAway, SourceError
from workers.turn.requests.kept_rows import asked_of

log = get_logger(__name__)

MB = 1024 * 1024
_GIVES_ROWS = frozenset({"rows", "sample"})
_LITERALS = re.compile(r"(?:'(?:[^']|'')*'|\b\d[\d.]*\b)(?:\s*,\s*(?:'(?:[^']|'')*'|\b\d[\d.]*\b))*")


class LiveRows:
    """Answers the requests of a run's cells: `of(cell)` those of one. `stop` may be called by any thread.

    `refused` is the message for people if a source may not be queried or does not answer. `drift` says which rows do
    not fit the code.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        access: Authorizer,
        broker: BrokerClient | None,
        blobs: Blobs,
        *,
        schedule: ScheduleRow,
        run: str,
    ) -> None:
        """`run` is the key of the run, for the audit."""
        self._settings, self._store, self._access = settings, store, access
        self._broker, self._blobs = broker, blobs
        self._schedule, self._run = schedule, run
        self._thread, self._language = ThreadKey.parse(schedule.thread_id), schedule.order.language
        self._ends_at = time.monotonic() + settings.report.clean_room_s
        self._bytes: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self._stop = threading.Event()
        self.refused = ""
        self.is_away = False
        """Whether it is worth another try in a moment: a source, Slack or the database did not answer."""
        self.drift: list[str] = []

    def of(self, cell: CellRan) -> OnRequest:
        """What answers the requests of this cell."""
        left = [one for one in cell.statements if not one.error]
        return lambda kind, payload: self._answer(cell, left, payload)

    def stop(self) -> None:
        """Nobody waits any more: a statement is ended at the server."""
        self._stop.set()

    def _answer(self, cell: CellRan, left: list[StatementRan], payload: Mapping[str, Any]) -> Any:
        """The rows, with an open file. Raises SourceError, a sentence for the cell."""
        try:
            ask = Ask.model_validate(payload)
        except ValidationError as error:
            raise Refused(why_refused(error)) from None
        ask = ask.model_copy(update={"source": ask.source or _meant(cell, asked_of(ask), list(self._settings.sources))})
        broker = self._allowed(ask.source)
        if ask.ask in _GIVES_ROWS and ask.source not in {one.source for one in cell.statements}:
            # Whoever wrote the cell was perhaps refused there. The owner was told of the sources of the report alone.
            self._refuse("schedule_other_source", ask.source)
        seconds = max(1.0, self._ends_at - time.monotonic())
        request = Request(ask=ask, seconds=seconds, bytes=self._bytes_left(ask.source))
        try:
            answer, descriptor = broker.ask(request, self._stop)
        except SourceAway:
            self.is_away = True
            self.refused = say("run_source_away", self._language, source=ask.source)
            raise
        except SourceError as error:
            log.info("source_refused", source=ask.source, why=type(error).__name__)
            raise
        if descriptor is None:
            return answer.value
        try:
            self._note(ask.source, answer)
            self._compare(cell.title, ask, answer, descriptor, left)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OursToFix):
                self.is_away = True
                raise SourceAway(
                    "Nobody could write down that the query ran, so its rows were not given out."
                ) from error
            raise
        return WithFile({"rows": answer.rows}, descriptor)

    # --- whether it may be, and how much

    def _allowed(self, name: str) -> BrokerClient:
        """The broker, once the owner may ask this source. Raises Refused, SourceAway."""
        if self._broker is None or name not in self._settings.sources:
            self._refuse("source_gone", name)
        if self._settings.sources[name].strict:
            self._refuse("schedule_strict", name)
        try:
            verdict = self._access.may_ask(name, self._thread, {self._schedule.owner})
        except SlackUnreachable:
            self.is_away = True
            self.refused = say("run_source_away", self._language, source="Slack")
            raise SourceAway("Slack does not say now who may ask.") from None
        if not verdict:
            self._refuse(verdict.phrase, name)
        return self._broker

    def _refuse(self, phrase: str, name: str) -> NoReturn:
        self.refused = say(phrase, self._language, source=name)
        key = f"{self._run}:{name}:refused"
        details: dict[str, int | str] = {"source": name, "by": "schedule"}
        action = Action.QUERY.value
        self._store.audit(self._schedule.owner, action, self._thread.id, "refused", key=key, details=details)
        raise Refused(self.refused)

    def _bytes_left(self, name: str) -> int:
        """What the results of this run may still take. Raises LimitReached."""
        given = self._settings.sources[name]
        left = given.turn_mb * MB - self._bytes.get(name, 0)
        if left <= 0 or self._sent.get(name, 0) >= given.turn_queries:
            raise LimitReached(f"This run has asked {name} for as much as one question may.")
        return left

    def _note(self, name: str, answer: Answered) -> None:
        """Count the statement, and write down in whose name it was sent."""
        self._bytes[name] = self._bytes.get(name, 0) + answer.bytes
        self._sent[name] = self._sent.get(name, 0) + 1
        key = f"{self._run}:{name}:{self._sent[name]}"
        details: dict[str, int | str] = {
            "source": name,
            "rows": answer.rows or 0,
            "bytes": answer.bytes,
            "by": "schedule",
        }
        action = Action.QUERY.value
        self._store.audit(self._schedule.owner, action, self._thread.id, "done", key=key, details=details)

    # --- whether the rows are those that the code was written for

    def _compare(self, title: str, ask: Ask, answer: Answered, descriptor: int, left: list[StatementRan]) -> None:
        before = _counterpart(left, asked_of(ask), ask.source, answer.sql)
        if before is None:
            return
        left.remove(before)
        where, language = f"{title}, {ask.source}", self._schedule.order.language
        if before.rows and not answer.rows:
            empty = say("drift_query_empty", language)
            self.drift.append(f"{where}: {empty}")
        elif (kept := self._kept(before)) is not None:
            found = table_drift(kept, described(descriptor), language)
            self.drift += [f"{where}: {each}" for each in found]

    def _kept(self, before: StatementRan) -> TableNote | None:
        """The rows of the report, described; None when they were not kept."""
        if before.rows_file is None:
            return None
        try:
            return described(self._blobs.get(before.rows_file.sha256))
        except BlobMissing:
            return None


def _meant(cell: CellRan, asked: str, known: Sequence[str]) -> str:
    """The source that a request without a name went to in the report: by the same request, or the cell's only one.

    Raises Refused when nothing tells it.
    """
    before: list[StatementRan | LookedUp] = [*cell.statements, *cell.lookups]
    same = {one.source for one in before if one.asked == asked}
    found = same or {one.source for one in before} or set(known)
    if len(found) != 1:
        raise Refused(f"Say which source is meant: source=... Sources: {', '.join(known)}.")
    return found.pop()


def _counterpart(left: Sequence[StatementRan], asked: str, source: str, sql: str) -> StatementRan | None:
    """The statement of the report that this one repeats: the same request, or one that differs only in its values.

    A run in March asks for the days of March.
    """
    own = [one for one in left if one.source == source]
    same: list[Callable[[StatementRan], bool]] = [
        lambda one: one.asked == asked,
        lambda one: _without_values(one.sql) == _without_values(sql[: len(one.sql)]),
    ]
    return next((one for fits in same for one in own if fits(one)), None)


def _without_values(sql: str) -> str:
    return _LITERALS.sub("?", sql)
