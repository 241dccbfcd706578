"""Cells against the broker: they get rows that they may have, and nothing else of a source, a neighbour or the host."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
import sources_world
from attack_kit import need_layer
from test_attacks_frames import RUNNER
from test_attacks_secrets import FIRST, SCAN, SECOND

from core.blobs import Blobs
from core.settings import Settings, load_settings
from executor.attacks import REACH
from executor.client import SessionClient
from executor.launch import running_host
from executor.values import Sandbox
from workers.agent.turn import SourceNote
from workers.service.processes.broker import BrokerProcess
from workers.sources.broker.client import BrokerClient
from workers.turn.requests import sources
from workers.turn.requests.sources import SourceRequests

TOML = """
[sources.shop]
url_file = "shop.url"
tables_denied = ["salaries"]
max_rows = 1000
max_mb = 1
turn_queries = 40
[sources.hasty]
url_file = "shop.url"
timeout_s = 1
[sources.theirs]
url_file = "shop.url"
"""
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c"
MANY = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 5000) SELECT n FROM c"
WIDE = MANY.replace("5000", "900").replace("SELECT n FROM", f"SELECT n, '{'x' * 2_000}' AS x FROM")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Two sources behind a real broker process; where their file is holds the planted secret."""
    home = tmp_path_factory.mktemp("broker")
    path = home / f"{FIRST}{SECOND}.db"
    with closing(sqlite3.connect(path)) as file:
        for each in sources_world.statements():
            file.execute(each)
        file.commit()
    (home / "shop.url").write_text(f"sqlite:///{path}")
    (home / "threadbook.toml").write_text(TOML)
    made = load_settings({"THREADBOOK_HOME": str(home)}, home)
    process = BrokerProcess(made)
    process.keep()
    yield made
    process.stop()


@pytest.fixture(scope="module")
def client() -> Iterator[SessionClient]:
    with running_host() as opened:
        yield opened


@pytest.fixture
def requests(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> SourceRequests:
    """What answers the cells of a turn that may ask `shop` and not `theirs`."""
    refused = lambda context, thread, steps, source, author: "" if source != "theirs" else "source_channel"  # noqa: E731
    monkeypatch.setattr(sources, "refusal_of", refused)
    turn: Any = SimpleNamespace(
        context=SimpleNamespace(
            settings=settings, broker=BrokerClient(settings.broker_socket), blobs=Blobs(settings.files)
        ),
        sources=(SourceNote("shop"),),
        steps=[],
        thread_id="T1:C1:1.0",
        language="en",
        environment=SimpleNamespace(cell_timeout_s=60.0),
        append=lambda *steps: None,
    )
    return SourceRequests(turn, "T1/c1")


def test_no_cell_finds_where_its_rows_came_from(
    client: SessionClient, requests: SourceRequests, sandbox: Sandbox
) -> None:
    ask = "frames = [query('select * from orders') for turn in range(20)]\nprint(len(tables()), len(frames))"
    assert client.run("scan", "1", ask, on_request=requests).stdout == "3 20\n"
    wrong = "for sql in ('select x from orders', 'drop table orders', 'select * from nowhere'):\n"
    wrong += "    try: query(sql)\n    except Exception as error: print(error)\n"
    wrong += "print(open('/proc/self/environ').read())"
    told = client.run("scan", "2", wrong, on_request=requests)
    assert FIRST not in f"{told.stdout} {told.error}"
    result = client.run("scan", "3", SCAN.format(first=FIRST.encode(), second=SECOND.encode()))
    if result.status != "ok":
        need_layer(sandbox, "private root")
    found, scanned = result.stdout.split()
    assert (int(found), int(scanned) > 1_000) == (0, True)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"ask": "urls"},
        {"ask": "rows", "source": "shop", "sql": "select 1", "thread": "T1:C2:1.0"},
        {"ask": "rows", "source": "shop", "sql": "select 1", "limits": {"rows": 10**9}},
        {"ask": "rows", "source": ["shop"], "sql": "select 1"},
        {"ask": "rows", "source": "shop", "sql": {"$ne": 1}},
        {"ask": "rows", "source": "../shop", "sql": "select 1"},
        {"ask": "rows", "source": "theirs", "sql": "select 1"},
        {"ask": "tables", "source": "theirs"},
        {"ask": "sample", "source": "shop", "table": "salaries", "rows": 5},
        {"ask": "sample", "source": "shop", "table": "orders", "rows": 10**9},
        {"ask": "sample", "source": "shop", "table": 'orders" union select * from "salaries', "rows": 5},
        {"ask": "rows", "source": "shop", "sql": "select :x", "params": {"x": {"y": [[1]]}}},
    ],
)
def test_a_forged_request_is_refused_with_a_sentence(
    client: SessionClient, requests: SourceRequests, payload: dict[str, Any]
) -> None:
    code = f"{RUNNER}\ntry: print('BREACHED', runner.requests.exchange('query', {payload!r}))\n"
    code += "except RuntimeError as error: print(error)"
    result = client.run("forged", f"{payload}", code, on_request=requests)
    assert result.status == "ok"
    assert "BREACHED" not in result.stdout
    assert FIRST not in result.stdout
    assert client.run("forged", f"{payload} after", "print(1 + 1)").stdout == "2\n"


@pytest.mark.parametrize(
    ("sql", "said"),
    [(MANY, "1,000 rows"), (WIDE, "1 MB"), (ENDLESS, "second"), ("select 1", "may send no more")],
    ids=["rows", "bytes", "time", "statements"],
)
def test_every_limit_of_a_result_ends_in_a_sentence_and_the_thread_goes_on(
    client: SessionClient, requests: SourceRequests, sql: str, said: str
) -> None:
    source = "hasty" if sql == ENDLESS else "shop"
    code = f"for turn in range({50 if 'send' in said else 1}):\n    query({sql!r}, source={source!r})"
    result = client.run(f"limit {said}", "1", code, on_request=requests)
    assert result.error is not None
    assert said in result.error.message
    assert client.run(f"limit {said}", "2", "print(1 + 1)").stdout == "2\n"


def test_the_file_of_rows_can_be_read_and_nothing_else(client: SessionClient, requests: SourceRequests) -> None:
    code = f"""{RUNNER}{REACH}
import mmap
value, rows = runner.requests.exchange('query', {{'ask': 'rows', 'source': 'shop', 'sql': 'select 1 as n'}})
size = os.fstat(rows).st_size
tries(
    lambda: os.write(rows, b'x'), lambda: os.ftruncate(rows, 0), lambda: os.ftruncate(rows, 1 << 30),
    lambda: mmap.mmap(rows, size, mmap.MAP_SHARED, mmap.PROT_WRITE),
    lambda: os.fchdir(rows), lambda: os.open('.', os.O_RDONLY, dir_fd=rows),
)
print('tried', size > 0)
"""
    result = client.run("file", "1", code, on_request=requests)
    assert "BREACHED" not in result.stdout
    assert result.stdout.endswith("tried True\n")


def test_the_socket_that_files_come_through_takes_nothing(client: SessionClient, requests: SourceRequests) -> None:
    code = f"""{RUNNER}{REACH}
files = runner.requests._files
tries(
    lambda: files.send(b'x'), lambda: files.sendmsg([b'x']), lambda: socket.send_fds(files, [b'x'], [0]),
    lambda: os.write(files.fileno(), b'x'), lambda: files.connect('/tmp/x'), lambda: files.accept(),
)
print('tried', len(query('select 1 as n')))
"""
    result = client.run("socket", "1", code, on_request=requests)
    assert "BREACHED" not in result.stdout
    assert result.stdout.endswith("tried 1\n")
