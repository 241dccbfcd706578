"""A turn's steps as blocks of messages. Each block can be rendered in several lengths; `messages.py` chooses one.

A block is kept or left out as a whole, because an endpoint refuses a tool call without its result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import NamedTuple, TypeGuard

from core.phrases import say
from core.steps import (
    CONFIRM_CALL,
    HOLD_CALL,
    Approval,
    Asked,
    Briefed,
    CellRan,
    Corrected,
    Decided,
    FigureSource,
    Finished,
    Forgot,
    FunctionNote,
    GaveUp,
    Inherited,
    Loaded,
    Moved,
    Noted,
    Proposed,
    Questioned,
    Recalled,
    Replied,
    Step,
    Undone,
    decision_on,
    open_question,
    option_of,
)
from workers.agent import stages
from workers.agent.actions import Message
from workers.agent.allowed_cells import asking_cell, last_runs, needs_a_yes
from workers.agent.code.source import assigned_names
from workers.agent.hints import error_line
from workers.agent.pictures import picture_message, shown_charts
from workers.agent.playbooks import DRIFT_CALL
from workers.agent.prompt.briefing import REPOSITORY, file_blocks
from workers.agent.prompt.drafts import without_drafts
from workers.agent.prompt.observation import observation
from workers.agent.replies.intents import Intent, Malformed, Question, Report, RunBash, RunPython
from workers.agent.replies.parse import read_reply
from workers.agent.replies.tools import ASK_USER, FINISH, RUN_PYTHON
from workers.agent.text import KEY_MARK, clip, fenced_off, one_line, quoted, shares, shown_line
from workers.agent.turn import Episode, Turn, episodes

AUTHOR_CHARS = 60
_UNREADABLE_CHARS = 1_000
_MAX_PROBLEMS = 20
_MAX_MISSING = 30
_PLAYBOOK_CHARS = 24_000
_PROGRAM_CHARS = 4_000
_LINE_CHARS = 120
_QUESTION_CHARS = 300
_OF_PEOPLE = (Asked, Briefed, Noted, Loaded, Replied, Forgot, GaveUp)
_QUOTES = re.compile("[\"'“”„‟«»「」『』]")
FIGURES_CHARS = 600
"""Characters for the figures of one report that is cut or left out."""


class Detail(NamedTuple):
    """How long the parts of a block may be, in characters, and whether its pictures are shown."""

    observation: int
    code: int
    report: int
    message: int
    pictures: bool = False


class Beside(NamedTuple):
    """What stands behind the questions of a turn: how-tos that fit them, and the tables of data sources. `reset`: the
    session was reset, and no cell ran since. `gone`: it was reset after this turn. `later`: how long after the turn
    before the question came. `undone`: the titles of the cells that people took back after the answer before."""

    procedures: tuple[str, ...] = ()
    schemas: str = ""
    reset: bool = False
    gone: bool = False
    later: str = ""
    undone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Messages that are kept or left out together.

    `render` makes them at a level of detail. `title` stands for a block that may be left out, a line for each of its
    cells; it is empty for a block that must stay.
    """

    render: Callable[[Detail], list[Message]]
    title: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """One turn of the thread, as blocks: the opening (questions and files), then an episode per reply."""

    opening: Block
    episodes: tuple[Block, ...]


def remember(
    turn: Turn,
    steps: Sequence[Step],
    thread: Sequence[Step],
    *,
    first: bool,
    files_chars: int,
    beside: Beside,
) -> Memory:
    """The blocks of one turn of the thread: `steps` are its own, `thread` those of all turns."""
    if beside.gone and not any(isinstance(step, _OF_PEOPLE) for step in steps):
        return Memory(Block(lambda detail: []), ())
    opening, found = episodes(steps)
    if steps is not turn.steps:
        found = without_drafts(found)
    ending = [step for step in steps if isinstance(step, GaveUp | Forgot)]
    charts = shown_charts(steps)
    blocks = [_episode_block(turn, episode, thread, charts) for episode in found]
    if ending:
        text = ending[-1].text
        blocks.append(Block(lambda detail: [_ended(turn, clip(text, detail.message))]))
    name = "task" if first else "follow_up"
    moved = _moved(turn, opening)
    recalled = [user(text) for step in opening if isinstance(step, Recalled) and (text := recalled_text(turn, step))]
    others = [
        step
        for step in opening
        if (isinstance(step, CellRan | Noted | Undone | Loaded) and not _is_left_out(step)) or _is_program(step)
    ]

    def told(detail: Detail) -> list[Message]:
        asked = [_opening(turn, name, opening, detail, (files_chars, beside))] if _asks(opening) or not others else []
        said = [user(text) for step in others if (text := _of_person(turn, step, thread, detail))]
        return [*asked, *_pictures(turn, opening, charts, detail), *recalled, *said, *moved]

    return Memory(Block(told), tuple(blocks))


