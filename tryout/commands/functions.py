"""`threadbook functions`: listed and checked. Nothing of a function runs here."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from core.settings import Settings
from tryout.commands.show import counted, printable
from workers.memory.functions.page import FILES, LONGEST_FILE, MODULE, TeamFunction, lint, read_function
from workers.memory.functions.shelf import TESTED, UNTESTED
from workers.memory.team import memory_of


def run_list(settings: Settings, *, as_json: bool = False) -> int:
    """Print the functions with their signatures; always 0."""
    memory = memory_of(settings)
    spaces = memory.documents.folder.spaces()
    found = [function for space in spaces for function in memory.functions.all(space)]
    waiting = sum(len(memory.functions.names(space, UNTESTED)) for space in spaces)
    if as_json:
        print(json.dumps([_json(function) for function in found], ensure_ascii=False))
        return 0
    for function in found:
        note = function.note
        print(printable(f"{note.file} v{note.version}: {note.signature}"))
        print(printable(f"    {note.description}"))
        if not function.is_as_accepted:
            print(printable("    not importable: its files are not those that people accepted"))
    print(f"{counted(len(found), 'function')} in {settings.memory_folder}, {waiting} wait for review.")
    return 0


def run_check(settings: Settings | None, folders: Sequence[Path]) -> int:
    """Print what is wrong or odd, a line each; 1 when anything is. Without folders: the functions of the memory."""
    faults: list[str] = []
    count = 0
    if folders:
        for folder in (each for given in folders for each in _functions_in(given)):
            count += 1
            faults += _faults(folder)
    elif settings is not None:
        memory = memory_of(settings)
        for space in memory.documents.folder.spaces():
            for under in (TESTED, UNTESTED):
                for name in memory.functions.names(space, under):
                    count += 1
                    faults += _faults(settings.memory_folder / space / under / name)
    for fault in faults:
        print(printable(fault))
    print(f"{counted(count, 'function')}, {len(faults) or 'nothing'} to mend.")
    return 1 if faults else 0


def _functions_in(folder: Path) -> list[Path]:
    """The folder itself when it is a function's, else the folders in it that are."""
    inside = sorted(path.parent for path in folder.glob(f"**/{MODULE}")) if folder.is_dir() else []
    return [folder] if (folder / MODULE).exists() or not inside else inside


def _faults(folder: Path) -> list[str]:
    texts: dict[str, str] = {}
    for name in FILES:
        path = folder / name
        if not path.exists():
            continue
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LONGEST_FILE:
            return [f"{path}: is no plain file of at most {LONGEST_FILE:,} bytes."]
        try:
            texts[name] = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return [f"{path}: is not UTF-8 text."]
    function = read_function(folder.resolve().name, texts)
    if function is None:
        print(printable(f"threadbook: {folder} is no folder of a function."), file=sys.stderr)
        return [f"{folder}: needs module.py, schema.json and tests.py."]
    return [f"{folder}: {sentence}" for sentence in lint(function)]


def _json(function: TeamFunction) -> dict[str, object]:
    return {**function.note.model_dump(), "importable": function.is_as_accepted}
