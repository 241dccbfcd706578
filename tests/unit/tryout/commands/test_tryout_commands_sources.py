"""`threadbook query` and `threadbook sources` on a SQLite file: what is printed, written and kept to itself."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import sources_world
import structlog.testing
from patience import PATIENCE_S

from core.settings import Settings, load_settings
from core.store import Store
from tryout.commands.sources import Output, run_query, run_sources
from workers.sources.broker.broker import Job

PLANTED = "planted-secret-folder"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    path = tmp_path / PLANTED / "shop.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE orders (id int, note text)")
        made.executemany("INSERT INTO orders VALUES (?, ?)", [(1, "one"), (2, None), (3, "Ünï;\x1b[2J")])
        made.execute("CREATE TABLE salaries (id int)")
    made.close()
    (tmp_path / "threadbook.toml").write_text(
        '[sources.shop]\nurl_env = "SHOP_URL"\ndescription = "Orders."\ntables_denied = ["salaries"]\nmax_rows = 4\n'
        '[sources.gone]\nurl_env = "GONE_URL"\n[sources.unset]\nurl_env = "NO_SUCH_URL"\n'
        '[sources.odd]\nurl_env = "ODD_URL"\n'
    )
    monkeypatch.setenv("SHOP_URL", f"sqlite:///{path}")
    monkeypatch.setenv("GONE_URL", f"sqlite:///{path}-gone")
    monkeypatch.setenv("ODD_URL", f"oracle://me:{PLANTED}@host/db")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/store.db")
    monkeypatch.setenv("THREADBOOK_HOME", str(tmp_path))
    with structlog.testing.capture_logs():
        yield load_settings(cwd=tmp_path)


def test_rows_come_as_json_with_repeated_names_told_apart(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_query(settings, "shop", "SELECT id, id FROM orders WHERE id < 3", Output(as_json=True)) == 0
    assert json.loads(capsys.readouterr().out) == [{"id": 1, "id_2": 1}, {"id": 2, "id_2": 2}]


def test_rows_come_as_a_table_whose_text_cannot_steer_the_terminal(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_query(settings, "shop", "SELECT * FROM orders", Output()) == 0
    shown = capsys.readouterr().out
    assert "3 rows" in shown
    assert "\x1b[2J" not in shown


def test_rows_come_as_files(settings: Settings, tmp_path: Path) -> None:
    csv, parquet = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    assert run_query(settings, "shop", "SELECT id, note FROM orders", Output(csv=csv)) == 0
    assert run_query(settings, "shop", "SELECT id, note FROM orders", Output(parquet=parquet)) == 0
    assert csv.read_text(encoding="utf-8").splitlines()[:2] == ['"id","note"', '1,"one"']
    assert pyarrow.parquet.read_table(parquet).column("id").to_pylist() == [1, 2, 3]


def test_a_result_above_a_limit_leaves_an_older_file_as_it_was(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv = tmp_path / "rows.csv"
    csv.write_text("older")
    assert run_query(settings, "shop", "SELECT a.id FROM orders a, orders b", Output(csv=csv)) == 1
    assert "more than the 4 rows" in capsys.readouterr().err
    assert csv.read_text() == "older"
    assert not list(tmp_path.glob(".*.part"))


def test_explain_prints_what_would_be_sent_and_sends_nothing(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_query(settings, "shop", "select nothing from orders -- x", Output(), explain=True) == 0
    printed = capsys.readouterr()
    assert printed.out == 'SELECT nothing FROM "main"."orders"\n'
    assert "reads main.orders" in printed.err


@pytest.mark.parametrize(
    ("name", "sql", "said"),
    [
        ("shop", "DELETE FROM orders", "DELETE is refused"),
        ("shop", "SELECT * FROM salaries", "no table salaries"),
        ("shop", "SELECT noet FROM orders", "Did you mean note?"),
        ("shop", "SELECT CAST(1 AS evil)", "refused"),
        ("gone", "SELECT 1", "names no file"),
        ("odd", "SELECT 1", "no known scheme"),
        ("unset", "SELECT 1", "NO_SUCH_URL"),
        ("shp", "SELECT 1", "Sources: gone, odd, shop, unset"),
    ],
)
def test_what_went_wrong_is_one_sentence_without_anything_of_the_url(
    settings: Settings, capsys: pytest.CaptureFixture[str], name: str, sql: str, said: str
) -> None:
    assert run_query(settings, name, sql, Output()) == 1
    printed = capsys.readouterr()
    assert said in printed.err
    assert "Traceback" not in printed.err
    assert PLANTED not in printed.out + printed.err


def test_sources_say_which_can_be_asked_and_what_each_shows(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_sources(settings, as_json=True) == 1
    text = capsys.readouterr().out
    found = {each["name"]: each for each in json.loads(text)}
    assert found["shop"]["tables"] == ["main.orders"]
    assert found["shop"]["read_only"] is True
    assert found["shop"]["problem"] == ""
    assert found["shop"]["latency_ms"] >= 0
    assert "names no file" in found["gone"]["problem"]
    assert PLANTED not in text
    assert run_sources(settings) == 1
    shown = capsys.readouterr().out
    assert "Orders." in shown
    assert PLANTED not in shown


def test_no_source_at_all_says_how_to_name_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_sources(load_settings({}, tmp_path)) == 0
    assert "[sources.NAME]" in capsys.readouterr().out


def audited(settings: Settings) -> list[tuple[str, str, str, dict[str, int | str]]]:
    with closing(Store(settings.database_url)) as store:
        return [(line.action, line.resource, line.outcome, dict(line.details)) for line in store.audit_lines()]


def test_the_audit_says_who_asked_what(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    run_query(settings, "shop", "select id from orders -- mine", Output())
    run_query(settings, "shop", "select * from salaries", Output())
    run_query(settings, "shop", "select 1", Output(), explain=True)
    assert audited(settings) == [
        ("query", "shop", "done", {"sql": 'SELECT id FROM "main"."orders"', "rows": 3}),
        ("query", "shop", "refused", {"sql": "select * from salaries", "why": "Refused"}),
    ]
    assert "cli:" in audited_by(settings)


def audited_by(settings: Settings) -> str:
    with closing(Store(settings.database_url)) as store:
        return store.audit_lines()[0].actor


def test_no_row_is_shown_that_the_audit_cannot_tell_of(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    away = settings.model_copy(update={"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/nowhere"})
    assert run_query(away, "shop", "SELECT id FROM orders", Output(as_json=True)) == 1
    printed = capsys.readouterr()
    assert (printed.out, "no row is shown" in printed.err) == ("", True)


def test_a_broker_that_runs_is_asked_and_no_url_is_needed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SHOP_URL")
    with sources_world.served(settings, SHOP_URL=f"sqlite:///{tmp_path}/{PLANTED}/shop.db"):
        assert run_query(settings, "shop", "SELECT count(*) AS n FROM orders", Output(as_json=True)) == 0
        assert json.loads(capsys.readouterr().out) == [{"n": 3}]
        run_sources(settings, as_json=True)
        found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
        assert found["shop"]["problem"] == ""
    assert run_query(settings, "shop", "SELECT count(*) AS n FROM orders", Output()) == 1
    assert "SHOP_URL" in capsys.readouterr().err


def test_a_query_that_is_interrupted_is_stopped_at_the_server(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    began, left = threading.Event(), threading.Event()
    uses, leave = Job.uses, Job.leave

    def noted_use(job: Job, driver: Any) -> None:
        uses(job, driver)
        began.set()

    def noted(job: Job) -> None:
        leave(job)
        left.set()

    def interrupted(*_: object, **__: object) -> None:
        began.wait(PATIENCE_S)
        raise KeyboardInterrupt

    monkeypatch.setattr(Job, "leave", noted)
    monkeypatch.setattr(Job, "uses", noted_use)
    monkeypatch.setattr("workers.sources.broker.client.receive", interrupted)
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c"
    assert run_query(settings, "shop", endless, Output()) == 130
    assert left.wait(PATIENCE_S)
    assert "stopped" in capsys.readouterr().err
