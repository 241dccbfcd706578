"""forget: proposes to remove an entry of the team's memory. Words that name no entry are plain words."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import FORGET, argument_of
from core.phrases import say
from core.steps import Asked, Proposed, Step
from core.team_folder.entries import Note
from core.team_folder.pages import same_title
from core.team_folder.spaces import space_of
from workers.memory.team import memory_of
from workers.turn.commands.memory import propose
from workers.turn.commands.thread import CommandThread
from workers.turn.team_memory import spaces_in

_MOST_TITLES = 6


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the proposal. If the memory has no such entry, “Forget the refunds” is a message to the analyst."""
    command, language = thread.command, thread.language
    spaces = spaces_in(thread.context, thread.lease.thread_id)
    found = memory_of(thread.context.settings).documents.find(spaces.read, argument_of(FORGET, command.text))
    if not found:
        return (Asked(user=command.user, author=command.author, text=command.text, ts=command.ts),)
    own = [note for note in found if space_of(note.file) == spaces.own]
    if not own:
        thread.answer(
            say("memory_forget_elsewhere", language, title=found[0].entry.title, file=found[0].file), done=False
        )
        return ()
    if not all(same_title(note.entry.title, own[0].entry.title) for note in own):
        titles = "; ".join(note.entry.title for note in own[:_MOST_TITLES])
        text = say("memory_forget_several", language, titles=titles, example=own[0].entry.title)
        thread.answer(text, done=False)
        return ()
    return [step for number, note in enumerate(own) for step in propose(thread, _proposed(thread, note, number))]


def _proposed(thread: CommandThread, note: Note, number: int) -> Proposed:
    command = thread.command
    return Proposed(
        what="forget",
        id=f"forget:{command.ts}:{number}",
        file=note.file,
        title=note.entry.title,
        text=note.entry.text,
        user=command.user,
        author=command.author,
        ts=command.ts,
    )
