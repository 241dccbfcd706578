"""The offline analyst asks a data source: it lists tables, profiles a named one, and joins those that share a key."""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from conftest import Thread

from tryout.demo_database import expected_rates, make_database
from workers.agent.turn import SourceNote

pytestmark = pytest.mark.long

TELCO = ["demographics", "services", "payments", "churn"]


@pytest.fixture
def telco(thread: Thread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Thread:
    """A thread that may ask the telco tables; what cells call is answered from a SQLite file."""
    make_database(tmp_path / "telco.db", TELCO)

    def query(sql: str, source: str = "", params: object = None) -> pd.DataFrame:
        with sqlite3.connect(tmp_path / "telco.db") as database:
            return pd.read_sql_query(sql, database)

    monkeypatch.setattr(builtins, "query", query, raising=False)
    monkeypatch.setattr(builtins, "tables", lambda source="": sorted(TELCO), raising=False)
    sample: Callable[..., pd.DataFrame] = lambda table, n, source="": query(f"SELECT * FROM {table} LIMIT {n}")  # noqa: E731
    monkeypatch.setattr(builtins, "sample", sample, raising=False)
    thread.sources = (SourceNote("telco", "sqlite"),)
    return thread


def test_what_drives_churn_is_answered_from_the_joined_tables_with_a_model(telco: Thread) -> None:
    answer = telco.ask("What drives churn? Use the telco database.")
    assert not answer.failures
    assert answer.has_tick, answer.report
    assert answer.cells[0].title == "Look at the tables of telco"
    assert all(f"SELECT * FROM {table}" in answer.cells[1].code for table in TELCO)
    assert "validate=" in answer.cells[2].code
    assert "area under the curve" in answer.report or "AUC" in answer.report, answer.report
    assert telco.notebook.figures
    monthly = next(rate for rate in expected_rates() if rate["contract"] == "Month-to-month")
    again = telco.ask("churn rate by contract?")
    assert f"{monthly['churn_rate'] * 100:.1f}%" in again.report, again.report
    assert not [cell for cell in again.cells if "survey" in cell.code.splitlines()[0]], "looked at once"


def test_the_tables_of_a_source_are_listed(telco: Thread) -> None:
    answer = telco.ask("Which tables are there?")
    assert answer.has_tick, answer.report
    assert all(f"telco.{table}" in answer.report for table in TELCO)
    assert len(answer.cells) == 1


def test_a_named_table_is_profiled_alone(telco: Thread) -> None:
    answer = telco.ask("Describe the payments table")
    assert answer.has_tick, answer.report
    assert "monthly_charges" in answer.report.replace(" ", "_"), answer.report
    assert "SELECT * FROM churn" not in answer.cells[1].code


def test_with_several_sources_the_analyst_asks_which(telco: Thread) -> None:
    telco.sources = (SourceNote("telco", "sqlite"), SourceNote("shop", "postgres"))
    answer = telco.ask("What drives churn?")
    assert answer.question is not None
    assert answer.question.options == ("telco", "shop")
    assert telco.ask("telco").has_tick


def test_a_source_that_does_not_answer_is_said_and_nothing_is_made_up(
    telco: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(source: str = "") -> list[str]:
        raise RuntimeError("telco cannot be reached: nothing listens at its address.")

    monkeypatch.setattr(builtins, "tables", away)
    answer = telco.ask("What drives churn?")
    assert not answer.has_tick
    assert "nothing listens" in answer.report
    assert len(answer.cells) == 2


def test_a_greeting_asks_no_source(telco: Thread) -> None:
    assert not telco.ask("Hello!").cells


def test_a_file_is_worked_on_although_there_is_a_source(telco: Thread, examples: Path) -> None:
    answer = telco.ask("Total sales by region?", next(iter(sorted(examples.glob("sales/*.csv")))))
    assert "survey" not in answer.cells[0].code.splitlines()[0]
