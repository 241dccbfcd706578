"""Files that people give a thread: into the store of contents, and into the thread's workspace."""

from __future__ import annotations

from executor.files.home import Home, ThreadHome
from executor.files.workspace import Workspace
from executor.frames import ProtocolError
from executor.slices import Work


class GivenFiles:
    """One thread's. It notices that the thread is deleted while a file comes."""

    def __init__(self, thread: ThreadHome, home: Home, workspace: Workspace) -> None:
        self._thread = thread
        self._home = home
        self._workspace = workspace
        self._coming = 0
        self._closed = False

    @property
    def are_coming(self) -> bool:
        """Whether somebody gives a file at this moment."""
        return self._coming > 0

    def put(self, name: str, descriptor: int, limit: int, *, restore: bool) -> Work[str]:
        """Take a file of at most `limit` bytes. Returns the name that it has in the workspace.

        The same file given twice under one name is one file. With `restore`, one that a cell has changed or removed is
        left alone, and its name is "". Raises TooLarge.
        """
        self._coming += 1
        try:
            sha256, size = yield from self._home.keep(descriptor, limit)
            return (yield from self._give(name, sha256, size, restore=restore))
        finally:
            self._coming -= 1

    def put_held(self, name: str, sha256: str, *, restore: bool) -> Work[str]:
        """Like `put`, of a content that is in the store already. Raises ProtocolError when it is not."""
        if not self._home.holds(sha256):
            raise ProtocolError("this host does not hold that content")
        return (yield from self._give(name, sha256, self._home.path_of(sha256).stat().st_size, restore=restore))

    def close(self) -> None:
        """Keep nothing that comes from here on."""
        self._closed = True

    def _give(self, name: str, sha256: str, size: int, *, restore: bool) -> Work[str]:
        try:
            with self._home.using(sha256):
                while (file := self._workspace.known(name, sha256)) is None:
                    if restore and (name, sha256) in self._thread.files.replaced:
                        return ""
                    file = self._workspace.named(name, sha256, size)
                    if (yield from self._workspace.give(file)):
                        break
                if not self._closed:
                    self._workspace.add(file)
                    return file.name
        finally:
            if self._closed:
                self._home.forget({sha256})
        raise ProtocolError("the thread was deleted while it got a file")
