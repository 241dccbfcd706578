"""The message that lists files which wait for a yes, in each of its states. Bot and workers draw it alike."""

from __future__ import annotations

from typing import Any, Final

from core.held_files import Held
from core.hidden_characters import with_hidden_shown
from core.interactions import FilesButton
from core.phrases import decimal, number, say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit, SlackMessage
from core.slack.text import clip, escape
from core.steps import FilesHeld, HeldFile
from core.values import Language, ThreadKey

MOST_FILES: Final = 15
_NAME_CHARS = 120
_UNITS = ("B", "KB", "MB", "GB")
_STEP = 1_000


def held_message(held: Held, thread: ThreadKey, language: Language) -> SlackMessage:
    """The open question: each file with its size and rows, where it would go, the buttons, who said yes so far."""
    step = held.held

    def press(do: Any) -> FilesButton:
        return FilesButton(thread=thread.id, held=step.id, do=do)

    question = say("files_question", language, count=len(step.files))
    place = say("files_to_channel" if not thread.channel.startswith("D") else "files_to_person", language)
    listed = files_text(step, language)
    buttons = kit.actions(
        kit.button(say("files_send", language), press("send"), style="primary"),
        kit.button(say("files_keep", language), press("keep")),
    )
    blocks: list[Block] = [kit.paragraph(question), kit.paragraph(listed), kit.paragraph(place), buttons]
    blocks.append(kit.context(escape(say("files_hint", language, hours=f"{step.hours:g}"))))
    if step.people > 1:
        names = ", ".join(clip(each.author or each.user, 80) for each in held.agreed)
        key = "approval_agreed" if names else "approval_people"
        blocks.append(kit.context(escape(say(key, language, names=names, count=step.people - len(held.agreed)))))
    return SlackMessage(kit.fallback(f"{question}\n{listed}"), blocks)


def settled_message(held: Held, language: Language) -> SlackMessage:
    """The same once it is decided, or once it was asked again: no buttons."""
    line, listed = settled_line(held, language), files_text(held.held, language)
    blocks: list[Block] = [kit.paragraph(listed), kit.context(escape(line))]
    return SlackMessage(kit.fallback(f"{line}\n{listed}"), blocks)


def settled_line(held: Held, language: Language) -> str:
    """Its outcome, who decided, and how the files are had later; not escaped."""
    if held.settled is None:
        return say("files_asked_again", language)
    author = clip(held.settled.author or held.settled.user, 80)
    return say(f"files_were_{held.settled.outcome}", language, author=author)


def files_text(held: FilesHeld, language: Language) -> str:
    """The files, a line each; not escaped."""
    lines = [f"• {_line(file, language)}" for file in held.files[:MOST_FILES]]
    if (more := len(held.files) - MOST_FILES) > 0:
        lines.append(say("files_more", language, count=more))
    return clip("\n".join(lines), Limit.SECTION)


def _line(file: HeldFile, language: Language) -> str:
    parts = [clip(with_hidden_shown(file.name), _NAME_CHARS), size_text(file.size, language)]
    if file.rows is not None:
        parts.append(say("files_rows", language, shown=number(file.rows, language)))
    return " · ".join(parts)


def size_text(size: int, language: Language) -> str:
    """A size in bytes as people read it: "812 B", "1.2 MB", in German "1,2 MB"."""
    amount, unit = float(size), 0
    while amount >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{decimal(amount, 0 if unit == 0 or amount >= 100 else 1, language)} {_UNITS[unit]}"
