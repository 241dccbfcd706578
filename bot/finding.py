"""“find: …”: looks through the threads that the asker may see, and shows them to the asker alone.

The threads contain the words. If the team has set an embedding model, threads with the same meaning are found too.

The answer may name threads of private channels, so nobody else in the channel gets it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bot.pressed import NO_TS, pressed
from core.actions import Action
from core.authorization import Authorizer
from core.commands.registry import argument_of
from core.errors import SlackUnreachable
from core.meaning import threads_near
from core.phrases import say
from core.rows import FoundThread
from core.settings import Settings
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip, escape
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.store.full_text import words_in
from core.thread_cells import told_from
from core.values import IncomingMessage, Language, ThreadKey

FIND = "find"
SHOWN = 8
LOOKED_AT = 100
"""Threads of one search that are looked at: each may take a call to Slack."""
_TITLE_CHARS, _EXCERPT_CHARS = 120, 180
_WHITE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Sight:
    """Says which threads a person may see."""

    settings: Settings
    store: Store
    slack: SlackWriter
    access: Authorizer

    def of(self, team: str, user: str, known: Iterable[str] = ()) -> Callable[[str], bool]:
        """For one search of a person: whether they may see the thread with this id. It raises SlackUnreachable.

        They may read its channel, look at reports there, and have the data that it was made of. Slack is asked once
        for each channel, but not for those that they are `known` to be in.
        """
        channels = dict.fromkeys(known, True)

        def may_see(thread_id: str) -> bool:
            key = ThreadKey.parse(thread_id)
            if key.team != team:
                return False
            if key.channel not in channels:
                own = {team, *self.settings.access.own_teams}
                channels[key.channel] = self.slack.may_read(key.channel, user, own)
            if not channels[key.channel] or not self.access.may(pressed(key, user, NO_TS), Action.LOOK):
                return False
            # Reports from before a reset are found too, so their sources count.
            held = told_from(list(self.store.thread_steps(thread_id).values()))
            return bool(self.access.may_have(user, key, held))

        return may_see


def candidates(
    settings: Settings, store: Store, wanted: str, *, team: str, channel: str = "", thread_id: str = ""
) -> list[FoundThread]:
    """The threads that fit these words, before anybody asks whether a person may see them; said in this thread."""
    near = threads_near(settings, store, wanted, team=team, channel=channel, thread_id=thread_id)
    return store.find_threads(words_in(wanted), near=near, team=team, limit=LOOKED_AT)


@dataclass(frozen=True, slots=True)
class Finder:
    """Answers a search."""

    store: Store
    slack: SlackWriter
    sight: Sight

    def answer(self, message: IncomingMessage) -> None:
        """Whisper what was found to the author. Never raises SlackUnreachable."""
        language = self.slack.user_language(message.user)
        wanted = argument_of(FIND, message.text)
        words = words_in(wanted)
        if not words:
            self.slack.whisper(message.thread, message.user, escape(say("find_empty", language)))
            return
        shown: list[FoundThread] = []
        may_see = self.sight.of(message.team, message.user)
        try:
            for found in self._candidates(message, wanted):
                if len(shown) == SHOWN:
                    break
                if found.thread_id != message.thread.id and may_see(found.thread_id):  # the search itself stands there
                    shown.append(found)
        except SlackUnreachable:
            self.slack.whisper(message.thread, message.user, escape(say("find_later", language)))
            return
        said = " ".join(words)
        if not shown:
            self.slack.whisper(message.thread, message.user, escape(say("find_nothing", language, words=said)))
            return
        phrase = "find_found_near" if self.sight.settings.memory.embedding_model else "find_found"
        text = escape(say(phrase, language, words=said, count=len(shown)))
        blocks = [kit.section(text)]
        for found in shown:
            blocks += self._lines(found, words, language)
        links = {self.slack.link(ThreadKey.parse(found.thread_id)) for found in shown}
        self.slack.whisper(message.thread, message.user, text, blocks, known=links)

    def _candidates(self, message: IncomingMessage, wanted: str) -> list[FoundThread]:
        settings, thread_id = self.sight.settings, message.thread.id
        return candidates(settings, self.store, wanted, team=message.team, channel=message.channel, thread_id=thread_id)

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
        texts = self.store.texts_of(found.thread_id)
        excerpt = excerpt_of(texts, words)
        if "words" not in found.by and not excerpt and len(texts) > 1:
            excerpt = clip(_WHITE.sub(" ", texts[-1]).strip(), _EXCERPT_CHARS)
        if key.is_imported:
            about = say("find_imported", language, day=f"{found.last_at:%Y-%m-%d}", name=key.root_ts)
        by = [say(f"find_by_{way}", language) for way in found.by] if self.sight.settings.memory.embedding_model else []
        line = kit.context(where, escape(about), *([escape(" · ".join(by))] if by else []))
        return [kit.section(f"{head}\n{escape(excerpt)}" if excerpt else head), line]


def excerpt_of(texts: Sequence[str], words: Sequence[str]) -> str:
    """A line around the first of the words that is in a text after the first one; "" when none does."""
    for text in (*texts[1:], *texts[:1]):
        plain = _WHITE.sub(" ", text).strip()
        at = next((place for word in words if (place := plain.casefold().find(word)) >= 0), None)
        if at is not None:
            start = max(0, at - _EXCERPT_CHARS // 3)
            return ("…" if start else "") + clip(plain[start:], _EXCERPT_CHARS)
    return ""
