"""What the host keeps on disk: files by content hash, and per thread a journal of its cells and a list of its files.

<home>/files/<first two>/<sha256>         content, written once, readable by the service only
<home>/threads/<thread>/cells.jsonl       one line when a cell starts, one with its result; `cells` when it moved here
<home>/threads/<thread>/files*.json       lists of the files of its workspace, as thread_files.py keeps them
<home>/threads/<thread>/state/            its variables, as executor/state/checkpoints.py keeps them
<home>/threads/<thread>/workspace/        the workspace itself, where it is a folder of the host

A power cut takes what was not synced. What is written here is noted (`take_unsynced`), and nobody is told of it before
it is on the disk (`executor/disk/durable.py`).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from executor.disk.durable import replace_durably, sync_path
from executor.disk.kernel_sync import Synced
from executor.disk.line_file import LineFile, last_lines
from executor.files.thread_files import KeptFile, ThreadFiles
from executor.frames import Message, to_json
from executor.slices import SLICE, Portion, Work

_CHUNK = SLICE
_RM_S = 60.0
_SHORT = 1_000  # bytes of a line in a journal that is not worth shortening
_JOURNAL = 8 << 20  # bytes of a thread's journal from which on it forgets what old cells printed
_CONTENT = re.compile(rb'"sha256": ?"([0-9a-f]{64})"')


class TooLarge(Exception):
    """The source has more bytes than it may have."""


class Home:
    """The host's folder."""

    def __init__(self, root: Path, key: bytes = b"") -> None:
        """`key` signs checkpoints in place of one of this home's own: hosts that hand threads over share it."""
        self.root = root
        self._key = key
        self._files = root / "files"
        self._in_use: Counter[str] = Counter()
        for folder in (root, self._files, root / "threads", root / "tmp"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(OSError):  # another user's, who gave it to us as it is
            root.chmod(0o700)  # whoever made the folder may have left it open
        self._unsynced: dict[Path, None] = dict.fromkeys((root.parent, root))
        for leftover in (root / "tmp").iterdir():
            leftover.unlink()

    def temporary(self) -> Path:
        """A fresh path for a file in the making; whoever asked removes it or hands it to `adopt`."""
        descriptor, path = tempfile.mkstemp(dir=self.root / "tmp")
        os.close(descriptor)
        return Path(path)

    def path_of(self, sha256: str) -> Path:
        """Where the content with this hash is, or will be."""
        return self._files / sha256[:2] / sha256

    def distrust(self, path: Path) -> bool:
        """The sync of this path failed: a content is removed, as nobody knows what the disk has of it.

        Returns whether other threads rely on the path too.
        """
        if path.is_relative_to(self.root / "threads") and path != self.root / "threads":
            return False
        if path.parent.parent == self._files:
            with contextlib.suppress(OSError):
                path.unlink()
        return True

    def holds(self, sha256: str) -> bool:
        """Whether this content is here. It then stays for a while, whoever needs it or not."""
        try:
            os.utime(self.path_of(sha256))
        except FileNotFoundError:
            return False
        return True

    def keep(self, descriptor: int, limit: int, *, until: int | None = None) -> Work[tuple[str, int]]:
        """Copy the rest of an open file into the store: (sha256, size). Raises TooLarge beyond `limit` bytes.

        Of a file that somebody may add to for ever, the first `until` bytes are copied.
        """
        digest = hashlib.sha256()
        size, portion = 0, Portion()  # a file that grows while it is read comes in many small pieces
        path = self.temporary()
        try:
            with path.open("wb") as copy:
                while chunk := os.read(descriptor, _CHUNK if until is None else min(_CHUNK, until - size)):
                    size += len(chunk)
                    if size > limit:
                        raise TooLarge  # noqa: TRY301  the copy is removed below, whatever ended it
                    digest.update(chunk)
                    copy.write(chunk)
                    if portion.is_over(len(chunk)):
                        yield
            self.adopt(path, digest.hexdigest())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return digest.hexdigest(), size

    def adopt(self, path: Path, sha256: str) -> Path:
        """Move a temporary file of ours into the store, under the digest of its content; returns where it is now."""
        target = self.path_of(sha256)
        if not target.parent.exists():
            target.parent.mkdir(mode=0o700, exist_ok=True)
            self._unsynced[self._files] = None
        path.replace(target)
        self._unsynced[target] = None
        return target

    def take_unsynced(self) -> list[Path]:
        """What was written here since the last call, in the order in which it is to be synced: files, then folders."""
        written, self._unsynced = list(self._unsynced), {}
        folders = [path.parent for path in written if path.parent.parent == self._files]
        return list(dict.fromkeys((*written, *folders)))

    def sweep(self, unused_s: float) -> int:
        """Remove content that no thread's workspace has, or had before its last change, and that was put here longer
        than `unused_s` ago.

        Results of cells name content too, for whoever asks again soon: hence the age. Returns how many were removed.
        Raises OSError, and has removed nothing, when the list of a thread cannot be read.
        """
        wanted = {sha256.decode() for named in self._listed() for sha256 in named}
        removed = 0
        for content in self._files.glob("*/*"):
            if content.name not in wanted and time.time() - content.stat().st_mtime > unused_s:
                content.unlink()
                removed += 1
        return removed

    def unused(self, for_s: float) -> list[str]:
        """The threads in which no cell began or ended for so many seconds, the longest unused first."""
        until = time.time() - for_s
        found = []
        for journal in (self.root / "threads").glob("*/cells.jsonl"):
            with contextlib.suppress(FileNotFoundError):  # it is being purged
                if (changed := journal.stat().st_mtime) <= until:
                    found.append((changed, unquote(journal.parent.name)))
        return [thread_id for _, thread_id in sorted(found)]

    def has(self, thread_id: str) -> bool:
        """Whether anything is kept of a thread."""
        return self._folder_of(thread_id).exists()

    def purge(self, thread_id: str) -> None:
        """Delete all that is kept of a thread, and the contents that no other thread's workspace has.

        Raises OSError when a part of it resists.
        """
        folder = self._folder_of(thread_id)
        named = contents_named_in(folder)
        remove_tree(folder)
        self.forget(named)

    @contextlib.contextmanager
    def using(self, sha256: str) -> Iterator[None]:
        """Inside the block this content stays, although no thread's list has it yet."""
        self._in_use[sha256] += 1
        try:
            yield
        finally:
            self._in_use[sha256] -= 1
            if not self._in_use[sha256]:
                del self._in_use[sha256]

    def forget(self, contents: Collection[str], of: str = "") -> None:
        """Delete these contents, except those that a thread's workspace has, or the last result of a thread but `of`:
        whoever asked for that cell may still have to fetch them."""
        left = {content.encode() for content in contents if not self._in_use[content]}
        for named in self._listed():
            left -= named
        for journal in (self.root / "threads").glob("*/cells.jsonl") if left else ():
            if journal.parent != self._folder_of(of):
                left.difference_update(_CONTENT.findall(last_result(journal)))
        for sha256 in left:
            self.path_of(sha256.decode()).unlink(missing_ok=True)

    def _listed(self) -> Iterator[set[bytes]]:
        """For each list of a thread's files, as they are or were before its last change: the contents that it names."""
        for listing in (self.root / "threads").glob("*/files*.json"):
            yield set(_CONTENT.findall(listing.read_bytes()))

    def _folder_of(self, thread_id: str) -> Path:
        return self.root / "threads" / quote(thread_id, safe="")

    @property
    def probe(self) -> Path:
        """The folder in which a host tests its sandbox."""
        return self.root / "probe"

    def secret_for_probe(self) -> Path:
        """A file that no subprocess may be able to read, beside fresh folders for the one that tries."""
        for folder in ("workspace", "scratch"):
            (self.probe / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        canary = self.probe / "canary"
        canary.write_text("a file of the host")
        return canary

    def clear_probe(self) -> None:
        """Remove what the probe needed."""
        shutil.rmtree(self.probe, ignore_errors=True)

    def secret(self) -> bytes:
        """The key of this home's checkpoints, made when there is none. Never leaves the host process."""
        if self._key:
            return self._key
        path = self.root / "key"
        if not path.exists():
            fresh = self.temporary()  # readable by this user only
            replace_durably(fresh, os.urandom(32))
            with contextlib.suppress(FileExistsError):
                os.link(fresh, path)  # whole or not at all: an empty key would sign for everybody
            fresh.unlink()
            sync_path(self.root)
        return path.read_bytes()

    def thread(self, thread_id: str) -> ThreadHome:
        """The folder of one thread, made when there is none."""
        return ThreadHome(self._folder_of(thread_id), thread_id)

    def thread_ids(self) -> list[str]:
        """Every thread that has a folder here."""
        return sorted(unquote(entry.name) for entry in (self.root / "threads").iterdir())


def contents_named_in(folder: Path) -> set[str]:
    """The contents that a thread's lists, journal and checkpoints name."""
    places = (folder, folder / "state", folder / "bash" / "state")
    kept = [path for place in places for path in place.glob("*") if path.is_file()]
    lists = (path for path in kept if path.suffix in (".json", ".jsonl", ".new"))
    named = {sha256.decode() for path in lists for sha256 in _CONTENT.findall(path.read_bytes())}
    return named | {path.name for path in kept if len(path.name) == 64}  # parts of checkpoints that came from elsewhere


def last_result(journal: Path) -> bytes:
    """The line with the last result in a journal, if no cell has begun since: a client has stored it then."""
    for line in last_lines(journal):
        if not line.startswith((b'{"settled"', b'{"undone"')):
            return line if b'"result"' in line else b""
    return b""


def _finished_in(line: bytes) -> str | None:
    """The cell whose result a line of a journal holds."""
    try:
        record = json.loads(line)
        return str(record["cell"]) if "result" in record else None
    except (ValueError, TypeError, KeyError):
        return None


def _shortened(line: bytes) -> bytes:
    """A line of a journal without the texts of a result."""
    if len(line) < _SHORT or b'"result"' not in line:
        return line
    try:
        record = json.loads(line)
        result = record["result"]
        result |= {"stdout": "", "stderr": "", "result": None}
        for artifact in result["artifacts"]:
            artifact["chart"] = []
    except (ValueError, TypeError, KeyError):
        return line
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def remove_tree(folder: Path) -> None:
    """Delete a folder in which a cell may have made anything. Raises OSError when a part of it resists."""
    with contextlib.suppress(RecursionError):  # deeper than Python goes; rm walks any depth
        shutil.rmtree(folder, ignore_errors=True)
    ends_at = time.monotonic() + _RM_S
    for command in (("/bin/rm", "-rf"), ("/bin/chmod", "-R", "u+rwX"), ("/bin/rm", "-rf")):  # it may be locked inside
        if folder.exists():
            with contextlib.suppress(subprocess.SubprocessError, OSError):
                left_s = ends_at - time.monotonic()
                subprocess.run([*command, "--", folder], check=False, timeout=left_s, stderr=subprocess.DEVNULL)
    if folder.exists():
        raise OSError(errno.ENOTEMPTY, "a folder could not be removed")


class ThreadHome:
    """What is kept of one thread."""

    def __init__(self, folder: Path, thread_id: str) -> None:
        self.thread_id = thread_id
        self.folder = folder
        self.workspace = folder / "workspace"
        self.scratch = folder / "scratch"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._journal = LineFile(folder / "cells.jsonl")
        is_new = not self._journal.size  # also when the disk refused what was to be made after it
        self._unsynced: dict[Path, None] = dict.fromkeys((folder.parent, folder) if is_new else ())
        self._is_journal_written = False
        """Since `take_unsynced` was last called."""
        self._shorten_at = _JOURNAL
        self._doubted: set[str] | None = None
        """After a sync that failed: the cells whose results may not be on the disk. None: the journal is trusted."""
        self._finished: dict[str, tuple[int, int]] = {}
        self.unfinished: set[str] = set()
        self.unsaved_cells: list[str] = []
        """Cells whose changes of the variables are, as far as is written down, not kept (yet); no result said so."""
        self.notified = False
        """Whether the last result said what was lost with the subprocess before, and nothing was kept since."""
        self.undone_cell: str | None = None
        """The last cell, if it was undone."""
        self.cell_ids: list[str] = []
        """In the order in which they began: cell number n is at n - 1."""
        self._read_journal()
        self.files = ThreadFiles(folder)

    def _read_journal(self) -> None:
        for offset, line in self._journal.lines():
            self._index(offset, line)

    def _index(self, offset: int, line: bytes) -> None:
        try:
            record = json.loads(line)
            if "cells" in record:
                self.cell_ids = [str(cell) for cell in record["cells"]]
                self.unsaved_cells, self.notified = [str(cell) for cell in record.get("unsettled", ())], False
                return
            if "settled" in record:
                self._drop_unsaved(str(record["settled"]))
                return
            if "undone" in record:
                self.undone_cell = str(record["undone"])
                self.unsaved_cells = [cell for cell in self.unsaved_cells if cell != self.undone_cell]
                return
            cell, ended = record["cell"], "result" in record
        except (ValueError, TypeError, KeyError):
            return
        if ended:
            self._finished[cell] = (offset, len(line))
            self.unfinished.discard(cell)
            self._count_unsaved(cell, keeps=bool(record.get("settles")), notified=bool(record.get("told")))
        else:
            self._begin(cell)

    def _begin(self, cell_id: str) -> None:
        self.unfinished.add(cell_id)
        self.cell_ids.append(cell_id)
        self.undone_cell = None

    def started(self, cell_id: str) -> int:
        """Write down that a cell begins; returns its number in the thread, from 1."""
        if self._journal.size > self._shorten_at:
            self._shorten()
        self._append(f'{{"cell":{to_json(cell_id)}}}')
        self._begin(cell_id)
        return len(self.cell_ids)

    def finished(self, cell_id: str, result: str, *, keeps: bool = False, notified: bool = False) -> None:
        """Write down a cell's result, which is JSON.

        With `keeps`, what it left in the variables is about to be kept; with `notified`, the result says what of the
        cells before it was not.
        """
        said = f'"settles":{to_json(keeps)},"told":{to_json(notified)}'
        self._finished[cell_id] = self._append(f'{{"cell":{to_json(cell_id)},{said},"result":{result}}}')
        self.unfinished.discard(cell_id)
        self._count_unsaved(cell_id, keeps=keeps, notified=notified)

    def _count_unsaved(self, cell_id: str, *, keeps: bool, notified: bool) -> None:
        self.notified = notified
        if notified:
            self.unsaved_cells = []
        if keeps:
            self.unsaved_cells.append(cell_id)

    def all_kept(self, once_durable: Callable[[Callable[[], None]], None] = lambda write: write()) -> None:
        """Note that nothing of any cell is left to be kept.

        It is written down by the function that `once_durable` is given, which is to be called when a power cut cannot
        take what was kept any more: later cells may have begun and ended by then. A disk that refuses the line takes
        nothing: the next host sees from the checkpoint that it is kept.
        """
        if not self.unsaved_cells:
            return
        last = self.unsaved_cells[-1]
        self._drop_unsaved(last)

        def note() -> None:
            if not self._journal.closed:
                with contextlib.suppress(OSError):
                    self._note_settled(last)

        once_durable(note)

    def kept_up_to(self, cell_id: str) -> None:
        """Note that the variables are kept as this cell left them, if it was not written down that they are."""
        if cell_id in self.unsaved_cells:
            self._drop_unsaved(cell_id)
            self._note_settled(cell_id)

    def _note_settled(self, cell_id: str) -> None:
        self._append(f'{{"settled":{to_json(cell_id)}}}')

    def _drop_unsaved(self, cell_id: str) -> None:
        """The variables are kept as this cell left them."""
        if cell_id in self.unsaved_cells:
            self.unsaved_cells = self.unsaved_cells[self.unsaved_cells.index(cell_id) + 1 :]
            self.notified = False

    def undone(self, cell_id: str) -> None:
        """Write down that nothing of this cell is to be kept any more."""
        self.files.set_older({name: cell for name, cell in self.files.older.items() if cell != cell_id})
        self._append(to_json({"undone": cell_id}))
        self.undone_cell = cell_id
        self.unsaved_cells = [cell for cell in self.unsaved_cells if cell != cell_id]

    def _shorten(self) -> None:
        """Leave out of the journal what cells printed and showed, except of the last one that finished.

        Only its result is asked for again: a client stores the result of a cell before it runs the next. What results
        name stays, so that a purge finds it. On a full disk the journal stays as it is for now.
        """
        last = max(self._finished.values(), default=None)
        lines = [line if last and offset == last[0] else _shortened(line) for offset, line in self._journal.lines()]
        try:
            replace_durably(self._journal.path, b"".join(lines))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            self._shorten_at = self._journal.size + _JOURNAL  # a few lines more may still have room
            return
        sync_path(self.folder)  # now: a result that waits for its sync gets that of the new journal, by its name
        self._journal.close()
        self._journal = LineFile(self._journal.path)
        for offset, line in self._journal.lines():
            if (cell_id := _finished_in(line)) is not None:
                self._finished[cell_id] = (offset, len(line))
        self._shorten_at = max(_JOURNAL, 2 * sum(map(len, lines)))

    def distrust(self, cell_ids: Collection[str]) -> None:
        """A sync has failed: nobody knows what the disk has of the journal, least of all the results of these cells.

        Nothing is read from it or added to it any more before all but these results is in a new file, on the disk.
        That is tried at once, and again whenever the journal is needed.
        """
        self._doubted = (self._doubted or set()) | set(cell_ids)
        with contextlib.suppress(OSError):
            self._write_anew(self._doubted)

    def _write_anew(self, doubted: Collection[str]) -> None:
        """Write the journal to a new file, without these results. Raises OSError while the disk refuses it.

        To sync the old file once more would prove nothing: the kernel may have dropped what it could not write.
        """
        lines = (line for _, line in self._journal.lines())
        replace_durably(self._journal.path, b"".join(line for line in lines if _finished_in(line) not in doubted))
        sync_path(self.folder)
        sync_path(self.folder.parent)
        self._journal.close()
        self._journal = LineFile(self._journal.path)
        self._doubted = None
        self._finished, self.unfinished, self.cell_ids = {}, set(), []
        self.unsaved_cells, self.notified, self.undone_cell = [], False, None
        self._read_journal()

    def result(self, cell_id: str) -> Message | None:
        """The stored result of a cell that has finished; of earlier ones perhaps without what they printed.

        Raises OSError while the disk refuses to have the journal written anew.
        """
        if self._doubted is not None:
            self._write_anew(self._doubted)
        place = self._finished.get(cell_id)
        if place is None:
            return None
        stored: Message = json.loads(self._journal.read(*place))["result"]
        return stored

    def _append(self, record: str) -> tuple[int, int]:
        if self._doubted is not None:
            self._write_anew(self._doubted)
        place = self._journal.append(record.encode() + b"\n")
        self._is_journal_written = True
        return place

    def take_unsynced(self) -> list[Synced]:
        """What was written here since the last call, in the order in which it is to be synced: the journal last."""
        folders = dict.fromkeys([*self._unsynced, *self.files.take_unsynced()])
        written: list[Synced] = [*folders, *([self._journal] if self._is_journal_written else [])]
        self._unsynced, self._is_journal_written = {}, False
        return written

    def is_later(self, cell_id: str, than: str) -> bool:
        """Whether one cell of the thread began after another one."""
        cells = self.cell_ids
        return cell_id in cells and than in cells and cells.index(cell_id) > cells.index(than)

    def adopt(
        self,
        files: dict[str, KeptFile],
        replaced: set[tuple[str, str]],
        cell_ids: list[str],
        unsaved_cells: list[str],
    ) -> None:
        """Go on where another host was: its files, the cells that began there, and those it could not keep."""
        self.files.adopt(files, replaced, cell_ids[-1] if cell_ids else None)
        self._append(to_json({"cells": cell_ids, "unsettled": unsaved_cells}))
        self.cell_ids, self.unsaved_cells = list(cell_ids), list(unsaved_cells)
        self.notified, self.undone_cell = False, None

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()
