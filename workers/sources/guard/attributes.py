"""Postgres reads `x.name` and `(x).name` as the call `name(x)` where x has no column of that name."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from workers.sources.errors import Refused
from workers.sources.guard.references import folded

FIELDS = frozenset({"key", "value", "ordinality"})
"""Columns that functions of the allow-list give of themselves."""


def check_attributes(tree: exp.Expr) -> None:
    """Raise Refused for an attribute that could be the call of a function.

    A table, a view or a subquery is a row, which no function of Postgres' own that does something takes. What a
    function in FROM gives is a plain value, which many take.
    """
    rows, columns = _rows(tree), _columns(tree)
    for node in tree.find_all(exp.Dot):
        if isinstance(node.expression, exp.Identifier) and _name(node.expression) not in FIELDS:
            raise Refused(
                f"(…).{node.expression.name} could call a function and is refused. "
                "Name the columns with an alias in FROM, and write alias.column."
            )
    for each in tree.find_all(exp.Column):
        table, column = each.args.get("table"), each.this
        if not isinstance(table, exp.Identifier) or not isinstance(column, exp.Identifier) or each.args.get("db"):
            continue
        known = columns.get(_name(table), FIELDS if _name(table) not in rows else None)
        if known is None or _name(column) in {*known, *FIELDS, _name(table)}:
            continue
        if _name(table) in columns or _is_called(tree, table):
            raise Refused(
                f"{table.name} is not known to have a column {column.name}. "
                f"Name it where {table.name} is made: … AS {table.name}({column.name})."
            )
        raise Refused(
            f"FROM has nothing named {table.name}: it has {', '.join(sorted({*rows, *columns})) or 'no table'}. "
            "A field of a JSON column is written column ->> 'field'."
        )


def _is_called(tree: exp.Expr, table: exp.Identifier) -> bool:
    """Whether a function of this name gives rows: without an alias it lends them its own name."""
    made = (node.this if isinstance(node, exp.Table | exp.Lateral) else node for node in _functions(tree))
    names = {name.lower() for each in made for name in _names_of(each)}
    return _name(table) in names


def _names_of(function: exp.Expr) -> list[str]:
    if isinstance(function, exp.Anonymous):
        return [str(function.name)]
    return function.sql_names() if isinstance(function, exp.Func) else []


def _rows(tree: exp.Expr) -> set[str]:
    """Names of tables, views, common table expressions and subqueries in FROM."""
    found = set()
    for node in tree.find_all(exp.Table, exp.Subquery, exp.Values, exp.Lateral):
        if _of_function(node):
            continue
        alias = node.args.get("alias")
        own = alias.this if isinstance(alias, exp.TableAlias) else node.this
        if isinstance(own, exp.Identifier):
            found.add(_name(own))
    return found


def _columns(tree: exp.Expr) -> dict[str, frozenset[str]]:
    """The columns that are written for each function in FROM, by the function's alias."""
    found: dict[str, frozenset[str]] = {}
    for node in _functions(tree):
        alias = node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and isinstance(alias.this, exp.Identifier):
            named = [
                each if isinstance(each, exp.Identifier) else each.this for each in alias.args.get("columns") or ()
            ]
            named.append(node.args.get("offset"))
            written = {_name(each) for each in named if isinstance(each, exp.Identifier)}
            found[_name(alias.this)] = found.get(_name(alias.this), frozenset(written)) & written
    return found


def _functions(tree: exp.Expr) -> Iterator[exp.Expr]:
    return (node for node in tree.find_all(exp.Table, exp.Unnest, exp.Lateral) if _of_function(node))


def _of_function(node: exp.Expr) -> bool:
    return isinstance(node, exp.Unnest) or (
        isinstance(node, exp.Table | exp.Lateral) and not isinstance(node.this, exp.Identifier | exp.Subquery)
    )


def _name(identifier: exp.Identifier) -> str:
    return folded(identifier, "postgres")
