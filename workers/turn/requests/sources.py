"""Data source requests of cells: checks whether they are allowed, for whom and how much; then the broker runs them."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from core.phrases import number, say
from core.steps import (
    CONFIRM_CALL,
    Approval,
    CellRan,
    LookedUp,
    Queried,
    Questioned,
    StatementRan,
    decision_on,
    open_question,
)
from core.telemetry import get_logger
from core.values import StoredFile, ThreadKey
from executor.client import WithFile
from workers.agent.about_steps import statements_of
from workers.agent.code.source import computed_names
from workers.agent.text import clip
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Ask, Request, why_refused
from workers.sources.errors import Cancelled, LimitReached, NeedsYes, NotAllowed, Refused, SourceAway, SourceError
from workers.sources.guard.tables import nearest
from workers.turn.access.messages import why_not_own
from workers.turn.access.sources import is_private, refusal_of
from workers.turn.open_turn import OpenTurn
from workers.turn.requests.kept_rows import asked_of, keep_answer, keep_rows, room_left
from workers.turn.requests.private_answer import take_to_direct_message
from workers.turn.telling import with_placeholders

log = get_logger(__name__)

MB = 1024 * 1024
SQL_CHARS, WHOLE_STATEMENTS, SHORT_CHARS = 4_000, 50, 200
"""Characters kept of a statement with its step: so many of the first ones of a cell, few of those behind."""
MOST_LOOKUPS = 100
"""Answers of catalogues that are kept of one cell."""
CONFIRM_CHARS = 2_000
"""A person is shown the whole of a statement, or is not asked."""
SPARE_S = 2.0
"""A statement ends so long before its cell would, so that the cell is told why."""


NOT_STORED = "The query ran, but nobody could write down that it did, so its rows were not given out. Try it again."
ASKED_FIRST = "A person is asked about another statement of this cell first. End the cell here."


def needs_yes(source: str) -> str:
    """What a cell is told when a person is asked about its statement."""
    return (
        f"This statement on {source} needs a person's yes. The person who asked sees it now with two buttons, "
        "and this cell does not wait for that. You are told what they say."
    )


class SourceRequests:
    """Answers the requests of one cell. Called by the thread that runs the cell; `stop` may be called by any."""

    def __init__(
        self,
        turn: OpenTurn,
        cell_id: str,
        on_ran: Callable[[], object] = lambda: None,
        code: str = "",
        user: str = "",
    ) -> None:
        """`on_ran` is called after each statement that gave rows. `code` is that of the cell, `user` the person whose
        own it is."""
        self._user = user
        self._names = computed_names(code)
        self.statements: list[StatementRan] = statements_of(turn.steps, cell_id)
        """What was run for the cell, oldest first; also by a worker that died."""
        self.lookups: list[LookedUp] = []
        """What it asked of catalogues; not what it asked of a worker that died."""
        self._turn = turn
        self._cell_id = cell_id
        self._on_ran = on_ran
        self._stop = threading.Event()
        self._ends_at = 0.0
        self.begin()

    def __call__(self, kind: str, payload: Mapping[str, Any]) -> Any:
        """The answer to a request, with an open file where rows come. Raises SourceError, a sentence for the cell."""
        try:
            ask = Ask.model_validate(payload)
        except ValidationError as error:
            raise Refused(why_refused(error)) from None
        ask = ask.model_copy(update={"source": self._named(ask.source)})
        self._require_allowed(ask.source)
        settings = self._turn.context.settings.sources[ask.source]
        if (settings.strict or settings.ask_above_rows) and ask.ask in ("rows", "sample"):
            request = Request(
                ask=ask, seconds=max(1.0, self._seconds_left()), bytes=self._bytes_left(ask.source), only="explain"
            )
            told = self._broker.ask(request, self._stop)[0]
            expected = (told.expected or 0) if settings.ask_above_rows else 0
            if settings.strict or expected > settings.ask_above_rows:
                self._require_yes(ask.source, told.sql, expected)
        return self._asked(ask)

    def begin(self) -> None:
        """The cell is about to be sent off: no statement may end later than it."""
        self._ends_at = time.monotonic() + self._turn.environment.cell_timeout_s

    def stop(self) -> None:
        """Somebody wants the cell to end: its statement is ended at the server."""
        self._stop.set()

    def _require_yes(self, source: str, sql: str, expected: int) -> None:
        """Raise Refused unless a person allowed this very statement in this turn: NeedsYes, where people are asked
        about it. Neither the cell nor the worker waits: the turn is parked with the question. `expected` is the number
        of rows that the database expects to process, 0 if it was not asked.
        """
        if self._user:
            if why := why_not_own(self._turn.context, self._turn.thread_id, self._user, "source_unknown_people"):
                raise Refused(say(why, self._turn.language, source=source))
            return
        if len(sql) > CONFIRM_CHARS:
            raise Refused(
                f"A person has to read this statement on {source}, and it has {len(sql):,} characters. "
                f"Write one of at most {CONFIRM_CHARS:,}."
            )
        call_id = CONFIRM_CALL + hashlib.sha256(f"{source}\n{sql}".encode()).hexdigest()[:32]
        steps = self._turn.steps
        decided = decision_on(steps, call_id)
        if decided is not None and decided.outcome == "run":
            return
        if decided is not None and decided.outcome == "skip":
            raise Refused("A person said that this statement is not to run. Go on without it.")
        question = open_question(steps)
        if question is not None and question.call_id != call_id:
            raise NeedsYes(ASKED_FIRST)
        if question is None:
            language, settings = self._turn.language, self._turn.context.settings.sources[source]
            phrase = "confirm_expected" if expected > settings.ask_above_rows else "confirm_statement"
            text = say(phrase, language, source=source, rows=number(expected, language))
            options = say("confirm_run", language), say("confirm_skip", language)
            until = time.time() + settings.confirm_minutes * 60
            turn = self._turn
            shown = with_placeholders(turn.context.settings, ThreadKey.parse(turn.thread_id), turn.turns)(sql)
            whole = sql if shown != sql else ""
            approval = Approval(what="statement", title=source, code=shown, folded=whole, reads=(source,))
            self._turn.append(
                Questioned(call_id=call_id, question=text, options=options, until=until, approval=approval)
            )
        raise NeedsYes(needs_yes(source))

    @property
    def _broker(self) -> BrokerClient:
        if self._turn.context.broker is None:
            raise Refused("This installation has no data sources.")
        return self._turn.context.broker

    def _asked(self, ask: Ask) -> Any:
        broker = self._broker
        request = Request(
            ask=ask, seconds=max(1.0, self._seconds_left()), bytes=self._bytes_left(ask.source), names=self._names
        )
        written = ask.sql or f"{ask.ask} {ask.table}".strip()
        try:
            answer, descriptor = broker.ask(request, self._stop)
        except SourceError as error:
            log.info("source_refused", source=ask.source, why=type(error).__name__)
            if ask.ask in ("rows", "sample"):
                failed = StatementRan(
                    source=ask.source,
                    sql=clip(written, SQL_CHARS),
                    error=clip(str(error), 500),
                    asked=asked_of(ask),
                )
                self._note(failed)
            raise
        if descriptor is None:
            self._note_lookup(ask, answer.value)
            return answer.value
        if self._stop.is_set():
            os.close(descriptor)
            raise Cancelled("The query was stopped. Nothing of its result was kept.")
        statement = self._note(
            StatementRan(
                source=ask.source,
                sql=clip(answer.sql or written, SQL_CHARS),
                rows=answer.rows or 0,
                bytes=answer.bytes,
                seconds=answer.seconds,
                otherwise=answer.otherwise,
                asked=asked_of(ask),
                rows_file=self._kept(descriptor),
            )
        )
        try:
            # From here on the thread holds rows: this worker may die before the cell ends.
            self._turn.append(Queried(cell_id=self._cell_id, statement=statement))
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, Exception):
                log.warning("statement_not_stored", source=ask.source, error=error)
                raise SourceAway(NOT_STORED) from error
            raise
        self._on_ran()
        return WithFile({"rows": answer.rows}, descriptor)

    def _kept(self, descriptor: int) -> StoredFile | None:
        context = self._turn.context
        report = context.settings.report
        if report.clean_room == "off":
            return None
        room = room_left(self._turn.steps, self.statements, report.clean_room_rows_mb)
        return keep_rows(context.blobs, descriptor, room)

    def _note_lookup(self, ask: Ask, value: Any) -> None:
        """Keep what the catalogue said: the code behind a report is run once more without the source."""
        context = self._turn.context
        if context.settings.report.clean_room == "off" or len(self.lookups) >= MOST_LOOKUPS:
            return
        kept = keep_answer(context.blobs, value)
        self.lookups.append(LookedUp(source=ask.source, asked=asked_of(ask), answer=kept))

    def _note(self, statement: StatementRan) -> StatementRan:
        if len(self.statements) >= WHOLE_STATEMENTS:
            statement = statement.model_copy(update={"sql": clip(statement.sql, SHORT_CHARS)})
        self.statements.append(statement)
        return statement

    def _named(self, name: str) -> str:
        """The source that is meant. Raises Refused with the nearest name."""
        known = [source.name for source in self._turn.sources]
        if name in self._turn.context.settings.sources:
            return name
        if not name and len(known) == 1:
            return known[0]
        if not known:
            raise Refused("There is no data source that this thread may ask.")
        listed = ", ".join(known)
        if not name:
            raise Refused(f"Say which source is meant: source=... Sources: {listed}.")
        near = nearest(name, known)
        raise Refused(f"There is no source {name}. {f'Did you mean {near}?' if near else f'Sources: {listed}.'}")

    def _require_allowed(self, name: str) -> None:
        turn = self._turn
        if not self._user and is_private(turn.context, turn.thread_id, turn.steps, name):
            author = take_to_direct_message(turn, name)
            raise Refused(say("source_private", turn.language, source=name, author=author))
        if phrase := refusal_of(turn.context, turn.thread_id, turn.steps, name, self._user):
            log.info("source_not_allowed", source=name, why=phrase)
            passes = phrase == "source_unknown_people"  # Slack may know them in a moment
            raise (Refused if passes else NotAllowed)(say(phrase, turn.language, source=name))

    def _seconds_left(self) -> float:
        return self._ends_at - time.monotonic() - SPARE_S

    def _bytes_left(self, source: str) -> int:
        """What the results of this turn may still take. Raises LimitReached."""
        settings = self._turn.context.settings.sources[source]
        earlier = [one for step in self._turn.steps if isinstance(step, CellRan) for one in step.statements]
        ran = [one for one in (*earlier, *self.statements) if one.source == source]
        left = settings.turn_mb * MB - sum(one.bytes for one in ran)
        if len(ran) >= settings.turn_queries:
            raise LimitReached(
                f"This question has sent {len(ran)} statements to {source}, and may send no more. "
                "Work with the frames that you have, and say in the report what is missing."
            )
        if left <= 0:
            raise LimitReached(
                f"The results of this question are {settings.turn_mb:,} MB already, which is all that {source} allows. "
                "Work with the frames that you have, and say in the report what is missing."
            )
        return left
