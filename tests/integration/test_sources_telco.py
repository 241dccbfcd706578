"""From "what drives churn?" to a report, on the telco tables in real databases: joined data, a model, a chart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import telco_world
from sources_world import World
from telco_world import TELCO, ask, expected

pytestmark = [pytest.mark.integration, pytest.mark.early]

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


@pytest.fixture(scope="module", params=telco_world.KINDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with telco_world.telco(request, tmp_path_factory.mktemp("telco")) as world:
        yield world


def call(name: str, **arguments: str) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


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
