"""The playbooks of a channel: read from its spaces, and asked which of them a question needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from core.steps import FileAbstract, PlaybookNote
from core.team_folder.folder import Page, TeamFolder
from core.values import Language
from workers.memory.playbooks.matching import Candidate, PlaybookIndex, Tables, drift
from workers.memory.playbooks.page import Input, PlaybookFault, read_playbook, without_types

PLAYBOOKS = "playbooks"


class Shelf:
    """The team's playbooks. Safe to share between threads."""

    def __init__(self, folder: TeamFolder) -> None:
        self._folder = folder
        self._known: dict[tuple[str, ...], tuple[tuple[Page, ...], PlaybookIndex]] = {}
        self._lock = threading.Lock()

    def index(self, spaces: Iterable[str]) -> PlaybookIndex:
        """The playbooks of these spaces that can be read. If two have one file name, the nearer one counts."""
        of = tuple(spaces)
        pages = tuple(page for space in of for page in self._folder.pages(space, PLAYBOOKS))
        with self._lock:
            known = self._known.get(of)
        if known is not None and known[0] == pages:
            return known[1]
        found: dict[str, Candidate] = {}
        for page in pages:
            try:
                candidate = Candidate(page.file, page.text, read_playbook(page.text))
            except PlaybookFault:
                continue
            found.setdefault(page.file.rpartition("/")[2], candidate)
        index = PlaybookIndex(list(found.values()))
        with self._lock:
            self._known[of] = pages, index
        return index

    def find(
        self,
        spaces: Iterable[str],
        question: str,
        files: Sequence[FileAbstract],
        look_up: Callable[[Sequence[Input]], Tables] = lambda inputs: {},
        language: Language = "en",
    ) -> PlaybookNote | None:
        """The playbook to follow, with what has drifted in this language; None when none fits. `look_up` looks at
        tables of sources."""
        found = self.index(spaces).match(question, files)
        if found is None:
            return None
        book = found.playbook
        return PlaybookNote(
            file=found.file,
            name=book.name,
            text=without_types(found.text),
            owner=book.owner,
            kept=book.kept,
            drift=drift(book, files, look_up(book.inputs), language),
        )
