"""`threadbook memory`: the entries of the team's memory are listed, added, renamed and removed."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from datetime import UTC, datetime

from core.actions import Action
from core.settings import Settings
from core.store import Store
from core.team_folder.entries import Note, TitleTaken
from core.team_folder.folder import NotWritten, Unreadable
from core.team_folder.pages import TITLE_CHARS, Entry, same_title
from core.team_folder.spaces import is_space, spaces_of
from tryout.commands.operator import operator, permitted
from tryout.commands.show import counted, printable
from workers.memory.documents import Documents, clash
from workers.memory.remembering import draft_of
from workers.memory.team import memory_of


def run_list(settings: Settings, words: str, channel: str, *, as_json: bool = False) -> int:
    """Print the entries; 1 when a page cannot be read, or for an id that is none of Slack's."""
    memory = memory_of(settings)
    folder = memory.documents.folder
    try:
        spaces = spaces_of(channel, settings.project_channels).read if channel else tuple(folder.spaces())
    except ValueError as error:
        return _failed(str(error))
    found = memory.documents.about(spaces, words)
    if as_json:
        print(json.dumps([_json(note) for note in found], ensure_ascii=False))
    else:
        for note in found:
            print(printable(f"{note.file}:{note.entry.line}: {note.entry.title}"))
            for line in (*note.entry.text.splitlines(), *filter(None, [note.entry.kept])):
                print(printable(f"    {line}"))
        print(f"{counted(len(found), 'entry', 'entries')} in {folder.root}.")
    unread = [page for space in spaces for page in folder.all_pages(space) if isinstance(page, Unreadable)]
    for page in unread:
        print(printable(f"threadbook: {page.file} {page.why}; it is left out."), file=sys.stderr)
    return 1 if unread else 0


def run_add(settings: Settings, space: str, said: str, workspace: str = "") -> int:
    """Keep an entry; 1 when it was not kept. `workspace` is the one that the settings are of, for the audit."""
    draft = draft_of(said)
    if not is_space(space) or draft is None:
        return _failed("give a space (everyone, projects/NAME or channels/ID) and what is to be kept.")
    documents = memory_of(settings).documents
    if not _may(settings, _resource(workspace, space)):
        return 1
    kept = f"Kept by {operator(settings).replace('_', ' ')} on {datetime.now(UTC):%Y-%m-%d}"
    note = Note(f"{space}/{draft.file}", Entry(draft.title, draft.text, kept))
    others = [each for each in documents.notes((space,)) if clash(each, note)]
    for other in others:
        print(printable(f"threadbook: {other.file}:{other.entry.line} says something else."), file=sys.stderr)
    if others:
        return _failed("nothing was kept. Change that entry with an editor, or forget it first.")
    try:
        documents.keep(note.file, note.entry)
    except NotWritten as error:
        return _failed(str(error))
    print(printable(f"{note.file}: {draft.title}"))
    return 0


def run_forget(settings: Settings, file: str, title: str, workspace: str = "") -> int:
    """Remove an entry; 1 when there is none. `workspace` as for `run_add`."""
    documents: Documents = memory_of(settings).documents
    note = _found(settings, documents, file, title, workspace)
    if note is None:
        return 1
    try:
        documents.forget(note)
    except NotWritten as error:
        return _failed(str(error))
    print(printable(f"{file}: {note.entry.title} is forgotten. Threads that used it keep what they read."))
    return 0


def run_rename(settings: Settings, file: str, title: str, new: str, workspace: str = "") -> int:
    """Give an entry another title; 1 when it was not renamed. `workspace` as for `run_add`."""
    documents: Documents = memory_of(settings).documents
    wanted = " ".join(new.split())
    if not wanted or len(wanted) > TITLE_CHARS:
        return _failed(f"give a title of at most {TITLE_CHARS} characters. Nothing was renamed.")
    note = _found(settings, documents, file, title, workspace)
    if note is None:
        return 1
    try:
        if not documents.change(note, wanted, note.entry.text, "", ""):
            return _failed(f"{file} was changed meanwhile, and nothing was renamed. Try again.")
    except TitleTaken:
        return _failed(f"{file} has an entry {wanted!r} already. Nothing was renamed.")
    except (NotWritten, ValueError) as error:
        return _failed(str(error))
    print(printable(f"{file}: {note.entry.title} is now {wanted}."))
    return 0


def _found(settings: Settings, documents: Documents, file: str, title: str, workspace: str) -> Note | None:
    """The entry with this title, if there is one and the operator may change it; else it is said."""
    space = file.rpartition("/")[0]
    found = [note for note in documents.notes((space,)) if note.file == file and same_title(note.entry.title, title)]
    if not is_space(space) or not found:
        _failed(f"{file} has no entry {title!r}. `threadbook memory list` shows them.")
        return None
    return found[0] if _may(settings, _resource(workspace, file)) else None


def _may(settings: Settings, resource: str) -> bool:
    """Whether the operator may change what is remembered; a team may write it down before its first question."""
    with closing(Store(settings.database_url)) as store:
        if store.is_new():
            store.migrate()
        return permitted(settings, store, Action.REMEMBER, resource)


def _resource(workspace: str, what: str) -> str:
    return f"{workspace}/{what}" if workspace else what


def _json(note: Note) -> dict[str, object]:
    entry = note.entry
    return {"file": note.file, "line": entry.line, "title": entry.title, "text": entry.text, "kept": entry.kept}


def _failed(text: str) -> int:
    print(printable(f"threadbook: {text}"), file=sys.stderr)
    return 1
