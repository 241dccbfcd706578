"""What PIVOT, UNPIVOT, SUMMARIZE and DESCRIBE of DuckDB and JSON_TABLE of MySQL may be made of.

Each reads what it names as FROM does, so its tables are found and named fully like all others.
"""

from __future__ import annotations

from sqlglot import exp

from workers.sources.errors import Refused

_OF_PIVOT = frozenset({"this", "alias", "expressions", "fields", "unpivot", "using", "group", "include_nulls", "into"})
_TOLD = frozenset({"columns", "with_", "identify_pivot_strings", "prefixed_pivot_columns", "pivot_column_naming"})
"""What sqlglot notes of a PIVOT for itself, and the WITH before it."""


def check_shape(node: exp.Expr) -> None:
    """Raise Refused for one of these parts of SQL that reads something else than tables and queries."""
    if isinstance(node, exp.Pivot):
        _check_pivot(node)
    elif isinstance(node, exp.Summarize | exp.Describe):
        _check_summary(node)


def _check_summary(node: exp.Summarize | exp.Describe) -> None:
    kind = type(node).__name__.upper()
    is_table = isinstance(node.this, exp.Table) and isinstance(node.this.this, exp.Identifier)
    if not is_table and not isinstance(node.this, exp.Query):
        raise Refused(f"{kind} takes a table or a SELECT. Name a table of the source.")
    if any(value for key, value in node.args.items() if key not in ("this", "table", "kind")):
        raise Refused(f"Write {kind} and a table or a SELECT, and no word between them.")


def _check_pivot(node: exp.Pivot) -> None:
    """DuckDB looks up the values of a PIVOT that gives none with a statement of its own, which the guard cannot see."""
    if more := {key for key, value in node.args.items() if value} - _OF_PIVOT - _TOLD:
        raise Refused(f"{sorted(more)[0].strip('_').upper()} is refused in a PIVOT. Leave it out.")
    if isinstance(node.this, exp.Expr) and not isinstance(node.this, exp.Table | exp.Query):
        raise Refused("PIVOT takes a table or a SELECT in brackets. Name a table of the source.")
    wanted = node.args.get("fields") or node.expressions
    if not node.args.get("unpivot") and not all(isinstance(each, exp.In) and each.expressions for each in wanted):
        raise Refused(
            "PIVOT needs its values here. Ask for them first, and write PIVOT t ON x IN ('a', 'b') USING sum(y), "
            "or read the rows and pivot the frame."
        )
    for each in node.find_all(exp.In):
        if each.args.get("query") or each.args.get("field"):
            raise Refused("IN of a PIVOT takes values alone. Write them between the brackets.")
