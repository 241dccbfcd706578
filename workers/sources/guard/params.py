"""Parameters of a statement: `:name` in the tree becomes a literal. So the text that is checked is the one sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from workers.sources.errors import Refused

Param = str | int | float | bool | None | list[Any]


def fill(tree: exp.Expr, params: Mapping[str, Param]) -> None:
    """Put the values into the tree. Raises Refused for a name without a value, and for a value without a place."""
    used = set()
    for node in list(tree.find_all(exp.Placeholder)):
        name = str(node.this or "")
        if name not in params:
            raise Refused(
                f"The parameter :{name} has no value. Give it in params, or write the value itself."
                if name
                else "A placeholder without a name is refused. Write :name, and give its value in params."
            )
        used.add(name)
        _put(node, name, params[name])
    if unused := sorted(set(params) - used):
        raise Refused(f"params has {unused[0]!r}, but the statement has no :{unused[0]}.")


def _put(node: exp.Placeholder, name: str, value: Param) -> None:
    if not isinstance(value, list):
        node.replace(_literal(value))
        return
    if not isinstance(node.parent, exp.In) or not value:
        raise Refused(f"The parameter :{name} is a list: write IN (:{name}), and give at least one value.")
    at = node.parent.expressions.index(node)
    values = [_literal(each) for each in value]
    node.parent.set("expressions", [*node.parent.expressions[:at], *values, *node.parent.expressions[at + 1 :]])


def _literal(value: Param) -> exp.Expr:
    if isinstance(value, list):
        raise Refused("A parameter may not be a list of lists.")
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused("A parameter may not be infinite or no number. Give None for a missing value.")
    if isinstance(value, str) and "\0" in value:
        raise Refused("A parameter holds a NUL character. Remove it.")
    return exp.convert(value)
