"""Which tables a statement may name: patterns of the team, and names as each database would look them up."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from workers.sources.values import TableName, Visible

MANY = 12
"""Tables of a small source are listed in a refusal; of a larger one only the nearest."""


def permitted(visible: Visible, allowed: Sequence[str], denied: Sequence[str]) -> Visible:
    """The tables that the patterns leave: one must allow a table and none deny it. Case does not count."""
    tables = (table for table in visible.tables if _any(table, allowed) and not _any(table, denied))
    return Visible(tuple(tables), visible.path)


def find(visible: Visible, schema: str, name: str, *, folds: bool) -> TableName | None:
    """The table that a reference means. `folds`: the database takes other letter case for the same name.

    Where only case tells two tables apart, the exact name wins and an unclear one is not found.
    """
    for place in [schema] if schema else visible.path:
        exact = [table for table in visible.tables if (table.schema, table.name) == (place, name)]
        if exact:
            return exact[0]
        wanted = (place.casefold(), name.casefold())
        alike = [table for table in visible.tables if (table.schema.casefold(), table.name.casefold()) == wanted]
        if folds and len(alike) == 1:
            return alike[0]
    return None


def suggestion(visible: Visible, name: str) -> str:
    """A sentence that helps to find the right table; the name may have a schema."""
    shown = {shown_name(table, visible): table for table in visible.tables}
    near = nearest(name, [*shown, *(table.name for table in visible.tables)])
    if near:
        exact = next((text for text, table in shown.items() if near in (text, table.name)), near)
        return f"Did you mean {exact}?"
    if not shown:
        return "The source shows no table at all: see `threadbook sources`."
    listed = ", ".join(sorted(shown)[:MANY])
    return f"Its tables: {listed}." if len(shown) <= MANY else f"Some of its {len(shown)} tables: {listed}."


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, or nothing."""
    by_folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else ""


def shown_name(table: TableName, visible: Visible) -> str:
    """The table as a statement may write it: without its schema where that is looked up first."""
    return table.name if table.schema in visible.path[:1] else str(table)


def _any(table: TableName, patterns: Sequence[str]) -> bool:
    return any(_matches(table, pattern.casefold()) for pattern in patterns)


def _matches(table: TableName, pattern: str) -> bool:
    text = str(table) if "." in pattern else table.name
    return fnmatchcase(text.casefold(), pattern)
