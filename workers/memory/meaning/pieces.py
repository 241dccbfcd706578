"""The pieces of a thread that are compared with the words of a search.

Only questions and reports count, in their current state: messages that were left out of the context, edited or deleted
are so here too. Code and outputs are not included.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from core.steps import Asked, Finished, Said, Step
from core.team_settings import PersonalKind
from workers.agent.thread.effective_steps import effective_steps
from workers.privacy.masking import Masker, masked_in

MOST_PIECES = 8
"""Pieces of one thread: its description, its first question, and then its last questions and reports."""
PIECE_CHARS = 1_000
"""Small models read about 250 words; what comes later in a text does not count."""
_WHITE = re.compile(r"\s+")


def pieces_of(turns: Sequence[Sequence[Step]], description: str, redact: Collection[PersonalKind]) -> list[str]:
    """What of a thread goes to the embedding model, masked, each text once."""
    texts = [text for steps in effective_steps(turns) for step in steps if (text := _text(step))]
    first, later = texts[:1], texts[1:]
    room = MOST_PIECES - len(first) - bool(description)
    chosen = [*([description] if description else []), *first, *later[-room:]]
    masker = Masker(redact, masked_in(turns), known=texts)
    return list(dict.fromkeys(piece(masker.text(text)) for text in chosen))


def masked_words(text: str, redact: Collection[PersonalKind]) -> str:
    """The words of a search as the embedding model may see them."""
    return piece(Masker(redact, {}).text(text))


def piece(text: str) -> str:
    """A text as it is sent."""
    return _WHITE.sub(" ", text).strip()[:PIECE_CHARS]


def _text(step: Step) -> str:
    if isinstance(step, Asked):
        return "" if step.left_out else step.text.strip()
    if isinstance(step, Finished):
        return step.report.strip()
    if isinstance(step, Said) and step.message.get("role") in ("user", "assistant"):
        content = step.message.get("content")
        return content.strip() if isinstance(content, str) else ""
    return ""