def _asks(opening: Sequence[Step]) -> bool:
    return any(isinstance(step, Briefed) or (isinstance(step, Asked) and not step.left_out) for step in opening)


def _is_own(step: Step) -> TypeGuard[CellRan]:
    return isinstance(step, CellRan) and step.is_own


def _is_program(step: Step) -> TypeGuard[Proposed]:
    return isinstance(step, Proposed) and step.what == "program"


def _is_left_out(step: Step) -> bool:
    return isinstance(step, CellRan | Asked) and step.left_out


def _of_person(
    turn: Turn, step: CellRan | Noted | Undone | Loaded | Proposed, thread: Sequence[Step], detail: Detail
) -> str:
    """What a person did beside the model: own code with its outcome, a note, a cell taken back, a thread loaded, a
    program described."""
    name = sanitize_name(step.author or step.user)
    if isinstance(step, Proposed):
        if step != next(each for each in reversed(thread) if _is_program(each)):
            return ""  # “change” changes the newest one, and an older version only misleads
        return turn.prompts.render(
            "program_here",
            file=one_line(step.file, 80),
            version=step.version,
            author=name,
            about=quoted(clip(step.about, min(detail.message, _PROGRAM_CHARS))),
            change_words=say("change_example", turn.language),
        )
    if isinstance(step, Loaded):
        return turn.prompts.render(
            "loaded",
            author=name,
            questions=[quoted(clip(text, detail.message)) for text in step.questions],
            cells=[
                {"title": one_line(cell.title, 120), "code": fenced_off("python", clip(cell.code, detail.code))}
                for cell in step.cells
            ],
            more=step.more,
            said=[
                {"who": one_line(sanitize_name(each.who), 80), "text": quoted(clip(each.text, detail.message))}
                for each in step.said
            ],
            report=quoted(clip(step.report, detail.report)),
        )
    if isinstance(step, Noted):
        return turn.prompts.render("note", author=name, text=quoted(clip(step.text, detail.message)))
    if isinstance(step, Undone):
        return turn.prompts.render("undone", author=name, title=one_line(step.title, 120))
    seen = observation(turn, step, _before(thread, step), detail.observation)
    code = fenced_off("python", clip(step.code, detail.code))
    return turn.prompts.render("own_cell", author=name, code=code, observation=seen)


def _moved(turn: Turn, steps: Sequence[Step]) -> list[Message]:
    """What is missing after the session moved to another node, or after the thread was forked."""
    missing = [step for step in steps if isinstance(step, Moved) and not step.is_whole]
    forks = [
        user(
            turn.prompts.render(
                "inherited",
                author=sanitize_name(step.author or step.user),
                cells=_some([one.title for one in step.missing]),
                other=_some(step.other),
            )
        )
        for step in steps
        if isinstance(step, Inherited)
    ]
    return forks + [
        user(
            turn.prompts.render(
                "moved",
                came=step.came,
                cells=_some(step.cells),
                lost=_some(step.lost),
            )
        )
        for step in missing
    ]


def _some(names: Sequence[str]) -> list[str]:
    more = [f"and {len(names) - _MAX_MISSING} more"] if len(names) > _MAX_MISSING else []
    return [one_line(name, 120) for name in names[-_MAX_MISSING:]] + more


