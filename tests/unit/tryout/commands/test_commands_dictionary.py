"""`threadbook dictionary` on a SQLite file: what is written, what is printed, and the exit codes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from core.settings import Settings, load_settings
from tryout.commands.dictionary import run_check, run_draft


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    return sqlite3.connect(tmp_path / "shop.db", isolation_level=None)


@pytest.fixture
def settings(tmp_path: Path, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> Settings:
    database.execute("CREATE TABLE orders (id integer primary key, region text, password text)")
    database.executemany("INSERT INTO orders (region, password) VALUES (?, 'hunter2')", [("NORTH",), ("SOUTH",)] * 9)
    database.execute("CREATE TABLE salaries (pay int)")
    (tmp_path / "threadbook.toml").write_text(
        '[sources.shop]\nurl_env = "SHOP_URL"\ndictionary = "words"\ntables_denied = ["salaries"]\n'
        '[sources.bare]\nurl_env = "SHOP_URL"\n'
    )
    monkeypatch.setenv("SHOP_URL", f"sqlite:///{tmp_path}/shop.db")
    return load_settings(cwd=tmp_path)


def test_a_draft_is_written_once_and_grows_with_the_table(
    settings: Settings, database: sqlite3.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "words" / "orders.md"
    assert run_draft(settings, "shop", None) == 0
    assert [path.name for path in file.parent.iterdir()] == ["orders.md"]
    assert "| region | TEXT | | NORTH, SOUTH | |" in file.read_text()
    assert "hunter2" not in file.read_text()
    edited = file.read_text().replace("trust: unreviewed", "trust: high")
    file.write_text(edited)
    assert run_draft(settings, "shop", None) == 0
    assert file.read_text() == edited
    database.execute("ALTER TABLE orders ADD COLUMN note text")
    capsys.readouterr()
    assert run_draft(settings, "shop", None) == 0
    assert "orders.md: added note" in capsys.readouterr().out
    assert [line for line in file.read_text().splitlines() if line not in edited.splitlines()] == [
        "| note | TEXT | | | |"
    ]
    assert not list(file.parent.glob(".*"))


def test_a_file_that_cannot_be_read_is_named_and_left_alone(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "words" / "orders.md"
    file.parent.mkdir()
    file.write_text("my notes")
    assert run_draft(settings, "shop", None) == 1
    assert file.read_text() == "my notes"
    said = capsys.readouterr().err
    assert "orders.md:1: begins without front matter" in said
    assert "main.orders was left out" in said


def test_check_lists_the_differences_and_says_so_by_its_exit_code(
    settings: Settings, database: sqlite3.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "elsewhere"
    assert run_check(settings, "bare", out) == 1
    assert run_draft(settings, "bare", out) == 0
    capsys.readouterr()
    assert run_check(settings, "bare", out) == 0
    assert "no difference between bare and what" in capsys.readouterr().out
    database.execute("ALTER TABLE orders DROP COLUMN region")
    database.execute("CREATE TABLE visits (id int)")
    assert run_check(settings, "bare", out) == 1
    printed = capsys.readouterr().out
    assert "column is gone: orders.region" in printed
    assert "new table: visits" in printed
    assert printed.splitlines()[-1].startswith("2 differences")


def test_what_went_wrong_is_one_sentence(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    for name, said in (("bare", "give --out FOLDER"), ("shp", "Sources: bare, shop")):
        for run in (run_draft, run_check):
            assert run(settings, name, None) == 1
            assert said in capsys.readouterr().err
