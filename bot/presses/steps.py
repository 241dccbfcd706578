"""One step of a turn, on demand: its code and its output in a modal, for whoever may look.

The card's button opens the newest step; a select in the modal shows another one. Everything is read from the Store at
each press, so it works while the turn runs, after a restart, and for as long as the turn is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bot.handling import Handling
from bot.payloads import read_press
from bot.pressed import NO_TS, pressed
from bot.presses.reports import tell_not_kept
from core.interactions import StepButton
from core.phrases import say
from core.rows import TurnRow
from core.slack.text import escape
from core.slack.views.modals import View
from core.slack.views.reports import step_view
from core.slack.writing.writer import SlackWriter
from core.steps import CellRan, Forgot, Step
from core.store import Store
from core.thread_cells import numbered_cells, told_from, undone_cells
from core.values import ThreadKey


class Told(NamedTuple):
    """A turn with the steps of its thread up to it. `later` are those that came after."""

    turn: TurnRow
    turns: tuple[Sequence[Step], ...]
    later: tuple[Sequence[Step], ...]

    @property
    def key(self) -> ThreadKey:
        """The thread of the turn."""
        return ThreadKey.parse(self.turn.thread_id)

    def view(self, button: StepButton) -> View:
        """The step that a button names. What cells printed is not told any more once the thread was reset."""
        own = {step.cell_id for step in self.turns[-1] if isinstance(step, CellRan)}
        undone = undone_cells(self.later)
        shown = [
            replace(one, cell=one.cell.model_copy(update={"status": "undone"})) if cell_id in undone else one
            for cell_id, one in numbered_cells(self.turns).items()
            if cell_id in own
        ]
        is_reset = any(isinstance(step, Forgot) and step.done for steps in self.later for step in steps)
        return step_view(self.turn.id, shown, button.cell, self.turn.language, button.page, output=not is_reset)


class Steps:
    """The listener of `StepButton`. Nothing is kept in memory."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Open a step, or show another one in the open modal. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = StepButton.decode(press.value) if press else None
        if press is None or button is None:
            return "malformed"
        told = self._told(button.turn, team)
        if told is None:
            return tell_not_kept(self._slack, button.turn, team, press)
        if not press.view and told.key.channel != press.channel:
            return "unknown"
        look, held = pressed(told.key, press.user, press.ts or NO_TS), told_from(told.turns)
        if not self._handler.gate.may_look(look, held, by_window=bool(press.view)):
            return "refused"
        if press.view:
            self._slack.update_form(told.key, press.view, press.view_hash, told.view(button))
            return "turned"
        if not self._slack.open_form(told.key, press.trigger, told.view(button)):
            self._slack.whisper(told.key, press.user, escape(say("view_not_opened", told.turn.language)))
            return "not opened"
        return "shown"

    def _told(self, turn_id: str, team: str) -> Told | None:
        turn = self._store.turn(turn_id)
        if turn is None or ThreadKey.parse(turn.thread_id).team != team:
            return None
        steps = self._store.thread_steps(turn.thread_id)
        place = list(steps).index(turn_id) if turn_id in steps else len(steps)  # a turn that just began has none
        turns = (*steps.values(), ()) if turn_id not in steps else tuple(steps.values())
        return Told(turn, turns[: place + 1], turns[place + 1 :])
