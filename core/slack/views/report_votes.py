"""The line under a report that says what people think of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.phrases import say
from core.rows import VoteRow
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit
from core.slack.text import clip, escape
from core.values import Language

_SHOWN: Final = 4
"""Reasons that are shown, the latest ones."""
_REASON: Final = 200


def with_votes(blocks: Sequence[Block], votes: Sequence[tuple[str, VoteRow]], language: Language) -> list[Block]:
    """The blocks of a report with a line for the votes below, in place of the line that was there.

    `votes` are with the names of the people. `blocks` are as Slack gives them back.
    """
    row = max((place for place, block in enumerate(blocks) if block.get("type") == "actions"), default=len(blocks) - 1)
    shown = list(blocks[: row + 1])
    if not votes or len(shown) >= Limit.BLOCKS:
        return shown
    up = sum(vote.vote == "up" for _, vote in votes)
    lines = [say("vote_line", language, up=up, down=len(votes) - up)]
    lines += [
        say("vote_reason", language, author=clip(author, 80), reason=clip(vote.reason, _REASON))
        for author, vote in [each for each in votes if each[1].reason][-_SHOWN:]
    ]
    return [*shown, kit.context(*map(escape, lines))]
