"""The database of the demo: the same tables as the files, and a story that uses the team's metric."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.settings import load_settings
from tryout.demo_database import TELCO, ask_database, expected_rates, make_database
from workers.sources.guard.check import check
from workers.sources.knowledge.folder import read_folder
from workers.sources.knowledge.otherwise import computed_otherwise
from workers.sources.values import TableName, Visible

STORY: dict[str, Any] = yaml.safe_load((TELCO / "database.yaml").read_text(encoding="utf-8"))


def test_the_database_holds_what_the_files_hold(tmp_path: Path) -> None:
    make_database(tmp_path / "telco.db", STORY["tables"])
    with closing(sqlite3.connect(tmp_path / "telco.db")) as database:
        for table in STORY["tables"]:
            lines = (TELCO / f"{table}.csv").read_text(encoding="utf-8").splitlines()
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (len(lines) - 1,)
        blanks = database.execute("SELECT count(*) FROM payments WHERE total_charges IS NULL").fetchone()
        numbers = database.execute("SELECT DISTINCT typeof(monthly_charges) FROM payments").fetchall()
        rates = database.execute(
            "SELECT contract, avg(churn = 'Yes'), count(*) FROM churn JOIN services USING (customer_id) "
            "GROUP BY contract ORDER BY contract"
        ).fetchall()
    assert (blanks, numbers) == ((170,), [("real",)])
    assert [(name, round(rate, 6), count) for name, rate, count in rates] == [
        (each["contract"], each["churn_rate"], each["customers"]) for each in expected_rates()
    ]


RATES = """
select s.contract, avg(case when churn = 'Yes' then 1.0 else 0.0 end) as churn_rate, count(*) as customers
from churn c join services s on s.customer_id = c.customer_id
group by s.contract order by s.contract
"""


def test_a_metric_of_the_team_is_told_from_another_number_of_its_name() -> None:
    visible = Visible(tuple(sorted(TableName("main", name) for name in STORY["tables"])), ("main",))
    metrics = read_folder(TELCO / "dictionary").metrics
    sent = check(RATES, "sqlite", visible).sql
    assert computed_otherwise(metrics, sent, "sqlite", visible, ["churn_rate"]) == ()
    other = check(RATES.replace("'Yes'", "'No'"), "sqlite", visible).sql
    assert computed_otherwise(metrics, other, "sqlite", visible, []) == ("churn rate",)


@pytest.mark.integration
def test_the_demo_is_answered_from_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("THREADBOOK_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert ask_database(tmp_path / "home", load_settings({}, tmp_path)) == []
