"""Reads an archive of source code (zip, tar, tar.gz …) into memory, within limits. Nothing is written to a disk.

Names are hostile. A name that leaves the archive, a link or a device is left out, with the reason. An archive may lie
about its sizes, so bytes are counted as they are unpacked.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO

MOST_FILES = 20_000
MOST_BYTES = 200_000_000
"""The unpacked size of all files together."""
MOST_FILE_BYTES = 20_000_000
_MOST_NAME = 400
_CHUNK = 1 << 20
_UNWANTED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", "__MACOSX", ".tox", ".mypy_cache"})
_MARKERS = frozenset(
    {
        *("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "package.json", "tsconfig.json", "Cargo.toml"),
        *("go.mod", "pom.xml", "build.gradle", "build.gradle.kts", "CMakeLists.txt", "Makefile", "Gemfile", "mix.exs"),
        *("composer.json", "Package.swift", "DESCRIPTION", "dbt_project.yml"),
    }
)
"""Files at the top of a project that no folder of data has."""
SOURCES = frozenset(
    {
        *(
            "py",
            "pyi",
            "js",
            "jsx",
            "ts",
            "tsx",
            "mjs",
            "cjs",
            "vue",
            "svelte",
            "go",
            "rs",
            "java",
            "kt",
            "kts",
            "scala",
        ),
        *("c", "h", "cc", "cpp", "cxx", "hpp", "cs", "rb", "php", "swift", "sh", "bash", "sql", "r", "jl", "lua", "pl"),
        *("ex", "exs", "erl", "hs", "ml", "clj", "dart"),
    }
)
_CODE_FOLDERS = frozenset(
    {
        *("src", "lib", "app", "apps", "packages", "crates", "cmd", "pkg", "internal", "source", "sources", "python"),
        *("backend", "frontend", "server", "client", "scripts", "test", "tests", "docs", "examples"),
    }
)
"""Folders that a project has at its top, and no download puts around one."""
_TABLES = frozenset(
    {"csv", "tsv", "tab", "xlsx", "xlsm", "xls", "ods", "parquet", "pq", "sqlite", "sqlite3", "db", "duckdb"}
    | {"dta", "sav", "json", "jsonl"}
)


MARK = b"\nthreadbook commit\n"
"""Stands behind the end of the archive of a clone, before the commit that it was made of."""
MOST_COMMIT = 64_000


_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
"""How a file begins that stands for one in Git LFS (its specification)."""


def is_lfs_pointer(content: bytes) -> bool:
    """Whether a file is not the data itself but says where Git LFS has it."""
    return content.startswith(_LFS_POINTER)


def is_cloned(path: str) -> bool:
    """Whether an archive was made of a clone: then it says so behind its end."""
    with open(path, "rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - MOST_COMMIT - len(MARK), 0))
        return MARK in file.read()


class NoArchive(ValueError):
    """The file is no archive that can be read; the message says why."""


@dataclass(frozen=True)
class Archive:
    """The files of an archive by their names, without the one folder that holds them all."""

    files: dict[str, bytes]
    left_out: dict[str, str] = field(default_factory=dict)
    """Names of what was not taken, with the reason."""
    commit: str = ""
    """The commit that `git archive` made it of, if it says so."""
    top: str = ""
    """The one folder that held all files, with its slash; the names are without it."""


def read_archive(path: str) -> Archive:
    """The archive at `path`. Raises NoArchive when it is none, is damaged, or is larger than is read."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                found = _collected(_of_zip(packed), _stem(path))
                commit = packed.comment.decode("ascii", "replace")
        else:
            with tarfile.open(path) as tar:
                found = _collected(_of_tar(tar), "" if is_cloned(path) else _stem(path))
                commit = tar.pax_headers.get("comment", "")
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise NoArchive(f"it cannot be read ({type(error).__name__}: {str(error)[:120]})") from None
    is_commit = len(commit) in (40, 64) and all(letter in "0123456789abcdef" for letter in commit)
    return replace(found, commit=commit if is_commit else "")


def is_source(names: Iterable[str]) -> bool:
    """Whether files of these names are a project of source code, rather than data or documents."""
    known = [name for name in names if not _unwanted(name)]
    if any(name.count("/") <= 1 and name.rpartition("/")[2] in _MARKERS for name in known):
        return True
    kinds = [name.rpartition(".")[2].lower() for name in known]
    sources = sum(kind in SOURCES for kind in kinds)
    return sources > sum(kind in _TABLES for kind in kinds)


@dataclass(frozen=True)
class _Member:
    name: str
    why_not: str
    size: int
    open: Callable[[], IO[bytes] | None]


