"""What a running turn shows of this moment: the card with the cell that runs, and the last of what came out of it."""

from __future__ import annotations

import time
from functools import partial

from core.slack.text import clip
from workers.agent.actions import RunCell
from workers.delivery.progress import progress_of
from workers.turn.open_turn import OpenTurn

OUTPUT_CHARS = 2_000
INTERVAL_S = 0.5
NOTE_CHARS = 200


class LiveProgress:
    """Redraws the card with each piece of output and each statement on a data source, at most every `INTERVAL_S`."""

    def __init__(self, turn: OpenTurn, status: str, running: RunCell | None = None) -> None:
        self._turn = turn
        self._status = status
        self._running = running
        self._text = ""
        self._shown_at = time.monotonic()
        show_progress(turn, status, running=running)

    def add(self, piece: str) -> None:
        """One more piece of output. Only its end is kept."""
        self._text = (self._text + piece)[-OUTPUT_CHARS:]
        self.again()

    def again(self) -> None:
        """The steps have changed."""
        if time.monotonic() - self._shown_at > INTERVAL_S:
            self._shown_at = time.monotonic()
            show_progress(self._turn, self._status, running=self._running, output=self._text)


def show_progress(turn: OpenTurn, status: str, *, running: RunCell | None = None, output: str = "") -> None:
    """Show the turn's card as it is now. `status` is the phrase of the status line."""
    view = partial(progress_of, turn.steps, turn.language)
    if running is None:
        turn.show.progress(view(note=clip(output.strip().rpartition("\n")[2], NOTE_CHARS)), status)
    else:
        turn.show.progress(view(running=running, live_output=output), status)
