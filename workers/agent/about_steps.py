"""Questions about steps, each a pure function: is a question open, which files were read, which cell is the last."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeGuard

from core.commands.registry import SPEAK
from core.steps import (
    APPROVE_CALL,
    Acknowledged,
    Asked,
    Briefed,
    CellRan,
    Closed,
    Commanded,
    Decided,
    FilesHeld,
    Finished,
    Forgot,
    GaveUp,
    Imported,
    Loaded,
    Moved,
    Preferred,
    Queried,
    Questioned,
    Replied,
    Resumed,
    StatementRan,
    Step,
    Undone,
    Unread,
    answers_reset,
)
from core.thread_cells import Held, answered_calls
from core.values import FileRef, StoredFile
from workers.agent.allowed_cells import needs_a_yes, stopped_runs
from workers.agent.code.source import assigned_names

Turns = Sequence[Sequence[Step]]
"""The turns of a thread, oldest first."""

_MOST_HOURS = 48


def cells(steps: Sequence[Step]) -> list[CellRan]:
    """The cells among these steps."""
    return [step for step in steps if isinstance(step, CellRan)]


def files_made(ran: Iterable[CellRan]) -> dict[str, StoredFile]:
    """The files that these effective cells made, by name, as the last one left each. Those of an undone cell are gone
    from the session too."""
    return {file.name: file for cell in ran if cell.status != "undone" for file in cell.files}


def cells_run(steps: Sequence[Step]) -> int:
    """How many cells ran. A cell whose process ended does not count once it ran again, nor does one that only had a
    person asked."""
    left = failed_cells(steps)
    return sum((cell.status != "died" or cell in left) and not needs_a_yes(cell) for cell in cells(steps))


def repairs_of(steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    """For each cell that ran well, by its id: the ids of the tries before it that failed, oldest first.

    A failed cell counts as repaired, not as failed, if a later cell of the same title ran well. A person's own code
    repairs nobody's cell. A cell whose process ended was no try, and neither was one that only had a person asked.
    """
    found: dict[str, tuple[str, ...]] = {}
    tries: dict[str, tuple[str, ...]] = {}
    for cell in cells(steps):
        if cell.status in ("error", "timeout", "killed") and not cell.is_own and not needs_a_yes(cell):
            tries[cell.title] = (*tries.get(cell.title, ()), cell.cell_id)
        elif cell.status == "ok" and cell.title in tries:
            found[cell.cell_id] = tries.pop(cell.title)
    return found


def failed_cells(steps: Sequence[Step]) -> list[CellRan]:
    """The cells that failed and that no later one of the same title made good, oldest first."""
    left: list[CellRan] = []
    mended = set[str]()
    for cell in reversed(cells(steps)):
        if cell.status == "ok":
            mended.add(cell.title)
        elif cell.status != "undone" and cell.title not in mended and not needs_a_yes(cell):
            left.append(cell)
    return left[::-1]


def ending(steps: Sequence[Step]) -> Finished | Forgot | GaveUp | Closed | None:
    """The step that closed the turn, when it is the last one. A question about its files may stand behind it."""
    last = next((step for step in reversed(steps) if not isinstance(step, FilesHeld)), None)
    return last if isinstance(last, Finished | Forgot | GaveUp | Closed) else None


def last_answer(steps: Sequence[Step]) -> tuple[Questioned, Asked | Commanded | Decided] | None:
    """The last question, with the first words, decision or stop since it was posted. None while the question waits."""
    place = next((n for n in range(len(steps) - 1, -1, -1) if isinstance(steps[n], Questioned)), None)
    if place is None or not isinstance(question := steps[place], Questioned):
        return None
    resumed = [n for n, step in enumerate(steps) if n > place and isinstance(step, Resumed)]
    for step in steps[max([place, *resumed]) :]:
        is_answer = isinstance(step, Decided if question.approval else Asked)
        if isinstance(step, Asked | Decided | Commanded) and (is_answer or _ends_question(step)):
            return question, step
    return None


def approvals_asked(steps: Sequence[Step]) -> int:
    """The highest number of our questions whether something may run. Rounds of feedback may be left out of the steps,
    so they are not counted: a number that comes again would give a new question the decision on an old one."""
    asked = (step.call_id for step in steps if isinstance(step, Questioned) and step.approval is not None)
    numbers = (call_id.removeprefix(APPROVE_CALL) for call_id in asked if call_id.startswith(APPROVE_CALL))
    return max(map(int, numbers), default=0)


def _ends_question(step: Step) -> TypeGuard[Commanded]:
    return answers_reset(step) or (isinstance(step, Commanded) and step.command in ("stop", SPEAK))


def pending_command(steps: Sequence[Step]) -> Commanded | None:
    """The first command that was not carried out yet."""
    done = {step.ts for step in steps if isinstance(step, Acknowledged)}
    return next((step for step in steps if isinstance(step, Commanded) and step.ts not in done), None)


def asks_analyst(steps: Sequence[Step]) -> bool:
    """Whether a turn is there for the analyst to answer: somebody wrote to it, or it has replied."""
    return any(isinstance(step, Asked | Resumed) or _is_of_analyst(step) for step in steps)


def _is_of_analyst(step: Step) -> bool:
    """Whether the model replied as the analyst, and not for a program that somebody has built."""
    return isinstance(step, Replied) and not step.user and step.purpose != "build"


def opens_turn(steps: Sequence[Step], command: Commanded) -> bool:
    """Whether the turn was opened by this command."""
    return next((step for step in steps if not isinstance(step, Moved)), None) == command


def first_asked(steps: Sequence[Step]) -> Asked | None:
    """The words that began the turn. What people said among themselves before is none of them, unless there is nothing
    else."""
    asked = [step for step in steps if isinstance(step, Asked)]
    return next((step for step in asked if not step.overheard), asked[0] if asked else None)


def asker(steps: Sequence[Step]) -> str:
    """The id of the person whose message began the turn, "" for none."""
    first = first_asked(steps)
    return next((step.user for step in steps if step is first or isinstance(step, Commanded)), "")


def payer(steps: Sequence[Step]) -> str:
    """The id of the person at whose cost the turn works now: who began it, or who continued it last; "" for none."""
    return next((step.user for step in reversed(steps) if isinstance(step, Resumed) and step.user), asker(steps))


def chosen_model(steps: Sequence[Step]) -> str:
    """The name under `[models]` of the model that a turn is to ask; "" for the first one of the installation."""
    named = (step.model for step in reversed(steps) if isinstance(step, Preferred | Resumed) and step.model)
    return next(named, "")


def has_readable_file(turns: Turns) -> bool:
    """Whether the thread has a file that the analyst can read."""
    return any(isinstance(step, Briefed) and step.files for step in _all(turns))


def only_unreadable_files(turns: Turns) -> bool:
    """Whether files were refused since the model last replied, and the thread has nothing else to go on: no file that
    can be read, and no cell that ran well."""
    steps = turns[-1] if turns else ()
    since = next((n for n in range(len(steps) - 1, -1, -1) if isinstance(steps[n], Replied)), -1)
    refused = any(isinstance(step, Briefed) and step.problems for step in steps[since + 1 :])
    ran_well = any(cell.status == "ok" for cell in cells(since_reset(list(_all(turns)))))
    return refused and not ran_well and not has_readable_file(turns)


def unread_files(turns: Turns) -> tuple[FileRef, ...]:
    """The files that were sent right before a stop and that nobody has read since."""
    files: dict[str, FileRef] = {}
    for step in _all(turns):
        if isinstance(step, Briefed):
            files.clear()
        elif isinstance(step, Unread):
            files |= {file.id: file for file in step.files}
    return tuple(files.values())


def last_cell(turns: Turns) -> CellRan | None:
    """The last cell that nobody took back, unless the session was reset after it."""
    undone: set[str] = set()
    for step in (step for steps in reversed(turns) for step in reversed(steps)):
        if isinstance(step, Forgot) and step.done:
            return None
        if isinstance(step, Undone):
            undone.add(step.cell_id)
        elif isinstance(step, CellRan) and step.cell_id not in undone:
            return step
    return None


def time_between(before: Sequence[Step], after: Sequence[Step]) -> str:
    """How long after the last message of some steps the first one of others came: "3 hours", "2 days"; "" for less than
    an hour."""
    said, now = ([float(step.ts) for step in steps if isinstance(step, Asked)] for steps in (before, after))
    hours = int(now[0] - said[-1]) // 3_600 if said and now else 0
    if hours < _MOST_HOURS:
        return f"{hours} {'hour' if hours == 1 else 'hours'}" if hours > 0 else ""
    return f"{hours // 24} days"


def was_reset(steps: Sequence[Step]) -> bool:
    """Whether the session was reset in these steps, and no cell ran since."""
    marks = (step for step in reversed(steps) if isinstance(step, CellRan) or (isinstance(step, Forgot) and step.done))
    return isinstance(next(marks, None), Forgot)


def since_reset(steps: Sequence[Step]) -> Sequence[Step]:
    """The steps behind the last reset of the session; all of them when it never was."""
    place = max((n for n, step in enumerate(steps) if isinstance(step, Forgot) and step.done), default=-1)
    return steps[place + 1 :]


def names_set(turns: Turns, after: Turns = ()) -> list[str]:
    """The names that the cells of these turns set and that are still in the session after later turns, latest first."""
    names: dict[str, None] = {}
    for place, steps in enumerate((*turns, *after)):
        for step in steps:
            if begins_anew(step):
                names.clear()
            elif isinstance(step, Moved):
                names = {name: None for name in names if name not in step.lost}
            elif isinstance(step, CellRan) and place < len(turns) and step.status == "ok" and step.language == "python":
                for name in assigned_names(step.code):
                    names.pop(name, None)
                    names[name] = None
    return list(reversed(names))


def begins_anew(step: Step) -> bool:
    """Whether the session has no variable of earlier cells behind this step."""
    return (isinstance(step, Forgot) and step.done) or (isinstance(step, Moved) and not step.came)


def cells_not_in(turns: Turns, known: Collection[str]) -> list[CellRan]:
    """The cells whose effects a session should have but does not know. `known` are the cells that it knows.

    A cell that was undone, or that a reset followed, has no effects any more. A cell whose process died has no effects.
    What a cell did before it stopped to ask a person is taken back before it runs again.
    """
    found: list[CellRan] = []
    undone = {cell_id for steps in turns for cell_id in stopped_runs(steps)}
    for step in _all(turns):
        if isinstance(step, Forgot) and step.done:
            found = []
        elif isinstance(step, Undone):
            undone.add(step.cell_id)
        elif isinstance(step, CellRan) and step.status != "died":
            found.append(step)
    return [cell for cell in found if cell.cell_id not in undone and cell.cell_id not in known]


def has_shell(turns: Turns) -> bool:
    """Whether commands of bash have left a shell with a state of its own. A reset and a new shell end it."""
    used = False
    for step in _all(turns):
        if isinstance(step, CellRan) and step.language == "bash":
            used = used or step.status != "died"
        elif (isinstance(step, Forgot) and step.done) or (isinstance(step, Moved) and step.shell):
            used = False
    return used


def is_new_shell(before: Sequence[Step]) -> bool:
    """Whether a command of bash behind these steps was the first one in a shell that replaced an earlier shell."""
    for step in reversed(before):
        if isinstance(step, Moved) and step.shell:
            return True
        if (isinstance(step, CellRan) and step.language == "bash" and step.status != "died") or (
            isinstance(step, Forgot) and step.done
        ):
            return False
    return False


def data_held(turns: Turns, *, with_reports: bool = False) -> Held:
    """The data sources whose rows the thread holds, and the servers whose answers. A reset removes them, but not from
    its reports.

    Cells that were undone or died count too: the analyst still knows what they printed.
    """
    sources: set[str] = set()
    servers: set[str] = set()
    for step in _all(turns):
        if isinstance(step, Forgot) and step.done and not with_reports:
            sources.clear()
            servers.clear()
        if isinstance(step, Loaded | Imported):
            sources |= set(step.sources)
            servers |= set(step.servers)
        sources |= {ran.source for ran in statements((step,)) if ran.rows}
        servers |= {call.server for call in answered_calls(step)}
    return Held(tuple(sorted(sources)), tuple(sorted(servers)))


def statements(steps: Iterable[Step]) -> Iterator[StatementRan]:
    """The statements in these steps. A statement that is in a `Queried` and in the step of its cell comes twice."""
    for step in steps:
        if isinstance(step, CellRan):
            yield from step.statements
        elif isinstance(step, Queried):
            yield step.statement


def statements_of(steps: Sequence[Step], cell_id: str) -> list[StatementRan]:
    """The statements of a cell that has not ended, oldest first. They are known before the cell gets their rows."""
    return [step.statement for step in steps if isinstance(step, Queried) and step.cell_id == cell_id]


def metrics_otherwise(cell: CellRan) -> list[str]:
    """The team's metrics that a cell computes in another way, each once."""
    return list(dict.fromkeys(name for ran in cell.statements for name in ran.otherwise))


def without_rows(cell: CellRan) -> list[str]:
    """The statements of a cell that gave no rows, each once."""
    return list(dict.fromkeys(ran.sql for ran in cell.statements if not ran.error and ran.rows == 0))


def _all(turns: Turns) -> Iterator[Step]:
    return (step for steps in turns for step in steps)
