"""The values that guard, drivers and their callers share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import pyarrow as pa
from pydantic import SecretStr

from core.team_settings import SourceSettings


class Kind(StrEnum):
    """What a source is; the scheme of its URL tells."""

    POSTGRES = "postgres"
    MYSQL = "mysql"
    SQLITE = "sqlite"
    DUCKDB = "duckdb"
    FOLDER = "folder"
    S3 = "s3"
    CLICKHOUSE = "clickhouse"
    SNOWFLAKE = "snowflake"
    BIGQUERY = "bigquery"
    TRINO = "trino"
    MSSQL = "mssql"

    @property
    def dialect(self) -> str:
        """The dialect of SQL, by sqlglot's name. Files are read by DuckDB."""
        if self is Kind.MSSQL:
            return "tsql"
        return "duckdb" if self in (Kind.FOLDER, Kind.S3) else self.value


@dataclass(frozen=True)
class Source:
    """A source that can be opened. The URL holds its credentials."""

    name: str
    kind: Kind
    url: SecretStr
    settings: SourceSettings


@dataclass(frozen=True, order=True)
class TableName:
    """A table or view, with its schema (in MySQL: its database)."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Visible:
    """The tables that a statement may name, and the schemas in which a name without one is looked up, in order."""

    tables: tuple[TableName, ...]
    path: tuple[str, ...]


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a table, with its type in the words of the database."""

    name: str
    type: str


@dataclass(frozen=True)
class Access:
    """What the login may do beside reading; empty when it can only read. `mend` is the SQL that makes it so."""

    writes: tuple[str, ...] = ()
    mend: str = ""

    @property
    def read_only(self) -> bool:
        """Whether the login can only read."""
        return not self.writes


@dataclass(frozen=True)
class Limits:
    """What one statement may take: rows, bytes in memory, and seconds with the reading of its rows."""

    rows: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Result:
    """A result that is being read. `batches` can be read once, while the driver's `run` is open."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch] = field(repr=False)
    sql: str = ""
    """The text that was sent, where a guard rendered it."""
