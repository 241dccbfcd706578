"""A sentence of ours that answers one message outside any turn: the help, or why a command had nothing to act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.interactions import LeaveButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, SlackMessage
from core.slack.views.suggestions import questions_blocks
from core.values import Language, ThreadKey

HELP: Final = "help"
HELP_STRICT: Final = "help_strict"
"""The help for channels where every message has to mention the bot."""


def reply_key(thread: ThreadKey, ts: str) -> str:
    """The outbox key of the answer to the message at `ts`: bot and workers give each message one at most."""
    return f"{thread.id}/help:{ts}"


def reply_message(phrase: str, thread: ThreadKey, language: Language, questions: Sequence[str] = ()) -> SlackMessage:
    """The answer `phrase`. The help has the `questions` that fit the thread's data, one a button.

    It has a Leave button, except in a direct message, which is with the bot alone.
    """
    text = say(phrase, language)
    if phrase not in (HELP, HELP_STRICT):
        return SlackMessage(text, [])
    blocks: list[Block] = [kit.section(text)]
    if questions:
        blocks += questions_blocks(thread, questions, say("help_examples", language))
    if not thread.channel.startswith("D"):
        blocks.append(kit.actions(kit.button(say("leave_button", language), LeaveButton(thread=thread.id))))
    return SlackMessage(text, blocks if len(blocks) > 1 else [])
