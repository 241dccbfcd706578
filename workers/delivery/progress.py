"""The card of a running turn: a full redraw from what is known.

Any worker can draw the card of any turn from its steps (`progress_of`), so nothing is lost with a worker that died.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core.interactions import LeaveButton, StepButton, StopButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import TASK_SIGNS, Block, SlackMessage, TaskStatus
from core.slack.text import clip, escape
from core.steps import (
    Asked,
    Briefed,
    CellRan,
    Finished,
    Moved,
    Noted,
    Planned,
    Preferred,
    Questioned,
    Recalled,
    Replied,
    Resumed,
    StatementRan,
    Step,
    Undone,
    decision_on,
    total_spent,
)
from core.values import Language
from workers.agent.about_steps import cells_run, repairs_of, statements_of
from workers.agent.actions import RunCell
from workers.agent.allowed_cells import last_runs, needs_a_yes
from workers.agent.replies.plans import lines_of
from workers.agent.text import last_line, spoken_line
from workers.agent.turn import Told
from workers.delivery.amounts import duration, spending

TurnState = Literal["running", "waiting", "done", "stopped", "failed"]

_MOST_TASKS = 45
"""A plan shows 50 tasks at most; the first ones fold into one line before that."""
_CARD_BUDGET = 9_000
"""Characters of a whole card. Slack was seen to refuse from about 10,600 on."""
_DETAILS = 600
_OUTPUT = 200
_TOLD = 2_000
"""More than is shown of a text, because a value may stand where it is cut."""
_BARE_TITLE = 90
_BARE_OUTPUT = 80
_SHORTEST_S = 0.1
"""A step that took less says no time."""
_REFUSED = "RequestRefused"
"""The name of the error that a cell gets where it may not do something."""
STOPPED = "stopped"
"""The reason of a turn that a person stopped."""


@dataclass(frozen=True, slots=True)
class TaskView:
    """One line of the card: a cell, the reading of files, a question. `output` and `details` are raw text.

    `seconds` is how long it took, where that is known.
    """

    id: str
    title: str
    status: TaskStatus
    output: str = ""
    details: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ProgressView:
    """All that the card shows. `note` is one line about this moment ("Thinking about the result"); `cells`: how many
    have run, as the line under the report counts them; `spent`: what the model calls took so far, until a report
    says it."""

    language: Language
    state: TurnState
    tasks: tuple[TaskView, ...] = ()
    note: str = ""
    cells: int = 0
    spent: str = ""


def progress_of(
    steps: Sequence[Step],
    language: Language,
    state: TurnState = "running",
    *,
    currency: str = "",
    running: RunCell | None = None,
    live_output: str = "",
    where: str = "",
    note: str = "",
    told: Told = str,
) -> ProgressView:
    """The view of a turn: its stored steps, and the cell that runs right now with its line and its last output.

    `currency` is the one that prices are in. `told` gives what everybody in the thread may read of the outputs and the
    code of cells.
    """
    opening = next(
        (n for n, step in enumerate(steps) if not isinstance(step, Asked | Noted | Moved | Preferred)), len(steps)
    )
    repairs = repairs_of(steps)
    unseen = _ran_again(steps, running).union(*repairs.values())
    tasks = [
        task
        for n, step in enumerate(steps)
        if n >= opening and not (isinstance(step, CellRan) and step.cell_id in unseen) and not _was_allowed(step, steps)
        for task in _tasks_of(n, step, language, told)
    ]
    took = {step.cell_id: step.duration_s for step in steps if isinstance(step, CellRan)}
    tasks = [
        replace(
            task,
            title=say("progress_repaired", language, title=bare_title(task.title), count=len(tries)),
            seconds=task.seconds + sum(took[cell] for cell in tries),
        )
        if (tries := repairs.get(task.id))
        else task
        for task in tasks
    ]
    if running is not None:
        title = running.title or say("progress_cell", language)
        queries = queries_line(statements_of(steps, running.cell_id), language)
        output = _joined(where, queries, _shown(last_line(live_output), told))
        tasks.append(TaskView(running.cell_id, title, "in_progress", output, _shown(running.code, told)))
    if state == "running":
        tasks += _open_steps(steps, running)
    if state != "running":
        tasks = [replace(task, status=_settled(task.status)) for task in tasks]
    spent = total_spent([step for step in steps if isinstance(step, Replied)])
    so_far = "" if state == "done" else spending(spent, currency, language)
    return ProgressView(language, state, tuple(tasks), note, cells_run(steps), so_far)


def progress_blocks(view: ProgressView, turn_id: str = "", *, leaves: str = "") -> SlackMessage:
    """The card as a `plan` block, and its text for notifications (at most 3,000 characters).

    With a `turn_id` the card of a running turn has a Stop button that carries it, and once a cell ran, in every state,
    a button that opens each step. `leaves` is the thread's id when the
    card is to have a Leave button, in every state.
    """
    title = _title(view)
    tasks = _folded(view)
    if not tasks:
        return SlackMessage(
            _text(view, title, tasks), [kit.section(f"*{escape(title)}*"), *_foot(view, turn_id, leaves)]
        )
    blocks = [kit.plan(title, [_card(task, view.language) for task in tasks])]
    if kit.characters(blocks) > _CARD_BUDGET:
        blocks = [kit.plan(title, [_card(replace(task, details=""), view.language) for task in tasks])]
    if kit.characters(blocks) > _CARD_BUDGET:
        short = [replace(t, details="", output=clip(t.output, _BARE_OUTPUT), title=bare_title(t.title)) for t in tasks]
        blocks = [kit.plan(title, [_card(task, view.language) for task in short])]
    return SlackMessage(_text(view, title, tasks), blocks + _foot(view, turn_id, leaves))


def _foot(view: ProgressView, turn_id: str, leaves: str) -> list[Block]:
    """The lines under the card: while the turn runs, its current line and Stop; its cost, its steps, and Leave."""
    runs = view.state == "running"
    buttons = []
    if runs and turn_id:
        buttons.append(kit.button(say("stop_button", view.language), StopButton(turn=turn_id)))
    if view.cells and turn_id:
        buttons.append(kit.button(say("step_button", view.language), StepButton(turn=turn_id)))
    if leaves:
        buttons.append(kit.button(say("leave_button", view.language), LeaveButton(thread=leaves)))
    lines = [escape(line) for line in (view.note if runs else "", view.spent) if line]
    foot = [kit.context(*lines)] if lines else []
    return [*foot, kit.actions(*buttons)] if buttons else foot


def _open_steps(steps: Sequence[Step], running: RunCell | None) -> list[TaskView]:
    """The steps of the plan that no cell has begun, with what each will show. A step that began is a cell's line."""
    left = (line for line in lines_of(steps, running) if line.state == "open")
    return [
        TaskView(f"plan-{line.number}", f"{line.number}. {line.step.title}", "pending", line.step.shows)
        for line in left
    ]


