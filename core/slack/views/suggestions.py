"""Questions that fit the data at hand, offered as buttons or as Slack's own suggested prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.interactions import SuggestionButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, SlackMessage
from core.slack.text import clip
from core.values import Language, ThreadKey

PROMPTS: Final = 4
"""Suggested prompts that Slack takes."""
_PROMPT_TITLE: Final = 60


def suggestions_message(thread: ThreadKey, questions: Sequence[str], language: Language) -> SlackMessage:
    """What a mention without a word gets in a thread that has data: the questions, one a button."""
    line = say("suggest_intro", language)
    return SlackMessage(kit.fallback(f"{line}\n{_listed(questions)}"), questions_blocks(thread, questions, line))


def questions_blocks(thread: ThreadKey, questions: Sequence[str], line: str) -> list[Block]:
    """The questions below a line, in words and one a button."""
    buttons = [
        kit.button(question, SuggestionButton(thread=thread.id, n=n, question=question))
        for n, question in enumerate(questions)
    ]
    return [kit.paragraph(f"{line}\n{_listed(questions)}"), kit.actions(*buttons)]


def _listed(questions: Sequence[str]) -> str:
    return "\n".join(f"{n}. {question}" for n, question in enumerate(questions, 1))


def as_prompts(questions: Sequence[str]) -> list[dict[str, str]]:
    """The questions as Slack's suggested prompts: pressed, they are written by the person."""
    return [{"title": clip(question, _PROMPT_TITLE), "message": question} for question in questions[:PROMPTS]]
