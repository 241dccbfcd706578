"""Watches a cell without output for a long time: the model looks at it, and the thread is asked whether to stop it."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from core.interactions import StopButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.text import escape
from core.steps import Replied
from core.telemetry import get_logger
from core.values import ThreadKey
from workers.agent.about_steps import payer
from workers.agent.actions import RunCell
from workers.agent.silence import Look, look_at, read_look
from workers.models.base import ModelError, ModelRequest
from workers.turn.budgets import spent_of
from workers.turn.late_threads import LateThread
from workers.turn.open_turn import OpenTurn
from workers.turn.privacy import masked_messages

log = get_logger(__name__)


class SilenceWatch:
    """A `with` block around the run of one cell. It asks the model and the thread once; what goes wrong there is
    logged and stops nothing. What the model took is stored when the block ends."""

    def __init__(self, turn: OpenTurn, cell: RunCell) -> None:
        self._turn = turn
        self._cell = cell
        self._silent_s = turn.context.settings.limits.silence_s
        self._over = threading.Event()
        self._is_done = False
        self._heard_at = time.monotonic()
        self._began_at = self._heard_at
        self._output = ""
        self._ts, self._text = "", ""
        self._reply: Replied | None = None
        self._watcher = LateThread(self._watch, after_s=self._silent_s, name="silence")

    def __enter__(self) -> SilenceWatch:
        if self._silent_s:
            self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_done = kind is None
        self._over.set()
        self._watcher.call_off(0.0 if self._ts else 0.1)  # one that asks the model right now is left alone
        if self._ts and self._is_done:
            self._close()

    def heard(self, text: str) -> None:
        """The cell has shown something."""
        self._heard_at = time.monotonic()
        self._output = (self._output + text)[-2_000:]

    def store_look(self) -> None:
        """Store what the model was asked, with what it took. Call it in the thread that works on the turn."""
        if (reply := self._reply) is not None:
            spent = spent_of(reply.usage, reply.model, self._turn.context.settings)
            self._turn.append_reply(reply, spent=spent, user=payer(self._turn.steps))

    def _watch(self) -> None:
        while not self._over.wait(max(0.01, self._heard_at + self._silent_s - time.monotonic())):
            if time.monotonic() - self._heard_at >= self._silent_s:
                try:
                    self._ask()
                except Exception as failure:
                    log.warning("silence_not_told", error=failure)
                return

    def _ask(self) -> None:
        turn, cell = self._turn, self._cell
        where = turn.context.sessions.where(turn.thread_id)
        line = (where.line or 0) if where is not None else 0
        seconds = time.monotonic() - self._began_at
        look = self._look(line, seconds)
        if self._over.is_set():
            return
        about = say("silent_line", turn.language, line=line) if line else ""
        advice = say(f"silent_{look.advice}", turn.language, why=look.why) if look.advice and look.why else ""
        asked = say("silent_cell", turn.language, title=cell.title, seconds=round(seconds))
        text = " ".join(filter(None, (asked, about, advice, say("silent_hint", turn.language))))
        stop = kit.button(say("stop_button", turn.language), StopButton(turn=turn.row.id), style="danger")
        key = f"{turn.row.id}:silent:{cell.cell_id}"
        blocks = [kit.paragraph(text), kit.actions(stop)]
        self._text = text
        self._ts = turn.context.slack.post(turn.lease, self._thread, key, escape(text), blocks)
        if self._over.is_set() and self._is_done:  # the cell ended while this was posted
            self._close()

    @property
    def _thread(self) -> ThreadKey:
        return ThreadKey.parse(self._turn.thread_id)

    def _look(self, line: int, seconds: float) -> Look:
        """What the model says; nothing where it is unavailable, or has no budget left for it."""
        turn, model = self._turn, self._turn.model
        view = turn.view()
        if view.allowance is not None and view.allowance.calls < 1:
            return Look()
        action = look_at(view, self._cell, line=line, seconds=seconds, output=self._output)
        shown, masked = masked_messages(turn, action)
        began = time.monotonic()
        try:
            reply = model.complete(ModelRequest(shown, (), "look", view), lambda _piece: None)
        except ModelError as failure:
            log.info("no_look", error=failure)
            return Look()
        if reply.usage.prompt_tokens or reply.text:
            self._reply = Replied(
                purpose="look",
                text=reply.text,
                usage=reply.usage,
                finish=reply.finish,
                model=model.name,
                cost_micros=spent_of(reply.usage, model.name, turn.context.settings).cost_micros,
                duration_s=round(time.monotonic() - began, 3),
                masked=masked,
            )
        return read_look(reply.text)

    def _close(self) -> None:
        """Take the button away: the cell is over."""
        blocks = [kit.paragraph(self._text), kit.context(escape(say("silent_over", self._turn.language)))]
        try:
            self._turn.context.slack.update(self._turn.lease, self._thread, self._ts, escape(self._text), blocks)
        except Exception as failure:
            log.warning("silence_not_closed", error=failure)
