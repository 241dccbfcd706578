"""The steps of a thread as Chat Completions messages, bounded to a budget.

Order: the system prompt, the thread's earlier turns, this turn. When the prompt is too long, the oldest parts get
shorter first: earlier turns are shortened, then left out (`left_out_turns.py` says what stays of them), then the middle
of this turn. The question and its files stay whole. The last cells and the last errors stay as long as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from core.phrases import say
from core.steps import (
    Asked,
    Briefed,
    CellRan,
    Finished,
    GaveUp,
    Noted,
    Recalled,
    Step,
    Undone,
)
from core.thread_cells import since_reset
from core.values import Language
from workers.agent import guards, stages
from workers.agent.about_steps import time_between, was_reset
from workers.agent.actions import Message
from workers.agent.allowed_cells import last_runs
from workers.agent.pictures import PICTURE_CHARS, judged_charts, pictures_in, with_pictures
from workers.agent.prompt.drafts import without_cells
from workers.agent.prompt.left_out_turns import left_out_turns
from workers.agent.prompt.observation import observation
from workers.agent.prompt.step_blocks import (
    Beside,
    Block,
    Detail,
    Memory,
    questions,
    quoted_name,
    remember,
    user,
)
from workers.agent.provenance import Traced, contradicted, contradictions
from workers.agent.replies import plans
from workers.agent.text import CHARS_PER_TOKEN, clip, one_line, quoted, shares, weight
from workers.agent.turn import Turn, episodes

LANGUAGES: Mapping[Language, str] = {
    "en": "English", "zh": "Chinese", "de": "German", "es": "Spanish", "fr": "French", "ja": "Japanese"
}  # fmt: skip
"""The languages of answers, as the model is told them."""
_MAX_TURNS = 20
_WHOLE_TURNS = 2  # this turn and the one before it: a follow-up most likely refers to that one
_PROTECTED = 3  # the last cells of this turn stay whole: the model is working on them
_LAST_ERRORS = 2
_PROCEDURE_CHARS = 4_000
_CHECK_CELLS = 30
_CHECK_EARLIER_CELLS = 6
_CHECK_CELL_CHARS = 8_000
_CHECK_LOOKED_UP_CHARS = 600
_CHECK_CHARS = 22_000
_CHECK_QUESTIONS, _CHECK_QUESTIONS_CHARS = 30, 6_000
_CHECK_LEAST_CHARS = 200
_CHECK_UNSEEN = 60
_CHECK_NOTES, _CHECK_NOTES_CHARS = 20, 6_000
_CHECK_ANSWER_CHARS = 4_000
_CHECK_ROWS, _CHECK_SENTENCE_CHARS = 24, 160
_CHECK_PLACES = ("output", "table", "count")
_STEPS_OF_CUT = 4
"""Parts of the budget by which older turns are cut. The beginning of a prompt stays the same until the next cut, and
endpoints ask less for a beginning that they know."""

_SHORT = Detail(observation=600, code=1_500, report=2_000, message=1_000)
_BARE = Detail(observation=200, code=300, report=500, message=400)
_ERROR = Detail(observation=3_000, code=2_000, report=1_000, message=1_000)


def messages(turn: Turn) -> tuple[Message, ...]:
    """What to send to the model for its next action, at most about `turn.context_chars` in all, as `size` counts."""
    system: Message = {"role": "system", "content": _system(turn)}
    ending = [*_staging(turn), *_ending(turn)]
    budget = turn.context_chars - size([system, *ending])
    told = _fit(turn, budget)
    return (system, *_joined([*told, *ending]))


def check_messages(turn: Turn, report: str, figures: Sequence[Traced] = ()) -> tuple[Message, ...]:
    """What to send to the judge of a report: the question with those before it, and what each cell showed.

    All cells share one limit. Those of this turn take what they need of five sixths of it, earlier ones get the rest.
    A cell that looked around in the tables of a source, and that hardly a figure of the report comes from, is shown in
    short.
    A cell that stopped to ask a person, and that ran again, is shown once.
    Where an output is cut or missing, the judge is told which of the report's `figures` it holds, and where: it would
    refuse a true report for a figure that it cannot see.
    """
    thread = list(turn.thread_steps)
    first = len(thread) - len(turn.steps)
    fresh = len(thread) - sum(map(len, since_reset((*turn.earlier, turn.steps))))
    lasting = {cell.cell_id for steps in (*turn.earlier, turn.steps) for cell in last_runs(steps)}
    cells = [
        (place, step)
        for place, step in enumerate(thread)
        if place >= fresh and isinstance(step, CellRan) and not step.left_out and step.cell_id in lasting
    ]
    now, before = [pair for pair in cells if pair[0] >= first], [pair for pair in cells if pair[0] < first]
    room = min(_CHECK_CHARS, turn.context_chars // 2)
    now, before = now[-_CHECK_CELLS:], before[-_CHECK_EARLIER_CELLS:]
    own = _granted(now, room * 5 // 6, figures)
    chosen, granted = [*before, *now], [*_granted(before, room - sum(own), figures), *own]
    asked = [step for step in thread[:first] if isinstance(step, Asked) and not step.left_out][-_CHECK_QUESTIONS:]
    charts = judged_charts(turn)
    whole = {
        cell.cell_id
        for (_, cell), share in zip(chosen, granted, strict=True)
        if _shown(cell) <= max(share, _CHECK_LEAST_CHARS) and not _has_more_rows(cell)
    }
    text = turn.prompts.render(
        "check",
        charts=[each["name"] for each in charts],
        earlier=questions(asked, min(_CHECK_QUESTIONS_CHARS, turn.context_chars // 16)) if asked else [],
        answered=_answered(thread[fresh:first]),
        questions=questions(turn.steps, 8_000),
        cells=[
            observation(turn, cell, thread[:place], max(share, _CHECK_LEAST_CHARS))
            for (place, cell), share in zip(chosen, granted, strict=True)
        ],
        holding=_holding(turn),
        more=len(cells) - len(chosen),
        unseen=_unseen(figures, {cell.cell_id for _, cell in cells} - whole)[: turn.context_chars // 1_600],
        report=quoted(clip(report, 20_000)),
        stage=_stage_judged(turn),
        rows=_unnamed(figures),
        marked=[one_line(each.text, 60) for each in figures if each.state == "unsourced"][:_CHECK_UNSEEN],
        contradicting=contradicted(contradictions(report)),
        files=[file.path for step in turn.steps if isinstance(step, Briefed) for file in step.files],
        language_name=LANGUAGES[turn.language],
    )
    return (with_pictures(user(text), charts),)


def _granted(cells: Sequence[tuple[int, CellRan]], room: int, figures: Sequence[Traced]) -> list[int]:
    """How many characters the judge sees of each of these cells."""
    most = (_CHECK_LOOKED_UP_CHARS if _is_aside(cell, figures) else _CHECK_CELL_CHARS for _, cell in cells)
    return shares([min(_shown(cell), limit) for (_, cell), limit in zip(cells, most, strict=True)], room)


def _stage_judged(turn: Turn) -> str:
    """In staged review the stage whose result is judged, in a line; else ""."""
    now = stages.stage_now(turn.steps) if turn.staged else None
    return f"stage {now.number} of {now.of}: {stages.line_of(now.stage)}" if now else ""


def _answered(steps: Sequence[Step]) -> str:
    """The last report among these steps, quoted; "" for none."""
    reports = [step.report for step in steps if isinstance(step, Finished) and step.report.strip()]
    return quoted(clip(reports[-1], _CHECK_ANSWER_CHARS)) if reports else ""


def _holding(turn: Turn) -> list[dict[str, str]]:
    """What the analyst was told beside the questions, for the judge: wishes, notes of people, entries of the team."""
    entries: dict[tuple[str, str], str] = {}
    notes: list[tuple[str, str]] = []
    for step in turn.thread_steps:
        if isinstance(step, Noted):
            notes.append((f"Note of the person {quoted_name(step.author or step.user)}", step.text))
        elif isinstance(step, Recalled):
            entries = {key: text for key, text in entries.items() if key[1] not in (*step.gone, *step.withheld)}
            entries |= {(note.place, note.title): note.text for note in step.notes}
    wishes = [(f"Wish of {of}, for every answer", text) for of, text in _wishes(turn)]
    written = [(f"Written down by the team, “{one_line(title, 120)}”", text) for (_, title), text in entries.items()]
    told = [*wishes, *notes[-_CHECK_NOTES:], *written[-_CHECK_NOTES:]]
    granted = shares([len(text) for _, text in told], min(_CHECK_NOTES_CHARS, turn.context_chars // 16))
    return [{"of": of, "text": quoted(clip(text, share))} for (of, text), share in zip(told, granted, strict=True)]


def _unseen(figures: Sequence[Traced], cut: Collection[str]) -> list[str]:
    """What the outputs of these cells show of the figures, a line for each place."""
    places = (place for figure in figures if figure.state != "unsourced" for place in figure.places)
    lines = (
        f"{one_line(place.value, 40)} (cell {place.cell}{f', line {place.line}' if place.line else ''}"
        f"{f': {one_line(place.about, 80)}' if place.about else ''})"
        for place in places
        if place.cell_id in cut and place.what in _CHECK_PLACES and place.value
    )
    return list(dict.fromkeys(lines))[:_CHECK_UNSEEN]


def _unnamed(figures: Sequence[Traced]) -> list[str]:
    """The figures that outputs show for rows which the report does not name in their words, a line for each."""
    lines = (
        f"{one_line(figure.text, 40)}: {one_line(figure.places[0].about, 100)} (cell {figure.places[0].cell}), "
        f"in “{one_line(figure.sentence, _CHECK_SENTENCE_CHARS)}”"
        for figure in figures
        if figure.unnamed and figure.places
    )
    return list(dict.fromkeys(lines))[:_CHECK_ROWS]


def _has_more_rows(cell: CellRan) -> bool:
    """Whether the table that the cell's last value is has more rows than its text."""
    return any(table.total_rows >= len(cell.result.splitlines()) for table in cell.tables)


