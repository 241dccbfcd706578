"""The figures of a report beside those of a second way: the same, another value with a likely reason, or none."""

from __future__ import annotations

import json

import pytest

from core.second_route import RouteFigure
from core.steps import CellRan
from workers.agent.provenance import Provenance, facts_of, trace
from workers.agent.provenance.second import chosen_figures, compare_figures, likely_reason
from workers.agent.report.second_route import read_answers

OUTPUT = "region\nNorth    1200\nSouth    800\ntotal 2000\nshare of North 60.0%\n"
REPORT = "The total is **2,000**; North leads with 1,200 (60 %).\n\n- South sold 800.\n\n## Method\n\nOne sum."


def traced(report: str, output: str = OUTPUT) -> Provenance:
    cell = CellRan(call_id="", cell_id="c1", title="", code="", status="ok", stdout=output)
    return trace(report, facts_of(((cell,),)))


def compared(
    report: str, computed: dict[str, object], output: str = OUTPUT, written: frozenset[float] = frozenset()
) -> list[RouteFigure]:
    provenance = traced(report, output)
    return list(compare_figures(provenance.report, chosen_figures(provenance), json.dumps(computed), written))


def states(report: str, computed: dict[str, object], output: str = OUTPUT) -> list[tuple[str, str, str]]:
    return [(one.figure, one.state, one.value) for one in compared(report, computed, output)]


def test_the_headline_is_the_first_paragraph_with_figures_and_always_means_all() -> None:
    assert [one.figure for one in chosen_figures(traced(REPORT))] == ["2,000", "1,200", "60 %"]
    assert [one.figure for one in chosen_figures(traced(REPORT), all_of_them=True)] == ["2,000", "1,200", "60 %", "800"]
    headed = f"# Sales\n\n## Answer\n\n{REPORT}"
    assert [one.figure for one in chosen_figures(traced(headed))] == ["2,000", "1,200", "60 %"]


def test_what_a_person_gave_and_small_counts_are_not_compared() -> None:
    assert [one.figure for one in chosen_figures(traced("The 2 regions sold 2,000 in 2024."))] == ["2,000"]
    assert chosen_figures(traced("Good morning.")) == ()


def test_rounding_scale_and_percent_make_no_difference() -> None:
    report = "Revenue was 1.23 M, 12.3 % of it in the North."
    output = "revenue 1234567.0\nshare of North in % 12.345\n"
    assert states(report, {"revenue": 1234567.4, "share of North in %": 12.345}, output) == [
        ("1.23 M", "same", ""),
        ("12.3 %", "same", ""),
    ]
    assert [one.state for one in compared(report, {"revenue": 1234567, "share of North": 0.12345}, output)] == [
        "same",
        "same",
    ]


def test_other_values_are_shown_beside_the_figures_that_they_are_about() -> None:
    computed: dict[str, object] = {
        "total amount": 1800,
        "amount of North": 1000,
        "amount of South": 800,
        "share of North in %": 55.556,
    }
    assert states(REPORT, computed) == [
        ("2,000", "other", "1,800"),
        ("1,200", "other", "1,000"),
        ("60 %", "other", "55.556%"),
    ]


def test_what_it_did_not_compute_is_no_difference() -> None:
    assert {one.state for one in compared(REPORT, {"average basket": 17.3})} == {"absent"}
    assert [one.state for one in compared("The total is 2,000.", {"average basket": 17.3})] == ["absent"]
    assert [one.state for one in compared(REPORT, {"total amount": 2000})] == ["same", "absent", "absent"]


def test_a_value_of_another_row_is_no_agreement() -> None:
    assert states("North sold 1,200.", {"North": 800, "South": 1200}) == [("1,200", "other", "800")]
    swapped: dict[str, object] = {"amount of North": 800, "amount of South": 1200}
    assert states("North sold 1,200 and South 800.", swapped) == [("1,200", "other", "800"), ("800", "other", "1,200")]
    table = "| Region | Sold |\n|---|---|\n| North | 1,200 |\n| South | 800 |"
    assert states(table, swapped) == [("1,200", "other", "800"), ("800", "other", "1,200")]


def test_a_thousand_too_small_is_not_read_as_the_same() -> None:
    (figure,) = compared("The total is 2,000.", {"total amount": 2.0})
    assert (figure.state, figure.value, figure.why, figure.factor) == ("other", "2", "scale", "1,000")


def test_names_in_another_language_than_the_report_are_matched_when_only_one_is_left() -> None:
    assert states("总计 2,000。", {"total amount": 1900}) == [("2,000", "other", "1,900")]
    assert states("2024年总销售额为 2,000 元。", {"2024年总销售额": 1900}, "总销售额 2000") == [
        ("2,000 元", "other", "1,900")
    ]


def test_a_p_value_is_compared_with_no_count() -> None:
    report = "Invoiced orders of segment C fell by 12.0 %, which may be chance (p = 0.3151)."
    output = "segment C orders change % -12.0\np 0.3151\n"
    found = states(report, {"invoiced orders of segment C in 2026": 4336}, output)
    assert ("0.3151", "absent", "") in found
    report = "The fall of the orders may be chance (p = 0.3151)."
    assert states(report, {"p": 0.29}, output) == [("0.3151", "other", "0.29")]


def test_names_in_chinese_need_more_than_half_of_their_characters() -> None:
    output = "网店 第一季度 新客户 15\n网店 变化 -14\n"
    report = "网店新客户减少 14 个。"
    assert states(report, {"第一季度全部渠道新客户": 41}, output) == [("14", "absent", "")]
    assert states(report, {"网店新客户减少": 13}, output) == [("14", "other", "13")]


def test_a_number_written_into_the_code_backs_nothing() -> None:
    (figure,) = compared("The total is 2,000.", {"total": 2000}, written=frozenset({2000.0}))
    assert figure.state == "absent"


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (12.3, -12.3, ("sign", "")),
        (2000.0, 2.0, ("scale", "1,000")),
        (0.6, 60.0, ("scale", "100")),
        (2000.0, 4000.0, ("double", "")),
        (2000.0, 1990.0, ("close", "")),
        (2000.0, 1200.0, ("reading", "")),
        (0.0, 5.0, ("reading", "")),
    ],
)
def test_the_likely_reason_follows_from_both_values(first: float, second: float, reason: tuple[str, str]) -> None:
    assert likely_reason(first, second) == reason


@pytest.mark.parametrize(
    ("shown", "read"),
    [
        ("{'total': 2000.0}", {"total": 2000.0}),
        ("{'by region': {'North': 1.0, 'South': None}}", {"by region North": 1.0}),
        ("{'x': True, 'y': 'text', 'z': [1], '': 3, 'big': 1e400}", {}),
        ("{'a\\n b': 1}", {"a b": 1}),
    ],
)
def test_only_names_and_finite_numbers_are_taken_from_a_session(shown: str, read: dict[str, float]) -> None:
    assert json.loads(read_answers(shown) or "null") == read


@pytest.mark.parametrize("shown", ["", "7", "__import__('os')", "{" * 5_000, "{'a': nan}", "[1, 2]"])
def test_anything_else_is_no_answer(shown: str) -> None:
    assert read_answers(shown) is None
