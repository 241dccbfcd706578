"""The working folder of a thread's live subprocess: files are put into it, and what a cell made is found there."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from executor.files.collect import Collection, Snapshot, Taken, collect, fingerprint, has_folders, snapshot
from executor.files.file_watcher import Watcher
from executor.files.home import Home, ThreadHome, remove_tree
from executor.files.images import HEAD_BYTES, mimetype_of
from executor.files.thread_files import KeptFile, free_name
from executor.notices import Notices, notice, shortened_list
from executor.sandbox.calls import set_file_user
from executor.sessions.session import Session
from executor.slices import SLICE, Portion, Work
from executor.values import Artifact, Chart, Limits

_FIGURE = "image/png"
_MODULE = ".py"
"""Such files are put in place first: variables that are restored meanwhile may be of their classes."""


class Workspace:
    """One thread's. There is a folder only while a subprocess lives; between two of them its files are in the home."""

    def __init__(self, thread: ThreadHome, home: Home, watcher: Watcher | None) -> None:
        self.folder: int | None = None
        """The open folder, None while there is no subprocess."""
        self.snapshot: Snapshot = {}
        """The files in it as they were last looked at."""
        self.is_filled = False
        """Whether the thread's files are in it."""
        self._number = 0
        """Of the folders that were left: each subprocess has another one."""
        self._thread = thread
        self._home = home
        self._watcher = watcher
        self._watch: int | None = None
        self._changed = False
        """Whether anything may have changed after the last cell had ended and before the next one began."""
        self._user: int | None = None
        self._left_out: dict[str, str] = {}
        """Files of the thread that could not be put there, with the reason; the next subprocess may have room."""
        self._untold: dict[str, str] = {}
        """Those of which no result has told."""
        self._untold_older: dict[str, str] = {}
        """Files that are there in an earlier version than the last, of which no result has told."""
        self._refused_of: set[str] = set()
        """The cells that left something in the folder which was not taken."""

    def prepare(self) -> None:
        """Fresh folders, for a host that has no private ones to give."""
        for folder in (self._thread.workspace, self._thread.scratch):
            _clear(folder)
            folder.mkdir(mode=0o700)

    def enter(self, session: Session) -> None:
        """Take the folder of a subprocess that is ready. It is to be filled before a cell begins."""
        self.folder = session.workspace
        self._user = session.file_user
        if self._watcher is not None:
            with suppress(OSError):  # no watches are left: then every cell may have opened and changed anything
                self._watch = self._watcher.add(self.folder)
        self._left_out, self._untold = {}, {}

    def fill(self) -> Work[None]:
        """Put the thread's files into the folder, as long as it is there. Nothing happens when they are in it.

        Those that cannot be put there (for want of room, say) are left out (`take_untold`).
        """
        if self.is_filled:  # by work for the folder before, which had to wait
            return
        number, portion = self._number, Portion()
        for file in sorted(self._thread.files.by_name.values(), key=lambda file: not file.name.endswith(_MODULE)):
            if portion.is_over(file.size):
                yield
            if self.folder is None or self._number != number:
                return
            try:
                for _ in place(self.folder, file.name, self._home.path_of(file.sha256), self._user):
                    yield
                    if self._number != number:
                        return
            except OSError as error:
                self._left_out[file.name] = self._untold[file.name] = error.strerror or repr(error)
        if self.folder is not None and self._number == number:
            self.seen()  # our own doing
            self.snapshot = snapshot(self.folder)
            self.is_filled = True
            self._untold_older |= self._thread.files.older
            with suppress(OSError):  # without room it is told once more
                self._thread.files.set_older({})

    def leave(self) -> None:
        """Let go of the folder."""
        if self._watcher is not None and self._watch is not None:
            self._watcher.remove(self._watch)
        if self.folder is not None:
            _close_aside(self.folder)
        self.folder = self._watch = self._user = None
        self._number += 1
        self.is_filled = False
        self._refused_of.clear()

    def known(self, name: str, sha256: str) -> KeptFile | None:
        """The file that somebody gave with this name and content before."""
        return next(
            (file for file in self._thread.files.by_name.values() if (file.given, file.sha256) == (name, sha256)), None
        )

    def named(self, name: str, sha256: str, size: int) -> KeptFile:
        """A file that somebody gives, under a name that is free."""
        free = free_name(clean_name(name), self._thread.files.by_name, self._is_folder)
        return KeptFile(free, sha256, size, given=name)

    def _is_folder(self, name: str) -> bool:
        """Whether a cell has made a folder of this name, perhaps with nothing in it that was taken."""
        if self.folder is None:
            return False
        with suppress(OSError):
            return stat.S_ISDIR(os.stat(name, dir_fd=self.folder, follow_symlinks=False).st_mode)
        return False

    def give(self, file: KeptFile) -> Work[bool]:
        """Put a file whose content is in the home into the folder, if there is one; it appears there whole.

        False when it does not, because a cell's file or folder has got its name meanwhile. A file for which there is no
        room is left out (`take_untold`).
        """
        if self.folder is None or not self.is_filled:  # it comes with the thread's other files
            return True
        folder, number = self.folder, self._number
        try:
            for _ in place(folder, file.name, self._home.path_of(file.sha256), self._user):
                yield
                if file.name in self._thread.files.by_name:
                    return False
                if self._number != number:
                    return True
        except OSError as error:
            if self._is_folder(file.name):
                return False
            self._left_out[file.name] = self._untold[file.name] = error.strerror or repr(error)
        else:
            self.snapshot = {**self.snapshot, file.name: fingerprint(folder, file.name)}
        if self._watcher is not None and self._watch is not None:
            self._watcher.forget_opened(self._watch, file.name)
        return True

    def take_untold(self) -> Notices:
        """What there is to say of files that were left out since the last call."""
        names = shortened_list([f"{name} ({why})" for name, why in self._untold.items()])
        told: Notices = (notice("files_not_placed", names=names),) if self._untold else ()
        if self._untold_older:
            told += (notice("files_older", names=shortened_list(list(self._untold_older))),)
        self._untold, self._untold_older = {}, {}
        if self._thread.files.is_damaged:
            told += (notice("files_list_damaged"),)
            self._thread.files.is_damaged = False
        return told

    def add(self, file: KeptFile) -> None:
        """Count a file that is in the folder among the thread's."""
        if self._thread.files.by_name.get(file.name) != file:
            self._thread.files.replace(self._thread.files.by_name | {file.name: file})

    def has_refused_of(self, cell_id: str) -> bool:
        """Whether the folder has something that this cell left and that was not taken."""
        return cell_id in self._refused_of

    @contextmanager
    def written_folders(self) -> Iterator[Sequence[int]]:
        """The open folders that a subprocess may write to, on a host that gives it no private ones."""
        found = [] if self.folder is None else [self.folder]
        scratch = None
        with suppress(OSError):
            scratch = os.open(self._thread.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            found.append(scratch)
        try:
            yield found
        finally:
            if scratch is not None:
                os.close(scratch)

    def watch(self) -> None:
        """The next cell begins. What has changed since the last one ended counts as its own."""
        if self._watcher is not None and self._watch is not None:
            seen = self._watcher.take(self._watch)
            self._changed |= seen.changed or seen.lost

    def seen(self) -> tuple[tuple[str, ...] | None, bool]:
        """The given files that were opened since the cell began, and whether anything may have changed.

        The latter is since the last call: a thread of an earlier cell may have written on after its end.
        """
        if self._watcher is None or self._watch is None:
            return None, True
        seen = self._watcher.take(self._watch)
        changed, self._changed = self._changed or seen.changed or seen.lost, False
        given = {name for name, file in self._thread.files.by_name.items() if file.given is not None}
        return None if seen.lost else tuple(sorted(seen.opened & given)), changed

    def collect(self, cell_id: str, limits: Limits, *, changed: bool) -> Work[Collection]:
        """Take what a cell made or changed into the home, as the thread's files. `changed` is what `seen` said.

        The folder must not be left meanwhile.
        """
        if self.folder is None or not (changed or has_folders(self.snapshot)):
            return Collection(self.snapshot)
        before = self.snapshot
        found = yield from collect(self.folder, before, self._home, limits)
        if not found.is_whole:
            found = replace(found, snapshot={**self._unseen(found.snapshot), **found.snapshot})
        if found.rejected:
            self._refused_of.add(cell_id)
        files = {
            name: file
            for name, file in self._thread.files.by_name.items()
            if (name in found.snapshot and stat.S_ISREG(found.snapshot[name][0])) or name in self._left_out
        }
        for file in found.taken:
            had = self._thread.files.by_name.get(file.name)
            if had is None or had.sha256 != file.sha256:  # a cell that only touched a file made nothing of it
                had = KeptFile(file.name, file.sha256, file.size)
            files[file.name] = had
        taken = {file.name for file in found.taken}
        changed_now = {name for name, state in found.snapshot.items() if before.get(name) != state}
        older = self._thread.files.older | dict.fromkeys(changed_now, cell_id)
        self._thread.files.set_older(
            {name: cell for name, cell in older.items() if name in files and name not in taken}
        )
        if files != self._thread.files.by_name:
            self._thread.files.replace_by(cell_id, files)
        self.snapshot = found.snapshot  # last: where a list found no room, all of it is looked at again
        return found

    def _unseen(self, seen: Snapshot) -> Snapshot:
        """The thread's files that are there and were not looked at: they are none that a cell has removed."""
        unseen = {}
        for name in self._thread.files.by_name:
            if name not in seen and self.folder is not None:
                with suppress(OSError):
                    unseen[name] = fingerprint(self.folder, name)
        return unseen

    def artifacts(self, found: Collection, figures: Mapping[str, tuple[Chart, ...]]) -> list[Artifact]:
        """What was taken, as a cell's result shows it."""
        return artifacts_of(found.taken, self._home.path_of, figures)


def artifacts_of(
    taken: Iterable[Taken], path_of: Callable[[str], Path], figures: Mapping[str, tuple[Chart, ...]]
) -> list[Artifact]:
    """The files that were taken, as a result shows them: the figures as they were drawn, then the others by name.

    `path_of` says where a content is. `figures` are those that the cell left open, by name; the subprocess says so, and
    what is no PNG is no figure.
    """
    places = {name: place for place, name in enumerate(figures)}
    in_order = sorted(taken, key=lambda file: (places.get(file.name, len(places)), file.name))
    return [_artifact(file, path_of(file.sha256), figures) for file in in_order]


def _artifact(file: Taken, path: Path, figures: Mapping[str, tuple[Chart, ...]]) -> Artifact:
    with path.open("rb") as content:
        mimetype = mimetype_of(file.name, content.read(HEAD_BYTES))
    figure = file.name in figures and mimetype == _FIGURE
    return Artifact(
        name=file.name,
        mimetype=mimetype,
        size=file.size,
        sha256=file.sha256,
        path=str(path),
        kind="figure" if figure else "file",
        chart=figures[file.name] if figure else (),
    )


def clean_name(name: str) -> str:
    """A file name that is safe to create: its last part, printable, without a leading dot, of bounded length."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    base = "".join(letter if letter.isprintable() else "_" for letter in base).strip().lstrip(".").strip() or "file"
    stem, dot, ending = base.rpartition(".")
    if not dot:
        stem, ending = base, ""
    while len(os.fsencode(stem)) > 100:
        stem = stem[:-1]
    return f"{stem}.{ending[:16]}" if dot else stem


def place(root: int, name: str, source: Path, user: int | None) -> Work[None]:
    """Copy a file of ours to `name` below the folder `root`, replacing what has that name without following it.

    Nobody sees it there before it is whole, where the folder's file system can make files without a name. The copy is
    made as `user`, if given: a folder of another user namespace takes only files of users it knows.
    """
    with source.open("rb") as reader:
        folder, is_named, is_whole = -1, False, False
        try:
            with _acting_as(user):
                folder, base = _open_folder_of(root, name)
                target, is_named = _create(folder, base)
            with open(target, "wb") as writer:
                offset = 0
                while sent := os.sendfile(writer.fileno(), reader.fileno(), offset, SLICE):
                    offset += sent
                    if sent == SLICE and not is_named:
                        yield
                is_whole = True
                if not is_named:
                    with _acting_as(user):
                        _remove(folder, base)
                        os.link(f"/proc/self/fd/{writer.fileno()}", base, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            if is_named and not is_whole:
                with _acting_as(user):
                    _remove(folder, base)
            if folder >= 0:
                os.close(folder)


def _open_folder_of(root: int, name: str) -> tuple[int, str]:
    """(the open folder that a name lies in, made if needed; the name's last part)."""
    folder = os.dup(root)
    try:
        *parents, base = name.split("/")
        for parent in parents:
            below = _enter(folder, parent)
            os.close(folder)
            folder = below
    except BaseException:
        os.close(folder)
        raise
    return folder, base


def _create(folder: int, base: str) -> tuple[int, bool]:
    """(a new open file in a folder, whether it has its name already)."""
    try:
        return os.open(".", os.O_WRONLY | os.O_TMPFILE, 0o644, dir_fd=folder), False
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            raise
    _remove(folder, base)
    return os.open(base, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder), True


def _remove(folder: int, base: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(base, dir_fd=folder)


@contextmanager
def _acting_as(user: int | None) -> Iterator[None]:
    before = set_file_user(user) if user is not None else None
    try:
        yield
    finally:
        if before is not None:
            set_file_user(before)


def _enter(folder: int, name: str) -> int:
    """Open a folder below `folder`, made if needed."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=folder)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)


def _close_aside(folder: int) -> None:
    """Close what may be the last descriptor of a folder in memory: to free what is in it takes 0.2 s for 700 MB."""
    try:
        threading.Thread(target=os.close, args=(folder,), daemon=True).start()
    except RuntimeError:  # this process may have no more threads now
        os.close(folder)


def _clear(folder: Path) -> None:
    """Remove a folder that a cell has made of what it liked; what resists is moved out of the way."""
    try:
        remove_tree(folder)
    except OSError:
        folder.rename(folder.with_name(f"{folder.name}-{time.time_ns()}"))