def _is_aside(cell: CellRan, figures: Sequence[Traced]) -> bool:
    """Whether a cell asked a catalogue, and fewer than a tenth of the report's figures stand in what it showed."""
    cells = [{place.cell_id for place in figure.places} for figure in figures if figure.places]
    return bool(cell.lookups) and sum(cell.cell_id in each for each in cells) * 10 < len(cells)


def _shown(cell: CellRan) -> int:
    """The characters of all that a cell showed."""
    return len(cell.stdout) + len(cell.stderr) + len(cell.result) + len(cell.error)


def _system(turn: Turn) -> str:
    environment = turn.environment
    return turn.prompts.render(
        "system",
        native_tools=turn.native_tools,
        bash=turn.has_bash,
        language_name=LANGUAGES[turn.language],
        today=environment.today,
        python_version=environment.python_version,
        packages=environment.packages,
        imports=environment.imports,
        cell_timeout_s=f"{environment.cell_timeout_s:g}",
        memory_mb=environment.memory_mb,
        file_max_mb=environment.file_max_mb,
        files_wait=environment.files_wait,
        output_chars=f"{turn.limits.output_chars:,}",
        max_cells=turn.limits.max_cells,
        schedule_words=say("schedule_example", turn.language),
        schedule_end=say("schedule_end_example", turn.language),
        format_words=say("format_examples", turn.language),
        keep_words=say("keep_examples", turn.language),
        program_words=say("program_example", turn.language),
        build_words=say("build_example", turn.language),
        report_rules=turn.prompts.render("report", sections=() if turn.staged else turn.sections),
        instructions=_instructions(turn),
        sources=_sources(turn),
        tools=turn.prompts.render("tools", servers=environment.tools) if environment.tools else "",
    )


