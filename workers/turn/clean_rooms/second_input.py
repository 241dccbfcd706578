"""A playbook's stages on other data than those they were made from: do they still show what they have to?

The second input is another file of the same shape: one of this thread, else the newest file of the channel with the
same name apart from its numbers, as a scheduled run takes it. It is used only if the stages read one file and use no
source and no tool: if other inputs stayed the same, an exchanged file would show nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from core.errors import BlobsUnreachable
from core.steps import Briefed, CellRan, FileAbstract, Step
from core.store import Store
from core.telemetry import get_logger
from core.values import Language, StoredFile, ThreadKey
from executor.client import HostUnavailable, RequestError
from workers.agent.report.rerun import Plan, with_codes
from workers.agent.report.stated_figures import figures_now
from workers.agent.thread.effective_steps import effective_steps
from workers.profiling.file_profiles import describe_code, read_abstracts
from workers.schedules.drift import drift, fits, pattern_of
from workers.schedules.telling import Changed, lines
from workers.turn.clean_rooms.room import NotWanted, Room, RoomTaken
from workers.turn.context import TurnContext
from workers.turn.files import DESCRIBE_TIMEOUT_S
from workers.turn.requests.kept_rows import KeptRows

log = get_logger(__name__)

MOST_FIGURES = 6
_WHY_CHARS = 200


class OtherShape(Exception):
    """The file is not what the stages were written for."""


@dataclass(frozen=True, slots=True)
class SecondRun:
    """What the stages gave on the second input: `proof` in words, `figures` as lines, the first data → this one."""

    file: str
    proof: str
    figures: tuple[str, ...] = ()


def second_run(
    context: TurnContext,
    thread_id: str,
    turns: Sequence[Sequence[Step]],
    made: Plan,
    codes: Mapping[str, str],
    *,
    language: Language,
) -> SecondRun | None:
    """Run these stages of the last report on a second input; None when there is none, or it could not be run now."""
    effective = effective_steps(turns)
    inputs = context.store.thread_files(thread_id)
    read = file_that_is_read(effective, made, inputs)
    if read is None:
        return None
    old, before = read
    new = _of_thread(effective, inputs, old, before) or _of_channel(context.store, thread_id, old)
    if new is None:
        return None
    placed = [file for file in inputs if file.name != old.name] + [new.model_copy(update={"name": old.name})]
    room = Room(context.settings, context.blobs, context.sessions, context.files)
    try:
        ran = room.rerun(
            thread_id,
            turns,
            with_codes(made, codes),
            placed,
            prepare=partial(_look, room, before),
            answers=partial(KeptRows, context.blobs),
        )
    except OtherShape:
        return None
    except (HostUnavailable, RequestError, BlobsUnreachable, RoomTaken, NotWanted) as error:
        log.warning("playbook_second_input_not_run", error=error)
        return None
    if isinstance(ran, str):
        return SecondRun(new.name, "it took too long" if ran == "too_long" else "it needed too much memory")
    figures = {figure.place: figure for figure in figures_now(effective, made, ran)}
    both = [
        Changed(figure, figure.value, figures[figure.place].value)
        for figure in figures_now(effective, made, {})
        if figure.place in figures
    ]
    return SecondRun(new.name, judged(made, ran), tuple(lines(both[:MOST_FIGURES], language)))


def with_second(proof: str, second: SecondRun | None) -> str:
    """The words of both proofs, as they stand in the header of the page: without a value of the data."""
    return proof if second is None else f"{proof}; on a second input, {second.file}: {second.proof}"


def file_that_is_read(
    turns: Sequence[Sequence[Step]], made: Plan, inputs: Sequence[StoredFile]
) -> tuple[StoredFile, FileAbstract] | None:
    """The only file with a table that the stages name, as it is stored and as it was described."""
    cells = [part.cell for _, part in made.parts]
    if any(cell.statements or cell.lookups or cell.tool_calls for cell in cells):
        return None
    code = "\n".join(part.code for _, part in made.parts)
    described = _described(turns)
    named = {file.name: file for file in inputs if file.name in code}
    if len(named) != 1:
        return None
    ((_, old),) = named.items()
    before = described.get(old.sha256)
    return (old, before) if before is not None and before.tables else None


def _of_thread(
    turns: Sequence[Sequence[Step]], inputs: Sequence[StoredFile], old: StoredFile, before: FileAbstract
) -> StoredFile | None:
    """Another file of the thread with the same shape, the newest first."""
    described = _described(turns)
    for file in reversed(inputs):
        now = described.get(file.sha256)
        if file.sha256 != old.sha256 and now is not None and now.tables and not drift(before, now):
            return file
    return None


def _of_channel(store: Store, thread_id: str, old: StoredFile) -> StoredFile | None:
    """The newest other file of the channel with the same name apart from its numbers. Its shape is looked at later."""
    key, pattern = ThreadKey.parse(thread_id), pattern_of(old.name)
    known = store.channel_files(key.team, key.channel)
    return next((file for file in known if file.sha256 != old.sha256 and fits(file.name, pattern)), None)


def judged(made: Plan, ran: Mapping[str, CellRan]) -> str:
    """Whether each stage ran and shows what it has to, in words."""
    for number, (_, part) in enumerate(made.parts, start=1):
        now = ran[part.cell.cell_id]
        if now.status != "ok":
            why = now.error.strip().rpartition("\n")[2] or now.error_name or now.status
            return f"stage {number} fails: {why[:_WHY_CHARS]}"
        if missing := lacks(part.cell, now):
            return f"stage {number} shows {missing}"
    return "every stage ran and showed what it has to"


def lacks(before: CellRan, now: CellRan) -> str:
    """What a stage does not show any more; "" when all of it is there. Values may be others."""
    there = [set(table.columns) for table in now.tables]
    for table in before.tables:
        if not any(set(table.columns) <= columns for columns in there):
            return f"no table with {', '.join(table.columns[:8])}"
    if len(now.charts) < len(before.charts):
        return "fewer charts"
    names = {file.name for file in now.files}
    if gone := [file.name for file in before.files if file.name not in names]:
        return f"no file {gone[0]}"
    return "nothing" if before.stdout.strip() and not now.stdout.strip() else ""


def _described(turns: Sequence[Sequence[Step]]) -> dict[str, FileAbstract]:
    return {file.sha256: file for steps in turns for step in steps if isinstance(step, Briefed) for file in step.files}


def _look(room: Room, before: FileAbstract, session: str) -> None:
    """Describe the file in the room, under the name that the stages know. Raises OtherShape."""
    code = describe_code([before.path])
    result = room.sessions.run(session, "look", code, timeout_s=DESCRIBE_TIMEOUT_S)
    now, problems = read_abstracts(result, "en", [before.path])
    if problems or not now or drift(before, now[0]):
        raise OtherShape
