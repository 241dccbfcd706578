"""The file store: contents by their sha256, in any place that fsspec reaches; a local folder by default."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, TypeVar

import fsspec
from fsspec.implementations.local import LocalFileSystem

from core.errors import BlobMissing, BlobsUnreachable, SettingsError, outline

_CHUNK = 1 << 20
_NAME = re.compile(r"(?!\.+$)[\w.-]{1,200}", re.ASCII)

Item = TypeVar("Item")
PACK = "pack-"
"""How the names of the objects begin that describe a thread's session (`workers/turn/transfer/packs.py`)."""
CONNECT_TIMEOUT_S, READ_TIMEOUT_S, TRIES = 3, 8, 2
"""An object store that says nothing for `READ_TIMEOUT_S` is asked once more, and then counts as unavailable."""

_PUT: ContextVar[tuple[set[str], Path | None] | None] = ContextVar("contents_put", default=None)


@contextmanager
def contents_put(note: Path | None = None) -> Iterator[set[str]]:
    """Collects the hashes of the contents that are put in the block, also by threads that began with its context.

    Each is added to the file `note` before it is put: for whoever comes after a process that was killed.
    """
    put: set[str] = set()
    before = _PUT.set((put, note))
    try:
        yield put
    finally:
        _PUT.reset(before)


def _note_put(sha256: str) -> None:
    if (collecting := _PUT.get()) is None or sha256 in collecting[0]:
        return
    put, note = collecting
    put.add(sha256)
    if note is not None:
        with suppress(OSError):  # a full disk must not keep a turn from a file store that has room
            note.parent.mkdir(mode=0o700, exist_ok=True)
            is_new = not note.exists()
            with note.open("ab", buffering=0) as lines:
                lines.write(f"{sha256}\n".encode())
                os.fsync(lines.fileno())  # a power cut must not take the note and leave the content
            if is_new:
                _sync_path(note.parent)


class Blobs:
    """Contents, written once and never changed; equal contents are one file. All methods may raise BlobsUnreachable."""

    def __init__(self, url: str) -> None:
        # Other processes write too: a cached listing would be out of date.
        self._fs, self._root = fsspec.core.url_to_fs(url, use_listings_cache=False, **_limits(url))
        self._is_local = isinstance(self._fs, LocalFileSystem)
        self._durable: set[Path] = set()
        """Folders whose own names are on the disk."""

    def put(self, data: bytes | Path) -> str:
        """Store bytes or a local file; returns the sha256 in hex. A content is visible only once it is whole."""
        sha256 = hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else _hash_of(data)
        self.put_as(sha256, data)
        return sha256

    def put_as(self, sha256: str, data: bytes | Path) -> None:
        """Store a content whose hash is known. A content that is already stored is not read again."""
        target = self._path(sha256)
        _note_put(sha256)
        with _reachable():
            if not self._is_local:  # an object appears whole or not at all
                if not self._fs.exists(target):
                    self._send(data, target)
                return
            if self._fs.exists(target):  # another process may have put it just now: it may not be on the disk yet
                _sync_path(Path(target))
            else:
                self._fs.makedirs(str(Path(target).parent), exist_ok=True)
                self._send_and_rename(data, target)
            self._sync_name(Path(target))

    def _send_and_rename(self, data: bytes | Path, target: str) -> None:
        partial = f"{target}.{uuid.uuid4().hex}.partial"
        try:
            self._send(data, partial)
            _sync_path(Path(partial))
            self._fs.mv(partial, target)
        except BaseException:
            with suppress(OSError):
                self._fs.rm_file(partial)
            raise

    def remove_partials(self, sha256: str, *, older_than_s: float) -> None:
        """Remove what puts of this content left that were killed: nothing was written to it for that long.

        A put that is only slow fails then, and is tried again like any other that fails.
        """
        target = Path(self._path(sha256))
        for partial in target.parent.glob(f"{target.name}.*.partial") if self._is_local else ():
            with suppress(OSError):
                if time.time() - partial.stat().st_mtime > older_than_s:
                    partial.unlink()

    def _send(self, data: bytes | Path, to: str) -> None:
        if isinstance(data, bytes):
            self._fs.pipe_file(to, data)
        else:
            self._fs.put_file(str(data), to)

    def _sync_name(self, target: Path) -> None:
        """Sync the name of a content, so that a power cut cannot take it."""
        for path in (target.parent, *(() if target.parent in self._durable else target.parent.parents[:2])):
            _sync_path(path)
        self._durable.add(target.parent)

    def get(self, sha256: str) -> bytes:
        """The content. Raises BlobMissing."""
        with _reachable(), self._open(sha256) as source:
            return source.read()

    def fetch(self, sha256: str, to: Path) -> None:
        """Copy the content into a local file, replacing it. Raises BlobMissing."""
        with _reachable(), self._open(sha256) as source, to.open("wb") as out:
            shutil.copyfileobj(source, out, _CHUNK)

    def has(self, sha256: str) -> bool:
        """Whether the content is stored."""
        path = self._path(sha256)
        with _reachable():
            return bool(self._fs.exists(path))

    def set_aside(self, sha256: str) -> str:
        """Take a content from its place, so that whoever puts it now stores it again; returns a name for what was
        taken. One that is gone already is no error."""
        name = f"{sha256}.{uuid.uuid4().hex}"
        with _reachable(), suppress(FileNotFoundError):
            if self._is_local:
                self._fs.makedirs(self._aside(), exist_ok=True)
            self._fs.mv(self._path(sha256), self._aside(name))
        return name

    def put_back(self, name: str) -> None:
        """Bring what was set aside to its place again."""
        with _reachable(), suppress(FileNotFoundError):
            self._fs.mv(self._aside(name), self._path(name.partition(".")[0]))

    def remove_aside(self, name: str) -> None:
        """Delete what was set aside."""
        with _reachable(), suppress(FileNotFoundError):
            self._fs.rm_file(self._aside(name))

    def left_aside(self) -> list[str]:
        """The names of what is set aside: by somebody who died, if it is so for long."""
        with _reachable():
            try:
                paths = self._fs.ls(self._aside(), detail=False)
            except FileNotFoundError:
                return []
            return [name for path in paths if len((name := str(path).rpartition("/")[2]).partition(".")[0]) == 64]

    def _aside(self, name: str = "") -> str:
        return f"{self._root}/aside/{name}".rstrip("/")

    def folder(self, name: str) -> Objects:
        """A folder of named objects beside the contents. Raises ValueError for a name that is more than one folder."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"not the name of a folder: {name[:80]!r}")
        return Objects(self._fs, f"{self._root}/objects/{name}", is_local=self._is_local)

    def thread_folder(self, thread_id: str) -> Objects:
        """The folder with what is kept of a thread's session."""
        return self.folder(thread_id.replace(":", "_"))

    def _open(self, sha256: str) -> IO[bytes]:
        try:
            opened: IO[bytes] = self._fs.open(self._path(sha256), "rb")
        except FileNotFoundError:
            raise BlobMissing(f"content {sha256} is not in the file store") from None
        return opened

    def _path(self, sha256: str) -> str:
        if len(sha256) != 64 or not all(letter in "0123456789abcdef" for letter in sha256):
            raise ValueError(f"not a sha256: {sha256[:80]!r}")
        return f"{self._root}/{sha256[:2]}/{sha256}"