def _of_zip(packed: zipfile.ZipFile) -> Iterator[_Member]:
    for info in packed.infolist():
        if info.is_dir():
            continue
        mode = info.external_attr >> 16
        kind = stat.S_IFMT(mode)
        why = "it is a symbolic link" if stat.S_ISLNK(mode) else "it is no regular file"
        is_file = kind in (0, stat.S_IFREG)
        if info.flag_bits & 1:
            is_file, why = False, "it is protected by a password"
        yield _Member(info.filename, "" if is_file else why, info.file_size, partial(packed.open, info))


def _of_tar(tar: tarfile.TarFile) -> Iterator[_Member]:
    for info in tar:
        if info.isdir():
            continue
        why = "it is a link" if info.issym() or info.islnk() else "it is no regular file"
        is_file = info.isreg() and not info.issparse()
        yield _Member(info.name, "" if is_file else why, info.size, partial(tar.extractfile, info))


def _stem(path: str) -> str:
    """The name of an archive without its ending."""
    return os.path.basename(path).lower().partition(".")[0]


def _collected(members: Iterator[_Member], stem: str) -> Archive:
    """The files of an archive of this name; one without a name is a clone, whose names are those of the repository."""
    files: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    total = said = 0
    for number, member in enumerate(members):
        if number >= MOST_FILES:
            raise NoArchive(f"it holds more than {MOST_FILES:,} files")
        said += member.size
        if said > 2 * MOST_BYTES:  # also what is left out has to be unpacked to get behind it
            raise NoArchive(f"it unpacks to more than {MOST_BYTES // 1_000_000} MB")
        name = member.name.removeprefix("./")
        if _unwanted(name):
            continue
        why = member.why_not or why_unsafe(name) or ("its name was there before" if name in files else "")
        if not why and (opened := member.open()) is not None:
            with opened:
                content = _read(opened, MOST_FILE_BYTES)
            if len(content) > MOST_FILE_BYTES:
                why = f"it is larger than {MOST_FILE_BYTES // 1_000_000} MB"
            else:
                files[name] = content
                total += len(content)
        if total > MOST_BYTES:
            raise NoArchive(f"it unpacks to more than {MOST_BYTES // 1_000_000} MB")
        if why:
            left_out[name[:_MOST_NAME].encode("utf-8", "replace").decode()] = why
    for name in [name for name in files if _is_below_a_file(name, files)]:
        del files[name]
        left_out[name] = "a file has the name of its folder"
    if not files:
        raise NoArchive("it holds no file")
    return _without_top(files, left_out, stem)


def _read(opened: IO[bytes], most: int) -> bytes:
    read = bytearray()
    while len(read) <= most and (chunk := opened.read(_CHUNK)):
        read += chunk
    return bytes(read)


def why_unsafe(name: str) -> str:
    """Why a name is not taken as the path of a file in a project; "" for a good one."""
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or (len(name) > 1 and name[1] == ":"):
        return "its name leads outside"
    if not name or len(name) > _MOST_NAME or "\\" in name or not name.isprintable():
        return "its name is empty, too long, or has characters that no source file's name has"
    if any(part in ("", ".") for part in parts):
        return "its name is no plain path"
    if ".git" in (part.lower() for part in parts):
        return "it belongs to git itself"
    return ""


def _unwanted(name: str) -> bool:
    return any(part in _UNWANTED for part in name.split("/"))


def _is_below_a_file(name: str, files: dict[str, bytes]) -> bool:
    parts = name.split("/")
    return any("/".join(parts[:count]) in files for count in range(1, len(parts)))


def _is_around(top: str, files: Iterable[str], stem: str) -> bool:
    """Whether the one folder of an archive was put around a project, rather than being the only one of its own.

    A patch is applied at the top of a checkout: a folder that belongs to the project has to stand in its paths.
    """
    if not stem or f"{top}/__init__.py" in files:
        return False
    name = top.lower()
    return name not in _CODE_FOLDERS or name.startswith(stem) or stem.startswith(name)


def _without_top(files: dict[str, bytes], left_out: dict[str, str], stem: str) -> Archive:
    """Without the one folder that a download of a project puts around it."""
    tops = {name.partition("/")[0] for name in files}
    if len(tops) != 1 or any("/" not in name for name in files) or not _is_around(*tops, files, stem):
        return Archive(files, left_out)
    top = f"{tops.pop()}/"
    return Archive(
        {name.removeprefix(top): content for name, content in files.items()},
        {name.removeprefix(top): why for name, why in left_out.items()},
        top=top,
    )
