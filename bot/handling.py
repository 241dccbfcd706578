"""What the listeners of buttons, forms and windows need from the message handler. `MessageHandler` has all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from bot.finding import Sight
from core.access import Verdict
from core.actions import Action
from core.settings import Settings
from core.values import IncomingMessage, ThreadKey


class AfterAck(Protocol):
    """Does work after the ack."""

    def after_ack(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do something after the ack, so that the ack is not delayed."""


class TakesDecisions(AfterAck, Protocol):
    """Takes what a person decided with a button or a form."""

    def take_decision(self, message: IncomingMessage) -> None:
        """Keep the message and wake its thread. Raises when it was not kept: then no ack."""

    def may(self, message: IncomingMessage) -> bool:
        """Whether its author may do what the message does; if not, they are told."""


class MayLook(Protocol):
    """Says who may see what a report or a turn rests on."""

    def may_look(self, message: IncomingMessage, sources: Sequence[str], *, by_window: bool = False) -> bool:
        """Whether the author of a message may see what comes from these data sources; if not, they are told.

        `by_window`: it came by a window, and Slack does not say that the person is in the channel.
        """


class Judges(AfterAck, Protocol):
    """Says what a person may do."""

    @property
    def settings(self) -> Settings:
        """The settings of this process."""

    def verdict_on(self, user: str, thread: ThreadKey, action: Action) -> Verdict:
        """Whether a person may do this; what Slack does not tell in time counts as no."""


class FindsThreads(Judges, Protocol):
    """Says which threads a person may see."""

    @property
    def sight(self) -> Sight:
        """Says which threads a person may see."""

    def in_time(self, work: Callable[[], None], seconds: float) -> bool:
        """Have something looked up; False when it took too long, or Slack does not tell it now."""
