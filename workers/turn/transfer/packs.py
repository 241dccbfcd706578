"""Sessions in the file store: a pack per thread that says what the session is, and parts of large variables beside it.

    <files>/objects/<thread>/pack-<name>   JSON: the session, and for each of its large contents the parts, in order
    <files>/objects/<thread>/part-<name>   a piece of a content, cut where its bytes say so (core/chunks.py)

A name begins with the token of the lease under which it was written, so no name is ever used twice, and a worker that
lost its lease can neither reuse nor remove what the next one wrote. What a pack names was written before it, and a pack
counts once the Store names it. Files of the workspace are contents of the file store anyway (inputs and artifacts).
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.blobs import PACK, Blobs, Objects, batches
from core.chunks import chunks
from core.errors import BlobMissing
from executor.files.exported import ExportedSession

_TOKEN_DIGITS, _HASH_DIGITS = 16, 48  # together as long as a sha256: the Store's column takes no more
_PART = "part-"
_AT_ONCE = 32  # parts that travel together: 32 MB at most
_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a content: the name of its object, and its bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Pack:
    """A session as it is kept. `contents` are the parts of each large content of its variables, by sha256."""

    name: str
    session: ExportedSession
    contents: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, int]:
        """All parts by name, with their sizes."""
        return {part.name: part.size for parts in self.contents.values() for part in parts}


def size_of(packs: Iterable[Pack]) -> int:
    """The bytes that these packs take together; what they share counts once."""
    return sum({name: size for pack in packs for name, size in pack.parts.items()}.values())


class PackStore:
    """The packs of threads. All methods may raise BlobsUnreachable."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def load(self, thread_id: str, name: str) -> Pack:
        """A pack by the name that the Store has. Raises BlobMissing, and ValueError or ProtocolError for a broken one.

        What an earlier version exported is one content of the file store, and so is each of its parts.
        """
        try:
            (data,) = self._folder(thread_id).get([PACK + name])
        except BlobMissing:
            return Pack(name, ExportedSession.from_json(self._blobs.get(name)))
        document = json.loads(data)
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise ValueError(f"pack {name} has a format that this version does not know")
        contents = {
            str(sha256): tuple(Part(str(part), int(size)) for part, size in parts)
            for sha256, parts in document["contents"].items()
        }
        return Pack(name, ExportedSession.from_json(json.dumps(document["session"]).encode()), contents)

    def plan(self, token: int, session: ExportedSession, known: Iterable[Pack]) -> Plan:
        """The contents of a pack of this session. Contents and parts that the known packs have are not read or cut."""
        cut = {sha256: parts for pack in known for sha256, parts in pack.contents.items()}
        by_hash = {_hash_in(part.name): part for pack in known for parts in pack.contents.values() for part in parts}
        plan = Plan(session)
        for sha256 in session.parts:
            plan.contents[sha256] = cut.get(sha256) or tuple(_cut(plan, token, session.paths[sha256], by_hash))
        files = [str(file["sha256"]) for file in session.files]
        plan.files += [sha256 for sha256 in dict.fromkeys(files) if sha256 not in _files_of(known)]
        return plan

    def store(self, thread_id: str, token: int, plan: Plan) -> Pack:
        """Write the parts that are new, then the pack."""
        folder = self._folder(thread_id)
        for sha256 in plan.files:
            self._blobs.put_as(sha256, plan.session.paths[sha256])
        for names in batches(sorted(plan.new), _AT_ONCE):
            folder.put({name: _read(plan.new[name]) for name in names})
        contents = {sha256: [[part.name, part.size] for part in parts] for sha256, parts in plan.contents.items()}
        document = {"format": _FORMAT, "token": token, "session": plan.session.to_message(), "contents": contents}
        data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        name = _name(token, data)
        folder.put({PACK + name: data})
        return Pack(name, plan.session, plan.contents)

    def sweep(self, thread_id: str, token: int, kept: Iterable[Pack]) -> bool:
        """Remove what none of these packs names, except what was written under a newer token.

        False when the file store lacks something that they do name.
        """
        folder, kept = self._folder(thread_id), list(kept)
        wanted = {PACK + pack.name for pack in kept} | {name for pack in kept for name in pack.parts}
        found = set(folder.names())
        folder.remove([name for name in found - wanted if _token_in(name) <= token])
        return wanted <= found

    def fetch(self, thread_id: str, pack: Pack, sha256: str, to: Path) -> None:
        """Write a content of the pack into a local file. Raises BlobMissing, also when it is not what it was."""
        if sha256 not in pack.contents:
            self._blobs.fetch(sha256, to)
            return
        folder = self._folder(thread_id)
        digest = hashlib.sha256()
        with to.open("wb") as out:
            for parts in batches(pack.contents[sha256], _AT_ONCE):
                for data in folder.get([part.name for part in parts]):
                    digest.update(data)
                    out.write(data)
        if digest.hexdigest() != sha256:
            raise BlobMissing(f"content {sha256} of {thread_id} is damaged in the file store")

    def _folder(self, thread_id: str) -> Objects:
        return self._blobs.thread_folder(thread_id)


@dataclass(slots=True)
class Plan:
    """A pack before it is written: the parts of each content, and where the bytes of the new parts lie."""

    session: ExportedSession
    contents: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    new: dict[str, tuple[Path, int, int]] = field(default_factory=dict)
    """By name: file, offset and size."""
    files: list[str] = field(default_factory=list)
    """Contents of the workspace that the known packs do not have."""

    @property
    def as_pack(self) -> Pack:
        """The pack that it would be, as far as sizes go."""
        return Pack("", self.session, self.contents)


def _cut(plan: Plan, token: int, path: Path, known: dict[str, Part]) -> Iterator[Part]:
    with _mapped(path) as data:
        offset = 0
        for chunk in chunks(data):
            size, name = len(chunk), _PART + _name(token, chunk)
            if _hash_in(name) not in known:
                known[_hash_in(name)] = Part(name, size)
                plan.new[name] = path, offset, size
            offset += size
            chunk.release()
            yield known[_hash_in(name)]


@contextmanager
def _mapped(path: Path) -> Iterator[memoryview]:
    with path.open("rb") as file:
        if not file.seek(0, 2):
            yield memoryview(b"")
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            yield view


def _read(place: tuple[Path, int, int]) -> bytes:
    path, offset, size = place
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(size)


def _files_of(packs: Iterable[Pack]) -> set[str]:
    return {str(file["sha256"]) for pack in packs for file in pack.session.files}


def _name(token: int, data: bytes | memoryview) -> str:
    return f"{token:0{_TOKEN_DIGITS}x}{hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]}"


def _hash_in(name: str) -> str:
    return name[-_HASH_DIGITS:]


def _token_in(name: str) -> int:
    """The token under which an object was written; 0 for what is none of ours."""
    digits: Any = name.removeprefix(PACK).removeprefix(_PART)[:_TOKEN_DIGITS]
    try:
        return int(digits, 16)
    except ValueError:
        return 0
