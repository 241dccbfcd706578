"""The buttons under a report, and what they open: sources of its figures, its code, the form for a reason.

Bot and workers draw them from the same steps, so they work for as long as the steps are kept. All text of the data is
raw text: Slack parses nothing in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from core.figure_sources import Cells, arithmetic_in, counts_line, how_words, place_line, shown_there, why_unsourced
from core.formats import Format
from core.interactions import FORM_FIELD, Interaction, PageButton, ReasonForm, ReportButton, StepButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit, SlackMessage
from core.slack.markdown import cut_markdown, plain_text
from core.slack.text import clip, escape
from core.slack.views.modals import View, form, text_field, window
from core.steps import CellRan, FigureSource
from core.thread_cells import NumberedCell
from core.values import Language

Shows = Literal["method", "sources", "code"]

PAGE_BLOCKS: Final = 90
"""Blocks of a page; the rest of Slack's 100 is for its head and its buttons."""
PAGE_CHARS: Final = 40_000
"""Characters of a page. Slack refuses a view above 250 kB, and a character may take six bytes of it."""
_CHUNK = 2_900
_MOST_CHUNKS = 20
"""Blocks that the code of one cell takes at most, and each text that it showed."""


def report_buttons(
    turn_id: str,
    language: Language,
    *,
    has_sources: bool,
    has_code: bool,
    has_method: bool = False,
    can_be_kept: bool = True,
    formats: Sequence[Format] = (),
) -> Block:
    """The row of buttons under a report, and a menu of what can be had as a file; `formats`: of the report itself.

    `can_be_kept`: some of its code ran to its end, so that a playbook or a program can be made of it.
    """
    shown: list[tuple[str, Any]] = [("report_button_method", "method")] if has_method else []
    if has_sources:
        shown.append(("report_button_sources", "sources"))
    if has_code:
        shown.append(("report_button_code", "code"))
    shown += [("report_button_up", "up"), ("report_button_down", "down"), ("report_button_again", "again")]
    if has_code and can_be_kept:
        shown += [("report_button_keep", "keep"), ("report_button_program", "program")]
    if not _is_direct(turn_id):
        shown.append(("report_button_share", "share"))
    buttons = [kit.button(say(key, language), ReportButton(turn=turn_id, do=do)) for key, do in shown]
    files: list[Any] = [*(["download"] if has_code else []), *formats]
    options = [(say(f"report_button_{do}", language), ReportButton(turn=turn_id, do=do)) for do in files]
    return kit.actions(*buttons, *([kit.menu(ReportButton.MENU, options)] if options else []))


def _is_direct(turn_id: str) -> bool:
    """Whether a turn is of a direct message: there is no channel to share its report with."""
    return turn_id.partition(":")[2].startswith("D")


def shared_message(report: str, author: str, language: Language) -> SlackMessage:
    """What a channel sees of a report that somebody shares: who, and its beginning as raw text."""
    line = say("report_shared", language, author=clip(author, 80))
    beginning, rest = cut_markdown(report, SHARED_CHARS) if len(report) > SHARED_CHARS else (report, "")
    shown = plain_text(beginning).strip() + ("\n…" if rest.strip() else "")
    return SlackMessage(kit.fallback(f"{line}\n{shown}"), [kit.context(escape(line)), kit.paragraph(shown)])


def sources_view(
    turn_id: str,
    sources: Sequence[FigureSource],
    cells: Cells,
    language: Language,
    page: int = 0,
    *,
    lines: bool = True,
) -> View:
    """Each figure of the report, the cell it comes from, and the line there; a derived one with its arithmetic.

    `lines` says whether what the cells printed may still be shown.
    """
    if not sources:
        return _view((turn_id, "sources"), [[kit.paragraph(say("sources_not_traced", language))]], language, 0)
    groups = [[_figure(one, cells, language, lines=lines)] for one in _each_once(sources)]
    return _view((turn_id, "sources"), groups, language, page, [kit.context(escape(counts_line(sources, language)))])


def method_view(turn_id: str, markdown: str, language: Language, page: int = 0) -> View:
    """The parts of a report that the thread does not show: method, cleaning and limits."""
    text = plain_text(markdown) or say("method_none", language)
    groups = [[kit.paragraph(line[start : start + _CHUNK])] for line in text.splitlines()
              for start in range(0, max(len(line), 1), _CHUNK)]  # fmt: skip
    return _view((turn_id, "method"), groups, language, page)


