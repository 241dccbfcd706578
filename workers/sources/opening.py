"""From a named source to its driver: the scheme of its URL tells the kind."""

from __future__ import annotations

from pydantic import SecretStr

from core.team_settings import SourceSettings
from workers.sources.drivers.base import Driver
from workers.sources.errors import Misconfigured
from workers.sources.values import Kind, Source

SCHEMES = {
    "postgres": Kind.POSTGRES,
    "postgresql": Kind.POSTGRES,
    "mysql": Kind.MYSQL,
    "mariadb": Kind.MYSQL,
    "sqlite": Kind.SQLITE,
    "duckdb": Kind.DUCKDB,
    "folder": Kind.FOLDER,
    "s3": Kind.S3,
    "clickhouse": Kind.CLICKHOUSE,
    "clickhousedb": Kind.CLICKHOUSE,
    "snowflake": Kind.SNOWFLAKE,
    "bigquery": Kind.BIGQUERY,
    "trino": Kind.TRINO,
    "mssql": Kind.MSSQL,
}


def named_source(name: str, settings: SourceSettings, url: SecretStr) -> Source:
    """The source with its kind. Raises Misconfigured; the URL is never in the message."""
    scheme = url.get_secret_value().partition("://")[0].partition("+")[0].lower()
    if "://" not in url.get_secret_value() or scheme not in SCHEMES:
        raise Misconfigured(
            f"The URL of {name} has no known scheme. Write one of {', '.join(f'{known}://' for known in SCHEMES)}."
        )
    kind = SCHEMES[scheme]
    if settings.role and kind not in (Kind.POSTGRES, Kind.MYSQL):
        raise Misconfigured(f"{name} has a role, but a source of this kind has no roles. Remove `role`.")
    return Source(name, kind, url, settings)


def open_source(source: Source) -> Driver:
    """Connect. Raises SourceAway or Misconfigured. A driver is loaded when a source of its kind is opened."""
    match source.kind:
        case Kind.POSTGRES:
            from workers.sources.drivers.postgres import PostgresDriver  # noqa: PLC0415

            return PostgresDriver(source)
        case Kind.MYSQL:
            from workers.sources.drivers.mysql import MysqlDriver  # noqa: PLC0415

            return MysqlDriver(source)
        case Kind.SQLITE:
            from workers.sources.drivers.sqlite import SqliteDriver  # noqa: PLC0415

            return SqliteDriver(source)
        case Kind.DUCKDB:
            from workers.sources.drivers.duckdb_file import open_duckdb  # noqa: PLC0415

            return open_duckdb(source)
        case Kind.FOLDER:
            from workers.sources.drivers.folder import open_folder  # noqa: PLC0415

            return open_folder(source)
        case Kind.S3:
            from workers.sources.drivers.bucket import open_bucket  # noqa: PLC0415

            return open_bucket(source)
        case _:
            from workers.sources.drivers.warehouse import WarehouseDriver  # noqa: PLC0415

            return WarehouseDriver(source)
