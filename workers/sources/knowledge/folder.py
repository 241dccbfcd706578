"""The folder of a data dictionary: a file per table, and a file per metric in `metrics/`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from workers.sources.knowledge.entries import Dictionary, Fault, Metric, TableEntry
from workers.sources.knowledge.metrics import read_metric
from workers.sources.knowledge.page import LONGEST_PAGE, PageFault
from workers.sources.knowledge.table_pages import read_table

METRICS = "metrics"
MOST_FILES = 5_000
UNREAD = {"readme.md"}
"""Files that are for people alone, by their names in small letters; so is what begins with a dot or a line below."""

Entry = TypeVar("Entry", TableEntry, Metric)


def read_folder(folder: Path) -> Dictionary:
    """All that the folder says. What cannot be read is a fault, and the rest still counts; raises nothing."""
    if not folder.is_dir():
        return Dictionary(faults=(Fault(str(folder), 0, "is no folder. `threadbook dictionary draft` makes one."),))
    faults: list[Fault] = []
    tables = _read(folder, "", read_table, lambda each: each.table, faults)
    metrics = _read(folder, f"{METRICS}/", read_metric, lambda each: each.name, faults)
    return Dictionary(
        tuple(tables.values()),
        tuple(metrics.values()),
        tuple(faults),
        {entry.table: file for file, entry in tables.items()},
    )


def text_of(path: Path) -> str:
    """The text of a file as it is, with its own line ends. Raises OSError or UnicodeDecodeError."""
    with path.open(encoding="utf-8", newline="") as file:
        return file.read(LONGEST_PAGE + 1)


def _read(
    folder: Path, under: str, read: Callable[[str, str], Entry], name: Callable[[Entry], str], faults: list[Fault]
) -> dict[str, Entry]:
    """The entries by file. If two files have one name, the first counts."""
    found: dict[str, Entry] = {}
    names: dict[str, str] = {}
    for path in _files(folder / under, faults):
        file = f"{under}{path.name}"
        try:
            entry = read(file, text_of(path))
        except PageFault as error:
            faults.append(error.fault)
            continue
        except (OSError, UnicodeDecodeError):
            faults.append(Fault(file, 0, "cannot be read as UTF-8 text."))
            continue
        if (first := names.setdefault(name(entry).casefold(), file)) != file:
            faults.append(Fault(file, 1, f"is about {name(entry)}, as is {first}. Remove one of them."))
            continue
        found[file] = entry
    return found


def _files(folder: Path, faults: list[Fault]) -> Iterator[Path]:
    """The Markdown files of a folder in the order of their names. Links that lead out of it are left out."""
    if not folder.is_dir():
        return
    inside = folder.resolve()
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".md" and path.is_file())
    if len(paths) > MOST_FILES:
        faults.append(Fault(str(folder), 0, f"holds more than {MOST_FILES:,} files; the others are not read."))
    for path in paths[:MOST_FILES]:
        if path.name.lower() in UNREAD or path.name.startswith((".", "_")):
            continue
        if path.resolve().is_relative_to(inside):
            yield path
