"""Which languages can be run on this machine, and which toolchains are in folders that the sandbox cannot see.

Only names and paths are checked; nothing is started. A build finds tools that do not work (`tools.py`).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from executor.sandbox.root import system_paths
from workers.builder.requirements.languages import LANGUAGES, Language


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What a language needs to be run, and where it is."""

    language: str
    tool: str
    path: str = ""
    """The path of the compiler; empty if there is none."""
    shown: bool = False
    """Whether the walls show it, so that it is used."""


def toolchains(
    languages: Iterable[Language] = LANGUAGES,
    folders: Sequence[str] = (),
    search: str | None = None,
    own: Sequence[Path] = (),
) -> tuple[Toolchain, ...]:
    """The toolchain of each language that has one. `folders` are those that the walls show; else this machine's.

    `own` are folders that an admin has named: the walls show them too, and what is in their `bin` comes first.
    """
    known = [os.path.realpath(folder) for folder in (*(folders or system_paths()), *map(str, own))]
    if own:
        search = os.pathsep.join([*(f"{folder}/bin" for folder in own), *([search] if search else os.get_exec_path())])
    return tuple(_found(one, known, search) for one in languages if one.tool)


def offered(found: Iterable[Toolchain] | None = None) -> tuple[str, ...]:
    """The languages of the table that a program can be written in here: they are run, or need no tool (a page)."""
    usable = {one.language for one in (toolchains() if found is None else found) if one.shown}
    return tuple(one.name for one in LANGUAGES if (one.runs and one.name in usable) or not one.tool)


def _found(language: Language, folders: Sequence[str], search: str | None) -> Toolchain:
    tool = language.tool
    if tool == "python":
        return Toolchain(language.name, tool, sys.executable, shown=True)
    path = shutil.which(tool, path=search) or ""
    real = os.path.realpath(path) if path else ""
    shown = any(Path(real).is_relative_to(folder) for folder in folders) if real else False
    return Toolchain(language.name, tool, path, shown)
