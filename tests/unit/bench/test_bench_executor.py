"""The executor's bench judges what it measured, and its contestants run cells. No time is asserted on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from bench import many
from bench.goals import rows
from bench.processes import new_memory_s
from bench.rivals import contestants
from bench.rivals.contestants import Driven, PlainChild
from bench.rivals.environment import LeftOut

pytestmark = pytest.mark.process


def raw(**changes: Any) -> dict[str, Any]:
    times = {"threadbook": [0.001], "plain child": [0.1], "ipykernel": [0.2], "open-interpreter": [0.6]}
    figures: dict[str, Any] = {
        "left_out": {},
        "start_s": times,
        "cell_s": times,
        "prints_s": times,
        "memory": {
            "sessions": 500,
            "alive": 500,
            "wrong": 0,
            "up_s": 4.0,
            "group_by_s": 3.0,
            "new_memory_mib": 3000.0,
            "new_memory_s": 2.5,
            "why": "",
            "at": {"50": {"pss_mib": 4.0}, "500": {"pss_mib": 3.0}},
            "rivals_mib": {"ipykernel": 90.0},
        },
        "flood": {
            "before_mib": 50.0,
            "peak_mib": 55.0,
            "after_mib": 51.0,
            "status": "ok",
            "seconds": 1.0,
            "said": True,
        },
        "restore": {"restore_s": [0.1], "again_s": [0.5], "same": True},
        "many": {
            "sessions": 500,
            "alive": 500,
            "up_s": 5.0,
            "failed": 0,
            "rested": 250,
            "asked_s": 3.0,
            "wrong": 0,
            "wrong_examples": [],
        },
    }
    return figures | changes


def verdicts(figures: dict[str, Any]) -> list[bool | None]:
    return [row.met for row in rows(figures) if row.asked]


def test_figures_within_every_goal_meet_every_goal() -> None:
    assert verdicts(raw()) == [True] * 9


def test_a_goal_whose_rival_could_not_be_measured_is_not_met_by_default() -> None:
    figures = raw(cell_s={"threadbook": [0.001], "ipykernel": [0.2]}, left_out={"open-interpreter": "no network"})
    row = next(row for row in rows(figures) if row.goal == "P2")
    assert (row.met, row.why) == (None, "open-interpreter not measured: no network")


def test_a_miss_is_a_miss_even_when_another_rival_is_missing() -> None:
    figures = raw(cell_s={"threadbook": [0.001], "ipykernel": [0.002]}, left_out={"open-interpreter": "no network"})
    assert next(row for row in rows(figures) if row.goal == "P2").met is False


@pytest.mark.parametrize(
    "changed", [{"alive": 499}, {"wrong": 1}, {"up_s": 5.1}], ids=["one died", "one wrong answer", "too late"]
)
def test_all_sessions_must_live_answer_and_be_up_in_time(changed: dict[str, Any]) -> None:
    figures = raw()
    figures["memory"] |= changed
    assert next(row for row in rows(figures) if row.goal == "P4").met is False


def test_the_start_of_many_sessions_is_shown_beside_what_their_memory_costs_this_machine() -> None:
    why = next(row for row in rows(raw()) if row.goal == "P4").why
    assert "2.50 s only to hand out the 3000 MiB" in why


@pytest.mark.parametrize("mib", [16, 0.5, -3.0], ids=["some", "little", "freed meanwhile"])
def test_new_memory_is_really_taken(mib: float) -> None:
    assert new_memory_s(mib) > 0


@pytest.mark.parametrize(
    "changed",
    [{"alive": 499}, {"rested": 249}, {"failed": 1}, {"wrong": 1}],
    ids=["died", "no rest", "failed", "wrong"],
)
def test_the_show_is_held_only_when_all_live_half_rest_and_all_are_correct(changed: dict[str, Any]) -> None:
    figures = raw()
    figures["many"] |= changed
    assert rows(figures)[-1].met is False


def test_sessions_that_were_put_to_rest_answer_as_those_that_were_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "IDLE_S", 3.0)
    monkeypatch.setattr(many, "AWAKE_EVERY_S", 0.5)
    found = many.show(4)
    assert (found["wrong"], found["failed"], found["wrong_examples"]) == (0, 0, [])
    assert found["rested"] >= 2


def test_fewer_sessions_than_the_goal_names_prove_nothing() -> None:
    figures = raw()
    figures["memory"] |= {"sessions": 50, "alive": 50}
    assert next(row for row in rows(figures) if row.goal == "P4").met is None


def test_a_flood_without_a_notice_misses_its_goal() -> None:
    figures = raw()
    figures["flood"]["said"] = False
    assert [row.met for row in rows(figures) if row.what.startswith("100 MB")] == [False]


def test_a_plain_child_keeps_its_variables_between_cells() -> None:
    with PlainChild().open("x = 1\nprint(x)") as session:
        assert len(session.timed("x = x + 1", 3)) == 3
        assert (session.first, session.run("print(x)")) == ("1\n", "4\n")


def test_a_rival_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    python = tmp_path / "env" / "bin" / "python"
    python.symlink_to(sys.executable)
    monkeypatch.setattr(contestants, "environment", lambda name, packages: python)
    rival = Driven("no such rival", [])
    with pytest.raises(RuntimeError, match="ended or took too long"), rival.open("print(1)"):
        pass


def test_a_rival_that_cannot_be_installed_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, packages: object) -> Path:
        raise LeftOut(f"could not be installed: {name}")

    monkeypatch.setattr(contestants, "environment", refuse)
    found, left_out = contestants.rivals()
    assert "plain child" in [rival.name for rival in found]
    assert left_out["smolagents"] == "could not be installed: smolagents"
