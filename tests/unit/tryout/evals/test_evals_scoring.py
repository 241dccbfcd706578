"""An answer is right, wrong, declined or untagged by what the report says, however it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tryout.evals.scoring import matches, number_in, score_plain, score_tags, tags
from tryout.evals.suite import Gold, SuiteError, read_suite

NUMBER = Gold(value=1234.567, tolerance=0.005)
WORD = Gold(value="North West")
NONE = Gold(unknown=True)


@pytest.mark.parametrize(
    ("report", "found"),
    [
        ("The mean is @mean[12.5].", {"mean": "12.5"}),
        ("**@mean[12.5]** and `@top[North]`", {"mean": "12.5", "top": "North"}),
        (r"@mean\_fee\[12.5\]", {"mean_fee": "12.5"}),
        ("@mean[**12.5**]", {"mean": "12.5"}),
        ("first @mean[1], then corrected: @mean[2]", {"mean": "2"}),
        ("@top[[a, b], [c]]", {"top": "[a, b], [c]"}),
        ("@mean [12.5]", {"mean": "12.5"}),
        ("@mean[12.5", {}),
        ("mail ana@example.org or <@U123>", {}),
    ],
)
def test_tags_are_found_as_models_write_them(report: str, found: dict[str, str]) -> None:
    assert tags(report) == found


@given(st.text(max_size=300))
def test_any_report_can_be_read(report: str) -> None:
    tags(report)
    for end in ("report", "partial", "question", "gave up"):
        assert score_tags(report, end, {"a": NUMBER, "b": WORD})[0] in ("wrong", "declined", "untagged")  # type: ignore[arg-type]
        assert score_plain(report, end, {"a": NUMBER})[0] in ("right", "wrong", "declined")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1,234.57", 1234.57),
        ("1 234.57", 1234.57),
        ("$1,234.57 USD", 1234.57),
        ("\u22123.5 %", -3.5),
        ("1.2e-3", 0.0012),
        ("１２", 12),
        ("2024-03-05", None),
        ("1.2 to 3.4", None),
        ("about a dozen", None),
        ("", None),
    ],
)
def test_a_number_is_read_with_its_marks_or_not_at_all(written: str, value: float | None) -> None:
    assert number_in(written) == value


@pytest.mark.parametrize("written", ["1234.57", "1,234.567", "1234.5668", "1234.562"])
def test_a_number_within_its_tolerance_is_right(written: str) -> None:
    assert matches(NUMBER, written)


@pytest.mark.parametrize("written", ["1234.58", "1234.5", "1234", "-1234.57", "1234.57 or 1300", "not in the data"])
def test_a_number_outside_of_its_tolerance_is_wrong(written: str) -> None:
    assert not matches(NUMBER, written)


def test_half_of_the_last_place_may_be_rounded_either_way() -> None:
    gold = Gold(value=2.675, tolerance=0.005)
    assert matches(gold, "2.68")
    assert matches(gold, "2.67")
    assert not matches(gold, "2.69")


@pytest.mark.parametrize("written", ["north west", " North  West ", "**North West**", "North West."])
def test_words_are_compared_without_case_blanks_and_marks(written: str) -> None:
    assert matches(WORD, written)
    assert not matches(WORD, "North")


@pytest.mark.parametrize("written", ["not in the data", "The data does not say", "N/A", "unknown", "数据没有说明"])
def test_the_data_does_not_say_it_in_many_words(written: str) -> None:
    assert matches(NONE, written)
    assert not matches(NONE, "42")


def test_all_tags_must_be_right() -> None:
    golds = {"region": WORD, "revenue": NUMBER}
    assert score_tags("@region[North West] @revenue[1234.57]", "report", golds)[0] == "right"
    assert score_tags("@region[North West] @revenue[1300]", "report", golds)[0] == "wrong"
    assert score_tags("@region[North West]", "report", golds)[0] == "untagged"
    assert score_tags("It is 1234.57.", "report", golds)[0] == "untagged"


def test_who_says_that_there_is_no_answer_declines() -> None:
    assert score_tags("@x[not in the data]", "report", {"x": NUMBER})[0] == "declined"
    for end in ("partial", "question", "gave up"):
        assert score_tags("I could not find out.", end, {"x": NUMBER})[0] == "declined"  # type: ignore[arg-type]
    assert score_tags("@x[not in the data]", "report", {"x": NONE})[0] == "right"
    assert score_tags("@x[12]", "report", {"x": NONE})[0] == "wrong"


def test_a_wrong_tag_is_wrong_even_in_a_report_that_calls_itself_partial() -> None:
    assert score_tags("@x[12]", "partial", {"x": NUMBER})[0] == "wrong"


@pytest.mark.parametrize(
    ("report", "golds", "outcome"),
    [
        ("**In all $1,235.**", {"x": NUMBER}, "right"),
        ("**In all $1,234.57.**", {"x": NUMBER}, "right"),
        ("**In all 1,299.**", {"x": NUMBER}, "wrong"),
        ("**In all 7.**\n\n## Method\n\nThe sum is 1234.57", {"x": NUMBER}, "wrong"),
        ("North West leads with 1,234.6", {"x": NUMBER, "y": WORD}, "right"),
        ("North leads with 1,234.6", {"x": NUMBER, "y": WORD}, "wrong"),
        ("It is 12.5%", {"x": Gold(value=0.125, tolerance=0.0005)}, "right"),
    ],
)
def test_a_plain_report_is_right_when_its_answer_shows_every_value(
    report: str, golds: dict[str, Gold], outcome: str
) -> None:
    assert score_plain(report, "report", golds)[0] == outcome


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "no JSON object"),
        ('{"id": "a", "question": "?"}', "answers or a rubric"),
        ('{"id": "../a", "question": "?", "answers": {"x": 1}}', "letters, digits"),
        ('{"id": "a", "question": "?", "answers": {"x y": 1}}', "no name of an answer"),
        ('{"id": "a", "question": "?", "answers": {"x": NaN}}', "finite"),
        ('{"id": "a", "question": "?", "answers": {"x": 1}, "file": "t.csv"}', "Extra inputs"),
        ('{"id": "a", "question": "?", "answers": {"x": 1}, "files": ["t.csv"]}', "no file t.csv"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, told: str) -> None:
    suite = tmp_path / "s.jsonl"
    suite.write_text(f'{{"id": "ok", "question": "?", "answers": {{"x": "yes"}}}}\n{line}\n')
    with pytest.raises(SuiteError, match=f"line 2.*{told}"):
        read_suite(suite)


def test_an_id_stands_once_and_an_empty_suite_is_refused(tmp_path: Path) -> None:
    suite = tmp_path / "s.jsonl"
    line = json.dumps({"id": "a", "question": "?", "answers": {"x": 1}})
    suite.write_text(f"{line}\n{line}\n")
    with pytest.raises(SuiteError, match="twice"):
        read_suite(suite)
    suite.write_text("\n")
    with pytest.raises(SuiteError, match="no question"):
        read_suite(suite)


def test_a_question_that_changes_is_another_one(tmp_path: Path) -> None:
    suite = tmp_path / "s.jsonl"
    shas = []
    for value in (1, 2):
        suite.write_text(json.dumps({"id": "a", "question": "?", "answers": {"x": value}}))
        shas.append(read_suite(suite)[0].sha)
    assert len(set(shas)) == 2
