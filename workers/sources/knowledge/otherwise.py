"""Finds numbers with the name of a team's metric that a statement or its code computes in another way."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import sqlglot
import sqlglot.expressions as exp
from sqlglot.errors import SqlglotError

from workers.sources.errors import SourceError
from workers.sources.guard.check import check
from workers.sources.guard.dialects import dialect_of
from workers.sources.knowledge.entries import Metric
from workers.sources.values import Visible


def computed_otherwise(
    metrics: Iterable[Metric], sql: str, dialect: str, visible: Visible, names: Collection[str]
) -> tuple[str, ...]:
    """The metrics that something bears the name of, although the statement does not hold their SQL.

    `sql` is the text that was sent; `names` are those that the code around it computes. A metric counts when one of
    its names is a column of the result or one of `names`, and the statement reads the metric's table. A column of the
    table that has this name itself is taken as it is. Never raises: what cannot be compared is not pointed out.
    """
    tree = _parsed(sql, dialect)
    if tree is None:
        return ()
    columns = {_plain(column.name) for column in tree.find_all(exp.Column)}
    named = ({_plain(alias.alias) for alias in tree.find_all(exp.Alias)} | set(map(_plain, names))) - columns
    found = []
    for metric in metrics:
        if named.isdisjoint(map(_plain, (metric.name, *metric.synonyms))):
            continue
        wanted = _definition(metric, dialect, visible)
        if wanted is not None and _tables(wanted) <= _tables(tree) and not _holds(tree, _core(metric, wanted)):
            found.append(metric.name)
    return tuple(found)


def _definition(metric: Metric, dialect: str, visible: Visible) -> exp.Expr | None:
    """The metric's SELECT as the guard renders it: statements that are compared with it went the same way."""
    try:
        return _parsed(check(metric.statement, dialect, visible).sql, dialect)
    except SourceError:
        return None


def _core(metric: Metric, wanted: exp.Expr) -> exp.Expr:
    return _unrounded(wanted.selects[0].unalias()) if metric.table and isinstance(wanted, exp.Query) else wanted


def _unrounded(value: exp.Expr) -> exp.Expr:
    """An aggregate without what only says how exactly its result is written: a number type, rounding."""
    inner = value
    while isinstance(inner, exp.Round | exp.Paren) or (
        isinstance(inner, exp.Cast) and inner.to.is_type(*exp.DataType.NUMERIC_TYPES)
    ):
        inner = inner.this
    return inner if inner.find(exp.AggFunc) else value


def _holds(tree: exp.Expr, wanted: exp.Expr) -> bool:
    text = _bare(wanted)
    return any(_bare(node) == text for node in tree.find_all(type(wanted))) or _holds_parts(tree, wanted)


def _holds_parts(tree: exp.Expr, wanted: exp.Expr) -> bool:
    """Whether one SELECT has the values and every condition of a plain SELECT: it may filter and join more, and group
    the rows in another way."""
    if not isinstance(wanted, exp.Select) or not set(_given(wanted)) <= _PLAIN_PARTS:
        return False
    groups = _groups(wanted)
    values = [_bare(_unrounded(value.unalias())) for value in wanted.selects if _bare(value) not in groups]
    conditions = _conditions(wanted)
    return bool(values) and any(
        conditions <= _conditions(select) and all(_computes(select, value) for value in values)
        for select in tree.find_all(exp.Select)
    )


_PLAIN_PARTS = {"expressions", "from_", "joins", "where", "group", "order"}


def _given(select: exp.Select) -> Iterator[str]:
    return (name for name, value in select.args.items() if value)


def _groups(select: exp.Select) -> set[str]:
    """What a SELECT groups its rows by, with the numbers and names of its columns followed."""
    group = select.args.get("group")
    named = {column.alias: column for column in select.selects if column.alias}
    found = set[str]()
    for each in group.expressions if group else ():
        meant = each
        if each.is_int and 0 < int(each.name) <= len(select.selects):
            meant = select.selects[int(each.name) - 1]
        elif isinstance(each, exp.Column) and not each.table:
            meant = named.get(each.name, each)
        found.add(_bare(meant))
    return found


def _computes(select: exp.Select, value: str) -> bool:
    return any(_bare(node) == value for each in select.selects for node in each.find_all(exp.Expression))


def _conditions(select: exp.Select) -> set[str]:
    """What must hold for a row: the conditions of WHERE and of joins, without those that only name the keys.

    A condition of an outer join drops no row, so its side belongs to it.
    """
    where = select.args.get("where")
    roots = [("", where.this)] if where else []
    roots += [(join.side, join.args["on"]) for join in select.args.get("joins") or () if join.args.get("on")]
    return {f"{side}{_bare(part)}" for side, root in roots for part in _all_of(root) if not _names_keys(part)}


def _all_of(condition: exp.Expr) -> Iterator[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from _all_of(condition.left)
        yield from _all_of(condition.right)
    else:
        yield condition


def _names_keys(condition: exp.Expr) -> bool:
    return isinstance(condition, exp.EQ) and all(
        isinstance(side, exp.Column) for side in (condition.left, condition.right)
    )


def _bare(node: exp.Expr) -> str:
    """A tree as text, without the names of tables in front of columns, quotes, aliases of results and letter case."""

    def stripped(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Column):
            return exp.column(exp.to_identifier(each.name.lower()))
        if isinstance(each, exp.Table):
            return exp.to_table(exp.to_identifier(each.name.lower()).name)
        return each.unalias() if isinstance(each, exp.Alias) else each

    return node.copy().transform(stripped).sql(comments=False)


def _tables(tree: exp.Expr) -> set[tuple[str, str]]:
    return {(table.db.lower(), table.name.lower()) for table in tree.find_all(exp.Table)}


def _parsed(sql: str, dialect: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(sql, dialect=dialect_of(dialect))
    except (SqlglotError, RecursionError):
        return None


def _plain(name: str) -> str:
    """A name as words: `net_revenue` and `Net revenue` are one."""
    return re.sub(r"[\W_]+", " ", name).strip().casefold()