def _ended(turn: Turn, text: str) -> Message:
    return {"role": "assistant", "content": turn.prompts.render("ended", text=text)}


def user(content: str) -> Message:
    """A message of the user's role."""
    return {"role": "user", "content": content}


def author(asked: Asked) -> str:
    """The name of a message's author, safe inside our own marks."""
    return sanitize_name(asked.author or asked.user)


def sanitize_name(name: str) -> str:
    """A name that a person chose, fit to stand inside our own marks."""
    return one_line(re.sub(r"[\[\]`#>*]", "", name), AUTHOR_CHARS)


def quoted_name(name: str) -> str:
    """A name that a person chose, in quotation marks of which it has none: it cannot pass for a word of ours."""
    return f'"{_QUOTES.sub("", sanitize_name(name)).strip()}"'


def questions(steps: Sequence[Step], limit: int) -> list[dict[str, str]]:
    """The people's messages among these steps, quoted and bounded, for a prompt. What was asked stands before an
    answer. An option of a question of ours is left out: it decided something, and alone it would read as a wish."""
    asked = [
        (step, text)
        for place, step in enumerate(steps)
        if isinstance(step, Asked) and not step.left_out and (text := _as_asked(steps[:place], step)) is not None
    ]
    granted = shares([len(text) for _, text in asked], limit)
    return [
        {"author": author(step), "text": quoted(clip(text, share))}
        for (step, text), share in zip(asked, granted, strict=True)
    ]


def _as_asked(before: Sequence[Step], step: Asked) -> str | None:
    question = open_question(before)
    if question is None:
        return step.text
    if _is_ours(question):
        return step.text if option_of(step.text, question) is None else None
    return f"“{one_line(question.question, _QUESTION_CHARS)}” → {step.text}"


def files_text(turn: Turn, briefings: Sequence[Briefed], limit: int) -> str:
    """The description of the files in these briefings, "" when there are none."""
    files = tuple(file for briefed in briefings for file in briefed.files)
    problems = [problem for briefed in briefings for problem in briefed.problems][:_MAX_PROBLEMS]
    if not files and not problems:
        return ""
    shown = [{"name": one_line(problem.name, 200), "why": one_line(problem.why, 300)} for problem in problems]
    code = next((one_line(file.read_hint, 200) for file in files if file.format == REPOSITORY), "")
    repository = turn.prompts.render("repository", opened=code) if code else ""
    return turn.prompts.render("files", files=file_blocks(files, limit), problems=shown, repository=repository)


