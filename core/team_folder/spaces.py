"""Which folders of the team's memory a channel reads, and which one it writes to.

    everyone/          read in each channel; people fill it with an editor
    projects/NAME/     read in the channels that [projects.NAME] lists
    channels/ID/       read in this channel alone; what is said there is kept there

Nothing is ever written outside of the channel's own folder from a thread. So what is said in a private channel reaches
another channel only if a person moves the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

EVERYONE = "everyone"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_CHANNEL = re.compile(r"[A-Z0-9]{2,50}")


@dataclass(frozen=True, slots=True)
class Spaces:
    """Folders below the memory's own, the nearest first: the channel's, those of its projects, everyone's."""

    own: str
    others: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """All that the channel reads."""
        return (self.own, *self.others)


def spaces_of(channel: str, projects: Mapping[str, Sequence[str]], *, outsiders: bool = False) -> Spaces:
    """What a channel reads. `projects` are the channels of each project.

    With `outsiders` in the channel (guests, other workspaces) it does not read what everyone does: they are not
    everyone. Raises ValueError for an id that is none of Slack's.
    """
    if not _CHANNEL.fullmatch(channel):
        raise ValueError(f"{channel!r} is no id of a channel")
    joined = [f"projects/{name}" for name, channels in sorted(projects.items()) if channel in channels]
    return Spaces(f"channels/{channel}", (*joined, *(() if outsiders else (EVERYONE,))))


def is_space(name: str) -> bool:
    """Whether a name is one of a space: `everyone`, `projects/NAME` or `channels/ID`."""
    kind, _, rest = name.partition("/")
    if kind == EVERYONE:
        return not rest
    return bool((_NAME if kind == "projects" else _CHANNEL).fullmatch(rest)) and kind in ("projects", "channels")


def space_of(file: str) -> str:
    """The space that a file below the memory's folder stands in; "" when it is in none."""
    parts = PurePosixPath(file).parts
    name = EVERYONE if parts[:1] == (EVERYONE,) else "/".join(parts[:2])
    return name if is_space(name) else ""
