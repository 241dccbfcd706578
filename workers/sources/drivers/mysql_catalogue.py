"""The catalogue of MySQL and MariaDB as SQL, and its rows as values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workers.sources.catalogue import Catalogue, Column, ForeignKey, Table, catalogue_from
from workers.sources.values import TableName, Visible

TABLES = """
SELECT table_schema, table_name, table_type LIKE '%VIEW%', table_rows, table_comment FROM information_schema.tables
WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
"""
COLUMNS = """
SELECT table_schema, table_name, column_name, column_type, column_comment, column_key = 'PRI'
FROM information_schema.columns
WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
ORDER BY table_schema, table_name, ordinal_position
"""
KEYS = """
SELECT table_schema, table_name, referenced_table_schema, referenced_table_name, constraint_name, column_name,
  referenced_column_name
FROM information_schema.key_column_usage
WHERE referenced_table_name IS NOT NULL
  AND table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
ORDER BY table_schema, table_name, constraint_name, ordinal_position
"""

Rows = Iterable[tuple[Any, ...]]


def catalogue(visible: Visible, tables: Rows, columns: Rows, keys: Rows) -> Catalogue:
    """The catalogue from the rows of the three statements. A view's comment is the word VIEW, and is left out."""
    of: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for schema, table, to_schema, to, constraint, own, theirs in keys:
        of.setdefault((schema, table, to_schema, to, constraint), []).append((own, theirs))
    return catalogue_from(
        {
            TableName(schema, table): Table(
                TableName(schema, table),
                (),
                "" if is_view else str(comment or ""),
                rows=None if is_view or rows is None else int(rows),
                is_view=bool(is_view),
            )
            for schema, table, is_view, rows, comment in tables
        },
        (
            (TableName(schema, table), Column(column, str(kind), str(comment or ""), bool(key)))
            for schema, table, column, kind, comment, key in columns
        ),
        (
            (
                TableName(schema, table),
                ForeignKey(
                    tuple(own for own, _ in pairs), TableName(to_schema, to), tuple(theirs for _, theirs in pairs)
                ),
            )
            for (schema, table, to_schema, to, _), pairs in of.items()
        ),
        visible.path,
    )
