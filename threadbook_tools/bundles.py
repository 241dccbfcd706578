"""A git bundle with one commit on top of the commit of an archive. It is written here, without git.

The clone behind an archive is gone when its files are edited. But the archive has every file, so the names that git
gives to files and folders can be computed again. The commit itself is stored after the archive's end, and its hash
proves it. If the computed folders are those of the commit, the bundle fits. Otherwise no bundle is made.
"""

from __future__ import annotations

import hashlib
import struct
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from threadbook_tools.archives import MARK, MOST_COMMIT

BRANCH = "threadbook/changes"
_CHUNK = 1 << 20
_FOLDER, _FILE, _PROGRAM, _LINK = b"40000", b"100644", b"100755", b"120000"
_COMMIT, _TREE, _BLOB = 1, 2, 3
_KINDS = {_COMMIT: b"commit", _TREE: b"tree", _BLOB: b"blob"}
_AUTHOR = b"Threadbook <threadbook@localhost>"

_Entries = dict[bytes, tuple[bytes, bytes]]
"""Path → mode and name of each file."""


class NoBundle(ValueError):
    """There is no bundle for this archive; the message says why."""


class NotCloned(NoBundle):
    """The archive says nothing of a commit: somebody uploaded it."""


def bundle(path: str, commit: str, changed: Mapping[str, bytes | None], top: str = "") -> bytes:
    """The bundle of one commit that makes these changes (None: the file is gone) on top of `commit`.

    `path` is the archive's, `top` the folder that its names were shortened by. The same changes give the same bytes:
    the commit has the date of the one below it. Raises NoBundle.
    """
    base = _commit_behind(path, commit)
    pack: dict[bytes, tuple[int, bytes]] = {}
    entries = _entries(path)
    if _tree(entries, {}).hex() != base.tree:
        raise NoBundle("the archive does not hold all that its commit holds (a submodule, say)")
    for name, content in changed.items():
        full = f"{top}{name}".encode("utf-8", "surrogateescape")
        if content is None:
            entries.pop(full, None)
        else:
            mode = entries.get(full, (_FILE, b""))[0]
            entries[full] = (mode, _kept(pack, _BLOB, content))
    trees: dict[bytes, tuple[int, bytes]] = {}
    root = _tree(entries, trees)
    known: dict[bytes, tuple[int, bytes]] = {}
    _tree(_entries(path), known)
    pack |= {name: each for name, each in trees.items() if name not in known}
    text = b"tree %s\nparent %s\nauthor %s %s\ncommitter %s %s\n\n" % (
        root.hex().encode(),
        commit.encode(),
        *(_AUTHOR, base.date) * 2,
    )
    names = "\n".join(f"* {top}{name}" for name in sorted(changed)).encode("utf-8", "surrogateescape")
    new = _kept(pack, _COMMIT, text + b"Changes by Threadbook\n\n" + names + b"\n")
    head = f"# v2 git bundle\n-{commit} the commit that was looked at\n{new.hex()} refs/heads/{BRANCH}\n\n"
    return head.encode() + _packed(pack.values())


@dataclass(frozen=True)
class _Base:
    tree: str
    date: bytes


def _commit_behind(path: str, commit: str) -> _Base:
    with open(path, "rb") as file:
        file.seek(max(file.seek(0, 2) - MOST_COMMIT - len(MARK), 0))
        _, mark, raw = file.read().rpartition(MARK)
    if not mark or len(commit) != 40:
        raise NotCloned("the archive was not cloned from a link")
    if _name(_COMMIT, raw).hex() != commit:
        raise NoBundle("the commit behind the archive is another one")
    lines = raw.partition(b"\n\n")[0].split(b"\n")
    date = next((line.rpartition(b"> ")[2] for line in lines if line.startswith(b"committer ")), b"0 +0000")
    return _Base(lines[0].removeprefix(b"tree ").decode("ascii", "replace"), date)


def _entries(path: str) -> _Entries:
    """What git calls each file of the archive. Raises NoBundle."""
    found: _Entries = {}
    try:
        with tarfile.open(path) as tar:
            for info in tar:
                name = info.name.encode("utf-8", "surrogateescape")
                if info.issym():
                    found[name] = (_LINK, _name(_BLOB, info.linkname.encode("utf-8", "surrogateescape")))
                elif info.isreg() and (opened := tar.extractfile(info)) is not None:
                    digest = hashlib.sha1(b"blob %d\0" % info.size, usedforsecurity=False)
                    while chunk := opened.read(_CHUNK):
                        digest.update(chunk)
                    found[name] = (_PROGRAM if info.mode & 0o100 else _FILE, digest.digest())
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise NoBundle(f"the archive cannot be read ({type(error).__name__})") from None
    return found


def _tree(entries: _Entries, made: dict[bytes, tuple[int, bytes]]) -> bytes:
    """The name of the folder that holds these files; it and those inside it are added to `made`."""
    here: _Entries = {}
    below: dict[bytes, _Entries] = {}
    for path, entry in entries.items():
        first, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(first, {})[rest] = entry
        else:
            here[first] = entry
    here |= {name: (_FOLDER, _tree(inside, made)) for name, inside in below.items()}
    rows = sorted(here.items(), key=lambda row: row[0] + (b"/" if row[1][0] == _FOLDER else b""))
    return _kept(made, _TREE, b"".join(mode + b" " + name + b"\0" + known for name, (mode, known) in rows))


def _kept(objects: dict[bytes, tuple[int, bytes]], kind: int, content: bytes) -> bytes:
    name = _name(kind, content)
    objects[name] = (kind, content)
    return name


def _name(kind: int, content: bytes) -> bytes:
    return hashlib.sha1(b"%s %d\0" % (_KINDS[kind], len(content)) + content, usedforsecurity=False).digest()


def _packed(objects: Iterable[tuple[int, bytes]]) -> bytes:
    """The objects as git sends them: gitformat-pack(5), without deltas."""
    listed = list(objects)
    pack = bytearray(b"PACK" + struct.pack(">II", 2, len(listed)))
    for kind, content in listed:
        size = len(content)
        byte, size = (kind << 4) | (size & 15), size >> 4
        while size:
            pack.append(byte | 0x80)
            byte, size = size & 0x7F, size >> 7
        pack.append(byte)
        pack += zlib.compress(content)
    return bytes(pack) + hashlib.sha1(pack, usedforsecurity=False).digest()
