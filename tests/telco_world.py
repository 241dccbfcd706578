"""The telco tables in real databases, and one question about them, asked of a whole stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pandas as pd
import pytest
import sources_world
from patience import PATIENCE_S
from sources_world import PASSWORD, World

from tryout.demo_database import make_database

ROOT = Path(__file__).parents[1]
TELCO = ROOT / "examples" / "telco"
TABLES = ("churn", "demographics", "payments", "services")
KINDS = ("sqlite", "duckdb", "postgres", "mysql")


@contextmanager
def telco(request: pytest.FixtureRequest, folder: Path) -> Iterator[World]:
    """A database with the four tables, of the kind that a fixture's parameter names."""
    with ExitStack() as stack:
        if request.param == "postgres":
            world = stack.enter_context(sources_world.postgres(request.getfixturevalue("postgres_address")))
        elif request.param == "mysql":
            world = stack.enter_context(sources_world.mariadb())
        else:
            yield in_a_file(request.param, folder / f"telco.{request.param}")
            return
        load(world)
        yield world


def in_a_file(kind: str, path: Path) -> World:
    if kind == "sqlite":
        make_database(path, list(TABLES))
    else:
        with duckdb.connect(str(path)) as made:
            for name in TABLES:
                made.register("given", pd.read_csv(TELCO / f"{name}.csv"))
                made.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return World(kind, f"{kind}:///{path}", str)


def load(world: World) -> None:
    login = urlsplit(world.reader).username
    with world.admin.cursor() as cursor:
        for name in TABLES:
            frame = pd.read_csv(TELCO / f"{name}.csv")
            kinds = {"int64": "integer", "float64": "double precision"}
            columns = [f"{column} {kinds.get(str(kind), 'varchar(100)')}" for column, kind in frame.dtypes.items()]
            cursor.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            rows = [tuple(None if pd.isna(value) else value for value in row) for row in frame.astype(object).values]
            # Without it MariaDB compares each customer with each one, four tables deep: a minute on a busy machine.
            cursor.execute(f"CREATE INDEX {name}_customer ON {name} (customer_id)")
            cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(columns))})", rows)
            if world.kind == "postgres":
                cursor.execute(f"GRANT SELECT ON {name} TO {login}")


def ask(world: World, folder: Path, model: str, question: str) -> dict[str, Any]:
    """The one turn of a whole stack that is asked a question about this database."""
    (folder / "threadbook.toml").write_text(
        f'[sources.telco]\nurl_env = "TELCO_URL"\ndictionary = "{TELCO}/dictionary"\ntables_allowed = {list(TABLES)}\n'
    )
    environment = {name: os.environ[name] for name in ("HOME", "PATH")} | {
        "PYTHONPATH": str(ROOT),
        "THREADBOOK_MODEL": model,
        "TELCO_URL": world.reader,
    }
    done = subprocess.run(
        [sys.executable, "-m", "threadbook", "ask", question, "--json"],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    (turn,) = json.loads(done.stdout)["turns"]
    return dict(turn)


def expected() -> list[dict[str, Any]]:
    """The rates, computed from the files."""
    joined = pd.read_csv(TELCO / "churn.csv").merge(pd.read_csv(TELCO / "services.csv"), on="customer_id")
    left = joined.assign(rate=joined["churn"].eq("Yes").astype(float)).groupby("contract")["rate"]
    return [
        {"contract": name, "rate": round(rate, 6), "customers": int(count)}
        for name, rate, count in zip(left.mean().index, left.mean(), left.size(), strict=True)
    ]
