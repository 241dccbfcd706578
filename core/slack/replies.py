"""A sentence of ours that answers one message outside any turn: the help, or why a command had nothing to act on."""

from __future__ import annotations

from typing import Final

from core.interactions import LeaveButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import SlackMessage
from core.values import Language, ThreadKey

HELP: Final = "help"
HELP_STRICT: Final = "help_strict"
"""The help for channels where every message has to mention the bot."""


def reply_key(thread: ThreadKey, ts: str) -> str:
    """The outbox key of the answer to the message at `ts`: bot and workers give each message one at most."""
    return f"{thread.id}/help:{ts}"


def reply_message(phrase: str, thread: ThreadKey, language: Language) -> SlackMessage:
    """The answer `phrase`. The help has a Leave button, except in a direct message, which is with the bot alone."""
    text = say(phrase, language)
    if phrase not in (HELP, HELP_STRICT) or thread.channel.startswith("D"):
        return SlackMessage(text, [])
    leave = kit.button(say("leave_button", language), LeaveButton(thread=thread.id))
    return SlackMessage(text, [kit.section(text), kit.actions(leave)])
