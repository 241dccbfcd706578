"""What the listeners of buttons, forms and windows need from the message handler. `MessageHandler` has all of it."""

from __future__ import annotations

from typing import Protocol

from bot.background import Background
from bot.gate import Gate
from core.queue import Seen
from core.settings import Settings
from core.values import IncomingMessage


class Handling(Protocol):
    """Takes what a person decided with a button or a form, and says what they may do and see."""

    @property
    def settings(self) -> Settings:
        """The settings of this process."""

    @property
    def gate(self) -> Gate:
        """Says what a person may do."""

    @property
    def background(self) -> Background:
        """Does what must not delay the ack."""

    def take_decision(self, message: IncomingMessage) -> None:
        """Keep the message and wake its thread. Raises when it was not kept: then no ack."""

    def seen(self) -> Seen:
        """What Redis knows of the nodes and of the queues. Raises redis.RedisError."""
