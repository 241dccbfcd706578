"""A cell's facts are read once, and are those that reading anew gives."""

from __future__ import annotations

import pytest

from core.steps import CellRan, Step
from core.weighed_cache import WeighedCache
from workers.agent.provenance.outputs import thread as outputs
from workers.agent.provenance.outputs.facts import Fact, Facts
from workers.agent.provenance.outputs.thread import facts_of
from workers.agent.provenance.second import Chosen, compare_figures

TABLE = "region   sales  share\nNorth      120    40%\nSouth      100    60%\nTotal      220   100%\n"
LOG = "2024-03-01 12:30 loaded 1,250 rows (1250, 4)\nmean 3.5\nRevenue: 1.2 Mio. €\n"


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "_KEPT", WeighedCache[Facts](1_000, lambda facts: len(facts.facts) + 1))


def cell(number: int, stdout: str, title: str = "") -> CellRan:
    return CellRan(
        call_id=f"k{number}", cell_id=f"c{number}", title=title, code="x > 40", status="ok", stdout=stdout, result="7"
    )


def shown(facts: Facts) -> object:
    def of(fact: Fact) -> object:
        labels = [(label, family.labels, family.binds, family.columns) for family, label in fact.keys]
        at = (fact.row, fact.column, fact.turn, fact.given, fact.percent)
        return (fact.value, fact.decimals, fact.place, fact.unit, fact.scale, labels, sorted(fact.words), at)

    places = [list(each.items()) for each in (facts.days, facts.times, facts.counts)]
    families = [(each.labels, each.binds) for each in facts.families]
    return [of(fact) for fact in facts.facts], places, families, facts.currencies, facts.scales, facts.cells


def read_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read, texts = outputs.read_text, list[str]()

    def noted(text: str, reader: outputs.Reader) -> outputs.Found:
        texts.append(text)
        return read(text, reader)

    monkeypatch.setattr(outputs, "read_text", noted)
    return texts


def test_a_cell_is_read_once_for_all_reports_of_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = read_texts(monkeypatch)
    first: list[Step] = [cell(1, TABLE), cell(2, LOG)]
    facts_of([[], first])
    facts_of([[], [step.model_copy() for step in first]])  # a later job has read the same steps from the Store
    assert texts == [TABLE, "7", LOG, "7"]
    facts_of([first, [cell(3, "x 5")]])
    assert texts[4:] == [TABLE, "7", LOG, "7", "x 5", "7"]  # as cells of an earlier turn they are others
    facts_of([first, [cell(3, "x 5"), cell(4, "y 6")]])
    assert texts[10:] == ["y 6", "7"]


def test_kept_facts_are_those_that_reading_anew_gives() -> None:
    turns: list[list[Step]] = [[cell(1, TABLE), cell(2, LOG)], [cell(3, TABLE, "share in percent"), cell(4, LOG)]]
    anew = shown(facts_of(turns, own=True))
    assert shown(facts_of(turns)) == anew
    assert shown(facts_of(turns)) == anew


def test_a_second_way_changes_no_kept_fact() -> None:
    computed = '{"North": 120, "South": 100}'
    step = CellRan(call_id="", cell_id="second", title="", code="", status="ok", result=computed)
    before = shown(facts_of(((step,),)))
    compare_figures("North has 120.", [Chosen(10, "120", 120.0)], computed, [100])
    assert shown(facts_of(((step,),))) == before
