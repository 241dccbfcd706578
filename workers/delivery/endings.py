"""What people read when a turn ends without an answer, or was stopped."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import SlackMessage
from core.slack.sanitize import sanitize
from core.slack.text import clip, escape
from core.steps import STOPPED, CellRan, GaveUp
from core.values import Language
from workers.delivery.progress import bare_title, outcome_line

_STOPPED_CELLS = 8


def gave_up_blocks(step: GaveUp, language: Language, cells: Sequence[CellRan] = ()) -> SlackMessage:
    """What happened, what to do next, and what of the work is still there."""
    if step.reason == STOPPED:
        title, kept = say("stopped_title", language), say("stopped_kept", language)
    else:
        title = say(f"gave_up_title_{step.fault}", language)
        done = [cell for cell in cells if cell.status == "ok"]
        kept = say("gave_up_kept", language, count=len(done)) if done else say("gave_up_nothing_kept", language)
    blocks = [kit.header(title), kit.markdown(sanitize(clip(step.text, 8_000)) or "…"), kit.context(escape(kept))]
    return SlackMessage(kit.fallback(f"{title}\n{step.text}\n{kept}"), blocks)


def stopped_text(author: str, cells: Sequence[CellRan], language: Language, *, why: str = "") -> str:
    """What a stopped turn says, in Markdown: who stopped it, or why, and what its last cells showed."""
    lines = [why or say("stopped_by", language, author=clip(author, 80))]
    if cells:
        lines += ["", say("stopped_so_far", language)]
        if len(cells) > _STOPPED_CELLS:
            lines.append(f"- {say('progress_folded', language, count=len(cells) - _STOPPED_CELLS)}")
    for cell in cells[-_STOPPED_CELLS:]:
        what = say("stopped_in_cell", language) if cell.status == "killed" else outcome_line(cell)
        lines.append("- " + " — ".join(filter(None, (bare_title(cell.title or say("progress_cell", language)), what))))
    return "\n".join(lines)
