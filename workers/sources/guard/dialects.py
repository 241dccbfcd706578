"""sqlglot's dialects, with the few changes that make the rendered text run on the servers we know."""

from __future__ import annotations

from typing import Any

from sqlglot import Dialect, exp
from sqlglot.dialects.mysql import MySQL


def _rlike(generator: Any, node: exp.RegexpLike) -> str:
    return str(generator.binary(node, "RLIKE"))


def _unquoted(generator: Any, node: exp.JSONExtractScalar) -> str:
    extracted = generator.func("JSON_EXTRACT", node.this, node.expression)
    return f"JSON_UNQUOTE({extracted})"


class MySQLAndMariaDB(MySQL):
    """MySQL in words that MariaDB knows too: it has no REGEXP_LIKE and no `->>`."""

    class Generator(MySQL.Generator):  # type: ignore[misc, valid-type]  # sqlglot's own form
        """Renders the statement that is sent."""

        TRANSFORMS = {  # noqa: RUF012  sqlglot's own form
            **MySQL.Generator.TRANSFORMS,
            exp.RegexpLike: _rlike,
            exp.JSONExtractScalar: _unquoted,
        }


def dialect_of(name: str) -> Dialect:
    """The dialect by the name of `Kind.dialect`."""
    return MySQLAndMariaDB() if name == "mysql" else Dialect.get_or_raise(name)


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
