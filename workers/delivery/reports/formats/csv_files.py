"""The tables of an answer as CSV files, one each."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from core.phrases import joined, say
from core.values import Language
from workers.agent.report.sourcing import SIGN
from workers.delivery.reports.formats.tables import Column, DataTable, Item, answer_tables
from workers.delivery.reports.tables import to_csv
from workers.delivery.reports.values import ReportFile, ReportInput

_MOST = 10
"""Files of one message; the workbook has all tables."""
_NAME = 60


def csv_files(given: ReportInput) -> list[ReportFile]:
    """One file for each table of the answer, named after it, with a note where it is not the whole table.

    Text that begins like a formula is made harmless.
    """
    names: set[str] = set()
    tables = answer_tables(given)
    files = [_file(table, _name(table.title, names), given.language) for table in tables[:_MOST]]
    if left := len(tables) - len(files):
        more = say("format_csv_more", given.language, count=left)
        files[-1] = replace(files[-1], note=joined([*filter(None, [files[-1].note]), more], given.language))
    return files


def _file(table: DataTable, name: str, language: Language) -> ReportFile:
    note = say("format_csv_cut", language, name=name, missing=table.missing) if table.missing else ""
    return ReportFile(name, "text/csv", _csv(table), note)


def _csv(table: DataTable) -> bytes:
    head = [_head(column) for column in table.columns]
    return to_csv([head, *zip(*map(_texts, table.columns), strict=True)])


def _head(column: Column) -> str:
    """The name of a column, with the currency of its numbers: a number of a CSV file has no format."""
    known = not column.currency or column.currency in column.name
    return column.name if known else f"{column.name} ({column.currency})"


def _texts(column: Column) -> list[str]:
    """Its values; a number that nothing backs keeps its sign."""
    signs = (f" {SIGN}" if place in column.unsourced else "" for place in range(len(column.values)))
    return [_text(value) + sign for value, sign in zip(column.values, signs, strict=True)]


def _text(item: Item) -> str:
    if item is None:
        return ""
    return item.isoformat() if isinstance(item, date) else str(item)


def _name(title: str, names: set[str]) -> str:
    plain = re.sub(r"[^\w.-]+", "-", title.casefold()).strip("-._")[:_NAME].strip("-._") or "table"
    name, number = plain, 2
    while name in names:
        name, number = f"{plain}-{number}", number + 1
    names.add(name)
    return f"{name}.csv"