class Objects:
    """A folder of small objects, each under a name that its writer chose and never uses for other bytes.

    An object may be cut off if its writer died: what names it must be written after it. A power cut takes none that was
    put. Calls with many names travel together. All methods may raise BlobsUnreachable.
    """

    def __init__(self, fs: Any, root: str, *, is_local: bool) -> None:
        self._fs = fs
        self._root = root
        self._is_local = is_local

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store these objects."""
        with _reachable():
            if self._is_local:
                self._fs.makedirs(self._root, exist_ok=True)
            self._fs.pipe({f"{self._root}/{name}": data for name, data in objects.items()})
            if self._is_local:
                root = Path(self._root)
                for path in (*(root / name for name in objects), root, root.parent, root.parent.parent):
                    _sync_path(path)

    def get(self, names: Sequence[str]) -> list[bytes]:
        """The objects, in the order of the names. Raises BlobMissing."""
        with _reachable():
            found = self._fs.cat([f"{self._root}/{name}" for name in names], on_error="return")
            objects = [found[path] for path in self._paths(names, found)]
            for name, data in zip(names, objects, strict=True):
                if isinstance(data, FileNotFoundError):
                    raise BlobMissing(f"object {name} is not in the file store") from data
                if isinstance(data, BaseException):
                    raise data
            return objects

    def names(self) -> list[str]:
        """The names of all objects here."""
        with _reachable():
            try:
                paths = self._fs.ls(self._root, detail=False)
            except FileNotFoundError:
                return []
            return [str(path).rpartition("/")[2] for path in paths]

    def remove(self, names: Collection[str]) -> None:
        """Remove these objects; those that are gone already are no error."""
        with _reachable():
            for batch in batches(sorted(names), 1_000):
                try:
                    self._fs.rm([f"{self._root}/{name}" for name in batch])
                except FileNotFoundError:  # nothing is said of the others
                    for name in batch:
                        with suppress(FileNotFoundError):
                            self._fs.rm_file(f"{self._root}/{name}")

    def _paths(self, names: Sequence[str], found: Mapping[str, object]) -> list[str]:
        """The keys under which a file system gave these names back: each kind has its own way to write a path."""
        ends = {path.rpartition("/")[2]: path for path in found}
        return [ends[name] for name in names]


def _limits(url: str) -> dict[str, Any]:
    """Time-outs for S3. What an admin has set in fsspec's own configuration comes first."""
    if (fsspec.core.split_protocol(url)[0] or "") not in ("s3", "s3a"):
        return {}
    limits = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "read_timeout": READ_TIMEOUT_S,
        "retries": {"total_max_attempts": TRIES},
    }
    return {"config_kwargs": {**limits, **fsspec.config.conf.get("s3", {}).get("config_kwargs", {})}}


@contextmanager
def _reachable() -> Iterator[None]:
    """Turn the errors of any kind of store into BlobsUnreachable: for each of them a retry may work."""
    try:
        yield
    except (BlobMissing, ValueError):
        raise
    except Exception as error:
        raise BlobsUnreachable(f"the file store is away or full: {outline(error)}") from error


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in order, at most `size` at once."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def load_driver(url: str) -> None:
    """Import the driver that the URL needs, before a process forks. Raises SettingsError when there is none."""
    protocol = fsspec.core.split_protocol(url)[0] or "file"
    try:
        fsspec.get_filesystem_class(protocol)
    except ImportError as error:
        hint = "pip install 'threadbook[s3]'" if protocol in ("s3", "s3a") else str(error)
        raise SettingsError(f"THREADBOOK_FILES: {protocol}:// needs a package that is not installed: {hint}") from error
    except ValueError as error:
        raise SettingsError(f"THREADBOOK_FILES: {error}") from error


def _sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hash_of(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