def _sources(turn: Turn) -> str:
    """The data sources that cells may ask, and that there are others; "" when the team has none."""
    given = {"sources": turn.environment.sources, "withheld": turn.environment.withheld}
    return turn.prompts.render("sources", **given) if any(given.values()) else ""


def _instructions(turn: Turn) -> str:
    """What the channel and the person who asked want of every answer; "" when they said nothing."""
    wishes = [{"of": of, "text": quoted(text)} for of, text in _wishes(turn)]
    return turn.prompts.render("instructions", wishes=wishes) if wishes else ""


def _wishes(turn: Turn) -> list[tuple[str, str]]:
    """Whose wish each is, and what it says."""
    return [
        ("this channel" if each.of == "channel" else f"the person {quoted_name(step.author or step.user)}", each.text)
        for step in turn.preferred
        for each in step.instructions
    ]


def _staging(turn: Turn) -> list[Message]:
    """In staged review, while there is no plan: that it comes first. Each stage is told where people decided."""
    if not turn.staged or stages.plan_of(turn.steps) is not None:
        return []
    return [user(turn.prompts.render("stage_plan", native_tools=turn.native_tools))]


def _ending(turn: Turn) -> list[Message]:
    """A note when the turn nears its limits, so that it ends with a report instead of a stop.

    Before the first cell only few replies count: a budget may leave so few from the start.
    """
    replies, cells = guards.replies_left(turn), guards.cells_left(turn)
    few_cells = cells <= guards.NEAR_THE_END and guards.cells_run(turn)
    if replies > guards.NEAR_THE_END and not few_cells:
        return []
    return [user(turn.prompts.render("last_calls", replies=replies, cells=cells))]


