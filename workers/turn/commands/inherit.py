"""inherit: a forked thread gets its session. The code of its inherited cells runs again, in order.

Cells get the inputs of the thread and the rows that the same cells got before, so nothing reaches a data source. Cells
with effects outside of the session do not run: their files are copied by their hash, and the cells that depend on them
are named. If a worker dies, the next one gets the results of cells that already ran.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from core.commands.forking import Inheritance
from core.phrases import say
from core.steps import CellRan, Inherited, NotRebuilt, Step
from core.telemetry import get_logger
from executor.client import RequestError
from executor.values import CellResult
from workers.agent.code.program import Part
from workers.agent.text import clip
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.thread.replaying import not_rebuilt, replay
from workers.privacy.masking import restored, values_of
from workers.turn.cell_results import OUTPUT_CHARS
from workers.turn.commands.fork import left_out_lines
from workers.turn.commands.thread import CommandThread
from workers.turn.requests.kept_rows import answers_again
from workers.turn.stop_check import stopped_by

log = get_logger(__name__)

_SHOWN = 6
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Build the session and say what is there. Raises HostUnavailable, BlobsUnreachable."""
    context, command, lease, language = thread.context, thread.command, thread.lease, thread.language
    origin = Inheritance.decode(command.text)
    if origin is None:
        return ()
    if context.store.thread_node(lease.thread_id) != context.settings.node_id:
        context.store.set_thread_node(lease, context.settings.node_id)
    context.files.restore(lease.thread_id)
    ran, missing, other = _run(thread)
    context.transfer.export_state(lease)
    lines = [say("fork_done", language, count=ran)]
    if missing:
        lines += [say("fork_missing", language), *left_out_lines(missing, language)]
    if other:
        lines.append(say("fork_other", language, cells="; ".join(other[:_SHOWN])))
    thread.answer("\n".join(lines))
    return (
        Inherited(
            **origin.model_dump(),
            ran=ran,
            missing=tuple(missing),
            other=tuple(other),
            user=command.user,
            author=command.author,
            ts=command.ts,
        ),
    )


def _run(thread: CommandThread) -> tuple[int, list[NotRebuilt], list[str]]:
    """Run the cells: how many ran well, those whose effects are not there, titles of those that show something else."""
    plan = replay(effective_steps(thread.turns))
    parts, made = dict(plan.parts), dict(plan.made)
    gone = {one.cell: one for one in plan.left_out}
    values = values_of(thread.turns)
    failed: set[str] = set()
    other: list[str] = []
    for number in sorted({*parts, *made}):
        if number in made:
            if not _put_files(thread, made[number]):
                gone[number] = not_rebuilt(number, made[number], "file")
            continue
        part = parts[number]
        if failed & plan.needs[part.cell.cell_id]:
            gone[number] = not_rebuilt(number, part.cell, "rests")
            continue
        result = None if thread.context.store.stop_asked(thread.lease.thread_id) else _cell(thread, part, values)
        if result is None or result.status != "ok":
            is_stopped = result is None or result.status in ("timeout", "killed")
            failed.add(part.cell.cell_id)
            gone[number] = not_rebuilt(number, part.cell, "stopped" if is_stopped else "failed")
        elif part.kept == "whole" and _shown(result) != _shown(part.cell):
            other.append(part.cell.title or str(number))
    return len(parts) - len(gone.keys() & parts.keys()), [gone[number] for number in sorted(gone)], other


def _cell(thread: CommandThread, part: Part, values: dict[str, str]) -> CellResult:
    context, thread_id, cell = thread.context, thread.lease.thread_id, part.cell
    rows = answers_again(context.blobs, cell)
    with stopped_by(partial(context.stops.asked, thread_id), partial(context.sessions.interrupt, thread_id)):
        return context.sessions.run(thread_id, cell.cell_id, restored(part.code, values), on_request=rows)


def _put_files(thread: CommandThread, cell: CellRan) -> bool:
    """Put the files in place that a cell made which is not run; False when one is gone, or would get another name."""
    names = [file.name for file in cell.files]
    try:
        return thread.context.files.place(thread.lease.thread_id, cell.files) == names
    except RequestError as error:
        log.warning("files_not_placed", error=error)
        return False


def _shown(ran: CellResult | CellRan) -> tuple[str, str]:
    """What a cell showed, without addresses in memory."""
    result = ran.result if isinstance(ran, CellRan) else ran.result.text if ran.result else ""
    return tuple(_ADDRESS.sub("0x", clip(text, OUTPUT_CHARS)) for text in (ran.stdout, result))  # type: ignore[return-value]
