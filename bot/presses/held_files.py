"""Presses on the message that lists files which wait for a yes.

A press becomes a message of the command FILES. The worker decides whether it counts. If the question is already
decided, a press only draws the message again, and the person is told what was decided. Nothing is kept in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.handling import Handling
from bot.payloads import read_press
from bot.pressed import pressed
from core.commands.registry import FILES
from core.errors import SlackFailed, SlackUnreachable
from core.held_files import FilesDecision, Held, held_as
from core.interactions import FilesButton
from core.phrases import say
from core.slack.text import escape
from core.slack.views.held_files import settled_line, settled_message
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.telemetry import get_logger
from core.values import Language, ThreadKey

log = get_logger(__name__)


class HeldFiles:
    """The listener of `FilesButton`."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Do what a button says. Returns the outcome, a word for the log. Raises StoreUnreachable: then no ack."""
        press = read_press(body)
        button = FilesButton.decode(press.value) if press else None
        if press is None or button is None or not press.ts:
            return "malformed"
        thread = ThreadKey.parse(button.thread)
        if (thread.team, thread.channel) != (team, press.channel):
            return "unknown"
        question = held_as(self._store.thread_steps(thread.id).values(), button.held)
        if question is None:
            return "unknown"
        if not question.is_open:
            self._tell_late(thread, press.shown, press.user, question)
            return "late"
        text = FilesDecision(held=button.held, do=button.do).encode()
        self._handler.take_decision(pressed(thread, press.user, press.ts, text=text, kind=FILES))
        return "taken"

    def _tell_late(self, thread: ThreadKey, shown: str, user: str, question: Held) -> None:
        language = self._language(thread, question)
        message = settled_message(question, language)
        try:
            self._slack.update(None, thread, shown, message.text, message.blocks)
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("files_question_not_redrawn", error=error)
        text = say("approval_late", language, line=settled_line(question, language))
        self._slack.whisper(thread, user, escape(text))

    def _language(self, thread: ThreadKey, question: Held) -> Language:
        """The language of the turn that asked, which the message is drawn in."""
        asked = next(
            turn_id for turn_id, steps in self._store.thread_steps(thread.id).items() if question.held in steps
        )
        turn = self._store.turn(asked)
        return turn.language if turn is not None else "en"
