"""The person who opens the home, and what the home's parts need from the bot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from bot.finding import Sight
from core.access import Verdict
from core.actions import Action
from core.preferences import PersonPreferences
from core.queue import Seen
from core.settings import Settings
from core.slack.writer import SlackWriter
from core.store import Store
from core.values import IncomingMessage, Language, ThreadKey

HOME_TS: Final = "0.0"
"""The ts of the thread that a person's home, or a channel, stands for: nothing is ever posted there."""

Ack = dict[str, Any]
"""What the ack of a submitted form says: {} closes it."""


class Takes(Protocol):
    """What takes messages in and knows who may what, as `MessageHandler` does."""

    @property
    def settings(self) -> Settings:
        """The settings of this process."""

    @property
    def sight(self) -> Sight:
        """Says which threads a person may see."""

    def in_time(self, work: Callable[[], None], seconds: float) -> bool:
        """Have something looked up; False when it took too long, or Slack does not tell it now."""

    def take_decision(self, message: IncomingMessage) -> None:
        """Keep the message and wake its thread. Raises when it was not kept: then no ack."""

    def may(self, message: IncomingMessage) -> bool:
        """Whether its author may do what it does; if not, they are told."""

    def verdict_on(self, user: str, thread: ThreadKey, action: Action) -> Verdict:
        """Whether a person may do this; what Slack does not tell in time counts as no."""

    def may_ask(self, user: str, thread: ThreadKey, source: str) -> bool:
        """Whether a person may ask a data source in a thread."""

    def seen(self) -> Seen:
        """What Redis knows of the nodes and of the queues. Raises redis.RedisError."""

    def after_ack(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do something after the ack, so that the ack is not delayed."""


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
