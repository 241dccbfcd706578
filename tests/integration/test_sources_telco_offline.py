"""From "what drives churn?" to a report without a model, on the telco tables in real databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import telco_world
from sources_world import World
from telco_world import ask, expected

pytestmark = [pytest.mark.integration, pytest.mark.early]


@pytest.fixture(scope="module", params=telco_world.KINDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with telco_world.telco(request, tmp_path_factory.mktemp("telco")) as world:
        yield world


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
