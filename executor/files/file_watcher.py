"""Which files of a workspace were opened or changed while a cell ran, as the kernel saw it (inotify)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from executor import linux


@dataclass(slots=True)
class Seen:
    """What happened in one folder since the last `take`.

    `lost`: the kernel dropped events, so nothing is known for sure.
    """

    opened: set[str] = field(default_factory=set)
    changed: bool = False
    lost: bool = False


_MANY = 10_000


class Watcher:
    """One inotify instance for all workspaces of the host; `fd` becomes readable when events wait."""

    def __init__(self) -> None:
        self.fd = linux.inotify_open()
        self._seen: dict[int, Seen] = {}

    def add(self, folder: int) -> int:
        """Watch the folder with this descriptor (not what is below it); returns the watch's number."""
        watch = linux.inotify_watch(self.fd, f"/proc/self/fd/{folder}", linux.IN_OPEN | linux.IN_CHANGES)
        self._seen[watch] = Seen()
        return watch

    def remove(self, watch: int) -> None:
        """Stop watching."""
        if self._seen.pop(watch, None) is not None:
            linux.inotify_unwatch(self.fd, watch)

    def read(self) -> None:
        """Take in the events that wait."""
        for watch, mask, name in linux.inotify_read(self.fd):
            if mask & linux.IN_Q_OVERFLOW:
                for seen in self._seen.values():
                    seen.lost = True
                continue
            found = self._seen.get(watch)
            if found is None:
                continue
            if mask & linux.IN_CHANGES:
                found.changed = True
            elif name and not mask & linux.IN_ISDIR and len(found.opened) < _MANY:
                found.opened.add(name)

    def forget_opened(self, watch: int, name: str) -> None:
        """It was the host itself that opened the file with this name."""
        self.read()
        self._seen[watch].opened.discard(name)

    def take(self, watch: int) -> Seen:
        """What happened since the last call, up to now."""
        self.read()
        seen, self._seen[watch] = self._seen[watch], Seen()
        return seen


def open_watcher(report: Callable[[str], None]) -> Watcher | None:
    """A watcher, or None with a word to `report` on a host that has no inotify left."""
    try:
        return Watcher()
    except OSError as error:
        report(f"inotify is not available ({error.strerror}): which files a cell read will not be known")
        return None
