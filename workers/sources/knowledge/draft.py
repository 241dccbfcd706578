"""A first data dictionary for people to review: new files for new tables, new rows for new columns, nothing undone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workers.sources.catalogue import Catalogue, Table
from workers.sources.knowledge.entries import ColumnEntry, TableEntry
from workers.sources.knowledge.samples import ColumnSample
from workers.sources.knowledge.table_pages import with_columns, write_table
from workers.sources.knowledge.words import pieces

REVIEW = (
    "Drafted from the database's catalogue and a small sample of rows. Correct it, say what the table is for, and set "
    "`trust` to high, medium or low."
)


@dataclass(frozen=True)
class Drafted:
    """A file to write: a new one, or an old one with rows for the columns in `added`."""

    file: str
    text: str
    added: tuple[str, ...] = ()


def draft_table(catalogue: Catalogue, table: Table, samples: Sequence[ColumnSample]) -> Drafted:
    """The file of a table that nobody has described yet."""
    rows = f" About {table.rows:,} rows when this was drafted." if table.rows else ""
    meaning = _harmless(table.comment)
    entry = TableEntry(
        catalogue.shown(table.name),
        meaning,
        columns=tuple(_columns(table, samples)),
        notes=f"{REVIEW}{rows}",
    )
    return Drafted(file_name(catalogue.shown(table.name)), write_table(entry))


def complete_table(
    file: str, text: str, entry: TableEntry, table: Table, samples: Sequence[ColumnSample]
) -> Drafted | None:
    """The file with rows for columns that it does not have yet; None when it has all. Raises PageFault."""
    missing = [column for column in _columns(table, samples) if entry.column(column.name) is None]
    if not missing:
        return None
    return Drafted(file, with_columns(file, text, missing), tuple(column.name for column in missing))


def file_name(table: str) -> str:
    """The file of a table: its name in letters that every file system takes."""
    return re.sub(r"[^\w.-]+", "_", table).strip(".")[:120] + ".md"


def _columns(table: Table, samples: Sequence[ColumnSample]) -> list[ColumnEntry]:
    ranges = {sample.name: _range(table, sample) for sample in samples}
    return [
        ColumnEntry(column.name, column.type, column.comment, "" if column.key else ranges.get(column.name, ""))
        for column in table.columns
    ]


def _range(table: Table, sample: ColumnSample) -> str:
    """What a sample shows. The lowest and highest id in it would be taken for those of the whole table."""
    joins = {name for key in table.foreign_keys for name in key.columns}
    is_id = sample.name in joins or pieces(sample.name)[-1:] == ["id"]
    return "" if is_id and not sample.values else sample.range


def _harmless(comment: str) -> str:
    """A comment whose first sign does not begin a heading, a list, a quote or code in Markdown."""
    return re.sub(r"^[\s#>`~|*+=<-]+", "", comment)
