"""Where a data dictionary and the live tables do not agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workers.sources.catalogue import Catalogue
from workers.sources.errors import Refused
from workers.sources.knowledge.entries import Dictionary, described
from workers.sources.knowledge.metrics import tables_of_metric
from workers.sources.values import Visible

FAMILIES = {
    "text": r"char|text|string|clob|enum|uuid|json|^$",
    "number": r"int|num|dec|float|double|real|serial|money",
    "whole number": r"int|serial",
    "date": r"date",
    "time": r"time",
    "true or false": r"bool|tinyint\(1\)|bit",
    "yes or no": r"bool|tinyint\(1\)|bit|char|text",
}
"""Words that a team may write for a type, so that one dictionary serves the same tables in several databases."""

SAME_TYPES = {
    "character varying": "varchar",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "double precision": "double",
    "integer": "int",
    "bool": "boolean",
    "decimal": "numeric",
}


@dataclass(frozen=True)
class Drift:
    """One thing that does not agree; `kind` is a word to search for, `what` a table, column, metric or file."""

    kind: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}: {self.why}"


def drifts(catalogue: Catalogue, dictionary: Dictionary, dialect: str) -> list[Drift]:
    """All differences: unreadable files, tables, columns and their types, and metrics that the guard refuses."""
    found = [
        Drift("unreadable", f"{fault.file}:{fault.line}" if fault.line else fault.file, fault.message)
        for fault in dictionary.faults
    ]
    found += _of_tables(catalogue, dictionary)
    visible = Visible(tuple(table.name for table in catalogue.tables), catalogue.path)
    for metric in dictionary.metrics:
        try:
            tables_of_metric(metric, dialect, visible)
        except Refused as refused:
            found.append(Drift("metric refused", metric.name, str(refused)))
    return found


def _of_tables(catalogue: Catalogue, dictionary: Dictionary) -> Iterator[Drift]:
    entries = described(catalogue, dictionary)
    known = {id(entry) for entry in entries.values()}
    for entry in dictionary.tables:
        if id(entry) not in known:
            yield Drift("table is gone", entry.table, f"{dictionary.files.get(entry.table, 'a file')} describes it")
    for table in catalogue.tables:
        name = catalogue.shown(table.name)
        described_by = entries.get(table.name)
        if described_by is None:
            yield Drift("new table", name, "no file describes it; `threadbook dictionary draft` writes one")
            continue
        live = {column.name.casefold(): column for column in table.columns}
        for column in described_by.columns:
            if column.name.casefold() not in live:
                yield Drift("column is gone", f"{name}.{column.name}", "the table has no such column")
        for column_now in table.columns:
            said = described_by.column(column_now.name)
            if said is None:
                yield Drift("new column", f"{name}.{column_now.name}", "`threadbook dictionary draft` adds it")
            elif said.type and not _same_type(said.type, column_now.type):
                yield Drift("type changed", f"{name}.{column_now.name}", f"{said.type} → {column_now.type}")


def _same_type(said: str, live: str) -> bool:
    """Whether a type is the one that the dictionary names: exactly, or by a word of `FAMILIES`."""
    family = FAMILIES.get(said.strip().lower())
    return re.search(family, live.lower()) is not None if family else _plain_type(said) == _plain_type(live)


def _plain_type(written: str) -> str:
    """A type without the differences that mean nothing: letter case, spaces, the width that MySQL shows."""
    text = re.sub(r"\s+", " ", written.strip().lower())
    for long, short in SAME_TYPES.items():
        text = re.sub(rf"\b{long}\b", short, text)
    return re.sub(r"\b(int|smallint|bigint|tinyint)\(\d+\)", r"\1", text).replace(" ", "")
