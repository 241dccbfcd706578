"""What happens behind a thread, for the drawer of the playground's page: cells, SQL, model calls, jobs, steps.

Secrets are replaced as in the logs. Nothing here writes but a line of the audit for each look: a drawer is read every
two seconds while it is open, and all of that is one look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from redis import RedisError
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.leases import Leases
from core.queue import Wakes, connect_redis
from core.rows import money
from core.settings import Settings
from core.steps import CellRan, Queried, Replied, StatementRan, total_spent
from core.store import Store
from core.store.history import History, TimedStep
from core.telemetry import redactor
from core.values import ThreadKey
from tryout.commands.operator import allows, not_allowed
from tryout.commands.replay import headline, sources_asked
from tryout.commands.show import printable

REDIS_TIMEOUT_S = 2.0
TURNS = 10
"""A thread's last turns; their steps are read each time that the drawer is."""
LOOK_ENDS_S = 30.0
"""A drawer that was not read for this long was closed: reading it again is another look."""

Json = dict[str, Any]


class Inside:
    """Called with a workspace, a channel and a thread's ts, it gives sections of rows, oldest row first.

    Whoever runs it needs the right to `replay`, as for the command.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds, which only tell one look from the next."""
        self._settings = settings
        self._clock = clock
        self._looks: dict[str, tuple[float, bool]] = {}
        """By thread: when it was last read, and whether that was allowed."""
        self._store = Store(settings.database_url)
        self._history = History(settings.database_url)
        self._redis = connect_redis(settings.redis_url, timeout_s=REDIS_TIMEOUT_S)
        self._wakes, self._leases = Wakes(self._redis, self._store), Leases(self._redis, self._store)
        self._currency = settings.budget.currency
        self._redact = redactor(settings.secrets())

    def __call__(self, team: str, channel: str, thread_ts: str) -> list[Json]:
        """The sections. What cannot be read is a row that says so."""
        try:
            thread_id = self._store.thread_at(team, channel, thread_ts, thread_ts)
            thread_id = thread_id or ThreadKey(team, channel, thread_ts).id  # no turn has begun in it
            steps = self._steps(thread_id)
            if not self._may_look(thread_id, steps):
                return [{"name": "Not allowed", "rows": [{"text": not_allowed(Action.REPLAY), "state": "refused"}]}]
            jobs = self._jobs(thread_id)
            running = self._running(thread_id, steps)
        except (SQLAlchemyError, RedisError, OSError) as error:
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            return [{"name": "Not readable", "rows": [self._clean({"text": reason, "state": "away"})]}]
        sections = (
            ("Cells", "", [*_cells(steps), *running]),
            ("SQL", "", list(_statements(steps))),
            ("Model calls", self._spent(steps), list(self._calls(steps))),
            ("Jobs", "", jobs),
            ("Steps", "", [{"at": each.at.timestamp(), "text": headline(each.step)} for each in steps]),
        )
        return [{"name": name, "note": note, "rows": list(map(self._clean, rows))} for name, note, rows in sections]

    def close(self) -> None:
        """Close the connections."""
        self._history.close()
        self._store.close()
        self._redis.close()

    def _may_look(self, thread_id: str, steps: Sequence[TimedStep]) -> bool:
        """Whether the thread may be shown; the first reading of a look is written into the audit."""
        now = self._clock()
        last, allowed = self._looks.get(thread_id, (now - LOOK_ENDS_S, False))
        if now - last >= LOOK_ENDS_S:
            details = {"by": "page", **sources_asked(steps)}
            allowed = allows(self._settings, self._store, Action.REPLAY, thread_id, details)
        self._looks = {each: look for each, look in self._looks.items() if now - look[0] < LOOK_ENDS_S}
        self._looks[thread_id] = (now, allowed)
        return allowed

    def _steps(self, thread_id: str) -> list[TimedStep]:
        turns = self._history.find(thread_id)[-TURNS:]
        return [step for turn in turns for step in self._history.steps(turn.id)]

    def _jobs(self, thread_id: str) -> list[Json]:
        """Jobs leave no trace when they end, but each took the thread's lease once, and its token counts them."""
        held = self._leases.is_held(thread_id)
        done = self._store.fence(thread_id) - held
        rows: list[Json] = []
        if done > 0:
            rows.append({"text": f"{done} {'job has' if done == 1 else 'jobs have'} ended", "state": "done"})
        if held:
            rows.append({"text": "a job advances the thread", "state": "running"})
        if not self._wakes.unnotified([thread_id]):
            rows.append({"text": "a job is in the queue", "state": "waiting"})
        return rows

    def _running(self, thread_id: str, steps: Sequence[TimedStep]) -> list[Json]:
        """The cell that began and has not ended, while a job is there to wait for it."""
        begun = self._store.begun_cell(thread_id) if self._leases.is_held(thread_id) else None
        ended = {each.step.cell_id for each in steps if isinstance(each.step, CellRan)}
        return [{"text": f"cell {begun}", "state": "running"}] if begun is not None and begun not in ended else []

    def _calls(self, steps: Sequence[TimedStep]) -> Iterator[Json]:
        for at, step in ((each.at, each.step) for each in steps):
            if isinstance(step, Replied):
                tokens = f"{step.usage.prompt_tokens:,} + {step.usage.completion_tokens:,} tokens"
                yield {
                    "at": at.timestamp(),
                    "text": f"{step.purpose}, {step.model}" if step.model else step.purpose,
                    "state": "ok",
                    "note": f"{step.duration_s:.2f} s, {tokens}{self._cost(step.cost_micros)}",
                }

    def _spent(self, steps: Sequence[TimedStep]) -> str:
        spent = total_spent([each.step for each in steps if isinstance(each.step, Replied)])
        return f"{spent.tokens:,} tokens{self._cost(spent.cost_micros)}" if spent.calls else ""

    def _cost(self, micros: int | None) -> str:
        return "" if micros is None else f", {money(micros)} {self._currency}"

    def _clean(self, row: Json) -> Json:
        """The row without secrets and without what would steer a terminal."""
        return {
            name: printable(self._redact(value)) if isinstance(value, str) else value for name, value in row.items()
        }


def _cells(steps: Sequence[TimedStep]) -> Iterator[Json]:
    for at, step in ((each.at, each.step) for each in steps):
        if isinstance(step, CellRan):
            yield {
                "at": at.timestamp(),
                "text": step.title or step.cell_id,
                "state": step.status,
                "note": f"{step.duration_s:.2f} s",
                "code": step.code,
            }


def _statements(steps: Sequence[TimedStep]) -> Iterator[Json]:
    """Each statement once. A cell's own step lists those again that have a step of theirs."""
    known = {each.step.cell_id for each in steps if isinstance(each.step, Queried)}
    for at, step in ((each.at, each.step) for each in steps):
        if isinstance(step, Queried):
            yield _statement(at, step.statement)
        elif isinstance(step, CellRan) and step.cell_id not in known:
            yield from (_statement(at, ran) for ran in step.statements)


def _statement(at: datetime, ran: StatementRan) -> Json:
    came = ran.error or f"{ran.rows:,} {'row' if ran.rows == 1 else 'rows'} in {ran.seconds:.2f} s"
    state = "error" if ran.error else "ok"
    return {"at": at.timestamp(), "text": ran.source, "state": state, "note": came, "code": ran.sql}
