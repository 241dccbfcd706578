"""The broker over its socket, with real SQLite files: what it gives out, what it refuses, and how it ends."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sources_world
from patience import PATIENCE_S, eventually
from sources_world import statements

from core.settings import Settings, load_settings
from executor.linux import SEALS
from workers.sources.broker import knowledge
from workers.sources.broker.broker import Broker, Job
from workers.sources.broker.client import BrokerClient, BrokerRestarted
from workers.sources.broker.requests import Ask, Request
from workers.sources.broker.server import Server
from workers.sources.errors import (
    Cancelled,
    LimitReached,
    Misconfigured,
    Refused,
    SourceAway,
    SourceError,
    StatementFailed,
)
from workers.sources.opening import open_source

SECRET = "planted-p4ssw0rd"
EVENT = threading.Event()
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c"


def made(folder: Path, toml: str = "") -> Settings:
    """Settings with a source `shop`, whose SQLite file is there."""
    with closing(sqlite3.connect(folder / "shop.db")) as file:
        for each in statements():
            file.execute(each)
        file.commit()
    (folder / "threadbook.toml").write_text(f'[sources.shop]\nurl_env = "SHOP"\ntables_denied = ["salaries"]\n{toml}')
    return load_settings({"THREADBOOK_HOME": str(folder)}, folder)


@contextmanager
def served(settings: Settings) -> Iterator[BrokerClient]:
    with sources_world.served(settings, SHOP=f"sqlite:///{settings.home}/shop.db"):
        yield BrokerClient(settings.broker_socket, back_s=0.1)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[BrokerClient]:
    with served(made(tmp_path)) as opened:
        yield opened


def request(ask: str = "rows", *, seconds: float = 20, size: int = 1 << 20, **more: Any) -> Request:
    return Request(ask=Ask(ask=ask, source="shop", **more), seconds=seconds, bytes=size)


def rows(client: BrokerClient, sql: str, **params: Any) -> list[dict[str, Any]]:
    _, descriptor = client.ask(request(sql=sql, params=params), threading.Event())
    assert descriptor is not None
    with os.fdopen(descriptor, "rb") as file, pa.ipc.open_stream(file) as stream:
        return stream.read_all().to_pylist()


def refusal(client: BrokerClient, wanted: Request) -> str:
    with pytest.raises(SourceError) as error:
        client.ask(wanted, threading.Event())
    return str(error.value)


def test_rows_come_in_a_sealed_file_with_their_counts_and_the_text_that_was_sent(client: BrokerClient) -> None:
    answer, descriptor = client.ask(request(sql="select name from customers order by id"), threading.Event())
    assert descriptor is not None
    assert (answer.rows, answer.bytes) == (2, os.fstat(descriptor).st_size)
    assert answer.sql == 'SELECT name FROM "main"."customers" ORDER BY id'
    assert fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) == SEALS
    with pytest.raises(PermissionError):
        os.write(descriptor, b"x")
    os.close(descriptor)


def test_columns_of_one_name_are_told_apart(client: BrokerClient) -> None:
    assert rows(client, "select 1 as n, 2 as n, 3 as n_2") == [{"n": 1, "n_3": 2, "n_2": 3}]
    assert rows(client, "select 3 as n_2, 1 as n, 2 as n, 4 as n") == [{"n_2": 3, "n": 1, "n_3": 2, "n_4": 4}]


def test_parameters_are_values_and_never_sql(client: BrokerClient) -> None:
    sql = "select id from customers where name = :name"
    assert rows(client, sql, name="Ada") == [{"id": 1}]
    for hostile in ("x' OR '1'='1", "x\\' OR 1=1 --", "'; DROP TABLE customers --", ":id", "%s"):
        assert rows(client, sql, name=hostile) == []
    assert rows(client, "select id from customers where id in (:ids) order by id", ids=[2, 1]) == [{"id": 1}, {"id": 2}]
    assert rows(client, "select :a as a, :b as b, :c as c", a=None, b=1.5, c="q'") == [{"a": None, "b": 1.5, "c": "q'"}]


@pytest.mark.parametrize(
    ("sql", "params", "said"),
    [
        ("select :x", {}, ":x has no value"),
        ("select ?", {}, "without a name"),
        ("select 1", {"x": 1}, "no :x"),
        ("select :x", {"x": [1]}, "IN (:x)"),
        ("select 1 where 1 in (:x)", {"x": []}, "at least one"),
        ("select :x", {"x": "a\0b"}, "NUL"),
    ],
)
def test_a_parameter_that_does_not_fit_is_a_sentence(
    client: BrokerClient, sql: str, params: dict[str, Any], said: str
) -> None:
    assert said in refusal(client, request(sql=sql, params=params))


def test_tables_columns_and_samples_leave_out_what_is_denied(client: BrokerClient) -> None:
    stop = threading.Event()
    assert client.ask(request("tables"), stop)[0].value == ["Odd Name", "customers", "orders"]
    assert client.ask(request("columns", table="main.CUSTOMERS"), stop)[0].value[0] == ["id", "INT"]
    answer, descriptor = client.ask(request("sample", table="Odd Name", rows=3), stop)
    os.close(descriptor or 0)
    assert (answer.rows, answer.sql) == (1, 'SELECT * FROM "main"."Odd Name" LIMIT 3')
    for ask in ("columns", "sample"):
        assert "no table salaries" in refusal(client, request(ask, table="salaries"))
        assert "mean customers" in refusal(client, request(ask, table="custmers"))


def test_a_table_that_is_new_is_found(client: BrokerClient, tmp_path: Path) -> None:
    assert rows(client, "select count(*) as n from customers") == [{"n": 2}]
    with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
        file.execute("CREATE TABLE fresh AS SELECT 7 AS n")
    eventually(lambda: _found(client), "the new table")


def _found(client: BrokerClient) -> bool:
    try:
        return rows(client, "select n from fresh") == [{"n": 7}]
    except Refused:
        return False


@pytest.mark.parametrize(
    ("wanted", "kind", "said"),
    [
        (request(sql="drop table customers"), Refused, "one SELECT"),
        (request(sql="select nme from customers"), StatementFailed, "mean name"),
        (request(sql=ENDLESS, seconds=0.2), LimitReached, "second"),
        (request(sql="select a.* from orders a, orders b, orders c", size=50), LimitReached, "write a limit"),
    ],
)
def test_what_cannot_be_is_a_sentence_of_its_kind(
    client: BrokerClient, wanted: Request, kind: type[SourceError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        client.ask(wanted, threading.Event())
    assert rows(client, "select 1 as n") == [{"n": 1}]


def test_more_rows_than_the_source_allows_are_no_rows(tmp_path: Path) -> None:
    with served(made(tmp_path, "max_rows = 3\n")) as client:
        assert "more than the 3 rows" in refusal(client, request(sql="select * from orders"))
        assert len(rows(client, "select * from orders limit 3")) == 3


def test_a_statement_ends_when_its_client_does_not_want_it_any_more(tmp_path: Path) -> None:
    with served(made(tmp_path, "connections = 1\n")) as client:
        stop = threading.Event()
        threading.Timer(0.3, stop.set).start()
        with pytest.raises(Cancelled):
            client.ask(request(sql=ENDLESS, seconds=600), stop)
        # The only connection is free again, so the statement has ended.
        assert rows(client, "select 1 as n") == [{"n": 1}]


def test_a_source_that_is_busy_says_so(tmp_path: Path) -> None:
    with served(made(tmp_path, "connections = 1\n")) as client:
        stop = threading.Event()
        long = threading.Thread(target=lambda: _ignored(client, request(sql=ENDLESS, seconds=600), stop))
        long.start()
        eventually(lambda: "busy" in refusal(client, request(sql=ENDLESS, seconds=0.2)), "a busy source")
        stop.set()
        long.join(PATIENCE_S)
        assert not long.is_alive()


def _ignored(client: BrokerClient, wanted: Request, stop: threading.Event) -> None:
    with pytest.raises(Cancelled):
        client.ask(wanted, stop)


def test_a_connection_that_was_lost_is_replaced_once_and_nobody_notices(tmp_path: Path) -> None:
    opened = []

    def connect(source: Any) -> Any:
        opened.append(open_source(source))
        return opened[-1]

    broker = Broker(made(tmp_path), {"SHOP": f"sqlite:///{tmp_path}/shop.db"}, connect, tmp_path)
    server = Server(broker, tmp_path / "b.sock")
    thread = threading.Thread(target=server.serve)
    thread.start()
    client = BrokerClient(tmp_path / "b.sock")
    assert rows(client, "select 1 as n") == rows(client, "select 1 as n")
    assert len(opened) == 1

    def lost(*_: Any) -> Any:
        raise SourceAway("lost")

    opened[0].run = lost
    assert rows(client, "select 1 as n") == [{"n": 1}]
    assert len(opened) == 2
    server.close()
    thread.join()


def test_a_source_that_cannot_be_reached_is_tried_once(tmp_path: Path) -> None:
    tried: list[Any] = []

    def connect(source: Any) -> Any:
        tried.append(source)
        raise SourceAway("shop cannot be reached.")

    broker = Broker(made(tmp_path), {"SHOP": f"sqlite:///{tmp_path}/shop.db"}, connect, tmp_path)
    with pytest.raises(SourceAway):
        broker.answer(request(sql="select 1"), Job())
    assert len(tried) == 1


def test_a_statement_that_is_lost_in_the_middle_of_long_work_is_not_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []

    def connect(source: Any) -> Any:
        opened.append(open_source(source))
        return opened[-1]

    broker = Broker(made(tmp_path), {"SHOP": f"sqlite:///{tmp_path}/shop.db"}, connect, tmp_path)
    _, descriptor = broker.answer(request(sql="select 1"), Job())
    os.close(descriptor or 0)
    monkeypatch.setattr("workers.sources.broker.broker.AT_ONCE_S", 0.0)  # any work is long now

    def lost(*_: Any) -> Any:
        raise SourceAway("lost")

    opened[0].run = lost
    with pytest.raises(SourceAway):
        broker.answer(request(sql="select 1"), Job())
    assert len(opened) == 1


def test_a_broker_that_is_away_is_a_sentence_and_no_wait_without_end(tmp_path: Path) -> None:
    client = BrokerClient(tmp_path / "none.sock", back_s=0.1)
    with pytest.raises(BrokerRestarted, match="does not answer"):
        client.ask(request(sql="select 1"), threading.Event())


def test_only_this_user_can_open_the_socket(tmp_path: Path, client: BrokerClient) -> None:
    assert (tmp_path / "broker.sock").stat().st_mode & 0o777 == 0o600


def test_a_source_without_a_url_says_so_and_shows_no_place(tmp_path: Path) -> None:
    with served(made(tmp_path, f'[sources.other]\nurl_file = "{SECRET}"\n')) as client:
        wanted = Request(ask=Ask(ask="tables", source="other"), seconds=5, bytes=1)
        with pytest.raises(Misconfigured) as error:
            client.ask(wanted, threading.Event())
        assert SECRET not in str(error.value)
        assert client.kinds() == {"shop": "sqlite", "other": ""}


def test_the_schema_comes_with_the_dictionary_and_without_what_is_denied(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    (pages / "metrics").mkdir(parents=True)
    (pages / "orders.md").write_text(
        "---\ntable: orders\n---\nOne row per purchase.\n\n| column | meaning |\n| --- | --- |\n| amount | EUR paid |\n"
    )
    others = ((f"zone {number}", "[]") for number in range(40))
    for name, words in (("turnover", "[revenue]"), ("refund rate", "[returns]"), *others):
        (pages / "metrics" / f"{name}.md").write_text(
            f"---\nmetric: {name}\ntable: orders\nsynonyms: {words}\n---\n\n```sql\nsum(amount)\n```\n"
        )
    with served(made(tmp_path, 'dictionary = "pages"')) as client:
        text = client.ask(request("schema", words="revenue by month").model_copy(update={"tokens": 2_000}), EVENT)[
            0
        ].value
        assert "One row per purchase" in text
        assert "EUR paid" in text
        assert "Metric: turnover" in text
        first, _, names = text.partition("Further metrics, by name: ")
        assert first.index("Metric: turnover") < first.index("Metric: refund rate"), "the named one comes first"
        assert "zone 39" in names
        assert "Metric: zone 39" not in first, "there is no room for all"
        assert "salaries" not in text
        found = client.ask(request("schema", words="purchase"), EVENT)[0].value
        assert "orders" in found
        nothing = client.ask(request("schema", words="qqqq"), EVENT)[0].value
        assert nothing.startswith("Nothing fits")
        assert "No metric of the team fits these words. There are: refund rate, turnover" in nothing


def test_a_renamed_column_is_in_the_schema_once_a_statement_has_failed_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge, "DOUBTED_S", 0.0)
    wanted = request("schema", words="customers").model_copy(update={"tokens": 2_000})
    with served(made(tmp_path)) as client:
        assert "full_name" not in client.ask(wanted, EVENT)[0].value
        with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
            file.execute("ALTER TABLE customers RENAME COLUMN name TO full_name")
        assert "full_name" not in client.ask(wanted, EVENT)[0].value, "nobody has noticed yet"
        assert "full_name" in refusal(client, request(sql="select name from customers"))
        assert "full_name" in client.ask(wanted, EVENT)[0].value


def test_a_dictionary_that_cannot_be_read_costs_only_its_words(tmp_path: Path) -> None:
    with served(made(tmp_path, 'dictionary = "not there"')) as client:
        text = client.ask(request("schema", words="x").model_copy(update={"tokens": 2_000}), EVENT)[0].value
        assert "customers" in text


def test_rows_are_given_out_while_a_large_catalogue_is_still_read(tmp_path: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def connect(source: Any) -> Any:
        driver = open_source(source)
        catalogue = driver.catalogue

        def slow() -> Any:
            begun.set()
            may_end.wait(PATIENCE_S)
            return catalogue()

        driver.catalogue = slow  # type: ignore[method-assign]
        return driver

    broker = Broker(made(tmp_path), {"SHOP": f"sqlite:///{tmp_path}/shop.db"}, connect, tmp_path)
    described = threading.Thread(target=broker.answer, args=(request("schema", words="orders"), Job()))
    given: list[int | None] = []

    def ask() -> None:
        answered, descriptor = broker.answer(request(sql="select * from orders"), Job())
        os.close(descriptor or 0)
        given.append(answered.rows)

    described.start()
    assert begun.wait(PATIENCE_S)
    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(PATIENCE_S / 2)
    before = list(given)
    may_end.set()
    for thread in (described, asking):
        thread.join(PATIENCE_S)
    assert before == [4]
