"""The buttons under a report, and what they open: sources of its figures, its code, the form for a reason.

Bot and workers draw them from the same steps, so they work for as long as the steps are kept. All text of the data is
raw text: Slack parses nothing in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from core.figure_sources import Cells, counts_line, place_line, shown_there
from core.interactions import FORM_FIELD, PageButton, ReasonForm, ReportButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit
from core.slack.text import clip, escape
from core.steps import CellRan, FigureSource
from core.thread_cells import NumberedCell
from core.values import Language

View = dict[str, Any]
"""A modal, as Slack's JSON has it."""
Shows = Literal["sources", "code"]

PAGE_BLOCKS: Final = 90
"""Blocks of a page; the rest of Slack's 100 is for its head and its buttons."""
PAGE_CHARS: Final = 40_000
"""Characters of a page. Slack refuses a view above 250 kB, and a character may take six bytes of it."""
_CHUNK = 2_900
_MOST_CHUNKS = 20
"""Blocks that the code of one cell takes at most."""


def report_buttons(turn_id: str, language: Language, *, has_sources: bool, has_code: bool) -> Block:
    """The row of buttons under a report."""
    shown: list[tuple[str, Any]] = []
    if has_sources:
        shown.append(("report_button_sources", "sources"))
    if has_code:
        shown += [("report_button_code", "code"), ("report_button_download", "download")]
    shown += [("report_button_up", "up"), ("report_button_down", "down"), ("report_button_again", "again")]
    return kit.actions(*(kit.button(say(key, language), ReportButton(turn=turn_id, do=do)) for key, do in shown))


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


def code_view(turn_id: str, shown: Sequence[NumberedCell], language: Language, page: int = 0) -> View:
    """The code of these cells, in the order in which they ran, each with how it ended."""
    groups = [part for one in shown for part in _cell(one, language)]
    if not groups:
        groups = [[kit.paragraph(say("code_none", language))]]
    return _view((turn_id, "code"), groups, language, page)


def reason_view(turn_id: str, language: Language, given: str = "") -> View:
    """The form that asks why, for somebody whose vote counts already."""
    form = ReasonForm(turn=turn_id)
    element: dict[str, Any] = {
        "type": "plain_text_input",
        "action_id": reason_field(),
        "multiline": True,
        "max_length": REASON_CHARS,
    }
    if given:
        element["initial_value"] = given[:REASON_CHARS]
    label = _plain(clip(say("vote_reason_label", language), Limit.FIELD_LABEL))
    return {
        "type": "modal",
        "callback_id": form.id,
        "private_metadata": form.encode(),
        "title": _plain(say("vote_reason_title", language)),
        "submit": _plain(say("approval_send", language)),
        "close": _plain(say("vote_reason_skip", language)),
        "blocks": [
            {"type": "input", "block_id": reason_field(), "label": label, "element": element, "optional": True},
            kit.context(escape(say("vote_reason_note", language))),
        ],
    }


REASON_CHARS: Final = 500


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
        why = say(f"sources_why_{one.reason}", language) if one.reason in _WHY else say("source_none", language)
        head.append(_raw(f" ← {why}"))
        near = "\n".join(one.near)
        if lines and near:
            parts = [_section(say("sources_near", language)), _pre(near)]
        return kit.rich_text(_with(head), *parts)
    if one.state == "derived":
        head.append(_raw(f" ← {say(f'source_how_{one.how}', language)}"))
        if one.arithmetic:
            head += [_raw(": "), _raw(one.arithmetic, code=True)]
    for place in one.places:
        text = place_line(place, cells, language)
        if one.state == "derived":
            parts.append(_section(f"{place.value + ' ← ' if place.value else '← '}{text}"))
        else:
            head.append(_raw(f" ← {text}"))
        if lines and (line := shown_there(place, cells)):
            parts.append(_pre(line))
    return kit.rich_text(_with(head), *parts)


_WHY = frozenset({"row", "unit", "sign", "earlier", "chart", "tag"})


def _cell(one: NumberedCell, language: Language) -> list[list[Block]]:
    cell = one.cell
    head = say("code_cell", language, number=one.number, title=" ".join(cell.title.split()))
    ended = [] if cell.status == "ok" else [_raw(f"  {_ended(cell, language)}")]
    title = kit.rich_text(_with([_raw(head, bold=True), *ended]))
    code = cell.code.replace("\r\n", "\n").strip("\n") or " "
    chunks = [code[start : start + _CHUNK] for start in range(0, len(code), _CHUNK)]
    groups: list[list[Block]] = [[title, kit.code(chunks[0])]]
    groups += [[kit.code(chunk)] for chunk in chunks[1:_MOST_CHUNKS]]
    if len(chunks) > _MOST_CHUNKS:
        groups.append([kit.context(escape(say("approval_cut", language)))])
    return groups


def _ended(cell: CellRan, language: Language) -> str:
    why = " ".join(cell.error_name.split())[:80] if cell.status == "error" else ""
    return say(f"code_ended_{cell.status}", language) + (f" ({why})" if why else "")


def _view(
    of: tuple[str, Shows], groups: Sequence[list[Block]], language: Language, page: int, head: Sequence[Block] = ()
) -> View:
    """A page of these groups of blocks; a group is never torn. `of` is the turn and what is shown of it."""
    turn_id, shows = of
    pages = _pages(groups)
    page = min(max(page, 0), len(pages) - 1)
    blocks = [*head, *pages[page]]
    if len(pages) > 1:
        turns = [
            kit.button(say(key, language), PageButton(turn=turn_id, shows=shows, page=other))
            for key, other in (("page_back", page - 1), ("page_next", page + 1))
            if 0 <= other < len(pages)
        ]
        blocks += [kit.context(escape(say("page_of", language, n=page + 1, of=len(pages)))), kit.actions(*turns)]
    return {
        "type": "modal",
        "title": _plain(say(f"report_button_{shows}", language)),
        "close": _plain(say("approval_close", language)),
        "blocks": blocks,
    }


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


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": clip(text, Limit.VIEW_TITLE), "emoji": False}
