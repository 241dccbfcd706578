"""Which tables a tree of SQL reads: names of common table expressions are distinguished from tables by scope."""

from __future__ import annotations

import string
from collections.abc import Iterator

from sqlglot import exp

_NEVER_FIND_A_TABLE = frozenset({"postgres", "mysql", "sqlite"})
"""Where an expression of WITH RECURSIVE names itself in a wrong place, these refuse it. DuckDB reads the table."""
_NOT_REPEATED = (exp.Summarize, exp.Describe, exp.Pivot)
"""Parts of DuckDB inside of which a recursive expression that names itself is taken for a table."""
_SMALL = {ord(letter): letter.lower() for letter in string.ascii_uppercase}


def table_references(tree: exp.Expr, dialect: str) -> Iterator[exp.Table]:
    """The nodes that name a table of the database.

    Where databases differ in what a name means, it is taken for a table, which must then be permitted.
    """
    for node in tree.find_all(exp.Table):
        if isinstance(node.this, exp.Identifier) and not _names_expression(node, dialect):
            yield node


def folded(identifier: exp.Identifier, dialect: str) -> str:
    """The name as the database looks it up: Postgres folds what is not quoted, MySQL may tell any case apart."""
    name = str(identifier.this)
    if dialect == "mysql" or (dialect == "postgres" and identifier.args.get("quoted")):
        return name
    # No database folds more than these letters for sure: Python would also make a k of the Kelvin sign.
    return name.translate(_SMALL)


def _names_expression(table: exp.Table, dialect: str) -> bool:
    """Whether the name is of a common table expression that is in scope here."""
    if table.args.get("db") or table.args.get("catalog"):
        return False
    inside: exp.Expr = table
    above: exp.Expr | None = table.parent
    while above is not None:
        if isinstance(above, exp.With):
            if _defined_before(above, inside, table, dialect):
                return True
            # The query that owns this WITH offers all of it: but only to its body, not to the definitions.
            inside, above = above.parent or above, (above.parent or above).parent
            continue
        with_ = above.args.get("with_") or above.args.get("with")
        if isinstance(with_, exp.With) and any(_same(each, table.this, dialect) for each in with_.expressions):
            return True
        inside, above = above, above.parent
    return False


def _defined_before(with_: exp.With, inside: exp.Expr, table: exp.Table, dialect: str) -> bool:
    for each in with_.expressions:
        if each is inside:
            recursive = bool(with_.args.get("recursive")) and _repeats(each, table, dialect)
            return recursive and _same(each, table.this, dialect)
        if _same(each, table.this, dialect):
            return True
    return False


def _repeats(expression: exp.Expr, table: exp.Table, dialect: str) -> bool:
    """Whether the table stands in the part of a recursive expression that the database runs again and again."""
    body = expression.this
    if dialect in _NEVER_FIND_A_TABLE:
        return True
    again = body.expression if isinstance(body, exp.Union) and not body.args.get("by_name") else None
    above: exp.Expr | None = table
    while above is not None and above is not again and not isinstance(above, _NOT_REPEATED):
        above = above.parent
    return above is not None and above is again


def _same(each: exp.Expr, name: exp.Identifier, dialect: str) -> bool:
    alias = each.args.get("alias")
    own = alias.this if isinstance(alias, exp.TableAlias) else None
    return isinstance(own, exp.Identifier) and folded(own, dialect) == folded(name, dialect)