def _was_allowed(step: Step, steps: Sequence[Step]) -> bool:
    """Whether people allowed what a step asked about, a cell or a statement: the line of that cell tells the rest."""
    if not isinstance(step, Questioned) or step.approval is None:
        return False
    if step.approval.what not in ("python", "bash", "statement"):
        return False
    decided = decision_on(steps, step.call_id)
    return decided is not None and decided.outcome in ("run", "edited")


def _ran_again(steps: Sequence[Step], running: RunCell | None) -> set[str]:
    """The cells that stopped to ask a person, and that ran again or run again right now."""
    last, now = last_runs(steps), running.call_id if running else None
    asked = [step for step in steps if isinstance(step, CellRan) and needs_a_yes(step)]
    return {cell.cell_id for cell in asked if cell not in last or cell.call_id == now}


def _tasks_of(number: int, step: Step, language: Language, told: Told) -> list[TaskView]:
    match step:
        case Briefed(files=files, problems=problems) if files or problems:
            names = ", ".join(file.path for file in files)
            troubles = "; ".join(f"{problem.name}: {problem.why}" for problem in problems)
            status: TaskStatus = "error" if problems and not files else "complete"
            title = say("progress_files", language, count=len(files) + len(problems))
            return [TaskView(f"files-{number}", title, status, "; ".join(filter(None, (names, troubles))))]
        case Recalled(notes=notes) if notes:
            titles = "; ".join(dict.fromkeys(note.title for note in notes))
            return [TaskView(f"recalled-{number}", say("progress_recalled", language), "complete", clip(titles, 300))]
        case CellRan() if needs_a_yes(step):
            asks = say("progress_asks_yes", language)
            title = step.title or say("progress_cell", language)
            return [TaskView(step.cell_id, title, "complete", asks, _shown(step.code, told))]
        case CellRan():
            title = step.title or say("progress_cell", language)
            ended: TaskStatus = "complete" if step.status == "ok" else "error"
            output = _joined(queries_line(step.statements, language), outcome_line(step, told))
            return [TaskView(step.cell_id, title, ended, output, _shown(step.code, told), step.duration_s)]
        case Planned(why=why) if why:
            return [TaskView(f"replanned-{number}", say("progress_replanned", language), "complete", why)]
        case Questioned():
            return [TaskView(f"question-{number}", say("progress_question", language), "complete", step.question)]
        case Asked():
            title = say("progress_joined", language, author=step.author or step.user)
            return [TaskView(f"asked-{number}", title, "complete", step.text)]
        case Undone():
            title = say("progress_undone", language, author=step.author or step.user, title=bare_title(step.title))
            return [TaskView(f"undone-{number}", title, "complete")]
        case Resumed():
            title = say("progress_resumed", language, author=step.author or step.user)
            return [TaskView(f"resumed-{number}", title, "complete")]
        case Finished():
            return [TaskView("report", say("progress_report", language), "complete")]
        case _:
            return []


