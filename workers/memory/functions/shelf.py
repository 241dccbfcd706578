"""The functions of a channel: read from the folders of its spaces, found for a question, written once accepted.

SPACE/functions/untested/NAME/     a draft that waits for people; never importable
SPACE/functions/tested/NAME/       accepted, importable in the cells of the channels that read the space
SPACE/functions/earlier/NAME/vN/   the versions before
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.steps import FunctionDraft, FunctionNote
from core.team_folder.folder import NotWritten, TeamFolder
from core.team_folder.spaces import space_of
from workers.memory.functions.page import FILES, LONGEST_FILE, TeamFunction, files_of, hashes, read_function
from workers.memory.functions.static import NAME
from workers.sources.knowledge.ranking import Ranking
from workers.sources.knowledge.words import telling, words

FUNCTIONS: Final = "functions"
TESTED, UNTESTED, EARLIER = f"{FUNCTIONS}/tested", f"{FUNCTIONS}/untested", f"{FUNCTIONS}/earlier"
MOST_FUNCTIONS: Final = 300
"""Functions of one space; the others are not read."""
LEAST_SHARE: Final = 0.3
"""Functions below this part of the best score are not offered."""
LONGEST_QUESTION: Final = 4_000
_NAME_WEIGHT = 3
_NOTE_CHARS = 60
"""What a line of the list has beside its texts."""


class FunctionShelf:
    """The team's functions. Safe to share between threads. Nothing here runs one."""

    def __init__(self, folder: TeamFolder) -> None:
        self._folder = folder
        self._known: dict[Path, tuple[tuple[tuple[int, int], ...], TeamFunction | None]] = {}
        self._lock = threading.Lock()

    def all(self, space: str, under: str = TESTED) -> list[TeamFunction]:
        """The functions of a space that can be read, in the order of their names. Raises nothing."""
        return [found for name in self.names(space, under) if (found := self.read(f"{space}/{under}/{name}"))]

    def names(self, space: str, under: str = TESTED) -> list[str]:
        """The folders there that may be functions."""
        root = self._folder.root / space / under
        try:
            if not root.resolve().is_relative_to((self._folder.root / space).resolve()):
                return []
            found = sorted(entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))
        except OSError:
            return []
        return [name for name in found if NAME.fullmatch(name)][:MOST_FUNCTIONS]

    def usable(self, spaces: Iterable[str]) -> dict[str, TeamFunction]:
        """The functions that cells may import, by name, as they were accepted. If two have one name, the nearer one
        counts."""
        found: dict[str, TeamFunction] = {}
        for space in spaces:
            for function in self.all(space):
                if function.is_as_accepted:
                    found.setdefault(function.draft.name, function)
        return found

    def has_any(self, spaces: Iterable[str]) -> bool:
        """Whether any of these spaces may have a function."""
        return any(self.names(space) for space in spaces)

    def find(self, spaces: Iterable[str], question: str, budget: int) -> list[FunctionNote]:
        """The functions that a question may need, best first, in at most `budget` characters."""
        notes = [function.note for function in self.usable(spaces).values()]
        found: list[FunctionNote] = []
        for note in _ranked(notes, question):
            size = len(note.signature) + len(note.description) + len(note.when) + _NOTE_CHARS
            if size <= budget:
                found.append(note)
                budget -= size
        return found

    def alike(self, spaces: Iterable[str], need: str, most: int) -> list[FunctionDraft]:
        """Accepted functions that are most like one that is needed: examples of how this team writes them."""
        usable = self.usable(spaces)
        return [usable[note.name].draft for note in _ranked([each.note for each in usable.values()], need)[:most]]

    def read(self, file: str) -> TeamFunction | None:
        """The function in a folder; None where there is none that can be read. Raises nothing."""
        folder = self._folder.root / file
        texts: dict[str, str] = {}
        try:
            if folder.is_symlink() or not folder.resolve().is_relative_to(self._folder.root.resolve()):
                return None
            paths = [folder / name for name in FILES if (folder / name).is_file()]
            about = [path.stat(follow_symlinks=False) for path in paths]
            stamp = tuple((each.st_mtime_ns, each.st_size) for each in about)
            with self._lock:
                known = self._known.get(folder)
            if known is not None and known[0] == stamp:
                return known[1]
            for path, each in zip(paths, about, strict=True):
                if path.is_symlink() or each.st_size > LONGEST_FILE:
                    return None
                texts[path.name] = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError):
            return None
        found = read_function(file, texts)
        with self._lock:
            self._known[folder] = stamp, found
        return found

    def put_untested(self, space: str, draft: FunctionDraft, about: Mapping[str, Any]) -> str:
        """Write a draft where people can read it; returns its folder. Raises NotWritten."""
        file = f"{space}/{UNTESTED}/{draft.name}"
        with self._folder.writing():
            self._write(file, files_of(draft, about))
        return file

    def drop_untested(self, space: str, name: str) -> None:
        """Remove a draft. Raises NotWritten."""
        with self._folder.writing():
            self._remove(f"{space}/{UNTESTED}/{name}")

    def drop_drafts_of(self, thread_id: str) -> int:
        """Remove the drafts of a thread on which nobody decided; returns their number. Raises NotWritten."""
        spaces = self._folder.spaces()
        found = [(space, each) for space in spaces for each in self.all(space, UNTESTED)]
        mine = [(space, each) for space, each in found if each.provenance.get("thread") == thread_id]
        for space, each in mine:
            self.drop_untested(space, each.draft.name)
        return len(mine)

    def accept(self, space: str, draft: FunctionDraft, provenance: Mapping[str, Any]) -> TeamFunction:
        """Put an accepted function in place; the version before is kept beside it. Raises NotWritten.

        Accepting the same files again changes nothing: a worker may die right after it wrote.
        """
        file = f"{space}/{TESTED}/{draft.name}"
        with self._folder.writing():
            before = self.read(file)
            if before is not None and before.is_as_accepted and hashes(before.draft) == hashes(draft):
                self._remove(f"{space}/{UNTESTED}/{draft.name}")
                return before
            version = before.version + 1 if before is not None else 1
            about = {"function": draft.name, "version": version, **provenance, "sha256": hashes(draft)}
            if before is not None and before.version:
                old = files_of(before.draft, before.provenance)
                self._write(f"{space}/{EARLIER}/{draft.name}/v{before.version}", old)
            self._write(file, files_of(draft, about))
            self._remove(f"{space}/{UNTESTED}/{draft.name}")
        found = self.read(file)
        if found is None:
            raise NotWritten(f"{file} cannot be read")
        return found

    def _write(self, file: str, texts: Mapping[str, str]) -> None:
        """Write a folder's files, provenance last: until it fits, the function is not importable."""
        folder = self._inside(file)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not folder.resolve().is_relative_to(self._folder.root.resolve()):
                raise NotWritten(f"{file} leads out of the folder")
            for name in FILES:
                part = folder / f".{name}.part"
                part.unlink(missing_ok=True)
                self._folder.put_in_place(texts[name], part, folder / name)
        except OSError as error:
            raise NotWritten(f"{file}: {error.strerror}") from error

    def _remove(self, file: str) -> None:
        folder = self._inside(file)
        try:
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        except OSError as error:
            raise NotWritten(f"{file}: {error.strerror}") from error

    def _inside(self, file: str) -> Path:
        parts = Path(file).parts
        if not space_of(file) or FUNCTIONS not in parts or ".." in parts or Path(file).is_absolute():
            raise NotWritten(f"{file!r} is no folder of a function")
        return self._folder.root / file


def uses(name: str, code: str) -> bool:
    """Whether code names a function of the team."""
    return bool(re.search(r"\bteam\b", code)) and bool(re.search(rf"\b{re.escape(name)}\b", code))


def _ranked(notes: Sequence[FunctionNote], question: str) -> list[FunctionNote]:
    """Those that have to do with the question, best first."""
    asked = telling(question[-LONGEST_QUESTION:])
    if not asked or not notes:
        return []
    listed = [
        [*words(note.name.replace("_", " ")) * _NAME_WEIGHT, *telling(f"{note.description} {note.when}")]
        for note in notes
    ]
    scores = Ranking(listed).scores(asked)
    order = sorted(range(len(notes)), key=lambda at: (-float(scores[at]), at))
    least = LEAST_SHARE * float(scores[order[0]])
    return [notes[at] for at in order if scores[at] > 0 and scores[at] >= least]
