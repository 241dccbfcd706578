"""The floors of the check: how many planted faults it finds, and how few true figures it flags.

`docs/trust.md` publishes the figures. `python tests/unit/workers/agent/provenance/measure.py` prints them.
"""

from __future__ import annotations

import pytest
from generator import KINDS
from measure import (
    HELD_OUT,
    HELD_OUT_2,
    HELD_OUT_3,
    HELD_OUT_4,
    HELD_OUT_5,
    HELD_OUT_6,
    HELD_OUT_9,
    HELD_OUT_10,
    HELD_OUT_11,
    SETTLED_ON,
    Measured,
    dialogue,
    first_drafts,
    generated,
    held_out,
    numbers_by_hand,
    random_passes,
    random_passes_by_hand,
    unrelated,
)

from core.steps import Briefed

CASES = 360


@pytest.fixture(scope="module")
def suite() -> Measured:
    return generated(CASES)


@pytest.fixture(scope="module")
def by_hand() -> Measured:
    return held_out()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_at_least_98_percent_of_planted_faults_are_flagged(suite: Measured, kind: str) -> None:
    assert suite.planted[kind] >= 100
    assert suite.found[kind] / suite.planted[kind] >= 0.98


@pytest.mark.long
def test_at_most_one_of_25_generated_reports_has_a_false_flag(suite: Measured) -> None:
    assert suite.reports == CASES
    assert suite.flagged_reports <= suite.reports / 25


def test_reports_by_hand_hold_the_same_floors(by_hand: Measured) -> None:
    assert by_hand.reports >= 60
    assert by_hand.flagged_reports <= by_hand.reports / 25
    assert sum(by_hand.found.values()) / sum(by_hand.planted.values()) >= 0.98


def test_the_second_set_by_hand_keeps_what_it_led_to() -> None:
    second = held_out(HELD_OUT_2)
    assert second.flagged <= 2
    assert second.flagged_reports <= 1
    assert _found(second) >= 18


def test_the_third_set_by_hand_keeps_what_it_led_to() -> None:
    third = held_out(HELD_OUT_3)
    assert third.reports == 13
    assert third.flagged == 0
    assert _found(third) == 13


def test_reports_that_compute_on_their_own_keep_what_they_led_to() -> None:
    fourth, fifth, settled = held_out(HELD_OUT_4), held_out(HELD_OUT_5), held_out(SETTLED_ON)
    assert [each.reports for each in (fourth, fifth, settled)] == [44, 16, 28]
    assert fourth.flagged == 0
    assert fifth.flagged == 0
    assert settled.flagged <= 1
    assert _found(fourth) == 44
    assert _found(fifth) == 16
    assert _found(settled) == 28


def test_reports_over_cells_that_really_ran_keep_what_they_led_to() -> None:
    sixth = held_out(HELD_OUT_6)
    assert sixth.reports == 28
    assert sixth.flagged <= 9
    assert sixth.flagged_reports <= 6
    assert _found(sixth) >= 25


def test_a_model_that_reads_what_the_check_says_ends_without_a_false_flag() -> None:
    bound = dialogue(tokens=True)
    assert bound.reports == 24
    assert bound.first <= 9
    assert bound.first_reports <= 8
    assert bound.last == 0
    assert bound.found >= 15


def test_a_model_without_tokens_ends_with_few_false_flags() -> None:
    plain = dialogue(tokens=False)
    assert plain.reports == 12
    assert plain.first <= 72
    assert plain.last <= 2
    assert plain.found >= 10


def test_a_token_costs_no_true_figure_and_finds_no_fewer_faults() -> None:
    for path in (HELD_OUT_3, HELD_OUT_4, HELD_OUT_6):
        without, bound = numbers_by_hand(path)
        assert bound.flagged <= without.flagged
        assert bound.found >= without.found


@pytest.mark.long
@pytest.mark.parametrize("files", [(), (unrelated(),)], ids=["no file", "a file"])
def test_a_random_number_passes_in_reports_by_hand_in_at_most_2_percent(files: tuple[Briefed, ...]) -> None:
    sets = (HELD_OUT, HELD_OUT_2, HELD_OUT_3, HELD_OUT_4, HELD_OUT_5, HELD_OUT_6, SETTLED_ON)
    counted = [random_passes_by_hand(each, 2, *files) for each in sets]
    passed, tried = (sum(column) for column in zip(*counted, strict=True))
    assert tried >= 2_300
    assert passed / tried <= 0.02


@pytest.mark.long
def test_a_random_number_of_the_same_digits_passes_in_at_most_2_percent() -> None:
    passed, tried = random_passes(150)
    assert tried >= 400
    assert passed / tried <= 0.02


def _found(measured: Measured) -> int:
    return sum(measured.found.values())


def test_first_drafts_of_a_model_are_hardly_ever_sent_back_for_true_figures() -> None:
    drafts = first_drafts()
    assert (drafts.reports, drafts.figures) == (17, 1_100)
    assert drafts.flagged <= 9  # dates and numbers that the code and the files gave, which the set leaves out
    assert drafts.found == drafts.planted


def test_first_drafts_of_two_more_mornings_are_hardly_ever_sent_back_either() -> None:
    drafts = first_drafts(HELD_OUT_9)
    assert (drafts.reports, drafts.figures) == (22, 1_550)
    assert drafts.flagged <= 10  # they rest on files, memory and errors of cells, which the set leaves out
    assert drafts.found["digits"] >= 20
    assert drafts.found["row"] >= 11  # most that are missed stand in rows that a sentence does not name


@pytest.mark.long
def test_first_drafts_of_long_reports_are_hardly_ever_sent_back_and_most_slips_are_found() -> None:
    drafts = first_drafts(HELD_OUT_10)
    assert (drafts.reports, drafts.figures) == (14, 4_348)
    assert drafts.flagged <= 2
    assert drafts.found["digits"] >= 14
    assert drafts.found["row"] >= 32  # those missed stand in rows of totals, or are rounded


@pytest.mark.long
def test_first_drafts_of_questions_with_follow_ups_have_few_flags_and_most_slips_are_found() -> None:
    drafts = first_drafts(HELD_OUT_11)
    assert (drafts.reports, drafts.figures) == (24, 4_334)
    assert drafts.flagged <= 28  # 73 by the rules of the morning on which it was written
    assert drafts.found["digits"] >= 27
    assert drafts.found["row"] >= 41  # those missed stand in rows of totals, or pass as another row of the same words
    assert drafts.found["sign"] == 2
    assert drafts.planted["words"] == 6  # none is found: ranks, counts and directions in words are for the judge
