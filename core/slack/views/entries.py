"""The team's memory in the app's home: the places that a person reads, their entries, and the form of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.interactions import EntriesButton, EntryButton, EntryForm
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit
from core.slack.text import clip, escape
from core.slack.views.modals import View, field_id, form, text_field, window
from core.team_folder.entries import Note
from core.team_folder.pages import TITLE_CHARS
from core.team_memory import ENTRY_CHARS
from core.values import Language

PER_PAGE: Final = 12
"""Entries of one page of the window: each takes three blocks of a hundred."""
MOST_PAGES: Final = 999
SHOWN_CHARS: Final = 700
_NAMED, _PLACES = 5, 12


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of the memory as a person reads it: its name for people, and its entries."""

    space: str
    name: str
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class EntriesPage:
    """What the window shows: one of the places, a page of its entries, and whether the person may change them."""

    places: tuple[Place, ...]
    space: str
    page: int
    may_change: bool
    said: str = ""

    @property
    def place(self) -> Place:
        """The place that is shown."""
        return next((each for each in self.places if each.space == self.space), self.places[0])


def memory_blocks(places: Sequence[Place], language: Language) -> list[Block]:
    """The part of the home with the places and the first titles of each."""
    blocks = [kit.divider(), kit.header(say("home_memory", language))]
    if not places:
        return [*blocks, kit.paragraph(say("home_memory_none", language))]
    items = [_place(place, language) for place in places[:_PLACES]]
    blocks.append(kit.rich_text({"type": "rich_text_list", "style": "bullet", "elements": items}))
    if (more := len(places) - _PLACES) > 0:
        blocks.append(kit.context(escape(say("report_more", language, count=more))))
    return blocks


def entries_view(shown: EntriesPage, language: Language) -> View:
    """The window with the entries of one place."""
    place = shown.place
    pages = min(MOST_PAGES, max(1, -(-len(place.notes) // PER_PAGE)))
    page = max(0, min(shown.page, pages - 1))
    options = [(each.name, EntriesButton(space=each.space)) for each in shown.places[: Limit.SELECT_OPTIONS]]
    chosen = next((n for n, each in enumerate(shown.places) if each.space == place.space), 0)
    blocks = [*([kit.paragraph(shown.said)] if shown.said else [])]
    blocks.append(kit.actions(kit.select(EntriesButton.SELECT, place.name, options, chosen)))
    if not shown.may_change:
        blocks.append(kit.context(escape(say("entries_not_yours", language))))
    for note in place.notes[page * PER_PAGE : (page + 1) * PER_PAGE]:
        blocks += _entry(note, page, language, may_change=shown.may_change)
    if pages > 1:
        turns = [("◀", page - 1)] if page else []
        turns += [("▶", page + 1)] if page + 1 < pages else []
        blocks.append(kit.context(escape(say("entries_page", language, file=place.name, n=page + 1, of=pages))))
        blocks.append(kit.actions(*(kit.button(sign, EntriesButton(space=place.space, page=to)) for sign, to in turns)))
    return window(say("entries_title", language), blocks, language)


def nothing_view(language: Language) -> View:
    """The window for a person who may read no entry."""
    blocks = [kit.paragraph(say("home_memory_none", language))]
    return window(say("entries_title", language), blocks, language)


def entry_view(note: Note, page: int, language: Language) -> View:
    """The form of an entry: its title, and its text where it fits."""
    kind = EntryForm(file=note.file, key=note.key, page=page)
    title, text = say("memory_field_title", language), say("memory_field_text", language)
    fields = [
        text_field(field_id(0), title, note.entry.title, longest=TITLE_CHARS, multiline=False, optional=False),
    ]
    if fits(note):
        fields.append(text_field(field_id(1), text, note.entry.text, longest=ENTRY_CHARS, optional=False))
    else:
        fields.append(kit.context(escape(say("entry_long", language, file=note.file))))
    return form(kind, say("entries_title", language), say("menu_save", language), fields, language)


def fits(note: Note) -> bool:
    """Whether the form has a field with the whole text of an entry."""
    return not note.entry.is_cut and len(note.entry.text) <= ENTRY_CHARS


def given_in(view: Any, note: Note) -> tuple[str, str] | None:
    """Title and text of a submitted form; None when it is not ours."""
    try:
        values = view["state"]["values"]
        title = values[field_id(0)][field_id(0)]["value"] or ""
        text = (values[field_id(1)][field_id(1)]["value"] or "") if fits(note) else ""
    except (KeyError, TypeError):
        return None
    if not isinstance(title, str) or not isinstance(text, str) or len(title) > TITLE_CHARS:
        return None
    return " ".join(title.split()), text.strip() if fits(note) else note.entry.text


def _place(place: Place, language: Language) -> dict[str, Any]:
    titles = "; ".join(clip(note.entry.title, 60) for note in place.notes[:_NAMED])
    rest = len(place.notes) - _NAMED
    more = f" {say('report_more', language, count=rest)}" if rest > 0 else ""
    head = {"type": "text", "text": place.name, "style": {"bold": True}}
    return {"type": "rich_text_section", "elements": [head, {"type": "text", "text": f" · {titles}{more}"}]}


def _entry(note: Note, page: int, language: Language, *, may_change: bool) -> list[Block]:
    entry = note.entry
    title = {"type": "text", "text": entry.title, "style": {"bold": True}}
    text = {"type": "text", "text": "\n" + clip(entry.text, SHOWN_CHARS)}
    where = " · ".join(filter(None, (note.file, entry.kept)))
    blocks = [
        kit.rich_text({"type": "rich_text_section", "elements": [title, text]}),
        kit.context(escape(clip(where, 400))),
    ]
    if not may_change:
        return blocks
    edit, forget = (EntryButton(do=do, file=note.file, key=note.key, page=page) for do in ("edit", "forget"))
    asked = say("entry_forget_text", language, title=clip(entry.title, 80), file=clip(note.file, 100))
    words = [say(name, language) for name in ("memory_button_forget", "memory_button_leave")]
    forgets = kit.asking_first(
        kit.button(words[0], forget, style="danger"), say("entry_forget_title", language), asked, *words
    )
    edits = [] if entry.is_above else [kit.button(say("entry_button_edit", language), edit)]
    return [*blocks, kit.actions(*edits, forgets)]