def _fit(turn: Turn, budget: int) -> list[Message]:
    """The thread's turns as messages of at most the size `budget`. Parts that must stay may exceed it."""
    draft = _Draft(turn, budget)
    draft.shorten(_of_pictures(draft), budget)
    over, part = max(draft.size - budget, 0), max(budget // _STEPS_OF_CUT, 1)
    less = draft.size - -(-over // part) * part
    draft.shorten(_of_older_turns(draft), less)
    if draft.size > budget:
        draft.shorten((partial(draft.drop, at) for at in range(len(draft.blocks) - 2)), less)
    draft.shorten(_of_last_turn(draft), budget)
    draft.shorten(_of_this_turn(draft), budget)
    return draft.messages()


def _of_pictures(draft: _Draft) -> Iterator[Callable[[], None]]:
    """Leaves out pictures. In each turn, charts come first and then the pictures that people sent."""
    for at, detail in enumerate(draft.details):
        if detail.pictures:
            blind = detail._replace(pictures=False)
            places = [*range(1, len(draft.blocks[at])), 0]
            yield from (partial(draft.tell, at, place, blind) for place in places)


def _of_older_turns(draft: _Draft) -> Iterator[Callable[[], None]]:
    """Every way to make the turns before the last one shorter without leaving one out, the oldest first."""
    for at in range(len(draft.blocks) - 2):
        for detail in (_SHORT, _BARE):
            yield from (partial(draft.tell, at, place, detail) for place in range(len(draft.blocks[at])))


def _of_last_turn(draft: _Draft) -> Iterator[Callable[[], None]]:
    """Every way to make the turn before this one shorter. A follow-up most likely refers to it, so it stays longest."""
    last = len(draft.blocks) - 2
    if last >= 0:
        for detail in (_SHORT, _BARE):
            yield from (partial(draft.tell, last, place, detail) for place in range(len(draft.blocks[last])))
        yield partial(draft.drop, last)


def _of_this_turn(draft: _Draft) -> Iterator[Callable[[], None]]:
    """Every way to make this turn's cells shorter, in the order in which they are used."""
    now = len(draft.blocks) - 1
    blocks = draft.blocks[now]
    errors = _last_errors(blocks)
    newest = [place for place in range(max(len(blocks) - _PROTECTED, 1), len(blocks)) if place not in errors]
    older = [place for place in range(1, len(blocks)) if place not in (*errors, *newest)]
    for places, details in ((older, (_SHORT, None)), (newest, (_SHORT, _BARE)), (errors, (_ERROR,))):
        for leaner in details:
            yield from (partial(draft.tell, now, place, leaner) for place in places)


def _last_errors(blocks: Sequence[Block]) -> list[int]:
    """The places of the last errors. The model must not forget them while it repairs them."""
    return [place for place, block in enumerate(blocks) if block.failed][-_LAST_ERRORS:]


class _Draft:
    """The blocks of every turn of a thread, each at a level of detail or left out (None), and their total size."""

    def __init__(self, turn: Turn, room: int) -> None:
        limits = turn.limits
        full = Detail(limits.output_chars, code=20_000, report=20_000, message=12_000, pictures=turn.sees)
        brief = full._replace(observation=limits.output_chars // 4, code=6_000, report=8_000, pictures=False)
        self._turn, self._room = turn, room
        self._skipped = max(len(turn.earlier) + 1 - _MAX_TURNS, 0)
        self._dropped = 0
        self._note = left_out_turns(turn, self._skipped, room)
        self.blocks = [[memory.opening, *memory.episodes] for memory in _memories(turn, self._skipped)]
        self.details = [brief] * (len(self.blocks) - _WHOLE_TURNS) + [full] * min(_WHOLE_TURNS, len(self.blocks))
        self._told: list[list[list[Message] | None]] = [
            [block.render(detail) for block in blocks] for blocks, detail in zip(self.blocks, self.details, strict=True)
        ]
        self.size = weight(self._note) + sum(size(told) for blocks in self._told for told in blocks if told)

    def shorten(self, ways: Iterator[Callable[[], None]], most: int) -> None:
        """Makes the prompt shorter in these ways, one after the other, until its turns have at most this size."""
        while self.size > most and (way := next(ways, None)) is not None:
            way()

    def tell(self, at: int, place: int, detail: Detail | None) -> None:
        """Sets a block's level of detail. A block that must stay gets the lowest level instead of None."""
        block, before = self.blocks[at][place], self._told[at][place] or ()
        told = block.render(detail or _BARE) if detail or not block.title else None
        self._told[at][place] = told
        self.size += (size(told) if told else weight(block.title)) - size(before)

    def drop(self, at: int) -> None:
        """Leaves out the whole turn `at`, the oldest one that is still there. Its files stay described."""
        note = left_out_turns(self._turn, self._skipped + at + 1, self._room)
        self.size += weight(note) - weight(self._note) - sum(size(told) for told in self._told[at] if told)
        self._dropped, self._note = at + 1, note

    def messages(self) -> list[Message]:
        """The messages in order, with a note in place of each run of blocks that is left out. The note for whole turns
        stands before the first one that is still there."""
        found: list[Message] = []
        for at in range(self._dropped, len(self.blocks)):
            blocks, told = self.blocks[at], self._told[at]
            plan = plans.plan_text(plans.lines_of(self._turn.steps)) if at == len(self.blocks) - 1 else ""
            for gone, run in groupby(zip(blocks, told, strict=True), key=lambda pair: pair[1] is None):
                if gone:
                    titles = [block.title for block, _ in run]
                    nothing = {"turns": 0, "reset": False, "names": [], "made": [], "reported": [], "words": []}
                    left_out = {**nothing, "files": "", "cells": titles[-20:], "plan": plan}
                    found.append(user(self._turn.prompts.render("left_out", **left_out)))
                else:
                    found.extend(message for _, one in run for message in one or ())
        if self._note:
            first = f"\n\n{found[0]['content']}" if found else ""
            found[:1] = [with_pictures(user(f"{self._note}{first}"), pictures_in(found[0]) if found else ())]
        return found


def _memories(turn: Turn, skip: int) -> list[Memory]:
    """Every turn of the thread except the first `skip` as blocks, this turn last. What a reset followed has no cells.

    File descriptions share a third of the prompt evenly. They stay whole when a prompt is made shorter.
    """
    whole = (*turn.earlier, turn.steps)
    reset = len(whole) - len(since_reset(whole))
    turns = [
        (number, without_cells(steps) if number < reset else steps)
        for number, steps in enumerate(whole)
        if number >= skip
    ]
    with_files = sum(any(isinstance(step, Briefed) and step.files for step in steps) for _, steps in turns)
    files_chars = min(turn.limits.files_chars, turn.limits.context_chars // 3 // max(with_files, 1))
    thread = tuple(turn.thread_steps)
    beside = [
        each._replace(gone=number < reset, reset=each.reset and number >= reset)
        for number, each in enumerate(_beside_questions(turn))
    ]
    return [
        remember(turn, steps, thread, first=number == 0, files_chars=files_chars, beside=beside[number])
        for number, steps in turns
    ]


def _beside_questions(turn: Turn) -> list[Beside]:
    """What follows the questions of each turn. It is not in the system prompt, because that has to stay the same.

    A procedure is told once, where it first fits. The tables of data sources are those of this turn's question.
    """
    told: set[str] = set()
    seen: list[Step] = []
    found = []
    for steps in (*turn.earlier, turn.steps):
        opening, _ = episodes(steps)
        asked = "\n".join(step.text for step in opening if isinstance(step, Asked))[:_PROCEDURE_CHARS]
        procedures = tuple(each for each in turn.prompts.procedures(asked) if each not in told)
        told.update(procedures)
        later, undone = time_between(seen, steps), _undone_after_answer(seen)
        found.append(Beside(procedures, reset=was_reset(seen) or was_reset(steps), later=later, undone=undone))
        seen.extend(steps)
    described = [source for source in turn.environment.sources if source.schema or source.kind]
    schemas = turn.prompts.render("schemas", sources=described) if described else ""
    return [*found[:-1], found[-1]._replace(schemas=schemas)]


def _undone_after_answer(steps: Sequence[Step]) -> tuple[str, ...]:
    """The titles of the cells that people took back after the last answer of these steps, where it ended a turn."""
    ends = [place for place, step in enumerate(steps) if isinstance(step, Finished | GaveUp)]
    return tuple(step.title for step in steps[ends[-1] + 1 if ends else len(steps) :] if isinstance(step, Undone))


def tokens_of(told: Sequence[Message]) -> int:
    """How many tokens messages take, by our estimate."""
    return -(-size(told) // CHARS_PER_TOKEN)


def _joined(told: Sequence[Message]) -> list[Message]:
    """Joins neighbouring messages of one role, because many chat templates require user and assistant to alternate."""
    found: list[Message] = []
    for message in told:
        if found and message["role"] == "user" == found[-1]["role"]:
            found[-1] = with_pictures(
                user(f"{found[-1]['content']}\n\n{message['content']}"),
                [*pictures_in(found[-1]), *pictures_in(message)],
            )
        else:
            found.append(message)
    return found


def size(told: Sequence[Message]) -> int:
    """The size of messages as the limits of a prompt count it: `CHARS_PER_TOKEN` for each token of our estimate."""
    return sum(
        weight(message["content"])
        + sum(weight(call["function"]["arguments"]) for call in message.get("tool_calls", ()))
        + PICTURE_CHARS * len(pictures_in(message))
        for message in told
    )
