"""`check`: one statement in, the text that may be sent out, or a refusal that says how to write it instead."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import ErrorLevel, Token, TokenType, exp
from sqlglot.errors import SqlglotError

from workers.sources.errors import Refused
from workers.sources.guard import functions, nodes
from workers.sources.guard.attributes import check_attributes
from workers.sources.guard.dialects import FOLDS, dialect_of
from workers.sources.guard.params import Param, fill
from workers.sources.guard.references import folded, table_references
from workers.sources.guard.shapes import check_shape
from workers.sources.guard.tables import find, suggestion
from workers.sources.values import TableName, Visible

LONGEST = 100_000
"""Characters of a statement."""

TRIPPED = (AttributeError, LookupError, TypeError, ValueError)
"""What sqlglot also raises, for functions with wrong arguments."""

ONLY_SELECT = "A source takes one SELECT (or WITH … SELECT) and never changes anything."

NAMES = "tables(source), columns(table, source) and search_schema(words, source) tell of tables and columns."
LOOKS = {
    **dict.fromkeys(("DESCRIBE", "SHOW", "PRAGMA"), NAMES),
    "PIVOT": "Write sum(CASE WHEN … THEN x END) per column, or pivot the frame afterwards.",
    "EXPLAIN": "Send the statement itself: it is stopped when it takes too long.",
}
"""What to do instead of statements that only look."""
CATALOGUES = frozenset({"information_schema", "pg_catalog", "sqlite_master", "sqlite_schema"})

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of statements that we refuse, and quotes them


@dataclass(frozen=True)
class Checked:
    """A statement that may be sent: the text rendered from the tree that was checked, and the tables that it reads."""

    sql: str
    tables: tuple[TableName, ...]


def check(sql: str, dialect: str, visible: Visible, params: Mapping[str, Param] | None = None) -> Checked:
    """Let one read-only statement through, with `params` in place of each `:name`.

    Raises Refused with what was refused and what to write instead.
    """
    if len(sql) > LONGEST:
        raise Refused(f"The statement has {len(sql):,} characters; at most {LONGEST:,} are taken. Write a shorter one.")
    if "\0" in sql:
        raise Refused("The statement holds a NUL character. Remove it.")
    try:
        return _checked(sql, dialect, visible, params or {})
    except RecursionError:
        raise Refused("The statement is nested too deeply to be checked. Split it with WITH.") from None


def _checked(sql: str, dialect: str, visible: Visible, params: Mapping[str, Param]) -> Checked:
    tree = _parsed(sql, dialect)
    fill(tree, params)
    _check_parts(tree, dialect)
    tables = _resolve(tree, dialect, visible)
    text = _rendered(tree, dialect)
    # The server reads the rendered text, so that text is what has to pass, and it has to mean the same once more.
    again = _parsed(text, dialect)
    _check_parts(again, dialect)
    if _resolve(again, dialect, visible) != tables or _rendered(again, dialect) != text:
        raise Refused("The statement can be read in two ways. Write it more plainly: no unusual quotes or operators.")
    return Checked(text, tables)


def _parsed(sql: str, dialect: str) -> exp.Expr:
    ours = dialect_of(dialect)
    try:
        tokens = ours.tokenize(sql)
        _check_numbers(sql, tokens)
        found = ours.parser(error_level=ErrorLevel.RAISE).parse(tokens, sql)
    except (SqlglotError, *TRIPPED) as error:
        raise Refused(f"The statement cannot be read as {dialect} SQL{_place(error)}. {ONLY_SELECT}") from None
    statements = [each for each in found if each is not None and not isinstance(each, exp.Semicolon)]
    if len(statements) != 1:
        raise Refused(f"{len(statements)} statements were given instead of one. Send them one by one.")
    return statements[0]


def _check_numbers(sql: str, tokens: Sequence[Token]) -> None:
    """Raise Refused for a number with letters right behind it: sqlglot would read 1_000 as 1 AS _000."""
    for number, behind in pairwise(tokens):
        if number.token_type is TokenType.NUMBER and behind.start == number.end + 1 and behind.text[:1].isidentifier():
            raise Refused(
                f"The number {sql[number.start : behind.end + 1][:40]} can be read in two ways. "
                "Write digits alone, such as 1000, and a space before the next word."
            )


def _place(error: Exception) -> str:
    first: dict[str, object] = next(iter(getattr(error, "errors", ())), {})
    near = str(first.get("highlight") or "")[:40]
    return f" (line {first['line']}, at {near!r})" if first.get("line") and near else ""


def _rendered(tree: exp.Expr, dialect: str) -> str:
    try:
        return tree.sql(dialect=dialect_of(dialect), comments=False, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, ValueError) as error:
        raise Refused(f"The statement cannot be written as {dialect} SQL: {str(error).splitlines()[0]}.") from None
    except TRIPPED:
        raise Refused(
            f"The statement cannot be written as {dialect} SQL. Check what its functions are given."
        ) from None


def _check_parts(tree: exp.Expr, dialect: str) -> None:
    kind = type(tree).__name__
    if kind not in nodes.ROOTS | nodes.ROOTS_OF.get(dialect, frozenset()):
        said = str(tree.this).split()[0].upper() if isinstance(tree, exp.Command) and tree.this else kind.upper()
        raise Refused(f"{said} is refused. {LOOKS.get(said, ONLY_SELECT)}")
    for node in tree.walk():
        # MySQL and MariaDB run what stands in /*! … */ and /*M! … */.
        if dialect == "mysql" and any(comment.startswith(("!", "M!")) for comment in node.comments or ()):
            raise Refused("A comment that the server would run (/*! … */) is refused. Leave it out.")
        _check_node(node, dialect)
        _check_missing(node, dialect)
        check_shape(node)
        if dialect == "duckdb":
            _check_rows_of_duckdb(node)
    if dialect == "postgres":
        check_attributes(tree)


def _check_node(node: exp.Expr, dialect: str) -> None:
    kind = type(node).__name__
    more = nodes.NODES_OF.get(dialect, frozenset())
    if isinstance(node, exp.Anonymous):
        _check_function(str(node.name), dialect, known=str(node.name).lower() in functions.BY_DIALECT[dialect])
    elif isinstance(node, exp.Func):
        own = functions.BY_DIALECT[dialect]
        known = kind in functions.KNOWN | more or any(name.lower() in own for name in node.sql_names())
        _check_function(node.sql_name(), dialect, known=known)
    elif kind not in nodes.NODES | more:
        raise Refused(_instead_of(kind))
    if isinstance(node, exp.DataType):
        _check_type(node)
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        raise Refused("A function with a schema before its name is refused. Write the function's name alone.")
    if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
        _check_place(node)
    if isinstance(node, exp.In) and _may_name_a_table(node, dialect):
        raise Refused(
            "IN with a name alone is refused. Write IN (SELECT …), or a value or several between the brackets."
        )
    if isinstance(node, exp.Select) and not node.expressions and not _only_exists(node, dialect):
        raise Refused(f"The SELECT names no columns. {ONLY_SELECT}")
    if isinstance(node, exp.Select) and (node.args.get("operation_modifiers") or node.args.get("kind")):
        raise Refused("A word between SELECT and the columns is refused. Only DISTINCT may stand there.")
    if isinstance(node, exp.Select) and (rest := {key for key, value in node.args.items() if value} - nodes.CLAUSES):
        raise Refused(f"{sorted(rest)[0].strip('_').upper()} is refused in a SELECT. Leave it out.")
    if dialect == "postgres" and isinstance(node, exp.Column) and not node.table:
        named = node.this
        if (
            isinstance(named, exp.Identifier)
            and not named.args.get("quoted")
            and node.name.lower() in nodes.LOGIN_WORDS
        ):
            raise Refused(
                f'{node.name} names the login and is refused. A column of that name is written "{node.name}".'
            )


def _check_missing(node: exp.Expr, dialect: str) -> None:
    """Raise Refused for what the database does not have, where its own words would not help."""
    if isinstance(node, exp.Interval) and dialect == "sqlite":
        raise Refused("SQLite has no intervals. Write date(x, '+1 day'), or datetime(x, '-3 hours').")
    if isinstance(node, exp.Median | exp.PercentileCont) and dialect == "mysql" and not node.find_ancestor(exp.Window):
        raise Refused(
            "MariaDB takes a median only over a window, and MySQL takes none. Write SELECT DISTINCT y, "
            "MEDIAN(x) OVER (PARTITION BY y) AS m, or read the values and compute it from the frame."
        )


def _only_exists(node: exp.Select, dialect: str) -> bool:
    """Whether this is EXISTS (SELECT FROM …), which Postgres takes without columns."""
    above = node.parent
    while isinstance(above, exp.Paren | exp.Subquery):
        above = above.parent
    return dialect == "postgres" and isinstance(above, exp.Exists)


def _may_name_a_table(node: exp.In, dialect: str) -> bool:
    """Whether the database reads a table for IN: SQLite without brackets, ClickHouse also with them."""
    if node.args.get("field") is not None:
        return dialect != "duckdb"
    if dialect != "clickhouse" or len(node.expressions) != 1:
        return False
    (only,) = node.expressions
    while isinstance(only, exp.Paren | exp.Alias):
        only = only.this
    return isinstance(only, exp.Column | exp.Dot)


def _check_place(node: exp.Table) -> None:
    if not isinstance(node.this, exp.Func):
        raise Refused("A table is named as table or schema.table.")
    if node.args.get("db") or node.args.get("catalog"):
        raise Refused("A function with a schema before its name is refused. Write the function's name alone.")


def _check_rows_of_duckdb(node: exp.Expr) -> None:
    if not isinstance(node, exp.Func) or node.arg_key != "this" or not isinstance(node.parent, exp.Table | exp.Lateral):
        return
    names = [str(node.name)] if isinstance(node, exp.Anonymous) else node.sql_names()
    if not functions.ROWS_OF_DUCKDB.intersection(map(str.lower, names)):
        raise Refused(f"The function {names[0].lower()} is refused in FROM. Write it between SELECT and FROM.")


def _check_function(name: str, dialect: str, *, known: bool) -> None:
    name = name.lower().replace("j_s_o_n", "json").replace("json_b_", "jsonb_")  # sqlglot's names of classes
    instead = functions.INSTEAD_OF.get(dialect, {}).get(name)
    if known and not instead:
        return
    instead = instead or functions.INSTEAD.get(name, "do it in Python after the query, or use another function")
    raise Refused(f"The function {name} is not among those that a {dialect} source may run: {instead}.")


def _check_type(node: exp.DataType) -> None:
    name = node.this.name if isinstance(node.this, exp.DType) else str(node.this)
    if name not in nodes.TYPES:
        raise Refused(f"The type {node.sql()} is refused. Cast to a usual type such as text, numeric or date.")


def _instead_of(kind: str) -> str:
    known = {
        "Into": "INTO would write a table or a file. Leave it out; the rows come back anyway.",
        "Lock": "A lock (FOR UPDATE, FOR SHARE) is refused. Leave it out.",
        "Hint": "A hint (/*+ … */) is refused. Leave it out.",
        "Placeholder": "A placeholder is refused here. Write the value itself.",
        "Parameter": "A variable or placeholder is refused here. Write the value itself.",
        "SessionParameter": "A variable of the server is refused. Leave it out.",
        "ByteString": "A string with escapes (E'…') is refused. Write a plain one, or chr(10) for a new line.",
        "UnicodeString": "A string with escapes (U&'…') is refused. Write the characters themselves.",
        "Pivot": f"PIVOT is refused. {LOOKS['PIVOT']}",
        **{kind: f"{kind.upper()} is refused. {NAMES}" for kind in ("Describe", "Show")},
        "RecursiveWithSearch": "SEARCH and CYCLE are refused. Keep a path or a depth in a column, and order by it.",
        "Command": ONLY_SELECT,
    }
    return known.get(kind, f"{kind} is not among the parts of SQL that a source takes. {ONLY_SELECT}")


def _resolve(tree: exp.Expr, dialect: str, visible: Visible) -> tuple[TableName, ...]:
    """The tables that are read; each reference is rewritten to the full name, so the server looks nothing up."""
    found: dict[TableName, None] = {}
    for node in list(table_references(tree, dialect)):
        catalog, schema = node.args.get("catalog"), node.args.get("db")
        parts = [part for part in (catalog, schema, node.this) if isinstance(part, exp.Identifier)]
        written = ".".join(str(part.this) for part in parts)
        table = None
        if not catalog and isinstance(node.this, exp.Identifier):
            place = folded(schema, dialect) if isinstance(schema, exp.Identifier) else ""
            table = find(visible, place, folded(node.this, dialect), folds=FOLDS[dialect])
        if table is None and (schema.name.lower() if schema else written.lower()) in CATALOGUES:
            raise Refused(f"{written} is refused. {NAMES}")
        if table is None:
            raise Refused(f"The source has no table {written} that may be read. {suggestion(visible, written)}")
        found[table] = None
        _name_fully(node, table)
    return tuple(sorted(found))


def _name_fully(node: exp.Table, table: TableName) -> None:
    node.set("this", exp.to_identifier(table.name, quoted=True))
    node.set("db", exp.to_identifier(table.schema, quoted=True))