def outcome_line(cell: CellRan, told: Told = str) -> str:
    """The outcome of a cell, in one line: its error, its key line (else what it showed last), the files it made.

    `told` gives what may be read of a line; the name of an error may always be. A refusal is a sentence for people too,
    and stands without the name.
    """
    if cell.status == "error":
        said = _shown(last_line(cell.error), told)
        if said and cell.error_name == _REFUSED:
            return said.removeprefix(f"{_REFUSED}: ")
        return said if said.startswith(cell.error_name) else ": ".join(filter(None, (cell.error_name, said)))
    if cell.status != "ok":
        return cell.notice_text or cell.notice or cell.status
    made = ", ".join(file.name for file in (*cell.figures, *cell.files))
    said = spoken_line(cell.stdout, cell.result)
    return _joined(clip(_shown(said, told), _OUTPUT), made)


def _shown(text: str, told: Told) -> str:
    return told(clip(text, _TOLD)) if text else ""


def queries_line(ran: Iterable[StatementRan], language: Language) -> str:
    """The data that a cell got from data sources, in one line: for each source, rows and seconds."""
    of: dict[str, list[StatementRan]] = {}
    for one in ran:
        if not one.error:
            of.setdefault(one.source, []).append(one)
    return _joined(
        *(
            say(
                "progress_queries",
                language,
                source=source,
                count=len(several),
                rows=sum(one.rows for one in several),
                seconds=sum(one.seconds for one in several),
            )
            for source, several in of.items()
        )
    )


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))


def _settled(status: TaskStatus) -> TaskStatus:
    """A turn at rest shows nothing as still going on: Slack draws that as an error mark or an endless spinner."""
    return "error" if status in ("in_progress", "pending") else status


def _title(view: ProgressView) -> str:
    return say(f"progress_{view.state}", view.language, cells=view.cells)


def _folded(view: ProgressView) -> tuple[TaskView, ...]:
    if len(view.tasks) <= _MOST_TASKS:
        return view.tasks
    hidden = len(view.tasks) - (_MOST_TASKS - 1)
    fold = TaskView("folded", say("progress_folded", view.language, count=hidden), "complete")
    return (fold, *view.tasks[hidden:])


def _card(task: TaskView, language: Language) -> Block:
    took = duration(task.seconds, language) if task.seconds >= _SHORTEST_S else ""
    shown = _joined(clip(task.output, _OUTPUT) if task.output.strip() else "", took)
    output = kit.paragraph(shown) if shown else None
    details = kit.code(clip(task.details, _DETAILS)) if task.details.strip() else None
    return kit.task_card(task.id, task.title, task.status, output=output, details=details)


def bare_title(title: str) -> str:
    """A title cut to one short line."""
    return clip(title, _BARE_TITLE)


def _text(view: ProgressView, title: str, tasks: Sequence[TaskView]) -> str:
    lines = [title, *(f"{TASK_SIGNS[task.status]} {bare_title(task.title)}" for task in tasks), view.note]
    return kit.fallback("\n".join(filter(None, lines)))
