"""The steps of a thread that still count. The Store keeps everything; people may have undone some of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from core.steps import (
    RESET_CALL,
    Asked,
    CellRan,
    Closed,
    Decided,
    Finished,
    Forgot,
    GaveUp,
    Loaded,
    ModelFailed,
    Queried,
    Questioned,
    Recalled,
    Resumed,
    Step,
    ToolCalled,
    UnknownStep,
    open_question,
)
from core.thread_cells import undone_cells
from workers.agent.about_steps import data_held
from workers.agent.playbooks import unwanted_playbooks
from workers.agent.replies.revisions import whole_reports
from workers.agent.stages import without_feedback
from workers.agent.thread.changes import SILENT, with_changes


def effective_steps(turns: Sequence[Sequence[Step]]) -> tuple[tuple[Step, ...], ...]:
    """The same turns, with what people changed applied.

    If a person continued after an end, the end is left out, with the failures of the model before it, and with a report
    before it that could not be posted. A rejected cell then counts as skipped, and a question that nobody decided in
    time may be asked again. A cell that was undone has the status "undone". A question about a reset that nobody
    confirmed is left out. So are steps that this version does not know, and statements that are also in the step of
    their cell. A turn of which nothing is left is empty. Once a thread with rows of data sources or answers of tools
    was reset, the cells before have no output. What people left out of the context or edited there is as they want it
    (`changes.py`). What they approved stands without its rounds of feedback. Entries of the team's memory that
    were changed or removed since, or that the thread may not read any more, are left out. A report that came as changes
    to the one before it is whole.
    """
    known = with_changes(
        [whole_reports([step for step in steps if not isinstance(step, UnknownStep)]) for steps in turns]
    )
    undone = undone_cells(known)
    return tuple(
        _standing(_without_playbook(without_feedback(_without_queries(steps))), undone)
        for steps in _without_gone(_without_rows(known))
    )


def _without_gone(turns: Sequence[Sequence[Step]]) -> Sequence[Sequence[Step]]:
    """The turns without what they read of the team's memory and a later step names as gone or withheld. What still
    stands under the same title was read again there."""
    gone: set[str] = set()
    found: list[list[Step]] = []
    for steps in reversed(turns):
        kept: list[Step] = []
        for step in reversed(steps):
            kept.append(_standing_part(step, gone) if gone and isinstance(step, Recalled) else step)
            if isinstance(step, Recalled):
                gone |= {*step.gone, *step.withheld}
        found.append(kept[::-1])
    return found[::-1] if gone else turns


def _standing_part(step: Recalled, gone: Collection[str]) -> Recalled:
    book = step.playbook
    return step.model_copy(
        update={
            "notes": tuple(note for note in step.notes if note.title not in gone),
            "playbook": None if book is not None and book.file in gone else book,
            "functions": tuple(note for note in step.functions if note.file not in gone),
        }
    )


def _without_playbook(steps: Sequence[Step]) -> Sequence[Step]:
    """The steps without a playbook that people do not want."""
    unwanted = unwanted_playbooks(steps)
    if not unwanted:
        return steps
    return [
        step.model_copy(update={"playbook": None})
        if isinstance(step, Recalled) and step.playbook is not None and step.playbook.file in unwanted
        else step
        for step in steps
    ]


def _without_queries(steps: Sequence[Step]) -> Sequence[Step]:
    return [step for step in steps if not isinstance(step, Queried | ToolCalled)]


def _without_rows(turns: Sequence[Sequence[Step]]) -> Sequence[Sequence[Step]]:
    """After a reset everybody may ask again. So the cells before it have no output if the thread had rows, or answers
    of tools; and what was loaded from a thread with such data is the code alone."""
    ends = [place for place, steps in enumerate(turns) for end in steps if isinstance(end, Forgot) and end.done]
    before = turns[: ends[-1]] if ends else ()
    if not any(data_held(before, with_reports=True)):
        return turns
    return [*([_silent(step) for step in steps] for steps in before), *turns[len(before) :]]


def _silent(step: Step) -> Step:
    if isinstance(step, CellRan):
        return step.model_copy(update=SILENT)
    if isinstance(step, Loaded) and (step.sources or step.servers):
        return step.model_copy(update={"report": "", "said": ()})
    return step


def _standing(steps: Sequence[Step], undone: Collection[str]) -> tuple[Step, ...]:
    if steps and isinstance(last := steps[-1], Forgot) and not last.done:
        return ()
    kept: list[Step] = []
    for step in _without_reset(steps):
        if isinstance(step, Resumed):
            kept = [before for before in kept if not isinstance(before, ModelFailed)]
            end = max((place for place, before in enumerate(kept) if isinstance(before, GaveUp)), default=None)
            if end is not None:
                del kept[end]
                # A report that the turn gave up behind was not posted: it is decided on again.
                kept = [before for before in kept if not isinstance(before, Finished | Closed)]
            kept = [_skipped(before) for before in kept]
            if (undecided := _undecided(kept, step)) is not None:
                kept.append(undecided)
            if kept and isinstance(last := kept[-1], Decided) and last.outcome == "expired":
                kept.append(step)  # an expired question before this step does not end the turn
        elif isinstance(step, CellRan) and step.cell_id in undone:
            kept.append(step.model_copy(update={"status": "undone"}))
        else:
            kept.append(step)
    return tuple(kept)


def _undecided(steps: Sequence[Step], resumed: Resumed) -> Decided | None:
    """The end of a question that a stop left open, if its time was over when the turn went on."""
    question = open_question(steps)
    if question is None or question.approval is None or question.until is None or float(resumed.ts) <= question.until:
        return None
    return Decided(call_id=question.call_id, outcome="expired", ts=resumed.ts)


def _skipped(step: Step) -> Step:
    """A cell that somebody rejected counts as skipped, because the turn went on."""
    is_rejected = isinstance(step, Decided) and step.outcome == "reject"
    return step.model_copy(update={"outcome": "skip"}) if is_rejected else step


def _without_reset(steps: Sequence[Step]) -> Sequence[Step]:
    """Leaves out our question about a reset, and the message before it, when the answer was about something else."""
    place = next(
        (n for n, step in enumerate(steps) if isinstance(step, Questioned) and step.call_id == RESET_CALL), None
    )
    if place is None or isinstance(steps[-1], Forgot) or not any(isinstance(step, Asked) for step in steps[place:]):
        return steps
    return steps[place + 1 :]
