"""The card of a running turn, and the blocks of questions and endings: full redraws from what is known.

Any worker can draw the card of any turn from its steps (`progress_of`): a crash leaves nothing that cannot be redrawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core import blocks as kit
from core.blocks import Block, Limit, SlackMessage, TaskStatus
from core.harmless import harmless
from core.phrases import say
from core.slack_text import clip, escape
from core.values import Language
from workers.agent.actions import RunCell
from workers.agent.steps import Asked, Briefed, CellRan, Finished, GaveUp, Questioned, Resumed, Step, Undone

TurnState = Literal["running", "waiting", "done", "stopped", "failed"]

_MOST_TASKS = 45
"""A plan shows 50 tasks at most; the first ones fold into one line before that."""
_CARD_BUDGET = 9_000
"""Characters of a whole card. Slack was seen to refuse from about 10,600 on."""
_DETAILS = 600
_OUTPUT = 200
_BARE_TITLE = 90
_BARE_OUTPUT = 80
_STOPPED_CELLS = 8
STOP_ACTION = "stop"
"""The action id that the bot listens to; the button's value is the turn's id."""
STOPPED = "stopped"
"""The reason of a turn that a person stopped."""
_NO_CELLS = ("files-", "question-", "asked-", "resumed-", "undone-", "report", "folded")
_SIGN = {"pending": "○", "in_progress": "◐", "complete": "✓", "error": "✗"}


@dataclass(frozen=True, slots=True)
class TaskView:
    """One line of the card: a cell, the reading of files, a question. `output` and `details` are raw text."""

    id: str
    title: str
    status: TaskStatus
    output: str = ""
    details: str = ""


@dataclass(frozen=True, slots=True)
class ProgressView:
    """All that the card shows. `note` is one line about this moment ("Thinking about the result")."""

    language: Language
    state: TurnState
    tasks: tuple[TaskView, ...] = ()
    note: str = ""


def progress_of(
    steps: Sequence[Step],
    language: Language,
    state: TurnState = "running",
    *,
    running: RunCell | None = None,
    live_output: str = "",
    note: str = "",
) -> ProgressView:
    """The view of a turn: its stored steps and the cell that runs right now, with the last of its output."""
    opening = next((n for n, step in enumerate(steps) if not isinstance(step, Asked)), len(steps))
    tasks = [task for n, step in enumerate(steps) if n >= opening for task in _tasks_of(n, step, language)]
    if running is not None:
        title = running.title or say("progress_cell", language)
        tasks.append(TaskView(running.cell_id, title, "in_progress", _last_line(live_output), running.code))
    if state != "running":
        tasks = [replace(task, status=_settled(task.status)) for task in tasks]
    return ProgressView(language, state, tuple(tasks), note)


def progress_blocks(view: ProgressView, turn_id: str = "") -> SlackMessage:
    """The card as a `plan` block, and its text for notifications (at most 3,000 characters).

    With a `turn_id` the card of a running turn has a Stop button that carries it.
    """
    title = _title(view)
    tasks = _folded(view)
    if not tasks:
        return SlackMessage(_text(view, title, tasks), [kit.section(f"*{escape(title)}*"), *_foot(view, turn_id)])
    blocks = [kit.plan(title, [_card(task) for task in tasks])]
    if kit.characters(blocks) > _CARD_BUDGET:
        blocks = [kit.plan(title, [_card(replace(task, details="")) for task in tasks])]
    if kit.characters(blocks) > _CARD_BUDGET:
        short = [replace(t, details="", output=clip(t.output, _BARE_OUTPUT), title=_bare(t.title)) for t in tasks]
        blocks = [kit.plan(title, [_card(task) for task in short])]
    return SlackMessage(_text(view, title, tasks), blocks + _foot(view, turn_id))


def question_blocks(
    question: str, options: Sequence[str], turn_id: str, call_id: str, language: Language = "en"
) -> SlackMessage:
    """A question with a button per option. The buttons carry `{"turn", "call", "n"}`; options too long for a button
    stand in full above them."""
    blocks: list[Block] = [kit.paragraph(clip(question, Limit.SECTION))]
    numbered = [(n, option) for n, option in enumerate(options) if option.strip()][: Limit.BUTTONS]
    if any(len(option) > Limit.BUTTON_TEXT for _, option in numbered):
        each = max(60, 6_000 // len(numbered))
        blocks.append(kit.paragraph("\n".join(f"{n + 1}. {clip(option, each)}" for n, option in numbered)))
    if numbered:
        blocks.append(kit.actions(*(_option_button(n, option, turn_id, call_id) for n, option in numbered)))
    blocks.append(kit.context(escape(say("question_hint" if numbered else "question_open_hint", language))))
    listed = "\n".join(f"{n + 1}. {option}" for n, option in numbered)
    return SlackMessage(kit.fallback(f"{question}\n{listed}".strip()), blocks)


def answered_blocks(question: str, answer: str, author: str, language: Language) -> SlackMessage:
    """The question once it is answered: no buttons left, who chose what."""
    line = say("question_answered", language, author=clip(author, 80), answer=clip(answer, 1_000))
    blocks = [kit.paragraph(clip(question, Limit.SECTION)), kit.context(escape(line))]
    return SlackMessage(kit.fallback(f"{question}\n{line}"), blocks)


def gave_up_blocks(step: GaveUp, language: Language, cells: Sequence[CellRan] = ()) -> SlackMessage:
    """The honest end: what happened and what to do next, and what of the work is still there."""
    if step.reason == STOPPED:
        title, kept = say("stopped_title", language), say("stopped_kept", language)
    else:
        title = say(f"gave_up_title_{step.fault}", language)
        done = [cell for cell in cells if cell.status == "ok"]
        kept = say("gave_up_kept", language, count=len(done)) if done else say("gave_up_nothing_kept", language)
    blocks = [kit.header(title), kit.markdown(harmless(clip(step.text, 8_000)) or "…"), kit.context(escape(kept))]
    return SlackMessage(kit.fallback(f"{title}\n{step.text}\n{kept}"), blocks)


def stopped_text(author: str, cells: Sequence[CellRan], language: Language) -> str:
    """What a stopped turn says, in Markdown: who stopped it and what its last cells showed."""
    lines = [say("stopped_by", language, author=clip(author, 80))]
    if cells:
        lines += ["", say("stopped_so_far", language)]
        if len(cells) > _STOPPED_CELLS:
            lines.append(f"- {say('progress_folded', language, count=len(cells) - _STOPPED_CELLS)}")
    for cell in cells[-_STOPPED_CELLS:]:
        what = say("stopped_in_cell", language) if cell.status == "killed" else _outcome(cell)
        lines.append("- " + " — ".join(filter(None, (_bare(cell.title or say("progress_cell", language)), what))))
    return "\n".join(lines)


def _foot(view: ProgressView, turn_id: str) -> list[Block]:
    """What stands under the card while its turn runs: a line about this moment, the Stop button."""
    if view.state != "running":
        return []
    foot = [kit.context(escape(view.note))] if view.note else []
    if turn_id:
        foot.append(kit.actions(kit.button(say("stop_button", view.language), STOP_ACTION, turn_id)))
    return foot


def _tasks_of(number: int, step: Step, language: Language) -> list[TaskView]:
    match step:
        case Briefed(files=files, problems=problems) if files or problems:
            names = ", ".join(file.path for file in files)
            troubles = "; ".join(f"{problem.name}: {problem.why}" for problem in problems)
            status: TaskStatus = "error" if problems and not files else "complete"
            title = say("progress_files", language, count=len(files) + len(problems))
            return [TaskView(f"files-{number}", title, status, "; ".join(filter(None, (names, troubles))))]
        case CellRan():
            title = step.title or say("progress_cell", language)
            return [
                TaskView(step.cell_id, title, "complete" if step.status == "ok" else "error", _outcome(step), step.code)
            ]
        case Questioned():
            return [TaskView(f"question-{number}", say("progress_question", language), "complete", step.question)]
        case Asked():
            title = say("progress_joined", language, author=step.author or step.user)
            return [TaskView(f"asked-{number}", title, "complete", step.text)]
        case Undone():
            title = say("progress_undone", language, author=step.author or step.user, title=_bare(step.title))
            return [TaskView(f"undone-{number}", title, "complete")]
        case Resumed():
            title = say("progress_resumed", language, author=step.author or step.user)
            return [TaskView(f"resumed-{number}", title, "complete")]
        case Finished():
            return [TaskView("report", say("progress_report", language), "complete")]
        case _:
            return []


def _outcome(cell: CellRan) -> str:
    if cell.status == "error":
        said = _last_line(cell.error)
        return said if said.startswith(cell.error_name) else f"{cell.error_name}: {said}"
    if cell.status != "ok":
        return cell.told or cell.notice or cell.status
    made = ", ".join(file.name for file in (*cell.figures, *cell.files))
    said = _last_line(cell.stdout) or _last_line(cell.result)
    return " · ".join(filter(None, (clip(said, _OUTPUT), made)))


def _settled(status: TaskStatus) -> TaskStatus:
    """A turn at rest shows nothing as still going on: Slack draws that as an error mark or an endless spinner."""
    return "error" if status in ("in_progress", "pending") else status


def _title(view: ProgressView) -> str:
    cells = sum(not task.id.startswith(_NO_CELLS) for task in view.tasks)
    return say(f"progress_{view.state}", view.language, cells=cells)


def _folded(view: ProgressView) -> tuple[TaskView, ...]:
    if len(view.tasks) <= _MOST_TASKS:
        return view.tasks
    hidden = len(view.tasks) - (_MOST_TASKS - 1)
    fold = TaskView("folded", say("progress_folded", view.language, count=hidden), "complete")
    return (fold, *view.tasks[hidden:])


def _card(task: TaskView) -> Block:
    output = kit.paragraph(clip(task.output, _OUTPUT)) if task.output.strip() else None
    details = kit.code(clip(task.details, _DETAILS)) if task.details.strip() else None
    return kit.task_card(task.id, task.title, task.status, output=output, details=details)


def _bare(title: str) -> str:
    return clip(title, _BARE_TITLE)


def _text(view: ProgressView, title: str, tasks: Sequence[TaskView]) -> str:
    lines = [title, *(f"{_SIGN[task.status]} {_bare(task.title)}" for task in tasks), view.note]
    return kit.fallback("\n".join(filter(None, lines)))


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _option_button(number: int, text: str, turn_id: str, call_id: str) -> dict[str, object]:
    value = json.dumps({"turn": turn_id, "call": call_id, "n": number}, separators=(",", ":"))
    return kit.button(text, f"answer:{number}", value)
