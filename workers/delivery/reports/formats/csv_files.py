"""The tables of an answer as CSV files, one each."""

from __future__ import annotations

import re
from datetime import date

from workers.delivery.reports.formats.tables import DataTable, Item, answer_tables
from workers.delivery.reports.tables import to_csv
from workers.delivery.reports.values import ReportFile, ReportInput

_MOST = 10
"""Files of one message; the workbook has all tables."""
_NAME = 60


def csv_files(given: ReportInput) -> list[ReportFile]:
    """One file for each table of the answer, named after it. Text that begins like a formula is made harmless."""
    names: set[str] = set()
    return [ReportFile(_name(table.title, names), "text/csv", _csv(table)) for table in answer_tables(given)[:_MOST]]


def _csv(table: DataTable) -> bytes:
    head = [column.name for column in table.columns]
    return to_csv([head, *[[_text(item) for item in row] for row in table.rows]])


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
