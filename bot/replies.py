"""What the bot itself says in a thread: the first sign, the help, and the answers that need no worker."""

from __future__ import annotations

import time

from core.commands.approvals import PRESSES
from core.commands.registry import language_of
from core.errors import OursToFix
from core.interactions import AgainButton, Reaction
from core.metrics import FIRST_SIGN
from core.phrases import say
from core.settings import Settings
from core.slack.text import escape
from core.slack.views.menu import again_blocks
from core.slack.views.replies import HELP, HELP_STRICT, reply_key, reply_message
from core.slack.writing.writer import SlackWriter
from core.steps import Briefed
from core.store import Store
from core.store.changes import Touched
from core.suggesting import suggestions
from core.telemetry import get_logger
from core.values import IncomingMessage, Language, ThreadKey

log = get_logger(__name__)


class Replies:
    """Writes them to Slack, each once. Slow: it is called after the ack."""

    def __init__(self, settings: Settings, store: Store, slack: SlackWriter) -> None:
        self._settings = settings
        self._store = store
        self._slack = slack

    def show_first_sign(self, message: IncomingMessage, arrived: float) -> None:
        """A sign for a message that `arrived` at this monotonic time; how long it took is measured."""
        self.show_sign(message)
        FIRST_SIGN.observe(time.monotonic() - arrived)

    def show_sign(self, message: IncomingMessage) -> None:
        """Show that a message is there: a reaction, a status line, a title for a new direct message."""
        if message.channel_type == "im" and message.ts == message.root_ts and message.text:
            self._slack.set_title(message.thread, message.text)
        if message.kind not in PRESSES:
            self.react(message, Reaction.RECEIVED)
        self._slack.set_status(message.thread, say("status_received", self._slack.user_language(message.user)))

    def react(self, message: IncomingMessage, sign: str) -> None:
        """Put a reaction on a message."""
        self._slack.react(message.thread, message.ts, sign)

    def help(self, message: IncomingMessage) -> None:
        """Answer a mention without words."""
        is_strict = self._settings.strict_mention(message.channel) and message.channel_type != "im"
        self.answer(message, HELP_STRICT if is_strict else HELP)

    def answer(self, message: IncomingMessage, phrase: str) -> None:
        """Answer a message with a phrase, in its language."""
        thread = message.thread
        language = language_of(message.text, self._slack.user_language(message.user))
        try:
            questions = self._questions(thread, language) if phrase in (HELP, HELP_STRICT) else ()
            said = reply_message(phrase, thread, language, questions)
            self._slack.post(None, thread, reply_key(thread, message.ts), said.text, said.blocks or None)
        except OursToFix as error:
            log.warning("answer_not_posted", phrase=phrase, thread=message.thread.id, error=error)

    def offer_again(self, touched: Touched, ts: str) -> None:
        """Offer the author of an answered question that has changed to ask it again."""
        thread, language = ThreadKey.parse(touched.thread_id), self._slack.user_language(touched.user)
        blocks = again_blocks(AgainButton(thread=thread.id, ts=ts), language)
        self._slack.whisper(thread, touched.user, escape(say("again_offer", language)), blocks)

    def _questions(self, thread: ThreadKey, language: Language) -> tuple[str, ...]:
        """Questions that fit the files which the thread has."""
        steps = (step for turn in self._store.thread_steps(thread.id).values() for step in turn)
        return suggestions([file for step in steps if isinstance(step, Briefed) for file in step.files], language)
