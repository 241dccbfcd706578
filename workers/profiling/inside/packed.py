"""A zip of tables: each table in it is described, with the line of Python that reads it without unpacking the zip.
An archive of source code, zip or tar, has an outline instead, which `threadbook_tools` makes.

Nothing is unpacked into the working folder, no name in the zip is used as a path, and a zip in a zip stays closed. The
bytes are counted as they come, because what a zip says of its own sizes may be a lie.
"""

from __future__ import annotations

import importlib
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from .bounds import Bounds
from .frames import exact
from .kinds import Unusable
from .lines import note

_CHUNK = 1 << 20
_MOST_NAMES = 10_000
_LISTED = 100
BY_NAME = {"sqlite", "duckdb", "stata", "spss", "sas"}
"""Formats whose readers want a file's name: these members are unpacked into the temporary folder by the line."""


def zipped(
    path: str, bounds: Bounds, opens: frozenset[str], describe: Callable[[str, Bounds], dict[str, Any]]
) -> dict[str, Any]:
    """The tables of a zip. `describe` describes one unpacked file, `opens` are the extensions that it knows."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive)
            if _tools("archives").is_source([member.filename for member in members]):
                return _repository(path, bounds)
            wanted = [member for member in members if _extension(member) in opens]
            read = _read(archive, wanted[: bounds.members], bounds, describe)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, OSError, ValueError) as error:
        raise Unusable("corrupt", detail=exact(error, 160)) from None
    nested = [member.filename for member in members if _extension(member) in ARCHIVES]
    notes = [
        ("more_tables", len(read.tables) - bounds.sheets, ()),
        ("tables", int(len(read.tables) > 1), ()),
        ("more_members", len(wanted) - bounds.members, ()),
        *((code, len(names), names) for code, names in read.problems.items()),
        ("members_closed", len(nested), nested),
    ]
    tables = read.tables[: bounds.sheets]
    names = [f"{exact(member.filename, 120)} ({member.file_size:,} bytes)" for member in members[:_LISTED]]
    listed = "\n".join(names)[: bounds.text // 2 if read.labels else bounds.text]
    return {
        "format": "zip",
        "tables": tables,
        "text": "\n".join([listed, *read.labels])[: bounds.text],
        "read_hint": next((table["read"] for table in tables), f"zipfile.ZipFile({path!r}).namelist()"),
        "notes": [note(code, count=count, names=exact(", ".join(of), 200)) for code, count, of in notes if count > 0]
        + _merged(read.notes),
    }


def tarred(path: str, bounds: Bounds) -> dict[str, Any]:
    """A tar of source code. Other ones stay closed."""
    archives = _tools("archives")
    try:
        archive = archives.read_archive(path)
    except archives.NoArchive as error:
        raise Unusable("corrupt", detail=exact(error, 160)) from None
    if not archive.commit and not archives.is_source(archive.files):
        raise Unusable("unsupported", extension="tar")
    return _repository(path, bounds)


def _repository(path: str, bounds: Bounds) -> dict[str, Any]:
    """The outline of the source code in an archive."""
    archives = _tools("archives")
    try:
        text = _tools("repository").described(path, bounds.outline)
    except archives.NoArchive as error:
        raise Unusable("too_much", detail=exact(error, 160)) from None
    return {"format": "repository", "tables": [], "text": text, "read_hint": f"Repository({path!r})", "notes": []}


def _tools(module: str) -> Any:
    """A module of the library for cells, which every session has."""
    return importlib.import_module(f"threadbook_tools.{module}")


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files of the sender's, each name once. Raises Unusable for none, too many, or a password on each."""
    infos = archive.infolist()
    if len(infos) > _MOST_NAMES:
        raise Unusable("too_much", detail=f"{len(infos):,} files")
    members = [info for info in {each.filename: each for each in infos}.values() if _counts(info)]
    if not members:
        raise Unusable("empty")
    if all(member.flag_bits & 1 for member in members):
        raise Unusable("password")
    return members


_PACKED_FAULTS = {"password": "members_locked", "too_much": "members_large"}
"""The notes of faults that a member has before it is unpacked."""


@dataclass
class _Read:
    """What the members say."""

    tables: list[dict[str, Any]] = field(default_factory=list)
    problems: dict[str, list[str]] = field(default_factory=dict)
    """The names of those that could not be read, by the note that says why."""
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Each with the member's name."""
    labels: list[str] = field(default_factory=list)
    """What files of statistics say of their columns and codes."""

    def note_problem(self, member: zipfile.ZipInfo, code: str) -> None:
        """This member is not described, as the note of this code says."""
        self.problems.setdefault(code, []).append(exact(member.filename, 60))


def _read(
    archive: zipfile.ZipFile,
    members: Sequence[zipfile.ZipInfo],
    bounds: Bounds,
    describe: Callable[[str, Bounds], dict[str, Any]],
) -> _Read:
    read = _Read()
    left = bounds.packed
    with tempfile.TemporaryDirectory(prefix="unpacked-") as folder:
        for number, member in enumerate(members):
            copy = os.path.join(folder, f"m{number}.{_extension(member)}")
            is_unpacked = False
            try:
                size, is_part = _unpack(archive, member, copy, min(left, bounds.member), bounds)
                left -= size
                is_unpacked = True
                described = describe(copy, bounds)
                if is_part:
                    described = of_a_part(described)
            except Unusable as reason:
                code = "" if is_unpacked else _PACKED_FAULTS.get(reason.code, "")
                read.note_problem(member, code or "members_unread")
            except (MemoryError, RecursionError):
                raise
            except Exception:
                # a damaged file makes its reader raise anything: the others are still described
                read.note_problem(member, "members_unread")
            else:
                read.tables += _placed(str(archive.filename), member.filename, copy, described, bounds)
                read.notes += [(_end(member.filename, 60), one) for one in described.get("notes", ())]
                if described["format"] in _LABELLED and described.get("text"):
                    read.labels.append(f"{_end(member.filename, 60)}:\n{described['text']}")
            finally:
                if os.path.exists(copy):
                    os.remove(copy)
    return read


