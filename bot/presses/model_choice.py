"""Presses on the message that says that the model is unavailable: wait for it, go on with another model, or leave it
so.

The first press counts: its message has the ts of the one with the buttons. A later press finds no buttons any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.handling import Handling
from bot.payloads import read_press
from bot.pressed import pressed
from core.commands.registry import SWITCH
from core.commands.stepping_in import Switch
from core.errors import SlackFailed, SlackUnreachable
from core.interactions import ModelButton
from core.phrases import say
from core.rows import TurnRow
from core.slack import blocks as kit
from core.slack.text import escape
from core.slack.writing.writer import SlackWriter
from core.steps import Finished, Forgot, GaveUp
from core.store import Store
from core.telemetry import get_logger
from core.values import ThreadKey

log = get_logger(__name__)


class ModelChoices:
    """The listener of `ModelButton`. Nothing is kept in memory."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Do what a button says. Returns the outcome, a word for the log. Raises StoreUnreachable: then no ack."""
        press = read_press(body)
        button = ModelButton.decode(press.value) if press else None
        if press is None or button is None or not press.shown:
            return "malformed"
        turn, user, shown = self._store.turn(button.turn), press.user, press.shown
        key = ThreadKey.parse(turn.thread_id) if turn is not None else None
        if turn is None or key is None or (key.team, key.channel) != (team, press.channel):
            return "unknown"
        if not self._is_open(turn, key, shown):
            self._handler.background.after_ack(self._close, key, shown, say("model_choice_over", turn.language))
            self._slack.whisper(key, user, escape(say("model_choice_over", turn.language)))
            return "late"
        wanted = Switch(model=button.model if button.do == "use" else "", waits=button.do == "wait")
        message = pressed(key, user, shown, text=wanted.encode(), kind=SWITCH)
        if not self._handler.gate.may(message):
            return "refused"
        if button.do != "stop":
            self._handler.take_decision(message)
        author = self._slack.user_name(user)
        line = say(f"model_was_{button.do}", turn.language, author=author, model=button.model)
        self._handler.background.after_ack(self._close, key, shown, line, say("model_choice_over", turn.language))
        return "taken"

    def _is_open(self, turn: TurnRow, key: ThreadKey, shown: str) -> bool:
        """Whether the turn is the thread's last one, is over, and nobody has pressed here before."""
        if turn.status != "stopped" or self._store.turns(key.id)[-1].id != turn.id:
            return False
        if self._store.known_messages(key.team, key.channel, [shown]):
            return False
        # Commands that were carried out since stand behind the end.
        ends = [step for step in self._store.steps(turn.id) if isinstance(step, Finished | GaveUp | Forgot)]
        return bool(ends) and isinstance(ends[-1], GaveUp)

    def _close(self, key: ThreadKey, shown: str, line: str, instead_of: str = "") -> None:
        """Remove the buttons, and show the decision below. The current text is read from Slack. If two people press at
        once, the later press may be drawn first. Its line, `instead_of`, is then replaced.
        """
        try:
            blocks = self._slack.message_blocks(key, shown)
            given_way = [escape(instead_of)] if instead_of else None
            kept = [block for block in blocks if block.get("type") != "actions" and _texts(block) != given_way]
            if len(kept) == len(blocks):
                return
            self._slack.update(None, key, shown, kit.fallback(line), [*kept, kit.context(escape(line))])
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("model_choice_not_drawn", error=error)


def _texts(block: Mapping[str, Any]) -> list[object]:
    """The small grey texts of a block."""
    return [each.get("text") for each in block.get("elements", ()) if block.get("type") == "context"]
