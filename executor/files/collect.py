"""Files out of a workspace, by directory descriptor, following nothing. What a subprocess left there is hostile.

A file is taken when it is a regular file with one name, not sparse, of bounded size and printable name, and new or
changed since the last look. Everything else that is new is refused by name and with the reason.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from executor.files.home import Home
from executor.notices import notice
from executor.slices import Portion, Work
from executor.values import Limits, Notice, Rejected

_DEPTH = 8
_ENTRIES = 25_000
_ENTRIES_AT_A_TIME = 1_000  # about 3 ms
_REJECTIONS = 50
_DELETED = " (deleted)"
"""What the kernel writes behind the name of an open file that this name is not there any more for: proc(5), `fd`."""
_NAME_LENGTH = 120
_SPARSE_SLACK = 64 << 10  # bytes that a file may lack on disk: block rounding, small files kept in the inode
_KINDS = {
    stat.S_IFLNK: "file_link",
    stat.S_IFIFO: "file_pipe",
    stat.S_IFSOCK: "file_socket",
    stat.S_IFCHR: "file_device",
    stat.S_IFBLK: "file_device",
}

Fingerprint = tuple[int, int, int, int, int]
Snapshot = Mapping[str, Fingerprint]


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that was copied out."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Collection:
    """What one look at a workspace brought: the state seen, for the next look, and what was taken and refused.

    `is_whole`: there were not more entries than are looked at.
    """

    snapshot: Snapshot
    taken: tuple[Taken, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    is_whole: bool = True


def snapshot(root: int) -> Snapshot:
    """The state of every entry below the directory descriptor `root`."""
    return {name: _fingerprint(status) for name, _, status in _walk(root, [])}


def fingerprint(root: int, name: str) -> Fingerprint:
    """The state of one entry below `root`."""
    return _fingerprint(os.stat(name, dir_fd=root, follow_symlinks=False))


def has_folders(seen: Snapshot) -> bool:
    """Whether the workspace has folders in it, where files may change unseen by a watch on the top folder."""
    return any(stat.S_ISDIR(state[0]) for state in seen.values())


def collect(root: int, before: Snapshot, home: Home, limits: Limits) -> Work[Collection]:
    """Copy what is new or changed since `before` into the home's store. `root` must stay open meanwhile."""
    rejected: list[Rejected] = []
    taken: list[Taken] = []
    seen: dict[str, Fingerprint] = {}
    total, portion = 0, Portion()
    with ExitStack() as kept:
        for name, folder, status in _walk(root, rejected):
            if len(seen) % _ENTRIES_AT_A_TIME == _ENTRIES_AT_A_TIME - 1:
                yield
            seen[name] = _fingerprint(status)
            if before.get(name) == seen[name] or stat.S_ISDIR(status.st_mode):
                continue
            why = _refusal(name, status, limits)
            if why is None and len(taken) >= limits.artifacts:
                why = notice("file_one_too_many", limit=limits.artifacts)
            if why is None and total + status.st_size > limits.artifacts_mb << 20:
                why = notice("files_large_together", limit=limits.artifacts_mb)
            if why is None:
                if portion.is_over(status.st_size):
                    yield
                try:
                    file = yield from _take(folder, name, home, limits)
                except OSError as error:
                    why = notice("file_unreadable", error=str(error.strerror))
                else:
                    if isinstance(file, Taken):
                        kept.enter_context(home.using(file.sha256))  # nobody names it yet: a purge would delete it
                        taken.append(file)
                        total += file.size
                        continue
                    why = file
            rejected.append(Rejected(printable(name), why))
    is_whole = not rejected or rejected[-1].why.code != "too_many_entries"
    if len(rejected) > _REJECTIONS:
        more = len(rejected) - _REJECTIONS + 1
        rejected[_REJECTIONS - 1 :] = [Rejected("...", notice("more_refused", count=more))]
    return Collection(seen, tuple(taken), tuple(rejected), is_whole)


def printable(name: str) -> str:
    """A name that can be shown: what cannot be printed becomes "?"."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name.encode("utf-8", "replace").decode())
    return shown if len(shown) <= _NAME_LENGTH else shown[: _NAME_LENGTH - 3] + "..."


class _TooMany(Exception):
    """There are more entries than are looked at."""


def _walk(root: int, rejected: list[Rejected]) -> Iterator[tuple[str, int, os.stat_result]]:
    """(relative name, open descriptor of its folder, status) of each entry, folders before what they hold."""
    try:
        yield from _walk_folder(root, "", itertools.count(1), rejected)
    except _TooMany:
        rejected.append(Rejected("...", notice("too_many_entries", limit=_ENTRIES)))


def _walk_folder(
    folder: int, prefix: str, count: Iterator[int], rejected: list[Rejected]
) -> Iterator[tuple[str, int, os.stat_result]]:
    folders = []
    with os.scandir(folder) as entries:  # all at once: others may read the folder, or replace a file, at each `yield`
        listed = [entry.name for entry in itertools.islice(entries, _ENTRIES + 1)]
    for entry in listed:
        if next(count) > _ENTRIES:
            raise _TooMany
        try:
            status = os.stat(entry, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue  # gone between the listing and the look
        yield prefix + entry, folder, status
        if stat.S_ISDIR(status.st_mode):
            folders.append(entry)
    for entry in folders:
        name = prefix + entry
        below = _open_folder(entry, folder, name, rejected)
        if below is not None:
            try:
                yield from _walk_folder(below, name + "/", count, rejected)
            finally:
                os.close(below)


def _open_folder(entry: str, folder: int, name: str, rejected: list[Rejected]) -> int | None:
    if name.count("/") + 1 >= _DEPTH:
        rejected.append(Rejected(printable(name), notice("folder_too_deep", limit=_DEPTH)))
        return None
    try:
        return os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        rejected.append(Rejected(printable(name), notice("folder_unreadable", error=str(error.strerror))))
        return None


def _fingerprint(status: os.stat_result) -> Fingerprint:
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _refusal(name: str, status: os.stat_result, limits: Limits) -> Notice | None:
    if not stat.S_ISREG(status.st_mode):
        return notice(_KINDS.get(stat.S_IFMT(status.st_mode), "file_not_regular"))
    if status.st_nlink != 1:
        return notice("file_names", count=status.st_nlink)
    if status.st_size > limits.artifact_mb << 20:
        return notice("file_large", size=round(status.st_size / (1 << 20)), limit=limits.artifact_mb)
    if status.st_blocks * 512 + _SPARSE_SLACK < status.st_size:
        return notice("file_sparse")
    if not name.isprintable() or len(name) > _NAME_LENGTH or len(os.fsencode(name)) > 2 * _NAME_LENGTH:
        return notice("file_name")
    if any(part.startswith(".") for part in name.split("/")):
        return notice("file_hidden")
    if name.endswith(_DELETED):
        return notice("file_name_of_deleted", ending=_DELETED)
    return None


def _take(folder: int, name: str, home: Home, limits: Limits) -> Work[Taken | Notice]:
    """Copy one file; its state is asked again of the descriptor, for the name may mean another file by now."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(name.rsplit("/", 1)[-1], flags, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        why = _refusal(name, status, limits)
        if why is not None:
            return why
        # A cell may link somebody else's file here, let us open it, and remove the link. Then the file has one name,
        # but that name is not in this folder. The kernel says whether the name that we opened is still there.
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(_DELETED):
            return notice("file_replaced")
        sha256, size = yield from home.keep(descriptor, limits.artifact_mb << 20, until=status.st_size)
    finally:
        os.close(descriptor)
    return Taken(name, sha256, size)
