"""What people read when a turn ends without an answer, or was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.interactions import ModelButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import SlackMessage
from core.slack.sanitize import sanitize
from core.slack.text import clip, escape
from core.steps import STOPPED, CellRan, GaveUp
from core.values import Language
from workers.agent.allowed_cells import last_runs, needs_a_yes
from workers.agent.turn import Told
from workers.delivery.progress import bare_title, outcome_line

_STOPPED_CELLS = 8
_MOST_MODELS = 10


def gave_up_blocks(
    step: GaveUp, language: Language, cells: Sequence[CellRan] = (), turn_id: str = "", models: Sequence[str] = ()
) -> SlackMessage:
    """What happened, what to do next, and what of the work is still there.

    Where the model was unavailable there are buttons, if the `turn_id` is given: `models` are the others that could go
    on.
    """
    if step.reason == STOPPED:
        title, kept = say("stopped_title", language), say("stopped_kept", language)
    else:
        title = say(f"gave_up_title_{step.fault}", language)
        done = [cell for cell in cells if cell.status == "ok"]
        kept = say("gave_up_kept", language, count=len(done)) if done else say("gave_up_nothing_kept", language)
    blocks = [kit.header(title), kit.markdown(sanitize(clip(step.text, 8_000)) or "…"), kit.context(escape(kept))]
    if turn_id and (buttons := _buttons(step, language, turn_id, models)):
        blocks.append(kit.actions(*buttons))
    return SlackMessage(kit.fallback(f"{title}\n{step.text}\n{kept}"), blocks)


def _buttons(step: GaveUp, language: Language, turn_id: str, models: Sequence[str]) -> list[dict[str, Any]]:
    """Wait, another model, stop. A model that refuses us does not come back by waiting."""
    if step.reason not in ("model_down", "model_refused"):
        return []
    named = [(name, ModelButton(turn=turn_id, do="use", n=n, model=name)) for n, name in enumerate(models, 2)]
    use = [
        kit.button(say("model_use", language, model=name), press, style="primary")
        for name, press in named[:_MOST_MODELS]
    ]
    if step.reason == "model_refused" and not use:
        return []
    wait = [kit.button(say("model_wait", language), ModelButton(turn=turn_id, do="wait", n=0))]
    stop = kit.button(say("model_stop", language), ModelButton(turn=turn_id, do="stop", n=1))
    return [*(wait if step.reason == "model_down" else []), *use, stop]


def stopped_text(author: str, cells: Sequence[CellRan], language: Language, *, told: Told, why: str = "") -> str:
    """What a stopped turn says, in Markdown: who stopped it, or why, and what its last cells showed, as far as people
    may be `told`."""
    cells = last_runs(cells)
    lines = [why or say("stopped_by", language, author=clip(author, 80))]
    if cells:
        lines += ["", say("stopped_so_far", language)]
        if len(cells) > _STOPPED_CELLS:
            lines.append(f"- {say('progress_folded', language, count=len(cells) - _STOPPED_CELLS)}")
    for cell in cells[-_STOPPED_CELLS:]:
        what = _outcome(cell, language, told)
        lines.append("- " + " — ".join(filter(None, (bare_title(cell.title or say("progress_cell", language)), what))))
    return "\n".join(lines)


def _outcome(cell: CellRan, language: Language, told: Told) -> str:
    if needs_a_yes(cell):
        return say("progress_asks_yes", language)
    return say("stopped_in_cell", language) if cell.status == "killed" else outcome_line(cell, told)
