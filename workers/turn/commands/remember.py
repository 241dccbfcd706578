"""remember: proposes an entry of the team's memory. It is written once a person has confirmed it."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.registry import REMEMBER, argument_of
from core.phrases import say
from core.steps import Proposed, Step
from core.team_folder.entries import Note
from core.team_folder.pages import Entry, as_read, same_title
from workers.memory.documents import team_note
from workers.memory.remembering import MOST_CHARS, draft_of
from workers.memory.team import memory_of
from workers.turn.commands.memory import propose
from workers.turn.commands.thread import CommandThread
from workers.turn.team_memory import spaces_in


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the proposal with what is written about the same thing already."""
    command, language = thread.command, thread.language
    said = argument_of(REMEMBER, command.text)
    draft = draft_of(said)
    if draft is None or len(said) > MOST_CHARS:
        key = "memory_empty" if draft is None else "memory_too_long"
        thread.answer(say(key, language, chars=MOST_CHARS), done=False)
        return ()
    documents = memory_of(thread.context.settings).documents
    spaces = spaces_in(thread.context, thread.lease.thread_id)
    file = f"{spaces.own}/{draft.file}"
    text = as_read(Entry(draft.title, draft.text)).text
    if any(_is_same(note, file, draft.title, text) for note in documents.notes((spaces.own,))):
        thread.answer(say("memory_known", language, title=draft.title, file=file))
        return ()
    clashes = sorted(documents.clashing(spaces, draft), key=lambda note: note.file != file)
    proposed = Proposed(
        what="entry",
        id=f"entry:{command.ts}",
        file=file,
        title=draft.title,
        text=draft.text,
        clashes=tuple(map(team_note, clashes)),
        user=command.user,
        author=command.author,
        ts=command.ts,
    )
    return propose(thread, proposed)


def _is_same(note: Note, file: str, title: str, text: str) -> bool:
    return note.file == file and same_title(note.entry.title, title) and note.entry.text == text
