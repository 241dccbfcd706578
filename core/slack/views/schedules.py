"""The part of the app's home with the reports that are made again, and the buttons of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from core.interactions import ScheduleButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip, escape
from core.slack.views.modals import View, window
from core.values import Language

LISTED: Final = 8
"""Schedules that are shown; each takes up to two blocks."""
_LINE = 120

Do = Literal["pause", "resume", "stop"]


@dataclass(frozen=True, slots=True)
class ScheduleEntry:
    """A schedule in the list: a link to its thread, its words, a line about it, and what may be done to it."""

    url: str
    said: str
    about: str
    thread: str
    id: str
    may: tuple[Do, ...] = ()


def schedule_blocks(entries: Sequence[ScheduleEntry], more: int, language: Language) -> list[Block]:
    """The part of the home with these schedules and the number of the others; nothing where there are none."""
    if not entries:
        return []
    blocks = [kit.header(say("home_schedules", language))]
    for entry in entries:
        said = clip(" ".join(entry.said.split()), _LINE) or "…"
        link = {"type": "link", "url": entry.url, "text": said} if entry.url else _text(said)
        about = _text(f" · {clip(' '.join(entry.about.split()), 2 * _LINE)}")
        blocks.append(kit.rich_text({"type": "rich_text_section", "elements": [link, about]}))
        if entry.may:
            blocks.append(kit.actions(*(_button(entry, do, language) for do in entry.may)))
    if more:
        blocks.append(kit.context(escape(say("report_more", language, count=more))))
    return blocks


def notice_view(text: str, language: Language) -> View:
    """A window that says one thing to the person who pressed."""
    return window("Threadbook", [kit.paragraph(text)], language)


def _button(entry: ScheduleEntry, do: Do, language: Language) -> dict[str, Any]:
    button = ScheduleButton(do=do, thread=entry.thread, schedule=entry.id)
    if do != "stop":
        return kit.button(say(f"home_schedule_{do}", language), button)
    asked = say("home_schedule_stop_text", language, said=clip(" ".join(entry.said.split()), _LINE))
    words = [say(name, language) for name in ("home_schedule_stop", "memory_button_leave")]
    shown = kit.button(words[0], button, style="danger")
    return kit.asking_first(shown, say("home_schedule_stop_title", language), asked, *words)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
