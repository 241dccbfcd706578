"""“find: …”: looks through the threads that the asker may see, and shows them to the asker alone.

The answer may name threads of private channels, so nobody else in the channel gets it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.actions import Action
from core.authorization import Authorizer
from core.commands import argument_of
from core.errors import SlackUnreachable
from core.phrases import say
from core.rows import FoundThread
from core.settings import Settings
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip, escape
from core.slack.writer import SlackWriter
from core.store import Store
from core.store.full_text import words_in
from core.thread_cells import since_reset, sources_asked
from core.values import IncomingMessage, Language, ThreadKey

FIND = "find"
SHOWN = 8
LOOKED_AT = 100
"""Threads of one search that are looked at: each may take a call to Slack."""
_TITLE_CHARS, _EXCERPT_CHARS = 120, 180
_WHITE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Finder:
    """Answers a search."""

    settings: Settings
    store: Store
    slack: SlackWriter
    access: Authorizer

    def answer(self, message: IncomingMessage) -> None:
        """Whisper what was found to the author. Never raises SlackUnreachable."""
        language = self.slack.user_language(message.user)
        words = words_in(argument_of(FIND, message.text))
        if not words:
            self.slack.whisper(message.thread, message.user, escape(say("find_empty", language)))
            return
        shown: list[FoundThread] = []
        try:
            for found in self.store.find_threads(words, team=message.team, limit=LOOKED_AT):
                if len(shown) == SHOWN:
                    break
                if self.may_see(message, found):
                    shown.append(found)
        except SlackUnreachable:
            self.slack.whisper(message.thread, message.user, escape(say("find_later", language)))
            return
        said = " ".join(words)
        if not shown:
            self.slack.whisper(message.thread, message.user, escape(say("find_nothing", language, words=said)))
            return
        text = escape(say("find_found", language, words=said, count=len(shown)))
        blocks = [kit.section(text)]
        for found in shown:
            blocks += self._lines(found, words, language)
        links = {self.slack.link(ThreadKey.parse(found.thread_id)) for found in shown}
        self.slack.whisper(message.thread, message.user, text, blocks, known=links)

    def may_see(self, message: IncomingMessage, found: FoundThread) -> bool:
        """Whether the author may read the thread's channel, look at reports there, and ask the sources it has rows of.

        Raises SlackUnreachable.
        """
        key = ThreadKey.parse(found.thread_id)
        if key == message.thread:
            return False  # the search itself stands there
        there = message.model_copy(update={"channel": key.channel, "root_ts": key.root_ts})
        own = {message.team, *self.settings.access.own_teams}
        if not self.slack.may_read(key.channel, message.user, own) or not self.access.may(there, Action.LOOK):
            return False
        turns = list(self.store.thread_steps(found.thread_id).values())
        held = sources_asked(since_reset(turns))
        return all(self.access.may_ask(source, key, {message.user}) for source in held)

    def _lines(self, found: FoundThread, words: Sequence[str], language: Language) -> list[Block]:
        title = escape(clip(_WHITE.sub(" ", found.description or found.question).strip(), _TITLE_CHARS)) or "…"
        key = ThreadKey.parse(found.thread_id)
        link = None if key.is_imported else self.slack.link(key)
        head = f"{':pushpin: ' if found.pinned_by else ''}*<{link}|{title}>*" if link else f"*{title}*"
        where = f"<#{found.channel}>" if not found.channel.startswith("D") else say("find_direct", language)
        about = say(
            "find_about",
            language,
            author=found.author or "…",
            day=f"{found.last_at:%Y-%m-%d}",
            turns=found.turns,
        )
        excerpt = excerpt_of(self.store.texts_of(found.thread_id), words)
        if key.is_imported:
            about = say("find_imported", language, day=f"{found.last_at:%Y-%m-%d}", name=key.root_ts)
        return [kit.section(f"{head}\n{escape(excerpt)}" if excerpt else head), kit.context(where, escape(about))]


def excerpt_of(texts: Sequence[str], words: Sequence[str]) -> str:
    """A line around the first of the words that stands in a text after the first one; "" when none does."""
    for text in (*texts[1:], *texts[:1]):
        plain = _WHITE.sub(" ", text).strip()
        at = next((place for word in words if (place := plain.casefold().find(word)) >= 0), None)
        if at is not None:
            start = max(0, at - _EXCERPT_CHARS // 3)
            return ("…" if start else "") + clip(plain[start:], _EXCERPT_CHARS)
    return ""
