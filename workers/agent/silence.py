"""A cell that shows nothing for long: what the model is asked about it, and what it says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from workers.agent.actions import AskModel, RunCell
from workers.agent.prompt.messages import LANGUAGES
from workers.agent.prompt.step_blocks import user
from workers.agent.replies.loose_json import Unreadable, read_json
from workers.agent.text import clean, clip, fenced_off, one_line, quoted
from workers.agent.turn import Turn

_CODE_CHARS, _OUTPUT_CHARS, _WHY_CHARS = 6_000, 1_000, 300


class Look(NamedTuple):
    """What the model makes of the cell: `advice` is "" when it said nothing that can be read."""

    advice: Literal["wait", "stop", ""] = ""
    why: str = ""


def look_at(turn: Turn, cell: RunCell, *, line: int, seconds: float, output: str) -> AskModel:
    """The question about a cell that runs."""
    text = turn.prompts.render(
        "silent_cell",
        title=one_line(cell.title, 120),
        code=fenced_off("python", clip(cell.code, _CODE_CHARS)),
        line=line,
        seconds=round(seconds),
        limit=round(turn.environment.cell_timeout_s),
        output=quoted(output.strip()[-_OUTPUT_CHARS:]) if output.strip() else "",
        language_name=LANGUAGES[turn.language],
    )
    return AskModel("look", (user(text),))


def read_look(text: str) -> Look:
    """The advice in a reply; nothing when it cannot be understood. Never raises."""
    try:
        found = read_json(text, in_prose=True)
    except Unreadable:
        return Look()
    if not isinstance(found, Mapping):
        return Look()
    why = one_line(clean(str(found.get("why") or "")), _WHY_CHARS)
    advice = str(found.get("advice") or "").strip().casefold()
    return Look("stop" if advice == "stop" else "wait" if advice == "wait" else "", why)
