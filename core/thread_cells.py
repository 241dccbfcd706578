"""The cells of a thread as its notebook counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.steps import CellRan, Forgot, Imported, Loaded, Queried, Step, ToolCalled, ToolRan, Undone

Turns = Sequence[Sequence[Step]]
"""The turns of a thread, oldest first."""


class Held(NamedTuple):
    """From where a thread holds data: names of data sources, and of servers of tools."""

    sources: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NumberedCell:
    """A cell and its number, from 1. A cell that a person took back has the status "undone"."""

    number: int
    cell: CellRan


def since_reset(turns: Turns) -> Turns:
    """The turns whose variables a session may still hold."""
    for place in range(len(turns) - 1, -1, -1):
        if any(isinstance(step, Forgot) and step.done for step in turns[place]):
            return turns[place + 1 :]
    return turns


def undone_cells(turns: Turns) -> frozenset[str]:
    """The ids of the cells that somebody took back in these turns."""
    return frozenset(step.cell_id for steps in turns for step in steps if isinstance(step, Undone))


def numbered_cells(turns: Turns) -> Mapping[str, NumberedCell]:
    """The cells by id that the notebook of the last of these turns holds."""
    undone = undone_cells(turns)
    cells = [step for steps in since_reset(turns) for step in steps if isinstance(step, CellRan)]
    return {
        cell.cell_id: NumberedCell(
            number, cell.model_copy(update={"status": "undone"}) if cell.cell_id in undone else cell
        )
        for number, cell in enumerate(cells, 1)
    }


def sources_asked(turns: Turns) -> list[str]:
    """The data sources that cells of these turns had asked, each once."""
    names: dict[str, None] = {}
    for step in (step for steps in turns for step in steps):
        if isinstance(step, Loaded | Imported):
            names |= dict.fromkeys(step.sources)
        ran = step.statements if isinstance(step, CellRan) else (step.statement,) if isinstance(step, Queried) else ()
        names |= dict.fromkeys(one.source for one in ran)
    return list(names)


def told_from(turns: Turns) -> Held:
    """From where these turns have what they show: all that their cells asked, before a reset too."""
    servers: dict[str, None] = {}
    for step in (step for steps in turns for step in steps):
        if isinstance(step, Loaded | Imported):
            servers |= dict.fromkeys(step.servers)
        servers |= {call.server: None for call in answered_calls(step)}
    return Held(tuple(sources_asked(turns)), tuple(servers))


def answered_calls(step: Step) -> list[ToolRan]:
    """The calls in a step that gave an answer."""
    calls = step.tool_calls if isinstance(step, CellRan) else (step.call,) if isinstance(step, ToolCalled) else ()
    return [call for call in calls if call.state == "ended" and not call.error]
