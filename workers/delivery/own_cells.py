"""The message with all that came of a person's own code. The code itself stands in what they wrote."""

from __future__ import annotations

from core.phrases import decimal, say
from core.slack import blocks as kit
from core.slack.blocks import Block, SlackMessage
from core.slack.text import clip, escape
from core.steps import CellRan
from core.values import Language

_AUTHOR_CHARS = 80
_WHY_CHARS = 300
_OUTPUT_CHARS = 2_800
"""Characters of each text: what was printed, the last value, the error."""


def own_cell_message(cell: CellRan, language: Language) -> SlackMessage:
    """Shows who ran code, how it ended, and its output. A failure is one sentence with its line, then the traceback."""
    line = _line(cell, language)
    texts = [text.strip("\n") for text in (cell.stdout, cell.stderr, cell.result, cell.error) if text.strip()]
    blocks: list[Block] = [kit.paragraph(line), *(kit.code(_end(text)) for text in texts)]
    if any(len(text) > _OUTPUT_CHARS for text in texts):
        blocks.append(kit.context(escape(say("own_cell_more", language))))
    if not texts and cell.status == "ok" and not cell.figures and not cell.files:
        blocks.append(kit.context(escape(say("own_cell_silent", language))))
    return SlackMessage(kit.fallback("\n".join([line, *texts])), blocks)


def _line(cell: CellRan, language: Language) -> str:
    author = clip(cell.author or cell.user, _AUTHOR_CHARS)
    if cell.status == "ok":
        return say("own_cell_ok", language, author=author, seconds=decimal(cell.duration_s, 1, language))
    if cell.status == "error":
        said = next((line.strip() for line in reversed(cell.error.splitlines()) if line.strip()), "")
        why = said if said.startswith(cell.error_name) else f"{cell.error_name}: {said}"
        return say("own_cell_error", language, author=author, line=cell.error_line or 0, why=clip(why, _WHY_CHARS))
    return say("own_cell_ended", language, author=author, why=cell.notice_text or cell.notice or cell.status)


def _end(text: str) -> str:
    """The beginning of the output, and of longer output also its end, because errors are there."""
    if len(text) <= _OUTPUT_CHARS:
        return text
    half = _OUTPUT_CHARS // 2
    return f"{text[:half].rstrip()}\n…\n{text[-half:].lstrip()}"