def code_view(turn_id: str, shown: Sequence[NumberedCell], language: Language, page: int = 0) -> View:
    """The code of these cells, in the order in which they ran, each with how it ended. Above it one can be chosen."""
    groups = [part for one in shown for part in _cell(one, language)]
    if not groups:
        groups = [[kit.paragraph(say("code_none", language))]]
    return _view((turn_id, "code"), groups, language, page, _choice(turn_id, shown, language))


def step_view(
    turn_id: str,
    shown: Sequence[NumberedCell],
    number: int,
    language: Language,
    page: int = 0,
    *,
    output: bool = True,
) -> View:
    """One of these cells: its code, and all that it showed, as long as that may still be told (`output`).

    A number that no cell has means the newest one.
    """
    if not shown:
        none = [[kit.paragraph(say("step_none", language))]]
        return _pages_view(none, language, 0, title="step_view_title", turn=lambda _: StepButton(turn=turn_id))
    one = next((each for each in shown if each.number == number), shown[-1])
    groups = [*_cell(one, language), *_showed(one.cell, language, told=output)]

    def turn(other: int) -> Interaction:
        return StepButton(turn=turn_id, cell=one.number, page=other)

    head = _choice(turn_id, shown, language, one)
    return _pages_view(groups, language, page, title="step_view_title", turn=turn, head=head)


def reason_view(turn_id: str, language: Language, given: str = "") -> View:
    """The form that asks why, for somebody whose vote counts already."""
    fields = [
        text_field(reason_field(), say("vote_reason_label", language), given, longest=REASON_CHARS),
        kit.context(escape(say("vote_reason_note", language))),
    ]
    title, submit, close = (say(key, language) for key in ("vote_reason_title", "approval_send", "vote_reason_skip"))
    return form(ReasonForm(turn=turn_id), title, submit, fields, language, close=close)


REASON_CHARS: Final = 500
SHARED_CHARS = 700


def reason_field() -> str:
    """The id of the form's field, and of the block around it."""
    return f"{FORM_FIELD}:0"


def _each_once(sources: Sequence[FigureSource]) -> list[FigureSource]:
    """The figures without those that are said again with the same source."""
    return list({one.model_copy(update={"start": -1}): one for one in sources}.values())


def _figure(one: FigureSource, cells: Cells, language: Language, *, lines: bool) -> Block:
    """A figure and its places, each with the line that shows it."""
    head = [_raw(f"{'⚠ ' if one.state == 'unsourced' else ''}{one.figure or '…'}", bold=True)]
    parts: list[dict[str, Any]] = []
    if one.state == "unsourced":
        head.append(_raw(f" ← {why_unsourced(one, language)}"))
        near = "" if one.reason == "memory" else "\n".join(one.near)
        if lines and near:
            parts = [_section(say("sources_near", language)), _pre(near)]
        return kit.rich_text(_with(head), *parts)
    if one.state == "derived":
        head.append(_raw(f" ← {how_words(one, language)}"))
        if one.arithmetic:
            head += [_raw(": "), _raw(arithmetic_in(one, language), code=True)]
    for place in one.places:
        text = place_line(place, cells, language)
        if one.state == "derived":
            parts.append(_section(f"{place.value + ' ← ' if place.value else '← '}{text}"))
        else:
            head.append(_raw(f" ← {text}"))
        if lines and (line := shown_there(place, cells)) and line != place.about:
            parts.append(_pre(line))
    return kit.rich_text(_with(head), *parts)


def _cell(one: NumberedCell, language: Language) -> list[list[Block]]:
    cell = one.cell
    head = _cell_title(one, language)
    ended = [] if cell.status == "ok" else [_raw(f"  {_ended(cell, language)}")]
    title = kit.rich_text(_with([_raw(head, bold=True), *ended]))
    first, *more = _chunks(cell.code, language)
    return [[title, first], *([each] for each in more)]


