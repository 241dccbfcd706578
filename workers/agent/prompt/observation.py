"""What a cell did, as the model reads it. All parts share one limit. If there is no output, the text says so."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.steps import CellRan, DataCheck, Step
from workers.agent.about_steps import is_new_shell, metrics_otherwise, without_rows
from workers.agent.allowed_cells import needs_a_yes
from workers.agent.code.source import assigned_names
from workers.agent.hints import hint, near_values
from workers.agent.text import clip, fenced_off, one_line, shares, without_repeats
from workers.agent.turn import Turn

_MAX_NAMES = 20
_NAME_CHARS = 120
_MAX_EMPTY, _SQL_CHARS = 3, 400
_IMPORT = re.compile(r"\s*(?:import|from)\s+\w")
_ADVICE = "; print less, or a summary"
_FRAME = re.compile(r'File "<cell (\d+)>"')
_PLACE = re.compile(r"<cell \d+>:(\d+)(?=:)")
"""The place that a warning names. Its number is the session's, not the thread's."""


def observation(turn: Turn, cell: CellRan, before: Sequence[Step], limit: int) -> str:
    """The text for the model. Output, result and error share `limit` characters; `before` are the thread's steps up to
    the cell."""
    parts = [(tag, text) for tag, text in _parts(cell) if text.strip()]
    granted = shares([len(text) for _, text in parts], limit)
    advice = _ADVICE if limit >= turn.limits.output_chars else ""  # an older output has less room: nobody is to blame
    return turn.prompts.render(
        "observation",
        number=turn.number_of(cell),
        title=one_line(cell.title, _NAME_CHARS),
        status=cell.status,
        seconds=f"{cell.duration_s:.1f}",
        blocks=[fenced_off(tag, clip(text, share, advice)) for (tag, text), share in zip(parts, granted, strict=True)],
        figures=_names([figure.name for figure in cell.figures]),
        files=_names([file.name for file in cell.files]),
        rejected=[
            {"name": one_line(r.name, _NAME_CHARS), "why": one_line(r.why, 300)} for r in cell.rejected[:_MAX_NAMES]
        ],
        notice=one_line(cell.notice, 1_000),
        metrics=[one_line(name, _NAME_CHARS) for name in metrics_otherwise(cell)[:_MAX_NAMES]],
        empty=[one_line(sql, _SQL_CHARS) for sql in without_rows(cell)[:_MAX_EMPTY]],
        new_shell=cell.language == "bash" and is_new_shell(before),
        noticed=noticed(turn, cell),
        repair="" if cell.status == "ok" else _repair(turn, cell, before),
    )


def noticed(turn: Turn, cell: CellRan) -> str:
    """What the cell did to its tables and charts, in sentences; "" when there is nothing to say of them."""
    if not cell.checks or cell.status == "undone":
        return ""
    checks = [{"code": each.code, "names": _columns(each), "numbers": list(each.numbers)} for each in cell.checks]
    return turn.prompts.render("noticed", checks=checks, near=near_values(cell, tuple(turn.thread_steps)))


def _columns(check: DataCheck) -> list[str]:
    """The names of a check. A column whose name is no identifier is named by its place."""
    return [f"column {name[1:]}" if name.startswith("#") else f"`{name}`" for name in check.names]


def _parts(cell: CellRan) -> tuple[tuple[str, str], ...]:
    shown = (
        ("stdout", cell.stdout),
        ("stderr", _PLACE.sub(r"a cell, line \1", without_repeats(cell.stderr))),
        ("result", cell.result),
        ("error", _traceback(cell)),
    )
    return (*shown, ("variables", cell.variables))


def _traceback(cell: CellRan) -> str:
    """The error with the places of its frames in words. A session counts its cells otherwise than a thread does: it
    counts those that describe files, and begins again after a reset. Its numbers would name other cells to the
    model."""
    own = max(map(int, _FRAME.findall(cell.error)), default=0)
    return _FRAME.sub(lambda frame: f"In {'this cell' if int(frame[1]) == own else 'an earlier cell'}", cell.error)


def _imports(cell: CellRan) -> bool:
    """Whether the line at which a cell stopped imports something."""
    lines = cell.code.splitlines()
    at = cell.error_line or 0
    return 1 <= at <= len(lines) and _IMPORT.match(lines[at - 1]) is not None


def _names(names: list[str]) -> list[str]:
    more = [f"and {len(names) - _MAX_NAMES} more"] if len(names) > _MAX_NAMES else []
    return [one_line(name, _NAME_CHARS) for name in names[:_MAX_NAMES]] + more


def _repair(turn: Turn, cell: CellRan, before: Sequence[Step]) -> str:
    environment = turn.environment
    if cell.language == "bash":
        return turn.prompts.render("repair_bash", status=cell.status)
    return turn.prompts.render(
        "repair",
        status=cell.status,
        line=cell.error_line,
        loading=_imports(cell),
        not_set=_names(list(assigned_names(cell.code, cell.error_line))) if cell.error_line else [],
        hint=hint(cell, before, environment.packages),
        admin=cell.ended_by == "setup",
        waits=needs_a_yes(cell),
        away=cell.ended_by == "source",
        blameless=cell.ended_by in ("person", "machine"),
        cell_timeout_s=f"{environment.cell_timeout_s:g}",
        memory_mb=environment.memory_mb,
    )
