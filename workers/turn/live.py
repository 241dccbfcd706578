"""Shows the current moment of a turn: the card with the running cell, its line, and the end of its output."""

from __future__ import annotations

import threading
import time
from functools import partial
from types import TracebackType

from core.phrases import say
from core.slack.text import clip
from core.telemetry import get_logger
from executor.client import HostUnavailable, RequestError
from executor.values import Where
from workers.agent.actions import RunCell
from workers.delivery.progress import progress_of
from workers.turn.late_threads import LateThread
from workers.turn.open_turn import OpenTurn

log = get_logger(__name__)

OUTPUT_CHARS = 2_000
INTERVAL_S = 0.5
NOTE_CHARS = 200
LOOK_S = 3.0
"""After this many seconds, and then as often, the card shows the line that runs. Most cells are over before."""
_SOURCE_CHARS = 80


class LiveProgress:
    """Redraws the card with each piece of output and each statement on a data source, at most every `INTERVAL_S`."""

    def __init__(self, turn: OpenTurn, status: str, running: RunCell | None = None) -> None:
        self._turn = turn
        self._status = status
        self._running = running
        self._text = ""
        self._where = ""
        self._shown_at = time.monotonic()
        show_progress(turn, status, running=running)

    def add(self, piece: str) -> None:
        """One more piece of output. Only its end is kept."""
        self._text = (self._text + piece)[-OUTPUT_CHARS:]
        self.again()

    def at(self, where: Where) -> None:
        """The cell is in this line now. It may be said by another thread."""
        if where.line is None:
            return
        source = clip(self._turn.told(where.source.strip()), _SOURCE_CHARS)
        if not source:
            return
        told = say("progress_line", self._turn.language, line=where.line, source=source)
        if told != self._where:
            self._where = told
            self.again()

    def again(self) -> None:
        """The steps have changed."""
        if time.monotonic() - self._shown_at > INTERVAL_S:
            self._shown_at = time.monotonic()
            show_progress(self._turn, self._status, running=self._running, output=self._text, where=self._where)


class LineWatch:
    """A `with` block around the run of one cell: asks the session host which line runs, and has the card show it."""

    def __init__(self, turn: OpenTurn, cell: RunCell, live: LiveProgress) -> None:
        self._turn = turn
        self._cell = cell
        self._live = live
        self._over = threading.Event()
        self._watcher = LateThread(self._watch, after_s=LOOK_S, name="line")

    def __enter__(self) -> LineWatch:
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._watcher.call_off(0.0)

    def _watch(self) -> None:
        while not self._over.is_set():
            try:
                where = self._turn.context.sessions.where(self._turn.thread_id)
            except (HostUnavailable, RequestError) as error:
                log.info("line_unknown", error=error)
                return
            if where is not None and where.cell_id == self._cell.cell_id and not self._over.is_set():
                self._live.at(where)
            self._over.wait(LOOK_S)


def show_progress(
    turn: OpenTurn, status: str, *, running: RunCell | None = None, output: str = "", where: str = ""
) -> None:
    """Show the turn's card as it is now. `status` is the phrase of the status line."""
    currency = turn.context.settings.budget.currency
    view = partial(progress_of, turn.steps, turn.language, currency=currency, told=turn.told)
    if running is None:
        turn.show.progress(view(note=clip(output.strip().rpartition("\n")[2], NOTE_CHARS)), status)
    else:
        if turn.told is not str:
            output = output[: output.rfind("\n") + 1]  # half of a personal value would not be found
        turn.show.progress(view(running=running, live_output=output, where=where), status)
