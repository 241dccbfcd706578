"""From "what drives churn?" to a report, on the telco tables in real databases: joined data, a model, a chart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pandas as pd
import pytest
import sources_world
from sources_world import PASSWORD, World

from tryout.demo_database import make_database

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
TELCO = ROOT / "examples" / "telco"
TABLES = ("churn", "demographics", "payments", "services")
RATES = """
rates = query('''
    select s.contract, avg(case when c.churn = 'Yes' then 1e0 else 0e0 end) as rate, count(*) as customers
    from churn c join services s on s.customer_id = c.customer_id
    group by s.contract order by s.contract
''')
rates["rate"] = rates["rate"].astype(float)
print(rates.round(6).to_json(orient="records"))
"""
MODEL = """
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

joined = query('''
    select c.churn, s.tenure_months, s.contract, p.monthly_charges, p.late_payments, d.age
    from churn c
    join services s on s.customer_id = c.customer_id
    join payments p on p.customer_id = c.customer_id
    join demographics d on d.customer_id = c.customer_id
    where s.tenure_months >= :least
''', params={"least": 0})
features = pd.get_dummies(joined.drop(columns="churn"), columns=["contract"]).astype(float)
left = joined["churn"].eq("Yes")
train, test, left_train, left_test = train_test_split(features.fillna(0), left, random_state=7, stratify=left)
model = LogisticRegression(max_iter=5_000).fit(train, left_train)
print(json.dumps({"rows": len(joined), "auc": roc_auc_score(left_test, model.predict_proba(test)[:, 1])}))
"""
CHART = """
axes = rates.plot.barh(x="contract", y="rate", legend=False)
axes.set_title("Share of customers who left, by contract")
axes.set_xlabel("share")
"""
IMPORTS = "import json\nimport pandas as pd\n"


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "postgres", "mysql"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A database with the four tables."""
    with ExitStack() as stack:
        if request.param == "postgres":
            world = stack.enter_context(sources_world.postgres(request.getfixturevalue("postgres_address")))
        elif request.param == "mysql":
            world = stack.enter_context(sources_world.mariadb())
        else:
            yield in_a_file(request.param, tmp_path_factory.mktemp("telco") / f"telco.{request.param}")
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
            cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(columns))})", rows)
            if world.kind == "postgres":
                cursor.execute(f"GRANT SELECT ON {name} TO {login}")


def call(name: str, **arguments: str) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


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
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    (turn,) = json.loads(done.stdout)["turns"]
    return dict(turn)


def test_churn_is_explained_from_the_tables_of_a_database(world: World, tmp_path: Path) -> None:
    script = [
        call("run_python", code=IMPORTS + RATES, title="Churn rate by contract"),
        call("run_python", code=IMPORTS + MODEL, title="Which customers leave?"),
        call("run_python", code=CHART, title="Chart"),
        call("finish", report="**Customers with monthly contracts leave most.**"),
    ]
    (tmp_path / "script.json").write_text(json.dumps(script))
    turn = ask(world, tmp_path, "scripted:script.json", "What drives churn?")
    rates, model, chart = turn["cells"]
    assert [cell["status"] for cell in turn["cells"]] == ["ok"] * 3, [cell["error"] for cell in turn["cells"]]
    assert json.loads(rates["stdout"]) == expected()
    said = json.loads(model["stdout"])
    assert said["rows"] == len(pd.read_csv(TELCO / "churn.csv"))
    assert 0.6 < said["auc"] < 0.99, "better than chance, and no column gives the answer away"
    assert [file["mimetype"] for file in chart["artifacts"]] == ["image/png"]
    assert turn["report"]["markdown"].count("telco") >= 2, "the report names the source of each statement"


def test_the_offline_analyst_explains_churn_from_the_same_tables(world: World, tmp_path: Path) -> None:
    turn = ask(world, tmp_path, "offline", "What drives churn? Use the telco database.")
    last = {cell["title"]: cell["status"] for cell in turn["cells"]}  # what a column of text taught it was repaired
    assert set(last.values()) == {"ok"}, turn["cells"]
    report = turn["report"]["markdown"]
    for rate in expected():
        if rate["contract"] in ("Month-to-month", "Two year"):
            assert f"{rate['rate']:.1%}" in report, report
    assert "unseen" in report, "the model is judged on rows that it has not seen"
    pictures = [file for cell in turn["cells"] for file in cell["artifacts"] if file["mimetype"] == "image/png"]
    assert len(pictures) >= 2


def expected() -> list[dict[str, Any]]:
    """The rates, computed from the files."""
    joined = pd.read_csv(TELCO / "churn.csv").merge(pd.read_csv(TELCO / "services.csv"), on="customer_id")
    left = joined.assign(rate=joined["churn"].eq("Yes").astype(float)).groupby("contract")["rate"]
    return [
        {"contract": name, "rate": round(rate, 6), "customers": int(count)}
        for name, rate, count in zip(left.mean().index, left.mean(), left.size(), strict=True)
    ]
