"""sqlglot's dialects, with the few changes that make the rendered text run on the servers we know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite


def _rlike(generator: Any, node: exp.RegexpLike) -> str:
    return str(generator.binary(node, "RLIKE"))


def _unquoted(generator: Any, node: exp.JSONExtractScalar) -> str:
    extracted = generator.func("JSON_EXTRACT", node.this, node.expression)
    return f"JSON_UNQUOTE({extracted})"


def _current_time(generator: Any, node: exp.CurrentTime) -> str:
    return f"CURRENT_TIME({generator.sql(node, 'this')})" if node.this else "CURRENT_TIME"


def _hex_of(parser: Any, token: Token) -> exp.Expr:
    """0x41 is a number where one is needed, and x'41' is none in MariaDB: each stays as it was written."""
    is_number = token.end - token.start + 1 == len(token.text) + len("0x")
    return exp.HexString(this=token.text, is_integer=is_number or None)


def _hex(generator: Any, node: exp.HexString) -> str:
    return f"0x{node.name}" if node.args.get("is_integer") else f"x'{node.name}'"


def _json_column(generator: Any, node: exp.JSONColumnDef) -> str:
    """A column of JSON_TABLE, with the two cases that sqlglot does not write."""
    if node.args.get("exists"):
        name, kind, path = (generator.sql(node, part) for part in ("this", "kind", "path"))
        written = f"{name} {kind} EXISTS PATH {path}"
    else:
        written = str(generator.jsoncolumndef_sql(node))
    for case in ("empty", "error"):
        if (instead := node.args.get(case)) is not None:
            said = f"DEFAULT {generator.sql(instead)} ON {case.upper()}" if isinstance(instead, exp.Expr) else instead
            written += f" {said}"
    return written


def _any(generator: Any, node: exp.Any) -> str:
    """Sqlglot writes = SOME (SELECT …) without the blank that it writes when it reads its own text."""
    this = generator.sql(node, "this")
    return f"ANY ({this})" if isinstance(node.this, exp.Query) and not this.startswith("(") else f"ANY {this}"


def _path_as_written(self: Dialect, path: exp.Expr | None) -> exp.Expr | None:
    """The JSON path or key itself: sqlglot would read `a.b` as a path where it is the name of a key."""
    return path


def _interval_of_parts(value: exp.Expr) -> exp.Interval | None:
    """An interval such as `1 day 02:03` or `1 day ago` as it was written: sqlglot would keep `1 day` of it."""
    if not value.is_string or not exp.INTERVAL_STRING_RE.search(value.name):
        return None
    return None if exp.INTERVAL_STRING_RE.fullmatch(value.name) else exp.Interval(this=value)


def _without(functions: Mapping[str, Any], names: str) -> dict[str, Any]:
    """The functions that sqlglot knows, but for these: they are sent as they are written, or refused."""
    return {name: made for name, made in functions.items() if name not in names.split()}


def _without_arrow(lambdas: Mapping[TokenType, Any]) -> dict[TokenType, Any]:
    """Where no function takes a lambda, `f(doc -> 'key')` reads a key: sqlglot would make a lambda of it."""
    return {token: made for token, made in lambdas.items() if token is not TokenType.ARROW}


def _date_diff(args: list[exp.Expr]) -> exp.Expr:
    """`datediff(a, b)` as sqlglot reads it. With a unit it would take the unit for a date."""
    if len(args) == 2:
        return exp.DateDiff(this=args[0], expression=args[1])
    return exp.Anonymous(this="date_diff", expressions=args)


LOGARITHMS = "LOG10 LOG2"
"""Sent as they are written: log(10, 1000) is 2.9999999999999996 in a float, and Postgres has none of two floats."""


class PostgresAsWritten(Postgres):
    """Postgres with what sqlglot would leave out."""

    to_json_path = _path_as_written

    class Parser(Postgres.Parser):  # type: ignore[misc, valid-type]  # sqlglot's own form
        """Reads the statement. JSON functions of other databases would become `->`, with a path in place of a key."""

        LAMBDAS = _without_arrow(Postgres.Parser.LAMBDAS)
        FUNCTIONS = {  # noqa: RUF012  sqlglot's own form
            **_without(
                Postgres.Parser.FUNCTIONS,
                "JSON_EXTRACT JSON_EXTRACT_SCALAR JSON_EXTRACT_ARRAY JSONB_EXTRACT JSONB_EXTRACT_SCALAR TO_HEX SHA256 "
                + LOGARITHMS,
            ),
            **dict.fromkeys(("DATEDIFF", "DATE_DIFF"), _date_diff),
        }

        def _parse_interval_span(self, this: exp.Expr, parse_function_unit: bool = True) -> exp.Interval:
            return _interval_of_parts(this) or super()._parse_interval_span(this, parse_function_unit)

    class Generator(Postgres.Generator):  # type: ignore[misc, valid-type]  # sqlglot's own form
        """Renders the statement that is sent. Postgres takes no empty brackets behind CURRENT_TIME."""

        TRANSFORMS = {  # noqa: RUF012  sqlglot's own form
            **Postgres.Generator.TRANSFORMS,
            exp.CurrentTime: _current_time,
            exp.Any: _any,
        }


class DuckDBAsWritten(DuckDB):
    """DuckDB with what sqlglot would leave out."""

    to_json_path = _path_as_written

    class Parser(DuckDB.Parser):  # type: ignore[misc, valid-type]  # sqlglot's own form
        """Reads the statement."""

        FUNCTIONS = _without(DuckDB.Parser.FUNCTIONS, "APPROX_TOP_K " + LOGARITHMS)

        def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
            """What `f(doc -> 'key')` is given: sqlglot would make a lambda of it, and DuckDB reads a key."""
            _, arrow, key = (*self._tokens[self._index : self._index + 3], *(None,) * 3)[:3]
            is_key = key is not None and key.token_type in (TokenType.STRING, TokenType.NUMBER)
            if arrow is None or arrow.token_type is not TokenType.ARROW or not is_key:
                found: exp.Expr | None = super()._parse_lambda(alias=alias)
            else:
                found = self._parse_limit(self._parse_order(self._parse_select_or_expression(alias=alias)))
            return found

        def _parse_interval_span(self, this: exp.Expr, parse_function_unit: bool = True) -> exp.Interval:
            return _interval_of_parts(this) or super()._parse_interval_span(this, parse_function_unit)


class SQLiteAsWritten(SQLite):
    """SQLite with its own NUMERIC and `mod`, and with names that it cannot take for texts."""

    to_json_path = _path_as_written

    class Parser(SQLite.Parser):  # type: ignore[misc, valid-type]  # sqlglot's own form
        """Reads the statement. `mod` stays a function: `%` would cut its arguments to whole numbers.

        SQLite has no DATE_ADD. Of sqlglot's `date(x, …)` in its place the time of day is lost.
        """

        LAMBDAS = _without_arrow(SQLite.Parser.LAMBDAS)
        FUNCTIONS = _without(
            SQLite.Parser.FUNCTIONS, "MOD DATE_ADD DATEADD DATE_SUB DATESUB DATE_DIFF DATEDIFF " + LOGARITHMS
        )

    class Generator(SQLite.Generator):  # type: ignore[misc, valid-type]  # sqlglot's own form
        """Renders the statement that is sent. A whole number that is cast to NUMERIC stays one."""

        TYPE_MAPPING = {  # noqa: RUF012  sqlglot's own form
            **SQLite.Generator.TYPE_MAPPING,
            exp.DType.DECIMAL: "NUMERIC",
        }

        def identifier_sql(self, expression: exp.Identifier) -> str:
            """The name. In double quotes SQLite would take a column that is not there for a text."""
            column = expression.parent
            if expression.quoted and isinstance(column, exp.Column) and not column.table:
                return "`" + expression.name.replace("`", "``") + "`"
            return str(super().identifier_sql(expression))


class MySQLAndMariaDB(MySQL):
    """MySQL in words that MariaDB knows too: it has no REGEXP_LIKE and no `->>`."""

    to_json_path = _path_as_written

    class Parser(MySQL.Parser):  # type: ignore[misc, valid-type]  # sqlglot's own form
        """Reads the statement. Of DATEDIFF('day', a, b) sqlglot would keep two arguments."""

        LAMBDAS = _without_arrow(MySQL.Parser.LAMBDAS)
        FUNCTIONS = _without(MySQL.Parser.FUNCTIONS, "DATEDIFF DATE_DIFF TIMESTAMPADD " + LOGARITHMS)
        PRIMARY_PARSERS = {  # noqa: RUF012  sqlglot's own form
            **MySQL.Parser.PRIMARY_PARSERS,
            TokenType.HEX_STRING: _hex_of,
        }

        def _parse_json_column_def(self) -> exp.JSONColumnDef:
            """A column of JSON_TABLE. Sqlglot reads no EXISTS PATH, and not what stands for a value that is missing."""
            found: exp.JSONColumnDef = super()._parse_json_column_def()
            if self._match_text_seq("EXISTS", "PATH"):
                found.set("path", self._parse_string())
                found.set("exists", exp.true())
            for case in ("empty", "error"):
                found.set(case, self._parse_on_handling(case.upper(), "NULL", "ERROR"))
            return found

        def _parse_interval_span(self, this: exp.Expr, parse_function_unit: bool = True) -> exp.Interval:
            """Of '1.5' DAY the server takes one day, and of 1.5 DAY two: sqlglot would make a text of each number."""
            found: exp.Interval = super()._parse_interval_span(this, parse_function_unit)
            if this and this.is_number:
                found.set("this", this)
            return found

    class Generator(MySQL.Generator):  # type: ignore[misc, valid-type]  # sqlglot's own form
        """Renders the statement that is sent."""

        SUPPORTS_MEDIAN = True
        TRANSFORMS = {  # noqa: RUF012  sqlglot's own form
            **MySQL.Generator.TRANSFORMS,
            exp.UtcDate: lambda generator, node: "UTC_DATE()",
            exp.HexString: _hex,
            exp.Any: _any,
            exp.RegexpLike: _rlike,
            exp.JSONExtractScalar: _unquoted,
            exp.JSONColumnDef: _json_column,
        }


def dialect_of(name: str) -> Dialect:
    """The dialect by the name of `Kind.dialect`."""
    return Dialect.get_or_raise(OURS.get(name, name))


OURS: dict[str, type[Dialect]] = {
    "postgres": PostgresAsWritten,
    "mysql": MySQLAndMariaDB,
    "sqlite": SQLiteAsWritten,
    "duckdb": DuckDBAsWritten,
}


FOLDS = {
    "postgres": False,
    "mysql": False,
    "sqlite": True,
    "duckdb": True,
    "clickhouse": False,
    "snowflake": True,
    "bigquery": False,
    "trino": True,
    "tsql": True,
}
"""Whether the database takes names that differ in case for the same, quoted or not."""
