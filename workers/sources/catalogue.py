"""What a database says about its own tables: columns, types, comments, keys, and about how many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from workers.sources.values import TableName

LONGEST_COMMENT = 500
"""Characters of a comment that are kept. Comments are written by people we do not know."""


@dataclass(frozen=True)
class Column:
    """A column, its type in the words of the database, and its comment in one line. `key`: of the primary key."""

    name: str
    type: str
    comment: str = ""
    key: bool = False


@dataclass(frozen=True)
class ForeignKey:
    """Columns of a table that name a row of another one."""

    columns: tuple[str, ...]
    to: TableName
    to_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table or view. `rows` is the database's own estimate, never a count; None when it has none."""

    name: TableName
    columns: tuple[Column, ...]
    comment: str = ""
    rows: int | None = None
    foreign_keys: tuple[ForeignKey, ...] = ()
    is_view: bool = False


@dataclass(frozen=True)
class Catalogue:
    """The tables that may be read, sorted by name, and the schemas in which a name without one is looked up."""

    tables: tuple[Table, ...]
    path: tuple[str, ...] = ()

    def shown(self, name: TableName) -> str:
        """The name as a person writes it: without its schema where that is the first of the path."""
        return name.name if name.schema in self.path[:1] else str(name)

    def lookup(self) -> Callable[[str], TableName | None]:
        """A function from `table` or `schema.table`, as a person writes it, to the table that is meant.

        It gives None when there is no such table, or several. Letter case does not count.
        """
        found: dict[str, TableName | None] = {}
        for table in self.tables:
            bare = table.name.name.casefold()
            found[bare] = None if bare in found else table.name
        for schema in reversed(self.path):
            found |= {each.name.name.casefold(): each.name for each in self.tables if each.name.schema == schema}
        found |= {str(table.name).casefold(): table.name for table in self.tables}
        return lambda written: found.get(written.strip().casefold())


def catalogue_from(
    tables: Mapping[TableName, Table],
    columns: Iterable[tuple[TableName, Column]],
    keys: Iterable[tuple[TableName, ForeignKey]],
    path: tuple[str, ...],
) -> Catalogue:
    """Put together what a database's catalogue tells in separate lists. What belongs to no table is left out."""
    of: dict[TableName, list[Column]] = {name: [] for name in tables}
    to: dict[TableName, list[ForeignKey]] = {name: [] for name in tables}
    for name, column in columns:
        if name in of:
            of[name].append(replace(column, comment=one_line(column.comment)))
    for name, key in keys:
        if name in to:
            to[name].append(key)
    return Catalogue(
        tuple(
            replace(
                tables[name],
                columns=tuple(of[name]),
                comment=one_line(tables[name].comment),
                foreign_keys=tuple(dict.fromkeys(to[name])),
            )
            for name in sorted(tables)
        ),
        path,
    )


def only(catalogue: Catalogue, names: Iterable[TableName]) -> Catalogue:
    """The catalogue of these tables alone. A foreign key to another table is left out with it."""
    kept = set(names)
    return Catalogue(
        tuple(
            replace(table, foreign_keys=tuple(key for key in table.foreign_keys if key.to in kept))
            for table in catalogue.tables
            if table.name in kept
        ),
        catalogue.path,
    )


def one_line(text: str | None, longest: int = LONGEST_COMMENT) -> str:
    """A comment as one bounded line without control characters."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text or "").split())
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
