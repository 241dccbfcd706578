"""The team's memory as a turn uses it: which spaces a thread reads, and what of them a question needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from core.settings import Settings
from core.team_folder.folder import TeamFolder
from core.team_folder.spaces import EVERYONE, Spaces, spaces_of
from workers.memory.documents import Documents
from workers.memory.functions.shelf import FunctionShelf
from workers.memory.playbooks.shelf import PLAYBOOKS, Shelf


class TeamMemory:
    """One for each process; safe to share between threads."""

    def __init__(self, root: Path, projects: Mapping[str, Sequence[str]], prompt_chars: int) -> None:
        folder = TeamFolder(root)
        self.documents = Documents(folder)
        self.shelf = Shelf(folder)
        self.functions = FunctionShelf(folder)
        self.prompt_chars = prompt_chars
        self._projects = projects

    def spaces(self, channel: str, *, outsiders: bool) -> Spaces:
        """What a channel reads; `outsiders`: guests or people of other workspaces may be in it."""
        return spaces_of(channel, self._projects, outsiders=outsiders)

    @property
    def has_for_everyone(self) -> bool:
        """Whether any page stands where each channel reads."""
        return self._has(EVERYONE)

    def has_any(self, channel: str) -> bool:
        """Whether any page stands where a channel may read."""
        spaces = spaces_of(channel, self._projects)
        return any(map(self._has, spaces.read))

    def _has(self, space: str) -> bool:
        folder = self.documents.folder
        return bool(folder.pages(space) or folder.pages(space, PLAYBOOKS) or self.functions.names(space))


@lru_cache(maxsize=16)
def _opened(root: Path, projects: tuple[tuple[str, tuple[str, ...]], ...], prompt_chars: int) -> TeamMemory:
    return TeamMemory(root, dict(projects), prompt_chars)


def memory_of(settings: Settings) -> TeamMemory:
    """The memory that these settings name; the same one for the same settings, because it knows what it has read."""
    return _opened(settings.memory_folder, tuple(settings.project_channels.items()), settings.memory.prompt_chars)
