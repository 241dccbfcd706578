"""The window “Threads” of the app's home: a field for words, selects that filter, the threads found, a pin for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.interactions import FORM_FIELD, PinButton, ThreadFilter, ThreadsButton, ThreadsForm
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit
from core.slack.text import clip, escape
from core.slack.views.modals import View, form, input_field, plain
from core.values import Language

PER_PAGE: Final = 8
"""Threads of one page: each takes two blocks of a hundred."""
MOST_PAGES: Final = 60
WORDS: Final = f"{FORM_FIELD}:words"
"""The id of the field with the words, and of the block around it."""
WORDS_CHARS: Final = 200
DIRECT: Final = "D"
"""The channel of a filter that stands for the person's direct messages."""
_LINE, _EXCERPT = 120, 200
_SINCE: Final = ("", "day", "week", "month", "quarter", "year")
_STATES: Final = ("", "waiting", "running", "done")


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """A thread in the list: a link to it ("" for none), its first words, a line about it, and who pinned it."""

    thread: str
    url: str
    title: str
    channel: str
    about: str
    excerpt: str = ""
    is_own_pin: bool = False
    is_team_pin: bool = False


@dataclass(frozen=True, slots=True)
class ThreadsPage:
    """What the window shows. `channels` are ids and names; `is_cut`: not all threads could be looked at."""

    filter: ThreadFilter
    words: str
    channels: Sequence[tuple[str, str]]
    lines: Sequence[ThreadLine]
    page: int = 0
    has_more: bool = False
    is_cut: bool = False
    said: str = ""


def threads_view(shown: ThreadsPage, language: Language) -> View:
    """The window. Its button looks for the words; a select or a page is there at once."""
    kind = ThreadsForm(**shown.filter.model_dump(include=set(ThreadFilter.model_fields)))
    blocks = [_field(shown.words, language), kit.actions(*_selects(shown, language))]
    if shown.said:
        blocks.append(kit.paragraph(shown.said))
    if not shown.lines:
        blocks.append(kit.paragraph(say("threads_none", language)))
    for row, line in enumerate(shown.lines):
        blocks += _line(line, row, shown, language)
    if shown.is_cut:
        blocks.append(kit.context(escape(say("threads_cut", language))))
    turns = [("◀", shown.page - 1)] if shown.page else []
    turns += [("▶", shown.page + 1)] if shown.has_more and shown.page + 1 < MOST_PAGES else []
    if turns:
        blocks.append(kit.actions(*(kit.button(sign, _with(shown.filter, page=page)) for sign, page in turns)))
    return form(kind, say("threads_title", language), say("threads_search", language), blocks, language)


def words_given(view: Any) -> str:
    """The words that stand in the field of the window; "" when none do."""
    try:
        words = view["state"]["values"][WORDS][WORDS]["value"]
    except (KeyError, TypeError):
        return ""
    return words[:WORDS_CHARS] if isinstance(words, str) else ""


def _with(filter: ThreadFilter, **changes: Any) -> ThreadsButton:
    given = filter.model_dump(include=set(ThreadFilter.model_fields))
    return ThreadsButton(**{**given, **changes})


def _field(words: str, language: Language) -> Block:
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": WORDS, "max_length": WORDS_CHARS}
    element["placeholder"] = plain(say("threads_words_hint", language), Limit.OPTION_VALUE)
    if words:
        element["initial_value"] = words[:WORDS_CHARS]
    return {**input_field(WORDS, say("threads_words", language), element), "optional": True}


def _selects(shown: ThreadsPage, language: Language) -> list[dict[str, Any]]:
    channels = [("", say("threads_channel_all", language)), (DIRECT, say("home_direct", language)), *shown.channels]
    choices: Mapping[str, Sequence[tuple[Any, str]]] = {
        "mine": [(mine, say(f"threads_{'mine' if mine else 'everybody'}", language)) for mine in (False, True)],
        "channel": channels[: Limit.SELECT_OPTIONS],
        "since": [(since, say(f"threads_since_{since or 'ever'}", language)) for since in _SINCE],
        "state": [(state, say(f"threads_state_{state or 'any'}", language)) for state in _STATES],
        "pinned": [(pinned, say(f"threads_{'pinned' if pinned else 'not_only_pinned'}", language))
                   for pinned in (False, True)],
    }  # fmt: skip
    return [_select(name, options, shown.filter) for name, options in choices.items()]


def _select(name: str, options: Sequence[tuple[Any, str]], filter: ThreadFilter) -> dict[str, Any]:
    current = getattr(filter, name)
    place = next((n for n, (value, _) in enumerate(options) if value == current), 0)
    shown = [(text, _with(filter, **{name: value})) for value, text in options]
    return kit.select(ThreadsButton.select_id(name), options[0][1], shown, place)


def _line(line: ThreadLine, row: int, shown: ThreadsPage, language: Language) -> list[Block]:
    title = clip(" ".join(line.title.split()), _LINE) or "…"
    bold = {"style": {"bold": True}}
    pins = [("own", line.is_own_pin), ("all", line.is_team_pin)]
    said = " · ".join([line.about, *(say(f"threads_pinned_{whose}", language) for whose, is_there in pins if is_there)])
    head = {"type": "link", "url": line.url, "text": title, **bold} if line.url else {**_text(title), **bold}
    where = {"type": "channel", "channel_id": line.channel} if line.channel[:1] in "CG" else None
    about = [_text("\n"), where, _text(f" · {said}")] if where else [_text(f"\n{said}")]
    excerpt = [_text(f"\n{clip(' '.join(line.excerpt.split()), _EXCERPT)}")] if line.excerpt else []
    elements = [head, *about, *excerpt]
    given = shown.filter.model_dump(include=set(ThreadFilter.model_fields))
    do = "unpin" if line.is_own_pin else "pin"
    button = PinButton(**given, do=do, thread=line.thread, page=shown.page, row=row)  # type: ignore[arg-type]
    return [
        kit.rich_text({"type": "rich_text_section", "elements": elements}),
        kit.actions(kit.button(say(f"threads_{do}", language), button)),
    ]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
