"""`threadbook eval` on real processes: a model that is always right gets every point, the offline analyst its floor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.suite.__main__ import questions, write
from bench.suite.values import UNKNOWN, Item
from core.settings import load_settings
from tryout.evals.results import read_results
from tryout.evals.run import Options, run

pytestmark = [pytest.mark.integration, pytest.mark.early]

PERFECT = (
    "orders-top-region",
    "dirty-total",
    "inventory-worth-month",
    "shipments-weekday",
    "zh-top-region",
    "trap-women",
)
RIGHT = 11
"""What the built-in analyst gets right of the questions below, at least."""
FIRM = ("orders-total", "staff-since-2020", "visits-slowest-ward", "tickets-open", "trap-profit", "zh-total")


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("suite"))


def written(item: Item) -> dict[str, str]:
    """The right values, as the question wants them written."""
    return {
        name: "not in the data" if value is UNKNOWN else str(value) if decimals is None else f"{value:.{decimals}f}"
        for name, (value, decimals) in item.golds.items()
    }


def perfect_script(items: list[Item]) -> dict[str, Any]:
    """A model that reads the first file, prints what it answers, and tags it in a report in the question's language."""
    cells, reports = [], []
    for item in items:
        values = written(item)
        code = f"print(len(open({item.files[0]!r}, 'rb').read()) > 0)\nprint('solved {item.id}', {json.dumps(values)})"
        cells.append(
            {"when": item.text, "calls": [{"name": "run_python", "arguments": {"code": code, "title": "Look"}}]}
        )
        told = ", ".join(f"@{name}[{value}]" for name, value in values.items())
        report = f"**{told}**\n\n## Method\n\nRead `{item.files[0]}` and computed it in one cell."
        finish = {"name": "finish", "arguments": {"report": report}}
        reports.append({"when": f"solved {item.id} ", "calls": [finish]})
    return {"replies": [cells, reports]}


def test_tags_in_a_real_report_are_scored_and_a_second_run_asks_nothing(suite: Path, tmp_path: Path) -> None:
    script = tmp_path / "perfect.json"
    script.write_text(json.dumps(perfect_script([item for item in questions() if item.id in PERFECT])))
    options = Options(model=f"scripted:{script}", at_once=3, out=tmp_path / "out", only=PERFECT, at_least=1.0)
    code = run(load_settings(), suite, options)
    results = {result.id: result for result in read_results(tmp_path / "out" / "results.jsonl")}
    assert {name: result.outcome for name, result in results.items()} == dict.fromkeys(PERFECT, "right")
    assert code == 0
    transcript = json.loads((tmp_path / "out" / "transcripts" / results["dirty-total"].transcript).read_text())
    assert "@total[" in transcript["turns"][-1]["report"]["markdown"]
    assert transcript["thread"][0]["text"].startswith("<@")
    before = (tmp_path / "out" / "results.jsonl").read_bytes()
    assert run(load_settings(), suite, options) == 0
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == before


@pytest.mark.timeout(900)  # thirty-five questions on the whole stack: 83 s beside two other workers
def test_the_offline_analyst_is_right_or_says_that_it_cannot(suite: Path, tmp_path: Path) -> None:
    """One question in five of the whole suite. All of them: `make eval`, 30 right and none wrong of 146."""
    asked = tuple(sorted({*[item.id for item in questions()][4::5], *FIRM}))
    assert run(load_settings(), suite, Options(model="offline", at_once=3, out=tmp_path / "out", only=asked)) == 0
    outcomes = {result.id: result.outcome for result in read_results(tmp_path / "out" / "results.jsonl")}
    assert set(outcomes) == set(asked)
    assert "wrong" not in outcomes.values()
    assert list(outcomes.values()).count("right") >= RIGHT