def _choice(
    turn_id: str, shown: Sequence[NumberedCell], language: Language, chosen: NumberedCell | None = None
) -> list[Block]:
    """The select that shows one of these cells; the newest where there are too many. None: they are all shown."""
    newest = list(shown[-Limit.SELECT_OPTIONS :])
    if chosen is not None and chosen not in newest:
        newest = [chosen, *newest[1:]]
    if not newest:
        return []
    options: list[tuple[str, Interaction]] = [
        (_cell_title(one, language), StepButton(turn=turn_id, cell=one.number)) for one in newest
    ]
    place = newest.index(chosen) if chosen is not None else None
    return [kit.actions(kit.select(StepButton.SELECT, say("step_choose", language), options, place))]


def _cell_title(one: NumberedCell, language: Language) -> str:
    return say("code_cell", language, number=one.number, title=" ".join(one.cell.title.split()))


def _showed(cell: CellRan, language: Language, *, told: bool) -> list[list[Block]]:
    """What a cell showed: printed text, its last value, its error, warnings, the files that it made."""
    if not told:
        return [[kit.context(escape(say("step_output_gone", language)))]]
    groups: list[list[Block]] = []
    texts = {"step_printed": cell.stdout, "step_value": cell.result, "step_error": cell.error or cell.notice_text}
    for key, text in (texts | {"step_warnings": cell.stderr}).items():
        if text.strip():
            first, *more = _chunks(text, language)
            groups += [[kit.context(f"*{escape(say(key, language))}*"), first], *([each] for each in more)]
    if made := [file.name for file in (*cell.figures, *cell.files)]:
        label = escape(say("step_files", language))
        groups.append([kit.context(f"*{label}*"), kit.paragraph(clip(", ".join(made), _CHUNK))])
    return groups or [[kit.context(escape(say("step_no_output", language)))]]


def _chunks(text: str, language: Language) -> list[Block]:
    """A text as blocks in fixed width, as much of it as `_MOST_CHUNKS` of them take."""
    text = text.replace("\r\n", "\n").strip("\n") or " "
    chunks = [kit.code(text[start : start + _CHUNK]) for start in range(0, len(text), _CHUNK)]
    cut = [kit.context(escape(say("approval_cut", language)))] if len(chunks) > _MOST_CHUNKS else []
    return [*chunks[:_MOST_CHUNKS], *cut]


def _ended(cell: CellRan, language: Language) -> str:
    why = " ".join(cell.error_name.split())[:80] if cell.status == "error" else ""
    return say(f"code_ended_{cell.status}", language) + (f" ({why})" if why else "")


def _view(
    of: tuple[str, Shows], groups: Sequence[list[Block]], language: Language, page: int, head: Sequence[Block] = ()
) -> View:
    """What a button of a report opens. `of` is the turn and what is shown of it."""
    turn_id, shows = of

    def turn(other: int) -> Interaction:
        return PageButton(turn=turn_id, shows=shows, page=other)

    return _pages_view(groups, language, page, title=f"report_button_{shows}", turn=turn, head=head)


def _pages_view(
    groups: Sequence[list[Block]],
    language: Language,
    page: int,
    *,
    title: str,
    turn: Callable[[int], Interaction],
    head: Sequence[Block] = (),
) -> View:
    """A page of these groups of blocks; a group is never torn. `turn` makes the button that shows another page."""
    pages = _pages(groups)
    page = min(max(page, 0), len(pages) - 1)
    blocks = [*head, *pages[page]]
    if len(pages) > 1:
        turns = [
            kit.button(say(key, language), turn(other))
            for key, other in (("page_back", page - 1), ("page_next", page + 1))
            if 0 <= other < len(pages)
        ]
        blocks += [kit.context(escape(say("page_of", language, n=page + 1, of=len(pages)))), kit.actions(*turns)]
    return window(say(title, language), blocks, language)


def _pages(groups: Sequence[list[Block]]) -> list[list[Block]]:
    pages: list[list[Block]] = [[]]
    taken = 0
    for group in groups:
        size = kit.characters(group)
        if pages[-1] and (len(pages[-1]) + len(group) > PAGE_BLOCKS or taken + size > PAGE_CHARS):
            pages.append([])
            taken = 0
        pages[-1] += group
        taken += size
    return pages


def _with(elements: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": elements}


def _section(text: str) -> dict[str, Any]:
    return _with([_raw(text)])


def _pre(text: str) -> dict[str, Any]:
    return {"type": "rich_text_preformatted", "elements": [_raw(text)]}


def _raw(text: str, **style: bool) -> dict[str, Any]:
    return {"type": "text", "text": text or " "} | ({"style": style} if style else {})
