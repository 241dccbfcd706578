"""What somebody does with a button, a form or a reaction, as a message of theirs in the thread that it is about."""

from __future__ import annotations

import time
from typing import NamedTuple

from core.values import IncomingMessage, Language, ThreadKey

NO_TS = "0.0"
"""For what somebody does that is no message: it is only asked whether they may."""


class Used(NamedTuple):
    """The person who used a form or a button, the thread, and their language. `at`: when the form was opened."""

    thread: ThreadKey
    user: str
    view_id: str
    language: Language
    at: str = ""


def now() -> str:
    """This moment as a ts, for what has none of its own."""
    return f"{time.time():.6f}"


def pressed(thread: ThreadKey, user: str, ts: str, *, text: str = "", kind: str = "text") -> IncomingMessage:
    """The message. Its `ts` is what makes it one: the same ts twice in a channel is one message."""
    return IncomingMessage(
        team=thread.team,
        channel=thread.channel,
        channel_type="im" if thread.channel.startswith("D") else "channel",
        ts=ts,
        root_ts=thread.root_ts,
        user=user,
        text=text,
        kind=kind,
        mention=True,
    )
