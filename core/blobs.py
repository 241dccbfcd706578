"""The file store: contents by their sha256, in any place that fsspec reaches (a local folder by default)."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import fsspec
from fsspec.implementations.local import LocalFileSystem

from core.errors import BlobMissing, BlobsUnreachable, SettingsError

_CHUNK = 1 << 20


class Blobs:
    """Write once, never changed: the same content put twice is one file. Everything here may raise BlobsUnreachable."""

    def __init__(self, url: str) -> None:
        # Other processes write too: what a listing said a moment ago is no answer.
        self._fs, self._root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        self._is_local = isinstance(self._fs, LocalFileSystem)

    def put(self, data: bytes | Path) -> str:
        """Store bytes or a local file; returns the sha256 in hex. A half-written content is never visible."""
        sha256 = hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else _hash_of(data)
        self.put_as(sha256, data)
        return sha256

    def put_as(self, sha256: str, data: bytes | Path) -> None:
        """The same for a content whose hash is known: one that is there already is not even read."""
        target = self._path(sha256)
        with _reachable():
            if self._fs.exists(target):
                return
            if not self._is_local:  # an object appears whole or not at all
                self._send(data, target)
                return
            self._fs.makedirs(self._fs._parent(target), exist_ok=True)
            self._send_by_way(data, target)

    def _send_by_way(self, data: bytes | Path, target: str) -> None:
        partial = f"{target}.{uuid.uuid4().hex}.partial"
        try:
            self._send(data, partial)
            self._fs.mv(partial, target)
        except BaseException:
            with suppress(OSError):
                self._fs.rm_file(partial)
            raise

    def _send(self, data: bytes | Path, to: str) -> None:
        if isinstance(data, bytes):
            self._fs.pipe_file(to, data)
        else:
            self._fs.put_file(str(data), to)

    def get(self, sha256: str) -> bytes:
        """The content. Raises BlobMissing."""
        with _reachable(), self._open(sha256) as source:
            return source.read()

    def fetch(self, sha256: str, to: Path) -> None:
        """Copy the content into a local file, replacing it. Raises BlobMissing."""
        with _reachable(), self._open(sha256) as source, to.open("wb") as out:
            shutil.copyfileobj(source, out, _CHUNK)

    def has(self, sha256: str) -> bool:
        """Whether the content is here."""
        path = self._path(sha256)
        with _reachable():
            return bool(self._fs.exists(path))

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


@contextmanager
def _reachable() -> Iterator[None]:
    """Each kind of store fails with errors of its own; what they have in common is that it may go well later."""
    try:
        yield
    except (BlobMissing, ValueError):
        raise
    except Exception as error:
        raise BlobsUnreachable(f"the file store is away or full: {error!r}") from error


def load_driver(url: str) -> None:
    """Import what the URL needs, before a process forks. Raises SettingsError when it is not installed or not known."""
    protocol = fsspec.core.split_protocol(url)[0] or "file"
    try:
        fsspec.get_filesystem_class(protocol)
    except ImportError as error:
        hint = "pip install 'threadbook[s3]'" if protocol in ("s3", "s3a") else str(error)
        raise SettingsError(f"THREADBOOK_FILES: {protocol}:// needs a package that is not installed: {hint}") from error
    except ValueError as error:
        raise SettingsError(f"THREADBOOK_FILES: {error}") from error


def _hash_of(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
