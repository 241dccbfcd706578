"""recall: what the team's memory holds for this channel, all of it or what fits some words."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import RECALL, argument_of
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip, escape
from core.steps import Step
from core.team_folder.entries import Note
from core.team_folder.spaces import EVERYONE
from workers.memory.team import memory_of
from workers.turn.commands.thread import CommandThread
from workers.turn.team_memory import spaces_in

MOST = 20
"""Entries that are shown."""
TEXT_CHARS, ALL_CHARS = 600, 9_000


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the entries with their pages, and who had them kept. Beside guests it says that others are not shown."""
    language = thread.language
    spaces = spaces_in(thread.context, thread.lease.thread_id)
    words = argument_of(RECALL, thread.command.text).strip(" ?？.。")
    memory = memory_of(thread.context.settings)
    documents = memory.documents
    found = documents.about(spaces.read, words)
    hides = EVERYONE not in spaces.read and bool(documents.notes((EVERYONE,)))
    hidden = say("memory_hidden", language) if hides else ""
    if not found:
        nothing = say("memory_nothing_about" if documents.notes(spaces.read) else "memory_nothing", language)
        thread.answer("\n".join(filter(None, (nothing, hidden))))
        return ()
    head = say("memory_all", language, count=len(found))
    blocks: list[Block] = [kit.paragraph(head)]
    room = ALL_CHARS
    for shown, note in enumerate(found):
        part = _blocks(note)
        room -= kit.characters(part)
        if shown >= MOST or (shown and room < 0):
            blocks.append(kit.context(escape(say("memory_more", language, count=len(found) - shown))))
            break
        blocks += part
    crowded = documents.crowded_out(spaces, memory.prompt_chars) if memory.prompt_chars else 0
    unread = say("memory_crowded", language, count=crowded) if crowded else ""
    blocks += [kit.context(escape(each)) for each in (unread, hidden) if each]
    thread.answer(head + "\n" + "\n".join(f"• {note.entry.title}" for note in found[:MOST]), blocks)
    return ()


def _blocks(note: Note) -> list[Block]:
    where = " · ".join(filter(None, (note.file, note.entry.kept)))
    title = {"type": "text", "text": note.entry.title, "style": {"bold": True}}
    text = {"type": "text", "text": "\n" + clip(note.entry.text, TEXT_CHARS)}
    return [
        kit.rich_text({"type": "rich_text_section", "elements": [title, text]}),
        kit.context(escape(clip(where, 400))),
    ]
