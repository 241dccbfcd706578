"""The person who opens the home, and what the home's parts need from the bot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from bot.handling import Handling
from core.preferences import PersonPreferences
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.values import Language, ThreadKey

HOME_TS: Final = "0.0"
"""The ts of the thread that a person's home, or a channel, stands for: nothing is ever posted there."""


class Reader(NamedTuple):
    """The reader: team, user, the language of the page, their direct message with the bot."""

    team: str
    user: str
    language: Language
    direct: str


class Person(NamedTuple):
    """The owner of the home: team and user, their choices, the language of the page, their direct message."""

    team: str
    user: str
    chosen: PersonPreferences
    language: Language
    place: ThreadKey

    @property
    def reader(self) -> Reader:
        """The same person, as the windows of the home know them."""
        return Reader(self.team, self.user, self.language, self.place.channel)


def person_of(store: Store, slack: SlackWriter, team: str, user: str) -> Person:
    """A person with what they chose. Raises SlackFailed or SlackUnreachable when Slack does not tell of them."""
    chosen = PersonPreferences.read(store.preferences(team, [user]).get(user))
    language = chosen.language or slack.user_language(user)
    place = ThreadKey(team, slack.direct_message(user), HOME_TS)
    return Person(team, user, chosen, language, place)


class HomePart:
    """A part of the home with listeners of its own. Nothing of people is kept in memory."""

    def __init__(
        self,
        store: Store,
        slack: SlackWriter,
        handler: Handling,
        reader: Callable[[str, str], Reader],
        redraw: Callable[[str, str], None],
    ) -> None:
        """`reader` says who a person of a team is, `redraw` draws their home again."""
        self._store = store
        self._slack = slack
        self._handler = handler
        self._reader = reader
        self._redraw = redraw
