"""Replies of people that were left alone because the bot takes no part in their thread, without their words.

Slack's order is no promise, and a mention may wait for the Store while the replies to it are handled. Such a reply was
for the bot: it is looked up in Slack once the mention is stored.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from core.store.participation import moment
from core.values import IncomingMessage, ThreadKey

MOST_THREADS = 10_000
MOST_REPLIES = 200
"""Of one thread, the latest ones: one that came before its mention is enough."""


class LeftAlone:
    """Which replies were left alone lately. Safe to share between threads."""

    def __init__(self) -> None:
        self._replies: OrderedDict[ThreadKey, set[str]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, reply: IncomingMessage) -> None:
        """Remember a reply. Call it before the Store is asked for its thread.

        A mention that is stored after that question then finds it.
        """
        with self._lock:
            replies = self._replies.setdefault(reply.thread, set())
            replies.add(reply.ts)
            if len(replies) > MOST_REPLIES:
                replies.discard(min(replies, key=moment))
            self._replies.move_to_end(reply.thread)
            while len(self._replies) > MOST_THREADS:
                self._replies.popitem(last=False)

    def take_back(self, reply: IncomingMessage) -> None:
        """Forget a reply: it is for the bot."""
        with self._lock:
            if (replies := self._replies.get(reply.thread)) is not None:
                replies.discard(reply.ts)
                if not replies:
                    del self._replies[reply.thread]

    def behind(self, message: IncomingMessage) -> bool:
        """Whether replies behind this message were left alone. Those of its thread are forgotten."""
        with self._lock:
            replies = self._replies.pop(message.thread, set())
        return any(moment(ts) > moment(message.ts) for ts in replies)
