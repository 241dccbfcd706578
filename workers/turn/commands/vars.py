"""vars: the variables of the thread's session, with who set them in which cell."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import decimal, say
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip, escape
from core.steps import CellRan, Step
from core.thread_cells import since_reset
from core.values import Language
from executor.values import Variable
from workers.agent.about_steps import cells
from workers.agent.code.source import assigned_names
from workers.turn.commands.thread import CommandThread

MOST = 60
"""Rows that are shown; the largest variables come first."""
_CHARS = 60
_UNIT = 1024
_PROCEDURES = frozenset({"function", "type", "builtin_function_or_method"})
"""Types of names that hold no data; they stand in one line."""


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the table of variables. Raises HostUnavailable."""
    language = thread.language
    found = sorted(thread.context.sessions.vars(thread.lease.thread_id), key=lambda each: (-each.bytes, each.name))
    ran = [cell for steps in since_reset(thread.turns) for cell in cells(steps)]  # as the notebook counts them
    if not found:
        thread.answer(say("vars_none", language))
        return ()
    named = [each for each in found if each.type in _PROCEDURES]
    found = [each for each in found if each.type not in _PROCEDURES]
    rows = table_of(found[:MOST], ran, language)
    text = say("vars_title", language, count=len(found))
    blocks: list[Block] = [kit.paragraph(text)]
    if not found:
        pass
    elif kit.fits_table(rows):
        blocks.append(kit.table(rows))
    else:
        blocks.append(kit.code("\n".join("  ".join(row) for row in rows)[:2_900]))
    if named:
        names = clip(", ".join(sorted(each.name for each in named)), 300)
        blocks.insert(1, kit.context(escape(say("vars_procedures", language, count=len(named), names=names))))
    if len(found) > MOST:
        blocks.insert(1, kit.context(escape(say("vars_more", language, count=len(found) - MOST))))
    if kept := kept_old_values(found, ran):
        names = ", ".join(clip(name, _CHARS) for name in kept)
        blocks.insert(1, kit.paragraph(say("vars_kept_old", language, names=names, title=clip(ran[-1].title, 80))))
    thread.answer(text, blocks)
    return ()


def table_of(found: Sequence[Variable], ran: Sequence[CellRan], language: Language) -> list[list[str]]:
    """The variables as a table, a header first: name, type, shape, size, and the cell that set it with its author."""
    numbers = {cell.cell_id: number for number, cell in enumerate(ran, start=1)}
    of = {cell.cell_id: cell for cell in ran}
    header = [say(f"vars_{name}", language) for name in ("name", "type", "shape", "size", "cell")]
    rows = []
    for each in found:
        cell = of.get(each.cell_id or "")
        where = f"{numbers[cell.cell_id]}. {clip(cell.title, _CHARS)}" if cell is not None else "–"
        rows.append(
            [clip(each.name, _CHARS), clip(each.type, _CHARS), clip(each.shape, 40) or "–", size(each, language), where]
        )
    return [header, *rows]


def size(variable: Variable, language: Language) -> str:
    """The size of a variable as people say it."""
    amount, units = float(variable.bytes), ["B", "kB", "MB", "GB"]
    while amount >= _UNIT and len(units) > 1:
        amount, units = amount / _UNIT, units[1:]
    return f"{decimal(amount, 0 if units[0] == 'B' else 1, language)} {units[0]}"


def kept_old_values(found: Sequence[Variable], ran: Sequence[CellRan]) -> list[str]:
    """The names that the last cell was to set, failed before it did, and that still hold an older value."""
    last = ran[-1] if ran else None
    if last is None or last.status != "error" or not last.error_line:
        return []
    not_set = set(assigned_names(last.code, last.error_line))
    return sorted(each.name for each in found if each.name in not_set and each.cell_id != last.cell_id)
