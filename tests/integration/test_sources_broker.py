"""The broker before real servers: a statement that nobody wants ends there, a lost connection is replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sources_world
from patience import PATIENCE_S, eventually
from sources_world import PASSWORD, World

from core.settings import load_settings
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Ask, Request
from workers.sources.errors import Cancelled, SourceError

pytestmark = pytest.mark.integration

LONG = {
    "postgres": "select count(*) from generate_series(1, 100000) a(n), generate_series(1, 100000) b(n), orders",
    "mysql": "select count(*) from " + ", ".join(f"orders o{number}" for number in range(16)),
}


@pytest.fixture(params=["postgres", "mysql"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as stack:
        if request.param == "postgres":
            yield stack.enter_context(sources_world.postgres(request.getfixturevalue("postgres_address")))
        else:
            yield stack.enter_context(sources_world.mariadb())


@pytest.fixture
def client(world: World, tmp_path: Path) -> Iterator[BrokerClient]:
    (tmp_path / "threadbook.toml").write_text('[sources.shop]\nurl_env = "SHOP"\ntables_denied = ["salaries"]\n')
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    with sources_world.served(settings, SHOP=world.reader):
        yield BrokerClient(settings.broker_socket)


def asking(sql: str, **params: Any) -> Request:
    return Request(ask=Ask(ask="rows", source="shop", sql=sql, params=params), seconds=PATIENCE_S, bytes=1 << 24)


def rows(client: BrokerClient, sql: str, **params: Any) -> list[dict[str, Any]]:
    _, descriptor = client.ask(asking(sql, **params), threading.Event())
    with os.fdopen(descriptor or 0, "rb") as file, pa.ipc.open_stream(file) as stream:
        return stream.read_all().to_pylist()


def at_the_server(world: World) -> list[int]:
    """The connections of the reader in which a statement runs, as the server sees them."""
    login = world.reader.split("://")[1].split(":")[0]
    if world.kind == "postgres":
        found = world.admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE usename = %s AND state = 'active'", (login,)
        ).fetchall()
    else:
        with world.admin.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM information_schema.processlist WHERE user = %s AND command = 'Query'", (login,)
            )
            found = cursor.fetchall()
    return [int(row[0]) for row in found]


def connections(world: World, end: Callable[[Any, int], None]) -> None:
    login = world.reader.split("://")[1].split(":")[0]
    if world.kind == "postgres":
        for (pid,) in world.admin.execute("SELECT pid FROM pg_stat_activity WHERE usename = %s", (login,)).fetchall():
            end(world.admin, pid)
    else:
        with world.admin.cursor() as cursor:
            cursor.execute("SELECT id FROM information_schema.processlist WHERE user = %s", (login,))
            for (pid,) in cursor.fetchall():
                end(cursor, pid)


def test_a_statement_that_is_stopped_ends_at_the_server(world: World, client: BrokerClient) -> None:
    stop = threading.Event()
    caught: list[Exception] = []

    def ask() -> None:
        try:
            client.ask(asking(LONG[world.kind]), stop)
        except SourceError as error:
            caught.append(error)

    asked = threading.Thread(target=ask)
    asked.start()
    eventually(lambda: bool(at_the_server(world)), "the statement at the server")
    stop.set()
    asked.join(PATIENCE_S)
    assert [type(error) for error in caught] == [Cancelled]
    eventually(lambda: not at_the_server(world), "the end of the statement at the server")
    assert rows(client, "select count(*) as n from orders") == [{"n": 4}]


def test_a_connection_that_the_server_closed_is_replaced_and_nobody_notices(world: World, client: BrokerClient) -> None:
    assert rows(client, "select count(*) as n from orders") == [{"n": 4}]
    kill = "SELECT pg_terminate_backend({})" if world.kind == "postgres" else "KILL CONNECTION {}"
    connections(world, lambda admin, pid: admin.execute(kill.format(pid)))
    assert rows(client, "select count(*) as n from orders") == [{"n": 4}]


@pytest.mark.parametrize("world", ["postgres"], indirect=True)
def test_a_sample_has_the_columns_that_the_login_may_read(world: World, client: BrokerClient) -> None:
    login = world.reader.split("://")[1].split(":")[0]
    world.admin.execute("CREATE TABLE staff AS SELECT 1 AS id, 'Ada' AS \"Full Name\", 100000 AS pay")
    world.admin.execute(f'GRANT SELECT (id, "Full Name") ON staff TO {login}')
    sample = Request(ask=Ask(ask="sample", source="shop", table="staff", rows=5), seconds=PATIENCE_S, bytes=1 << 24)
    _, descriptor = client.ask(sample, threading.Event())
    with os.fdopen(descriptor or 0, "rb") as file, pa.ipc.open_stream(file) as stream:
        assert stream.read_all().to_pylist() == [{"id": 1, "Full Name": "Ada"}]
    world.admin.execute(f'REVOKE ALL (id, "Full Name") ON staff FROM {login}')


def test_parameters_reach_the_server_as_values(client: BrokerClient) -> None:
    sql = "select id from customers where name = :name"
    assert rows(client, sql, name="Ada") == [{"id": 1}]
    for hostile in ("x' OR '1'='1", "x\\' OR 1=1 -- ", "\\", "'; DROP TABLE customers; --"):
        assert rows(client, sql, name=hostile) == []
        assert rows(client, "select :text as t", text=hostile) == [{"t": hostile}]


def test_no_error_shows_where_the_server_is(client: BrokerClient) -> None:
    for sql in ("select nothing from orders", "select * from nowhere", "drop table orders", "select * from salaries"):
        with pytest.raises(SourceError) as error:
            rows(client, sql)
        assert PASSWORD not in str(error.value)
        assert "127.0.0.1" not in str(error.value)
