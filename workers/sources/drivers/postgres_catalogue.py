"""The catalogue of Postgres as SQL, and its rows as values. Nothing here reads a table of the source.

A partition is left out: the table that it is a part of stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workers.sources.catalogue import Catalogue, Column, ForeignKey, Table, catalogue_from
from workers.sources.values import TableName, Visible

TABLES = """
SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), c.reltuples::bigint,
  pg_catalog.obj_description(c.oid, 'pg_class')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_(toast|temp|catalog)'
  AND n.nspname <> 'information_schema' AND NOT c.relispartition
"""
COLUMNS = """
SELECT n.nspname, c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
  pg_catalog.col_description(c.oid, a.attnum), coalesce(a.attnum = ANY (k.conkey), false)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_(toast|temp|catalog)'
  AND n.nspname <> 'information_schema' AND a.attnum > 0 AND NOT a.attisdropped
  AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY 1, 2, a.attnum
"""
KEYS = """
SELECT n.nspname, c.relname, fn.nspname, f.relname,
  ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(k.conkey) WITH ORDINALITY AS u(num, at)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num ORDER BY u.at),
  ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(k.confkey) WITH ORDINALITY AS u(num, at)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.num ORDER BY u.at)
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class f ON f.oid = k.confrelid JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace
WHERE k.contype = 'f' ORDER BY 1, 2, k.conname
"""

Rows = Iterable[tuple[Any, ...]]


def catalogue(visible: Visible, tables: Rows, columns: Rows, keys: Rows) -> Catalogue:
    """The catalogue from the rows of the three statements. `reltuples` is -1 where nothing was counted yet."""
    seen = set(visible.tables)
    return catalogue_from(
        {
            name: Table(name, (), comment or "", rows=int(rows) if rows >= 0 and not is_view else None, is_view=is_view)
            for schema, table, is_view, rows, comment in tables
            if (name := TableName(schema, table)) in seen
        },
        (
            (TableName(schema, table), Column(column, kind, comment or "", key))
            for schema, table, column, kind, comment, key in columns
        ),
        (
            (TableName(schema, table), ForeignKey(tuple(own), TableName(to_schema, to), tuple(theirs)))
            for schema, table, to_schema, to, own, theirs in keys
        ),
        visible.path,
    )
