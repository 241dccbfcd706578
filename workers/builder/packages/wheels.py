"""Wheels as hostile archives: their entries in a lock, and a strict unpacker.

Nothing of a wheel is imported or run. The whole wheel is refused if it has an entry that leads outside, a link, or a
name that Python would import at its start. What an installer would put elsewhere (scripts, headers, data) and `.pth`
files are left out and named.
"""

from __future__ import annotations

import email.parser
import hashlib
import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pydantic import Field

from core.values import Value

MOST_ENTRIES = 20_000
MOST_UNPACKED = 600 << 20
"""Bytes of all packages of a program together, unpacked."""
_METADATA_BYTES = 1 << 20
_PIECE = 1 << 20
_PATH_CHARS, _PATH_PARTS = 300, 30
_AT_START = frozenset({"sitecustomize", "usercustomize"})
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_DATA = re.compile(r"([^/]+)\.data/(purelib|platlib)/(.+)", re.DOTALL)
_LICENCE_CHARS = 60


class WheelRefused(Exception):
    """A wheel that is not unpacked. The message is for a person, without a full stop."""


class LockedPackage(Value):
    """One wheel of a lock."""

    name: str
    version: str
    file: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int
    """Bytes, packed."""
    licence: str = ""
    """As its metadata says; empty when that says nothing."""


class Unpacked(Value):
    """What came of unpacking: the names that a program imports, and what was left out."""

    modules: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def canonical(name: str) -> str:
    """A package's name as it is compared: lower case, with one hyphen for each run of `-`, `_` and `.`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(wheel: Path) -> LockedPackage:
    """A wheel's entry in a lock. Raises WheelRefused if it is not one."""
    with wheel.open("rb") as file:
        sha256, size = _hash(file)
        with _opened(file, wheel.name) as archive:
            fields = _metadata(archive, wheel.name)
    name, version = str(fields.get("Name", "")), str(fields.get("Version", ""))
    parts = wheel.name.removesuffix(".whl").split("-")
    if len(parts) < 5 or canonical(parts[0]) != canonical(name) or not version:
        raise WheelRefused(f"{wheel.name} calls itself {name or 'nothing'} {version} in its metadata")
    for needed in fields.get_all("Requires-Dist", []):
        if " @ " in str(needed):
            raise WheelRefused(f"{name} needs a package from an address of its own ({str(needed)[:80]})")
    return LockedPackage(
        name=canonical(name), version=version, file=wheel.name, sha256=sha256, size=size, licence=_licence(fields)
    )


def unpack(wheel: Path, package: LockedPackage, folder: Path, room: int = MOST_UNPACKED) -> tuple[Unpacked, int]:
    """Unpack a wheel into `folder`, where others may lie already. Returns its outcome and the bytes written.

    Raises WheelRefused: its content is not the locked one, it is no archive of files, or two packages have a file of
    the same name. What was written until then stays for the caller to delete.
    """
    left_out, modules, written = [], dict[str, None](), 0
    with wheel.open("rb") as file:
        if _hash(file)[0] != package.sha256:
            raise WheelRefused(f"{package.file} is not what was approved: its hash is another one")
        with _opened(file, package.file) as archive:
            for entry, path in _entries(archive, package):
                if not path:
                    left_out.append(entry.filename)
                    continue
                written += _write(archive, entry, folder / path, room - written, package)
                top = path.split("/")[0]
                if (name := top.split(".")[0]).isidentifier():
                    modules[name] = None
    return Unpacked(modules=tuple(modules), left_out=tuple(left_out)), written


def _hash(file: IO[bytes]) -> tuple[str, int]:
    """The sha256 of a file, and its size. The file is at its beginning afterwards."""
    found, size = hashlib.sha256(), 0
    while piece := file.read(_PIECE):
        found.update(piece)
        size += len(piece)
    file.seek(0)
    return found.hexdigest(), size


def _opened(file: IO[bytes], name: str) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise WheelRefused(f"{name} is no wheel ({type(error).__name__})") from None
    if len(archive.infolist()) > MOST_ENTRIES:
        raise WheelRefused(f"{name} has more than {MOST_ENTRIES:,} files")
    return archive


