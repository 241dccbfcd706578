"""The entries of the team's pages: listed, kept, changed, renamed, forgotten.

Other programs and people write to the folder too. So each change reads the page again under the folder's lock. If the
entry has changed since it was read, the change is not made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.team_folder.folder import TeamFolder
from core.team_folder.pages import Entry, as_read, entries_of, renamed, same_title, with_entry, without_entry

DEFINITIONS, GLOSSARY, DECISIONS, CONVENTIONS = "definitions.md", "glossary.md", "decisions.md", "conventions.md"
TERMS: Final = frozenset({DEFINITIONS, GLOSSARY})
"""Pages on which a title is a term with one meaning."""
PAGE_TITLES: Final = {
    DEFINITIONS: "Definitions",
    GLOSSARY: "Glossary",
    DECISIONS: "Decisions",
    CONVENTIONS: "Conventions",
}
_CHANGED = re.compile(r"; changed by [^;]*")


@dataclass(frozen=True, slots=True)
class Note:
    """An entry with the page that it stands on."""

    file: str
    entry: Entry

    @property
    def key(self) -> str:
        """Names this entry with this text: 16 hex digits. A changed entry has another key."""
        told = "\0".join((self.file, self.entry.title, self.entry.text))
        return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def is_term(self) -> bool:
        """Whether its title is a term that has one meaning."""
        return self.file.rpartition("/")[2] in TERMS

    @property
    def is_convention(self) -> bool:
        """Whether it holds for each question."""
        return self.file.rpartition("/")[2] == CONVENTIONS


class TitleTaken(Exception):
    """Another entry of the page has this title."""


class Entries:
    """The entries of a folder. Safe to share between threads."""

    def __init__(self, folder: TeamFolder) -> None:
        self.folder = folder

    def notes(self, spaces: Iterable[str]) -> list[Note]:
        """All entries of these spaces, in their order."""
        return [
            Note(page.file, entry)
            for space in spaces
            for page in self.folder.pages(space)
            for entry in entries_of(page.text, page_name(page.file))
        ]

    def keep(self, file: str, entry: Entry, *, instead_of: Sequence[Entry] = ()) -> None:
        """Write an entry. Those that it stands instead of are replaced where they are unchanged. Raises NotWritten.

        Keeping the same entry again changes nothing: a worker may die right after it wrote.
        """
        with self.folder.writing():
            text = self.folder.text(file)
            name, new = page_name(file), as_read(entry)
            others = [each for each in instead_of if (each.title, each.text) != (new.title, new.text)]
            written = text
            if not any((each.title, each.text) == (new.title, new.text) for each in entries_of(text, name)):
                page = text or f"# {PAGE_TITLES.get(file.rpartition('/')[2], name.capitalize())}\n"
                written = with_entry(page, entry, replaces=others[0] if others else None)
            for other in others:
                written = without_entry(written, other) or written
            if written != text:
                self.folder.write(file, written)

    def forget(self, note: Note) -> bool:
        """Remove an entry; False when it does not stand there as it was read. Raises NotWritten."""
        with self.folder.writing():
            rest = without_entry(self.folder.text(note.file), note.entry)
            if rest is None:
                return False
            if entries_of(rest, "") or len(rest.strip().splitlines()) > 1:
                self.folder.write(note.file, rest)
            else:
                self.folder.delete(note.file)
            return True

    def change(self, note: Note, title: str, text: str, by: str, day: str) -> bool:
        """Give an entry another title or text; False when it does not stand there as it was read.

        A new title alone changes the heading and nothing below it. A new text is signed: who changed it (`by`), and on
        which `day`. Raises TitleTaken, NotWritten; ValueError for an entry that cannot be changed so: the text above
        the first heading, and a text of which only the beginning was read.
        """
        entry = note.entry
        if entry.is_above or (entry.is_cut and text != entry.text):
            raise ValueError("only an editor can change this entry")
        with self.folder.writing():
            page = self.folder.text(note.file)
            there = entries_of(page, page_name(note.file))
            if not any((each.title, each.text) == (entry.title, entry.text) for each in there):
                return False
            if not same_title(title, entry.title) and any(same_title(title, each.title) for each in there):
                raise TitleTaken(title)
            if text != entry.text:
                changed = replace(entry, title=title, text=text, kept=_signed(entry.kept, by, day))
                self.folder.write(note.file, with_entry(page, changed, replaces=entry))
            elif (written := renamed(page, entry, title)) is not None:
                self.folder.write(note.file, written)
            return True


def page_name(file: str) -> str:
    """The name of a page, as its file says it: "definitions"."""
    return file.rpartition("/")[2].removesuffix(".md")


def signing(name: str) -> str:
    """The name of a person as it stands in the line that says where an entry comes from. A semicolon would begin
    another part of the line: a person may choose the name "Ana; instead of everyone/definitions.md"."""
    return " ".join(name.replace("_", " ").replace(";", ",").split())[:80]


def _signed(kept: str, by: str, day: str) -> str:
    """The line that says where an entry comes from, with who changed it last."""
    who = signing(by)
    return f"{_CHANGED.sub('', kept)}; changed by {who} on {day}" if kept else f"Kept by {who} on {day}"
