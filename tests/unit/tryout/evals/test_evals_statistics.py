"""Intervals and the paired test, against scipy and statsmodels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar

from tryout.evals.results import Result, append_result, read_results, right_by_name, summary
from tryout.evals.statistics import mcnemar_exact, paired, wilson


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_that_of_scipy(drawn: tuple[int, int]) -> None:
    right, asked = drawn
    expected = binomtest(right, asked).proportion_ci(method="wilson")
    assert wilson(right, asked) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_without_a_question_anything_is_possible() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_paired_test_is_that_of_statsmodels(first: int, second: int) -> None:
    expected = mcnemar([[0, first], [second, 0]], exact=True).pvalue if first + second else 1.0
    assert mcnemar_exact(first, second) == pytest.approx(expected, abs=1e-12)


def test_two_runs_are_compared_by_the_questions_that_both_have() -> None:
    first = {"a": True, "b": True, "c": False, "only here": True}
    second = {"a": True, "b": False, "c": True, "only there": False}
    compared = paired(first, second)
    assert (compared.pairs, compared.only_first, compared.only_second) == (3, ("b",), ("c",))
    assert compared.p == 1.0


def test_repeats_of_a_question_count_as_one() -> None:
    results = [Result(id=name, repeat=n, outcome="right" if name == "a" or n == 1 else "wrong", tags=("t",))
               for name in "ab" for n in (1, 2)]  # fmt: skip
    counted = summary(results)
    assert (counted.questions, counted.accuracy, counted.by_tag) == (2, 0.75, {"t": (3, 4)})
    assert (counted.low, counted.high) == wilson(1.5, 2)


def test_what_was_not_scored_changes_no_accuracy() -> None:
    results = [Result(id="a", outcome="right"), Result(id="b", outcome="error"), Result(id="c", outcome="skipped")]
    assert summary(results).accuracy == 1.0
    assert right_by_name(results) == {"a#1": True}


def test_half_a_line_of_an_interrupted_run_is_passed_over(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    append_result(path, Result(id="a", outcome="right"))
    with path.open("a") as file:
        file.write('{"id": "b", "outc')
    append_result(path, Result(id="c", outcome="wrong"))
    append_result(path, Result(id="a", outcome="wrong"))
    assert [(result.id, result.outcome) for result in read_results(path)] == [("a", "wrong"), ("c", "wrong")]
    assert read_results(tmp_path / "none.jsonl") == ()