def _metadata(archive: zipfile.ZipFile, name: str) -> email.message.Message:
    found = [one for one in archive.infolist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", one.filename)]
    if len(found) != 1 or found[0].file_size > _METADATA_BYTES:
        raise WheelRefused(f"{name} has no usable metadata")
    return email.parser.BytesParser().parsebytes(b"".join(_pieces(archive, found[0], name)), headersonly=True)


def _licence(fields: email.message.Message) -> str:
    classes = [str(one).rpartition(" :: ")[2] for one in fields.get_all("Classifier", []) if "License" in str(one)]
    said = [str(fields.get("License-Expression", "")), *classes, str(fields.get("License", ""))]
    first = next((one.strip() for one in said if one.strip() and one.strip().upper() != "UNKNOWN"), "")
    line = " ".join(first.partition("\n")[0].split())[:_LICENCE_CHARS]
    return line if line.isprintable() else ""


def _entries(archive: zipfile.ZipFile, package: LockedPackage) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    """Every file with the path that it gets; "" for one that is left out. Raises WheelRefused."""
    seen = set[str]()
    for entry in archive.infolist():
        path = _checked(entry, package)
        if entry.is_dir():
            continue
        if path in seen:
            raise WheelRefused(f"{package.file} has the file {path} twice")
        seen.add(path)
        moved = _DATA.fullmatch(path)
        path = moved[3] if moved else path
        top = path.split("/")[0]
        module = top.split(".")[0]
        if module in _AT_START:
            raise WheelRefused(f"{package.name} brings {top}, which Python would run at every start")
        if module in sys.stdlib_module_names:
            raise WheelRefused(f"{package.name} brings {top}, which would take the place of Python's own")
        elsewhere = top.endswith(".data") or path.endswith(".pth") or "__pycache__" in path.split("/")
        yield entry, "" if elsewhere else path


def _checked(entry: zipfile.ZipInfo, package: LockedPackage) -> str:
    name = entry.filename.removesuffix("/") if entry.is_dir() else entry.filename
    parts = name.split("/")
    wrong = "\\" in name or ":" in parts[0] or not name.isprintable() or len(name) > _PATH_CHARS
    if wrong or entry.orig_filename != entry.filename or any(part in ("", ".", "..") for part in parts):
        raise WheelRefused(f"{package.file} has a file that leads outside: {ascii(entry.orig_filename)[:80]}")
    if len(parts) > _PATH_PARTS:
        raise WheelRefused(f"{package.file} has folders that are too deep: {name[:80]}")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or ((kind == stat.S_IFDIR) != entry.is_dir() and kind):
        raise WheelRefused(f"{package.file} has something that is no file: {name[:80]}")
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _PACKED:
        raise WheelRefused(f"{package.file} is packed in a way that is not taken: {name[:80]}")
    return name


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
    """The content of an entry, never more than it says. Raises WheelRefused."""
    try:
        with archive.open(entry) as packed:
            while piece := packed.read(_PIECE):
                yield piece
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise WheelRefused(f"{name} is damaged ({type(error).__name__})") from None


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, room: int, package: LockedPackage) -> int:
    """Write one file that nobody may change or execute; returns its size. The same file of another package may stay."""
    if entry.file_size > room:
        raise WheelRefused(f"the packages are larger than {MOST_UNPACKED >> 20} MB unpacked")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444)
    except FileExistsError:
        if target.is_file() and target.read_bytes() == b"".join(_pieces(archive, entry, package.file)):
            return 0
        raise WheelRefused(f"{package.name} and another package both bring {entry.filename}") from None
    except NotADirectoryError:
        raise WheelRefused(f"{package.name} has a folder where another file is: {entry.filename}") from None
    with os.fdopen(descriptor, "wb") as file:
        for piece in _pieces(archive, entry, package.file):
            file.write(piece)
    target.chmod(0o444)
    return entry.file_size
