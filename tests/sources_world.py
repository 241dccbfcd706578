"""The same small shop on every kind of source, with a login that can only read, and its checksum."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import s3fs
from object_store import object_store
from pydantic import SecretStr
from services import missing

from core.settings import Settings
from core.team_settings import SourceSettings
from workers.sources.broker.broker import Broker
from workers.sources.broker.server import Server
from workers.sources.opening import named_source
from workers.sources.values import Source

PASSWORD = "planted-p4ssw0rd"
TABLES = """
CREATE TABLE customers (id int PRIMARY KEY, name varchar(50), extra {json});
CREATE TABLE orders (id int, customer int, amount decimal(10, 2), placed {time});
CREATE TABLE {q}Odd Name{q} ({q}Weird; Col{q} int);
CREATE TABLE salaries (id int, name varchar(50), pay int);
INSERT INTO customers VALUES (1, 'Ada', '{{"plan": "pro", "tags": ["a", "b"]}}'), (2, 'Ben', '{{"plan": "free"}}');
INSERT INTO orders VALUES (1, 1, 12.50, '2024-01-05 10:00:00'), (2, 1, 7.25, '2024-02-06 11:30:00'),
  (3, 2, 99.99, '2024-02-07 00:00:00'), (4, 2, 3.00, NULL);
