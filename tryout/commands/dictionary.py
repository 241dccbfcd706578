"""`threadbook dictionary`: a data dictionary is drafted for review, and compared with the live tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from core.errors import SettingsError
from core.settings import Settings, dictionary_folder, source_url
from tryout.commands.show import printable
from workers.sources.drivers.base import Driver
from workers.sources.errors import SourceError
from workers.sources.knowledge.draft import Drafted, complete_table, draft_table
from workers.sources.knowledge.drift import drifts
from workers.sources.knowledge.entries import described
from workers.sources.knowledge.folder import read_folder, text_of
from workers.sources.knowledge.page import PageFault
from workers.sources.knowledge.samples import sampled
from workers.sources.opening import named_source, open_source
from workers.sources.query import catalogue_of, scrubbed
from workers.sources.values import Source


def run_draft(settings: Settings, name: str, out: Path | None) -> int:
    """Write files for tables that have none, and rows for new columns; 0 when all could be written.

    What people wrote is never changed.
    """
    try:
        with _opened(settings, name) as (source, driver):
            folder = _folder(settings, name, out)
            return _draft(source, driver, folder)
    except (SourceError, SettingsError) as error:
        return _failed(str(error))
    except OSError as error:
        return _failed(f"the folder cannot be written: {error.strerror}")


def run_check(settings: Settings, name: str, out: Path | None) -> int:
    """Print where the dictionary and the live tables differ; 1 when they do."""
    try:
        with _opened(settings, name) as (source, driver):
            folder = _folder(settings, name, out)
            dictionary = read_folder(folder)
            found = drifts(catalogue_of(source, driver), dictionary, source.kind.dialect)
    except (SourceError, SettingsError) as error:
        return _failed(str(error))
    for each in found:
        print(printable(str(each)))
    counts = f"{_count(len(dictionary.tables), 'table')} and {_count(len(dictionary.metrics), 'metric')}"
    agree = f"{_count(len(found), 'difference')}" if found else "no difference"
    print(f"{agree} between {source.name} and what {folder} says of {counts}.")
    return 1 if found else 0


def _draft(source: Source, driver: Driver, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    dictionary = read_folder(folder)
    catalogue = catalogue_of(source, driver)
    known = described(catalogue, dictionary)
    tables = {table.name: table for table in catalogue.tables}
    new = grown = 0
    problems = [str(fault) for fault in dictionary.faults]
    for done, (table, samples) in enumerate(sampled(source, driver, catalogue), start=1):
        _progress(done, len(tables))
        try:
            if table not in known:
                drafted: Drafted | None = draft_table(catalogue, tables[table], samples)
            else:
                file = dictionary.files[known[table].table]
                drafted = complete_table(file, text_of(folder / file), known[table], tables[table], samples)
        except PageFault as error:
            problems.append(str(error))
            continue
        if drafted is None:
            continue
        if not drafted.added and (folder / drafted.file).exists():
            problems.append(f"{drafted.file}: is there already and is about something else; {table} was left out.")
            continue
        _write(folder / drafted.file, drafted.text)
        new, grown = new + (not drafted.added), grown + bool(drafted.added)
        added = f": added {', '.join(drafted.added)}" if drafted.added else ""
        print(printable(f"{drafted.file}{added}"))
    print(
        f"{_count(new, 'new file')} and {_count(grown, 'file')} with new columns in {folder}, "
        f"for {_count(len(tables), 'table')}. Read them before you commit."
    )
    for problem in problems:
        print(f"threadbook: {printable(problem)}", file=sys.stderr)
    return 1 if problems else 0


@contextmanager
def _opened(settings: Settings, name: str) -> Iterator[tuple[Source, Driver]]:
    url = source_url(settings, name)
    source = named_source(name, settings.sources[name], url)
    with scrubbed(source), closing(open_source(source)) as driver:
        yield source, driver


def _folder(settings: Settings, name: str, out: Path | None) -> Path:
    folder = out or dictionary_folder(settings, name)
    if folder is None:
        raise SettingsError(f'sources.{name}: write dictionary = "FOLDER" in threadbook.toml, or give --out FOLDER.')
    return folder


def _count(number: int, of: str) -> str:
    return f"{number:,} {of}{'' if number == 1 else 's'}"


def _write(path: Path, text: str) -> None:
    """Put the text in place whole: a file of a person is never left half written."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="")
    os.replace(part, path)


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done}/{of} tables", end="\r", file=sys.stderr)


def _failed(text: str) -> int:
    print("\n".join(map(printable, f"threadbook: {text}".splitlines())), file=sys.stderr)
    return 1
