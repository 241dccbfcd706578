"""`threadbook query` and `threadbook sources` on a SQLite file: what is printed, written and kept to itself."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pyarrow.parquet
import pytest

from core.settings import Settings, load_settings
from tryout.sources import Output, run_query, run_sources

PLANTED = "planted-secret-folder"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
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
    return load_settings(cwd=tmp_path)


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
