"""Chooses the entries of a team's memory that a question needs: BM25 over titles and texts, within a budget.

Conventions apply to each question, so they come first, up to their share. All other entries are chosen by relevance. A
term with two meanings is reported as a clash, unless the nearer entry says that it replaces the other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.steps import Recalled, TeamNote
from core.team_folder.entries import Entries, Note, page_name
from core.team_folder.folder import Page, TeamFolder
from core.team_folder.pages import Entry, as_read, entries_of, plain_title, same_title
from core.team_folder.spaces import Spaces
from workers.memory.remembering import Draft
from workers.sources.knowledge.ranking import Ranking
from workers.sources.knowledge.words import STOP_PAIRS, STOP_WORDS, telling, words

CONVENTIONS_SHARE = 0.4
"""The part of the budget that conventions may take before anything else."""
TITLE_WEIGHT = 3
LEAST_SHARE = 0.15
"""Entries below this part of the best score are left out: they share a common word with the question, no more."""
MOST_NOTES = 40
LONGEST_QUESTION = 4_000
INSTEAD = "; instead of "
"""Stands in the line that says who kept an entry, before the place of the entry that it stands instead of."""


class _Index(NamedTuple):
    """The entries of some spaces as they stood on these pages, and where entries of the same title are."""

    pages: tuple[Page, ...]
    notes: list[Note]
    ranking: Ranking
    titled: dict[str, list[int]]


class Documents(Entries):
    """The team's pages with what a question needs of them. Safe to share between threads."""

    def __init__(self, folder: TeamFolder) -> None:
        super().__init__(folder)
        self._index: dict[tuple[str, ...], _Index] = {}
        self._lock = threading.Lock()

    def recall(self, spaces: Spaces, question: str, budget: int) -> Recalled | None:
        """What a question needs of what its channel may read, in at most `budget` characters, and as many for other
        meanings of the same terms; None for nothing."""
        index = self._indexed(spaces.read)
        notes = index.notes
        if not notes:
            return None
        scores = index.ranking.scores(_asked(question))
        order = sorted(range(len(notes)), key=lambda at: (-float(scores[at]), at))
        least = LEAST_SHARE * float(scores[order[0]])
        relevant = [at for at in order if scores[at] > 0 and scores[at] >= least]
        conventions = [at for at in order if notes[at].is_convention]
        taken = _within(notes, conventions, int(budget * CONVENTIONS_SHARE))
        rest = budget - sum(_size(notes[at]) for at in taken)
        taken += _within(notes, [at for at in relevant if at not in taken], rest)
        clashes: list[str] = []
        room = budget  # other meanings may take as much again
        for at in list(taken):
            others = [n for n in index.titled[plain_title(notes[at].entry.title)] if clash(notes[at], notes[n])]
            if others and not any(same_title(notes[at].entry.title, known) for known in clashes):
                clashes.append(notes[at].entry.title)
                told = _within(notes, [n for n in others if n not in taken], room)
                room -= sum(_size(notes[n]) for n in told)
                taken += told
        if not taken:
            return None
        taken = sorted(taken[:MOST_NOTES])
        more = len(set(conventions) - set(taken))
        return Recalled(notes=tuple(team_note(notes[at]) for at in taken), clashes=tuple(clashes), more=more)

    def crowded_out(self, spaces: Spaces, budget: int) -> int:
        """How many conventions a question reads only if its words fit them, because all of them are too long."""
        notes = self._indexed(spaces.read).notes
        conventions = [at for at, note in enumerate(notes) if note.is_convention]
        return len(conventions) - len(_within(notes, conventions, int(budget * CONVENTIONS_SHARE))[:MOST_NOTES])

    def find(self, spaces: Iterable[str], said: str) -> list[Note]:
        """The entries that somebody means: by title, else by a place such as "definitions: active customer", else
        those whose titles have all of the words."""
        notes = self.notes(spaces)
        wanted = said.strip().strip("\"'“”‘’.。!！?？")
        page, _, title = wanted.partition(":")
        exact = [note for note in notes if same_title(note.entry.title, wanted)]
        exact = exact or [
            note
            for note in notes
            if title and page_name(note.file) == page.strip().casefold() and same_title(note.entry.title, title)
        ]
        if exact:
            return exact
        asked = set(telling(wanted))
        return [note for note in notes if asked and asked <= set(telling(note.entry.title))]

    def about(self, spaces: Iterable[str], said: str) -> list[Note]:
        """The entries that have to do with these words, best first; all of them without words."""
        notes = self.notes(spaces)
        asked = _asked(said)
        if not asked:
            return notes
        scores = Ranking([_words(note) for note in notes]).scores(asked)
        order = sorted(range(len(notes)), key=lambda at: -float(scores[at]))
        return [notes[at] for at in order if scores[at] > 0]

    def clashing(self, spaces: Spaces, draft: Draft) -> list[Note]:
        """The entries about the same thing that say something else."""
        new = Note(f"{spaces.own}/{draft.file}", as_read(Entry(draft.title, draft.text)))
        return [note for note in self.notes(spaces.read) if clash(new, note)]

    def _indexed(self, spaces: tuple[str, ...]) -> _Index:
        """The entries of these spaces with their index, which is made again when a page changed."""
        pages = tuple(page for space in spaces for page in self.folder.pages(space))
        with self._lock:
            known = self._index.get(spaces)
        if known is not None and known.pages == pages:
            return known
        notes = [Note(page.file, entry) for page in pages for entry in entries_of(page.text, page_name(page.file))]
        titled: dict[str, list[int]] = {}
        for at, note in enumerate(notes):
            titled.setdefault(plain_title(note.entry.title), []).append(at)
        index = _Index(pages, notes, Ranking([_words(note) for note in notes]), titled)
        with self._lock:
            self._index[spaces] = index
        return index


def clash(one: Note, other: Note) -> bool:
    """Whether two entries give one thing two meanings, and neither says that it stands instead of the other."""
    if one == other or not same_title(one.entry.title, other.entry.title):
        return False
    if not (one.is_term and other.is_term) and one.file.rpartition("/")[2] != other.file.rpartition("/")[2]:
        return False
    if " ".join(one.entry.text.split()) == " ".join(other.entry.text.split()):
        return False
    return not (_stands_instead(one, other) or _stands_instead(other, one))


def place_of(note: Note) -> str:
    """The place of an entry as people read it: "channels/C1/definitions.md › active customer"."""
    return f"{note.file} › {note.entry.title}"


def team_note(note: Note) -> TeamNote:
    """An entry as a turn's step has it."""
    entry = note.entry
    return TeamNote(place=note.file, title=entry.title, text=entry.text, kept=entry.kept)


def _stands_instead(one: Note, other: Note) -> bool:
    return f"{INSTEAD}{other.file}" in one.entry.kept


def _within(notes: Sequence[Note], places: Iterable[int], budget: int) -> list[int]:
    """The first of these that fit into a budget; one that does not fit is passed over."""
    taken: list[int] = []
    for at in places:
        if (size := _size(notes[at])) <= budget:
            taken.append(at)
            budget -= size
    return taken


def _size(note: Note) -> int:
    return len(note.entry.title) + len(note.entry.text) + len(note.entry.kept) + len(note.file)


def _words(note: Note) -> list[str]:
    titled = [word for word in words(note.entry.title) if word not in STOP_WORDS and word not in STOP_PAIRS]
    return [*titled * TITLE_WEIGHT, *telling(note.entry.text)]


def _asked(question: str) -> list[str]:
    return telling(question[-LONGEST_QUESTION:])