def _given(turn: Turn, step: Briefed | Recalled) -> str:
    """What came in with a message that joined a turn: its files, or what the team wrote down about it."""
    if isinstance(step, Recalled):
        return recalled_text(turn, step)
    return files_text(turn, [step], turn.limits.files_chars // 2)


def recalled_text(turn: Turn, step: Recalled) -> str:
    """What the team wrote down, as the model reads it."""
    notes = [
        {
            "title": one_line(note.title, 120),
            "place": one_line(note.place, 200),
            "kept": one_line(note.kept, 300),
            "text": quoted(note.text),
        }
        for note in step.notes
    ]
    clashes = [one_line(title, 120) for title in step.clashes]
    parts = []
    if step.gone or step.withheld:
        titles = [one_line(title, 120) for title in step.gone]
        parts.append(turn.prompts.render("recalled_gone", titles=titles, withheld=bool(step.withheld)))
    if notes:
        given = {"clashes": clashes, "more": step.more, "native_tools": turn.native_tools}
        parts.append(turn.prompts.render("recalled", notes=notes, **given))
    if (book := step.playbook) is not None:
        named = {"name": one_line(book.name, 120), "owner": one_line(book.owner, 80), "kept": one_line(book.kept, 40)}
        drift = [one_line(line, 200) for line in book.drift]
        parts.append(turn.prompts.render("playbook", **named, text=clip(book.text, _PLAYBOOK_CHARS), drift=drift))
    if step.functions:
        parts.append(turn.prompts.render("functions", functions=[_function(each) for each in step.functions]))
    return "\n\n".join(parts)


def _function(note: FunctionNote) -> dict[str, str | int]:
    said = {"signature": note.signature, "description": note.description, "when": note.when}
    return {"version": note.version, **{word: one_line(text, 300) for word, text in said.items()}}


def _opening(turn: Turn, name: str, opening: Sequence[Step], detail: Detail, told: tuple[int, Beside]) -> Message:
    files_chars, beside = told
    briefings = [step for step in opening if isinstance(step, Briefed)]
    asked = questions(opening, detail.message)
    files = files_text(turn, briefings, files_chars)
    given: dict[str, object] = {"files": files, "schemas": beside.schemas, "procedures": list(beside.procedures)}
    if name == "follow_up":
        lost = beside.gone or any(
            (isinstance(step, Moved) and not step.is_whole) or (isinstance(step, Inherited) and bool(step.missing))
            for step in opening
        )
        undone = [f"“{one_line(_QUOTES.sub('', title), 120)}”" for title in beside.undone]
        given |= {"reset": beside.reset, "later": beside.later, "lost": lost, "undone": undone}
        given["fetched"] = bool(turn.environment.sources or turn.environment.tools)
    return user(turn.prompts.render(name, messages=asked, **given))


def _pictures(turn: Turn, steps: Sequence[Step], charts: frozenset[str], detail: Detail) -> list[Message]:
    """The pictures of these steps, or that there are some."""
    cells = [step for step in steps if isinstance(step, CellRan) and not step.left_out]
    briefings = [step for step in steps if isinstance(step, Briefed)]
    return picture_message(turn, cells, briefings, charts if detail.pictures else frozenset(), room=detail.pictures)


def _episode_block(turn: Turn, episode: Episode, thread: Sequence[Step], charts: frozenset[str]) -> Block:
    cells = last_runs(episode.steps)
    stays = any(isinstance(step, Asked | Noted | Finished | Questioned) for step in episode.steps)
    return Block(
        lambda detail: [
            *_episode(turn, episode, thread, detail),
            *_pictures(turn, episode.steps, charts, detail),
        ],
        title="" if stays else "\n".join(_in_one_line(turn, cell) for cell in cells) or "A reply that was not used",
        failed=any(cell.status not in ("ok", "undone") for cell in cells),
    )


def _in_one_line(turn: Turn, cell: CellRan) -> str:
    """What stands for a cell that is left out: its number, its title, the names that it set, the line that it showed.

    What a cell showed is data, so it stands in quotation marks of which it can have none.
    """
    limit = min(_LINE_CHARS, turn.context_chars // 400)
    told = f'Cell {turn.number_of(cell)} "{one_line(cell.title, 60)}"'
    if cell.status == "undone":
        return f"{told}: taken back"
    if cell.status == "ok" and cell.language == "python" and (names := assigned_names(cell.code)):
        told += f", set {one_line(', '.join(names), limit)}"
    shown = shown_line(cell.stdout, cell.result) if cell.status == "ok" else error_line(cell)
    if cell.left_out or not shown:
        return told
    said = one_line(shown, limit).replace("“", '"').replace("”", '"')
    return f"{told}{'' if cell.status == 'ok' else ' failed'} → “{said}”"


def _episode(turn: Turn, episode: Episode, thread: Sequence[Step], detail: Detail) -> list[Message]:
    """A reply, the result of each of its calls, and what people said meanwhile, in the order that endpoints require."""
    reading = read_reply(episode.reply, episode.number)
    outcomes = {intent.call_id: _outcome(turn, intent, episode, thread, detail) for intent in reading.intents}
    aside = [*(user(text) for text in _aside(turn, episode, thread, detail)), *_moved(turn, episode.steps)]
    if reading.as_calls and turn.native_tools:
        wire_ids = {call.id: call.wire_id for call in episode.reply.calls if call.wire_id}
        calls = [_call(intent, detail, wire_ids) for intent in reading.intents]
        assistant: Message = {"role": "assistant", "content": clip(reading.text, detail.message), "tool_calls": calls}
        for intent in reading.intents:
            if isinstance(intent, Report) and (lost := _lost_figures(episode, intent.text, detail.report)):
                outcomes[intent.call_id] = f"{outcomes[intent.call_id]} {lost}".strip()
        results = [
            {
                "role": "tool",
                "tool_call_id": wire_ids.get(call_id, call_id),
                "content": text or "Not run: the turn ended before.",
            }
            for call_id, text in outcomes.items()
        ]
        return [assistant, *results, *aside]
    words = [reading.text, *(_fenced(intent) for intent in reading.intents if reading.as_calls)]
    whole = "\n".join(word for word in words if word)
    lost = _lost_figures(episode, whole, detail.code + detail.report)
    said: Message = {"role": "assistant", "content": clip(whole, detail.code + detail.report) or "(empty reply)"}
    return [said, *(user(text) for text in (*outcomes.values(), lost) if text), *aside]


def figures_told(sources: Iterable[FigureSource], limit: int) -> str:
    """The figures of a report that a cell or a file backs, in one line: those of one place together with what it is
    about. A line that holds its figures says them by itself."""
    told: dict[str, dict[str, str]] = {}
    for place, each in enumerate(sources):
        if each.state == "unsourced" or (each.places and each.places[0].what == "question"):
            continue
        about = each.places[0].about.removeprefix(KEY_MARK).strip() if each.places else ""
        number = re.sub(r"[^\d.,]", "", each.figure)
        known = told.setdefault(about or f"{_NOWHERE}{place}", {})
        if each.figure != number or number not in known.values():  # "13.5 %" says 13.5 as well
            known[each.figure] = number
    lines = (_told_together(about, list(figures)) for about, figures in told.items())
    return one_line("; ".join(dict.fromkeys(lines)), limit)


_NOWHERE = "\0"
"""Begins what stands for the place of a figure that has none."""


def _told_together(about: str, figures: Sequence[str]) -> str:
    if about.startswith(_NOWHERE):
        return figures[0]
    return about if all(_holds(about, figure) for figure in figures) else f"{', '.join(figures)} ({about})"


def _holds(text: str, figure: str) -> bool:
    """Whether a figure stands in a text, and not as a part of a longer number."""
    return re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d|[.,]\d)", text) is not None


def _lost_figures(episode: Episode, text: str, limit: int) -> str:
    """A sentence with the figures of the posted report that no longer stand in `text` when it is cut at `limit`."""
    shown = clip(text, limit)
    finished = next((step for step in episode.steps if isinstance(step, Finished)), None)
    if finished is None or shown == text:
        return ""
    lost = [one for one in finished.sources if not re.search(rf"(?<!\d){re.escape(one.figure)}(?!\d)", shown)]
    told = figures_told(lost, FIGURES_CHARS)
    return f"Figures of the report that are left out above: {told}" if told else ""


def _call(intent: Intent, detail: Detail, wire_ids: Mapping[str, str]) -> Message:
    """An intent as a well-formed tool call. The model sees its calls in the form that they should have had."""
    arguments: dict[str, object]
    match intent:
        case RunPython():
            name = RUN_PYTHON
            arguments = {"code": clip(intent.code, detail.code), "title": intent.title, **_plan_told(intent)}
        case RunBash():
            name = re.sub(r"\W", "_", intent.called, flags=re.ASCII)
            arguments = {"command": clip(intent.command, detail.code), "title": intent.title}
        case Question():
            name = ASK_USER
            arguments = {"question": intent.question, "options": list(intent.options)}
        case Report():
            name = FINISH
            arguments = {"report": clip(intent.text, detail.report)}
        case Malformed():
            name = re.sub(r"\W", "_", intent.tool, flags=re.ASCII)[:60] or "unknown"
            arguments = _as_given(intent.raw) or {"unreadable": clip(intent.raw or intent.reason, _UNREADABLE_CHARS)}
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": wire_ids.get(intent.call_id, intent.call_id), "type": "function", "function": function}


def _as_given(raw: str) -> dict[str, object]:
    """The arguments of a call that could not be acted on, as the model gave them; {} if they cannot be given back."""
    if len(raw) > _UNREADABLE_CHARS:
        return {}
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _plan_told(intent: RunPython) -> dict[str, object]:
    """The part about the plan in the arguments of a cell's call."""
    plan = [{"step": each.title, "shows": each.shows} for each in intent.plan]
    said = {"plan": plan, "why": intent.why, "step": intent.step}
    return {word: value for word, value in said.items() if value}


def _fenced(intent: Intent) -> str:
    """A tool call in the fenced form, for a thread whose model has no tools any more."""
    match intent:
        case RunPython():
            return f"```python\n{intent.code}\n```"
        case RunBash():
            return f"```bash\n{intent.command}\n```"
        case Question():
            return "\n".join(["<ask>", intent.question, *(f"- {option}" for option in intent.options), "</ask>"])
        case Report():
            return f"<finish>\n{intent.text}\n</finish>"
        case Malformed():
            return "(a call that could not be read)"


def _outcome(turn: Turn, intent: Intent, episode: Episode, thread: Sequence[Step], detail: Detail) -> str:
    """The result of one intent, "" when there is none (yet)."""
    ended = {step.call_id: step for step in episode.steps if isinstance(step, CellRan | Corrected)}
    for place, step in enumerate(episode.steps):
        if isinstance(step, CellRan) and step is ended.get(intent.call_id):
            if step.left_out:
                return turn.prompts.render("left_out_cell")
            seen = observation(turn, step, _before(thread, step), detail.observation)
            return _edited(turn, intent, episode, step, detail) + seen
        if isinstance(step, Corrected) and step.call_id == intent.call_id:
            return clip(step.text, detail.message)
        if isinstance(step, Questioned) and step.call_id == intent.call_id:
            answer = _answer(episode.steps[place + 1 :])
            return _said(turn, "answer", answer, detail) if answer else "The question was posted."
        if isinstance(step, Questioned) and step.approval is not None and isinstance(intent, Report):
            decided = decided_on_cell(episode.steps, intent.call_id)
            if decided is not None and decided.outcome in ("run", "edited", "skip"):
                return _stage_decided(turn, step.approval, decided, detail)
        if isinstance(step, Finished) and isinstance(intent, Report):
            return "The report was posted." if turn.native_tools and episode.reply.calls else ""
    return ""


def _stage_decided(turn: Turn, approval: Approval, decided: Decided, detail: Detail) -> str:
    """What people decided on a plan or a result, and what they changed in a result, as a diff."""
    changed = decided.outcome == "edited" and approval.what == "stage"
    lines = unified_diff(
        approval.code.splitlines(), decided.code.splitlines(), "yours", "as approved", lineterm="", n=0
    )
    diff = fenced_off("diff", clip("\n".join(lines), detail.report)) if changed else ""
    name = sanitize_name(decided.author or decided.user)
    return turn.prompts.render("stage_decided", outcome=decided.outcome, author=name, diff=diff)


def decided_on_cell(steps: Sequence[Step], call_id: str) -> Decided | None:
    """The last decision on the cell of this call; None when nobody was asked, or nobody decided."""
    asked = [step for step in steps if isinstance(step, Questioned) and step.approval and step.approval.call == call_id]
    return decision_on(steps, asked[-1].call_id) if asked else None


def _edited(turn: Turn, intent: Intent, episode: Episode, cell: CellRan, detail: Detail) -> str:
    """What a person changed in the code before it ran, as a diff; "" when nobody did."""
    decided = decided_on_cell(episode.steps, intent.call_id)
    if decided is None or decided.outcome != "edited" or not isinstance(intent, RunPython | RunBash):
        return ""
    written = intent.code if isinstance(intent, RunPython) else intent.command
    lines = unified_diff(written.splitlines(), cell.code.splitlines(), "yours", "as it ran", lineterm="", n=1)
    name = sanitize_name(decided.editor or decided.author or decided.user)
    return (
        turn.prompts.render("edited", author=name, diff=fenced_off("diff", clip("\n".join(lines), detail.code))) + "\n"
    )


def _before(thread: Sequence[Step], cell: CellRan) -> Sequence[Step]:
    if cell.status == "ok" and cell.language == "python":  # what is shown of it needs no earlier steps
        return ()
    return thread[: next(place for place, step in enumerate(thread) if step is cell)]


def _answer(steps: Sequence[Step]) -> Asked | None:
    answer = next((step for step in steps if isinstance(step, Asked)), None)
    return None if answer is None or answer.left_out else answer


def _said(turn: Turn, name: str, asked: Asked, detail: Detail, **variables: object) -> str:
    text = quoted(clip(asked.text, detail.message))
    return turn.prompts.render(name, author=author(asked), text=text, **variables)


def _aside(turn: Turn, episode: Episode, thread: Sequence[Step], detail: Detail) -> Iterator[str]:
    """What an episode holds beside the results of its calls: messages that joined, their files, corrections."""
    waiting: Questioned | None = None
    for place, step in enumerate(episode.steps):
        if _is_left_out(step):
            waiting = None if isinstance(step, Asked) else waiting
            continue
        if isinstance(step, Finished | GaveUp):
            return  # an undo that comes later is shown where the cell ran
        if isinstance(step, Questioned):
            waiting = step
        elif isinstance(step, Asked):
            if waiting is None or (_is_ours(waiting) and option_of(step.text, waiting) is None):
                yield _said(turn, "steering", step, detail, joins=_joins(step, thread))
            waiting = None
        elif isinstance(step, Decided):
            if text := _after_decision(turn, step, episode.steps[:place], episode.steps[place:]):
                yield text
            waiting = None
        elif text := _beside_calls(turn, step, thread, detail):
            yield text


def _beside_calls(turn: Turn, step: Step, thread: Sequence[Step], detail: Detail) -> str:
    """What a step tells that is neither a message nor the answer to one; "" for most."""
    if isinstance(step, Briefed | Recalled):
        return _given(turn, step)
    if isinstance(step, Undone | Noted | Loaded) or _is_program(step) or _is_own(step):
        return _of_person(turn, step, thread, detail)
    if isinstance(step, Corrected) and step.call_id is None:
        return clip(step.text, detail.message)
    return ""


def _after_decision(turn: Turn, decided: Decided, before: Sequence[Step], since: Sequence[Step]) -> str:
    """What a decision says beside its call: whether a statement may run, or the stage of this turn that comes now; ""
    for any other. `before` and `since` are the other steps of its reply."""
    if decided.call_id.startswith(CONFIRM_CALL):
        place = max((n for n, step in enumerate(before) if isinstance(step, Questioned)), default=len(before))
        asked = asking_cell((*before[place:], *since), decided.call_id)
        of_call = (step for step in since if isinstance(step, CellRan) and asked and step.call_id == asked.call_id)
        ran = next((step for step in of_call if step is not asked), None) if decided.outcome == "run" else None
        outcome = decided.outcome if ran is None else "asks" if needs_a_yes(ran) else "ran"
        title = one_line(asked.title, 120) if asked else ""
        return turn.prompts.render("confirmed", outcome=outcome, title=title, made=bool(asked and asked.tool_calls))
    if decided not in turn.steps:
        return ""
    steps = turn.steps[: turn.steps.index(decided) + 1]
    now, plan = stages.stage_now(steps), stages.plan_of(steps)
    if now is None or plan is None or stages.since_decided(steps) or decided.outcome not in ("run", "edited", "skip"):
        return ""
    return turn.prompts.render(
        "stage_work",
        native_tools=turn.native_tools,
        plan="" if stages.results(steps) else stages.plan_text(plan),
        number=now.number,
        count=now.of,
        title=now.stage.title,
        delivers=now.stage.delivers,
    )


def _is_ours(question: Questioned) -> bool:
    """Whether we asked, and not the model: the answer decides something, other words are for the model."""
    return question.approval is not None or question.call_id.startswith((HOLD_CALL, DRIFT_CALL))


def _joins(asked: Asked, thread: Sequence[Step]) -> bool:
    """Whether this is its author's first message in the turn."""
    earlier: list[str] = []
    for step in thread:
        if step is asked:
            break
        if isinstance(step, Finished | GaveUp):
            earlier = []
        elif isinstance(step, Asked):
            earlier.append(step.user)
    return asked.user not in earlier
