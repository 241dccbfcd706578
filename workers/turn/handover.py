"""The hand-over of a thread: its last report and everything that the report rests on, from the Store and its files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from core.blobs import Blobs
from core.errors import BlobMissing
from core.steps import CellRan, Finished, Replied, Step
from core.values import Language, StoredFile
from workers.agent.about_steps import cells, files_made
from workers.delivery.reports import ReportInput, render_report, report_input
from workers.delivery.reports.pack import INPUT_BYTES, PackInput, pack
from workers.delivery.safe_tables import make_safe
from workers.turn.context import TurnContext


def report_of(
    context: TurnContext,
    turns: Sequence[Sequence[Step]],
    seen: Sequence[tuple[Step, ...]],
    language: Language,
    *,
    model: str,
    unshown: Sequence[str] = (),
    turn_id: str = "",
    all_pictures: bool = False,
) -> ReportInput:
    """What the report of the last of these turns is made from; `seen` are their steps as people see them.

    `all_pictures`: also the charts of the turns before.
    """
    *earlier, steps = seen
    pictured = turns if all_pictures else turns[-1:]
    return report_input(
        steps,
        language,
        earlier=earlier,
        turn_id=turn_id,
        model=model,
        currency=context.settings.budget.currency,
        duration_s=sum(step.duration_s for step in turns[-1] if isinstance(step, Replied | CellRan)),
        pictures=dict(_pictures(context.blobs, pictured)),
        unshown=unshown,
    )


def handover(
    context: TurnContext,
    turns: Sequence[Sequence[Step]],
    seen: Sequence[tuple[Step, ...]],
    language: Language,
    *,
    model: str,
) -> bytes:
    """The pack of a thread whose last turn ends with a report; `seen` are its steps as people see them."""
    given = report_of(context, turns, seen, language, model=model, all_pictures=True)
    left_out: dict[str, str] = {}
    room = INPUT_BYTES
    inputs, made = dict[str, bytes](), dict[str, bytes]()
    asked = [(file.path, file.sha256, file.size, inputs) for file in given.files]
    asked += [(file.name, file.sha256, file.size, made) for file in _made(given).values()]
    for name, sha256, size, into in asked:
        data = _read(context.blobs, sha256) if size <= room else None
        if data is not None and into is made:
            data = _safe(name, data)
        if data is None or len(data) > room:
            left_out[name] = sha256
            continue
        into[name] = data
        room -= len(data)
    files = render_report(given).files
    return pack(PackInput(given, files, inputs, made, left_out, context.environment.packages))


def _safe(name: str, data: bytes) -> bytes | None:
    """What a cell wrote, safe to open in a spreadsheet; None when it must not leave."""
    with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
        copy = Path(folder) / "file"
        copy.write_bytes(data)
        return None if make_safe(name, copy).held else copy.read_bytes()


def last_report(turns: Mapping[str, Sequence[Step]]) -> str:
    """The id of the thread's last turn that ended with a report; "" without any.

    An answer without a cell and without a figure of the data is passed over where there is another report: it only
    says how to go on, as “write below: as slides” does.
    """
    ended = [turn_id for turn_id, steps in turns.items() if any(isinstance(step, Finished) for step in steps)]
    on_data = [turn_id for turn_id in ended if _is_on_data(turns[turn_id])]
    return (on_data or ended or [""])[-1]


def _is_on_data(steps: Sequence[Step]) -> bool:
    if any(isinstance(step, CellRan) for step in steps):
        return True
    return any(
        source.state in ("sourced", "derived")
        for step in steps
        if isinstance(step, Finished)
        for source in step.sources
    )


def _made(given: ReportInput) -> dict[str, StoredFile]:
    return files_made((*given.earlier, *given.cells))


def _read(blobs: Blobs, sha256: str) -> bytes | None:
    with suppress(BlobMissing):
        return blobs.get(sha256)
    return None


def _pictures(blobs: Blobs, turns: Sequence[Sequence[Step]]) -> Iterator[tuple[str, bytes]]:
    """The charts by their hash; one that the file store has lost is left out."""
    for figure in (figure for steps in turns for cell in cells(steps) for figure in cell.figures):
        with suppress(BlobMissing):
            yield figure.sha256, blobs.get(figure.sha256)