_LABELLED = {"stata", "spss", "sas"}
_OF_THE_ZIP = {"tables", "sheets"}
"""Notes that the zip has itself: each of its tables has a line."""


def _merged(said: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The notes of members, each once with the names of all members that it is about."""
    names: dict[str, list[str]] = {}
    notes: dict[str, dict[str, Any]] = {}
    for member, one in said:
        if one["code"] not in _OF_THE_ZIP:
            notes.setdefault(repr(one), one)
            names.setdefault(repr(one), []).append(member)
    return [one | {"members": exact(", ".join(names[key]), 200)} for key, one in notes.items()]


ARCHIVES = frozenset({"zip", "gz", "bz2", "xz", "7z", "rar", "tar", "tgz", "zst"})
"""Endings of files that stay closed where they lie in another packed file."""


def _counts(member: zipfile.ZipInfo) -> bool:
    """Whether a member is a file of the sender's: no folder, and none of what macOS adds."""
    name = member.filename.rpartition("/")[2]
    return bool(name) and not name.startswith(".") and not member.filename.startswith("__MACOSX/")


def _extension(member: zipfile.ZipInfo) -> str:
    return os.path.splitext(member.filename)[1].lower().lstrip(".")


def _unpack(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, copy: str, most: int, bounds: Bounds
) -> tuple[int, bool]:
    """Write one member to `copy`, as `unpack_or_part` does."""
    if member.flag_bits & 1:
        raise Unusable("password")
    return unpack_or_part(lambda: archive.open(member), copy, most, bounds)


_OF_LINES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson")
"""Ends of names of files whose beginning tells what the rest is like."""


def unpack_or_part(opened: Callable[[], IO[bytes]], copy: str, most: int, bounds: Bounds) -> tuple[int, bool]:
    """Write what a packed file holds to `copy`, or only its beginning where it is a text of more than `most` bytes.

    Returns the bytes that were unpacked, and whether it is only the beginning. Raises Unusable as `unpack` does.
    """
    try:
        return unpack(opened, copy, most), False
    except Unusable as reason:
        if reason.code != "too_much" or not copy.lower().endswith(_OF_LINES) or most < bounds.part:
            raise
    os.truncate(copy, bounds.part)
    return most, True


def of_a_part(described: dict[str, Any]) -> dict[str, Any]:
    """What was said of the beginning of a file: its rows are not counted, and a note says so."""
    tables = [table | {"rows": None, "sampled": True} for table in described.get("tables", ())]
    notes = [one for one in described.get("notes", ()) if one["code"] != "sampled"]
    return described | {"tables": tables, "notes": [*notes, note("part")]}


def unpack(opened: Callable[[], IO[bytes]], copy: str, most: int) -> int:
    """Write what a packed file holds to `copy`; returns its bytes. Raises Unusable when there are more than `most`."""
    size = 0
    try:
        with opened() as packed, open(copy, "wb") as plain:
            while size <= most and (chunk := packed.read(_CHUNK)):
                size += len(chunk)
                plain.write(chunk)
    except MemoryError:
        raise
    except Exception as error:
        # zlib, lzma, bz2 and zipfile each have their own errors for a damaged stream
        raise Unusable("corrupt", detail=exact(error, 160)) from None
    if size > most:
        raise Unusable("too_much", detail=f"more than {most // 1_000_000:,} MB")
    return size


def _end(name: str, limit: int) -> str:
    """A path, at most `limit` characters of it: its end tells more than its first folders."""
    return name if len(name) <= limit else "…" + name[1 - limit :]


def placed(line: str, copy: str, place: str) -> str:
    """A line that reads a file's unpacked copy, as one that reads `place`: an expression that opens the packed file."""
    line = re.sub(rf"'file:{re.escape(copy)}\?mode=ro', uri=True", lambda _: place, line)
    text = rf"Path\({re.escape(repr(copy))}\)\.read_text\(encoding='([\w-]+)'\)"
    line = re.sub(text, lambda found: f"{place}.read().decode('{found[1]}')", line)
    line = line.replace(f"open({copy!r}, 'rb')", place)
    return line.replace(repr(copy), place)


def _placed(path: str, member: str, copy: str, described: dict[str, Any], bounds: Bounds) -> list[dict[str, Any]]:
    """The tables of a member, named after it, with lines that read them out of the zip."""
    packed = f"zipfile.ZipFile({path!r})"
    place = f"{packed}.open({member!r})"
    if described["format"] in BY_NAME:
        place = f"{packed}.extract({member!r}, tempfile.gettempdir())"
    tables = described.get("tables", [])
    for table in tables:
        table["read"] = placed(table.get("read") or described["read_hint"], copy, place)
        table["name"] = _end(member if len(tables) == 1 else f"{member} / {table['name']}", bounds.name)
    return [table for table in tables if table["columns"]]
