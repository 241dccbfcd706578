"""Questions that somebody asks by a form or a button: about a message, a changed one again, a suggested one.

The bot posts such a question as its own message that says who asks, and stores it with the ts of that message. So the
question has its signs, and asking twice is asking once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from bot.acks import Ack, wrong_in
from bot.handling import Handling
from bot.payloads import read_press
from bot.pressed import NO_TS, Used, pressed
from core.errors import SlackFailed, SlackUnreachable
from core.interactions import AgainButton, SuggestionButton
from core.phrases import say
from core.slack.reading.app_messages import app_text
from core.slack.reading.incoming import MAX_TEXT, files_in, words_in
from core.slack.text import escape, plain
from core.slack.views import menu as drawn
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.telemetry import get_logger
from core.values import FileRef, ThreadKey

log = get_logger(__name__)


class _Asking(NamedTuple):
    """A question about a message: our sentence, the message as it is shown, what the analyst reads, its files."""

    line: str
    shown: str
    text: str
    files: tuple[FileRef, ...] = ()


class Questions:
    """Asks them, and listens to `AgainButton` and `SuggestionButton`. Nothing is kept in memory."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def about(self, used: Used, ts: str, question: str, field: str) -> Ack:
        """Ask about a message, in the name of the person who chose that. `field` shows what goes wrong."""
        thread, language = used.thread, used.language
        try:
            found = self._slack.message(thread, ts)
            if found is None:
                return wrong_in(field, say("menu_not_here", language))
            asking = self._asking(found, used, question, comes_along=self._comes_along(found, thread))
            if asking is None:
                return wrong_in(field, say("menu_no_text", language))
            self._asked(used, f"about:{used.view_id or ts}", asking)
        except SlackFailed as error:
            log.info("not_asked", error=error)
            return wrong_in(field, say("menu_not_here", language))
        except SlackUnreachable as error:
            log.info("not_asked", error=error)
            return wrong_in(field, say("menu_away", language))
        return {}

    def again(self, body: Mapping[str, Any], team: str) -> str:
        """Ask a changed question again. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = AgainButton.decode(press.value) if press else None
        thread = ThreadKey.parse(button.thread) if button else None
        if press is None or button is None or thread is None or (thread.team, thread.channel) != (team, press.channel):
            return "malformed"
        user, written = press.user, self._store.written(team, press.channel, button.ts)
        if written is None or written.user != user or written.kind != "text":
            return "not theirs"
        text, language = written.text, self._slack.user_language(user)
        if not text.strip():  # its words were edited away since
            self._slack.whisper(thread, user, escape(say("menu_no_text", language)))
            return "empty"
        key = f"again:{button.ts}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        line = say("about_again", language, author=self._slack.user_name(user))
        try:
            return self._asked(Used(thread, user, "", language), key, _Asking(line, text, text))
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("not_asked_again", error=error)
            return "not posted"

    def suggested(self, body: Mapping[str, Any], team: str) -> str:
        """Ask a suggested question in the name of the person who pressed it, once per button. Returns the outcome."""
        press = read_press(body)
        button = SuggestionButton.decode(press.value) if press else None
        thread = ThreadKey.parse(button.thread) if button else None
        if press is None or button is None or thread is None or not press.shown:
            return "malformed"
        if (thread.team, thread.channel) != (team, press.channel):
            return "malformed"
        user, language = press.user, self._slack.user_language(press.user)
        line = say("about_ask", language, author=self._slack.user_name(user), question=button.question)
        try:
            key = f"suggest:{press.shown}:{button.n}"
            return self._asked(Used(thread, user, "", language), key, _Asking(line, "", button.question))
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("suggestion_not_asked", error=error)
            return "not posted"

    def _comes_along(self, found: Mapping[str, Any], thread: ThreadKey) -> bool:
        """Whether the message is read anyhow: a talk that the bot is called into brings its first message, if a person
        wrote it."""
        is_first = found.get("ts") == thread.root_ts and not found.get("bot_id")
        return is_first and not self._store.knows_thread(thread)

    def _asking(self, found: Mapping[str, Any], used: Used, question: str, *, comes_along: bool) -> _Asking | None:
        """What is asked about a message of Slack; None when there is nothing in it."""
        files, name_of = files_in(found), self._slack.user_name
        said = (words_in(found, name_of), plain(app_text(found)[:MAX_TEXT], "", name_of))
        text = "\n\n".join(filter(None, said))
        if not text and not files:
            return None
        writer, language = str(found.get("user") or ""), used.language
        name, author = self._slack.user_name(writer) if writer else "…", self._slack.user_name(used.user)
        quoted = "\n".join(f"> {line}" for line in text.splitlines())
        if comes_along:
            quoted, files = "", ()
        if question:
            line = say("about_ask", language, author=author, question=question)
            asks = "\n".join([question, "", say("about_prompt_ask", language), quoted]) if quoted else question
        else:
            phrase = "about_analyse_own" if writer in ("", used.user) else "about_analyse"
            line = say(phrase, language, author=author, writer=name)
            asks = "\n".join([say("about_prompt", language), quoted]).rstrip()
        return _Asking(line, text, asks[:MAX_TEXT], files)

    def _asked(self, used: Used, key: str, asking: _Asking) -> str:
        """Post who asks what, once per key, and take it in. Raises SlackFailed, SlackUnreachable."""
        thread = used.thread
        if not self._handler.gate.may(pressed(thread, used.user, NO_TS, text=asking.text)):
            return "refused"
        self._store.note_thread(thread)
        blocks = drawn.quoted_blocks(asking.line, asking.shown)
        key = f"{thread.id}/{key}"
        ts = self._slack.post_once(None, thread, key, escape(asking.line), blocks, pressed=True).ts
        if not ts:
            return "being asked"
        message = pressed(thread, used.user, ts, text=asking.text)
        self._handler.take_decision(message.model_copy(update={"files": asking.files}))
        return "asked"
