"""The second part of `make demo`: the telco tables in a database that is a named data source."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

from core.settings import Settings
from tryout.commands import show
from tryout.commands.ask import CHANNEL
from tryout.sample_data import EXAMPLES
from tryout.stack.conversation import Conversation
from tryout.stack.stack import running

TELCO = EXAMPLES / "telco"
NUMBERS = {
    "age": "INTEGER",
    "tenure_months": "INTEGER",
    "late_payments": "INTEGER",
    "monthly_charges": "REAL",
    "total_charges": "REAL",
}
"""The columns that hold numbers. All others are text."""


def ask_database(home: Path, settings: Settings) -> list[str]:
    """Ask the story in a stack of its own below `home`; returns what is missing of its answer, as phrases.

    `settings` are those of the environment: with a model in them, that model answers. Raises what `running` does.
    """
    home.mkdir(parents=True, exist_ok=True)
    story: dict[str, Any] = yaml.safe_load((TELCO / "database.yaml").read_text(encoding="utf-8"))
    make_database(home / "telco.db", story["tables"])
    (home / "telco.url").write_text(f"sqlite:///{home / 'telco.db'}", encoding="utf-8")
    (home / "threadbook.toml").write_text(
        f"[sources.{story['source']}]\nurl_file = 'telco.url'\ndescription = 'Customers of a telephone company.'\n"
        f"dictionary = {json.dumps(str(TELCO / 'dictionary'))}\n",
        encoding="utf-8",
    )
    environment = {"THREADBOOK_CONFIG": str(home / "threadbook.toml")}
    with running(home, show.line, environment=environment) as stack:
        talk = Conversation(stack, CHANNEL, show.Transcript(stack.slack.names()))
        status = talk.say(story["question"], [], user=story["author"])
        files = talk.save_files(home / "thread")
        show.saved(files)
        report = talk.save_report(talk.turns()[-1], home / "report")
        show.saved(report, "report")
        return _missing(
            talk, status, [*files.values(), *report.values()], is_offline=settings.model_choice == "offline"
        )


def make_database(path: Path, tables: list[str]) -> None:
    """Write the tables of the example files into a SQLite file. A blank is a null."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for name in tables:
            rows = _rows(name)
            columns = list(rows[0])
            typed = ", ".join(f"{column} {NUMBERS.get(column, 'TEXT')}" for column in columns)
            database.execute(f"CREATE TABLE {name} ({typed})")
            marks = ", ".join("?" * len(columns))
            values = [[value.strip() or None for value in row.values()] for row in rows]
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", values)  # noqa: S608  names of ours
        database.commit()


def expected_rates() -> list[dict[str, Any]]:
    """The churn rate of each contract, computed from the files."""
    contract = {row["customer_id"]: row["contract"] for row in _rows("services")}
    left: dict[str, list[int]] = defaultdict(list)
    for row in _rows("churn"):
        if row["customer_id"] in contract:
            left[contract[row["customer_id"]]].append(row["churn"] == "Yes")
    return [
        {"contract": name, "churn_rate": round(sum(each) / len(each), 6), "customers": len(each)}
        for name, each in sorted(left.items())
    ]


def _rows(table: str) -> list[dict[str, str]]:
    with (TELCO / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _missing(talk: Conversation, status: str, files: list[Path], *, is_offline: bool) -> list[str]:
    if status != "done":
        return [f"an answer from the database (its turn is {status})"]
    cells = list(talk.cells(talk.turns()[-1]))
    missing = []
    if not any(ran.rows for cell in cells for ran in cell.statements):
        missing.append("rows of the database")
    if not any(file.suffix == ".md" for file in files):
        missing.append("a report from the database")
    if is_offline:
        if not any(file.suffix == ".png" for file in files):
            missing.append("a chart from the database")
        reports = [file for file in files if file.suffix == ".md"]
        report = "".join(file.read_text(encoding="utf-8") for file in reports)
        rates = sorted(expected_rates(), key=lambda rate: float(rate["churn_rate"]))
        if any(f"{rate['churn_rate']:.1%}" not in report for rate in (rates[0], rates[-1])):
            missing.append("the churn rates that the files give")
        if "unseen" not in report:
            missing.append("a model that is judged on unseen rows")
    return missing