INSERT INTO {q}Odd Name{q} VALUES (5);
INSERT INTO salaries VALUES (1, 'Ada', 100000)
"""
NAMES = ("customers", "orders", "Odd Name", "salaries")


@dataclass
class World:
    """A source: `reader` can only read; `writer` is a login that could write, where there are logins."""

    kind: str
    reader: str
    checksum: Callable[[], str]
    writer: str = ""
    admin: Any = field(default=None, repr=False)

    def source(self, *, writer: bool = False, **settings: Any) -> Source:
        """The source with these settings; salaries are denied."""
        given = {"url_env": "X", "tables_denied": ("salaries",), "timeout_s": 20.0} | settings
        return named_source("shop", SourceSettings(**given), SecretStr(self.writer if writer else self.reader))


def statements(quote: str = '"', json: str = "text", time: str = "timestamp") -> list[str]:
    return [each for each in TABLES.format(q=quote, json=json, time=time).split(";\n") if each.strip()]


def digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


@contextmanager
def postgres(address: tuple[str, int]) -> Iterator[World]:
    host, port = address
    name = f"threadbook_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(host=host, port=port, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        for role in (f"{name}_r", f"{name}_w"):
            server.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
        try:
            with psycopg.connect(host=host, port=port, user="postgres", dbname=name, autocommit=True) as admin:
                admin.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
                admin.execute("CREATE SEQUENCE orders_seq")
                for each in statements(json="jsonb"):
                    admin.execute(each)
                admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}_r")
                admin.execute(f"GRANT ALL ON SCHEMA public TO {name}_w")
                for table in NAMES:
                    admin.execute(f'ALTER TABLE "{table}" OWNER TO {name}_w')
                admin.execute(f"ALTER SEQUENCE orders_seq OWNER TO {name}_w")

                def checksum() -> str:
                    seen = [admin.execute(f'SELECT * FROM "{table}" ORDER BY 1').fetchall() for table in NAMES]
                    seen.append(admin.execute("SELECT last_value, is_called FROM orders_seq").fetchall())
                    for catalog in ("pg_class", "pg_proc", "pg_largeobject_metadata", "pg_namespace", "pg_extension"):
                        seen.append(admin.execute(f"SELECT count(*) FROM {catalog}").fetchall())
                    seen.append(
                        admin.execute(
                            "SELECT rolname, rolsuper FROM pg_roles WHERE rolname ~ %s ORDER BY 1",
                            (f"^({name}|evil)",),
                        ).fetchall()
                    )
                    return digest(seen)

                url = f"postgresql://{name}_{{}}:{PASSWORD}@{host}:{port}/{name}"
                yield World("postgres", url.format("r"), checksum, url.format("w"), admin)
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
            for role in (f"{name}_r", f"{name}_w"):
                server.execute(f"DROP ROLE {role}")


@contextmanager
def mariadb() -> Iterator[World]:
    try:
        admin = pymysql.connect(unix_socket=_socket(), user="root", autocommit=True)
    except (pymysql.Error, OSError) as error:
        missing("MariaDB", f"its socket does not answer ({error}); start mariadbd")
    name = f"threadbook_{uuid.uuid4().hex[:12]}"
    with admin, admin.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        cursor.execute(f"USE {name}")
        for login, rights in (("r", "SELECT"), ("w", "ALL")):
            cursor.execute(f"CREATE USER '{name}_{login}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT {rights} ON {name}.* TO '{name}_{login}'@'127.0.0.1'")
        try:
            for each in statements(quote="`", json="json", time="datetime"):
                cursor.execute(each)

            def checksum() -> str:
                seen: list[object] = []
                for table in NAMES:
                    cursor.execute(f"SELECT * FROM {name}.`{table}` ORDER BY 1")
                    seen.append(cursor.fetchall())
                cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (name,))
                seen.append(sorted(cursor.fetchall()))
                cursor.execute("SELECT user FROM mysql.user WHERE user LIKE 'evil%'")
                seen.append(cursor.fetchall())
                cursor.execute("SHOW DATABASES LIKE 'evil'")
                return digest([*seen, cursor.fetchall()])

            url = f"mysql://{name}_{{}}:{PASSWORD}@127.0.0.1:3306/{name}"
            yield World("mysql", url.format("r"), checksum, url.format("w"), admin)
        finally:
            cursor.execute(f"DROP DATABASE {name}")
            for login in "rw":
                cursor.execute(f"DROP USER '{name}_{login}'@'127.0.0.1'")


@contextmanager
def served(settings: Settings, **urls: str) -> Iterator[Server]:
    """A broker that serves on the socket of these settings. `urls` are those of environment variables."""
    server = Server(Broker(settings, urls, folder=settings.home), settings.broker_socket)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


@contextmanager
def sqlite(folder: Path) -> Iterator[World]:
    path = folder / "shop.db"
    with sqlite3.connect(path) as made:
        for each in statements():
            made.execute(each)
    made.close()
    yield World("sqlite", f"sqlite:///{path}", lambda: _files(folder))


@contextmanager
def duckdb_file(folder: Path) -> Iterator[World]:
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE SEQUENCE orders_seq")
        for each in statements(json="json"):
            made.execute(each)
    yield World("duckdb", f"duckdb:///{path}", lambda: _files(folder))


@contextmanager
def folder_of_files(folder: Path) -> Iterator[World]:
    with duckdb.connect(":memory:") as made:
        for each in statements(json="json"):
            made.execute(each)
        made.execute(f"COPY customers TO '{folder}/customers.parquet'")
        made.execute(f"COPY orders TO '{folder}/orders.parquet'")
        made.execute(f"COPY salaries TO '{folder}/salaries.csv'")
        made.execute(f"""COPY "Odd Name" TO '{folder}/odd name.csv'""")
    yield World("folder", f"folder:///{folder}", lambda: _files(folder))


@contextmanager
def bucket_of_files(folder: Path) -> Iterator[World]:
    """The same files below a prefix of a bucket; a file beside the prefix is none of the source's."""
    with object_store(folder / "objects.log") as store:
        files = s3fs.S3FileSystem(key="playground", secret="playground", endpoint_url=store.endpoint)
        files.mkdir("shop-bucket")
        own = folder / "files"
        own.mkdir()
        with folder_of_files(own):
            for path in own.iterdir():
                files.put(str(path), f"shop-bucket/data/{path.name}")
        files.pipe("shop-bucket/other/theirs.csv", b"id\n1\n")
        files.invalidate_cache()

        def checksum() -> str:
            files.invalidate_cache()
            found = files.find("shop-bucket", detail=True)
            return digest([(path, each["ETag"], each["size"]) for path, each in sorted(found.items())])

        url = f"s3://playground:playground@shop-bucket/data?endpoint={store.endpoint}&region=us-east-1"
        yield World("s3", url, checksum)


def _files(folder: Path) -> str:
    return digest([(path.name, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()])


def _socket() -> str:
    for path in ("/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/tmp/mysql.sock"):
        with suppress(OSError):
            if Path(path).is_socket():
                return path
    raise OSError("no socket found")
