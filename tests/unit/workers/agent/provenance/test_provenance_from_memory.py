"""Figures that stand only in the team's memory: a report that says so passes, one that does not is marked."""

from __future__ import annotations

import pytest

from core.steps import Asked, CellRan, Recalled, Step, TeamNote
from workers.agent.provenance import Traced, facts_of, trace
from workers.agent.provenance.outputs.from_memory import day_of, entry_named, says_so

KEPT = "Kept by Ana on 2026-11-02; said by Ben in C1, message 1.1"
ENTRY = TeamNote(place="channels/C1/conventions.md", title="October revenue", text="It was 482,310 EUR.", kept=KEPT)
ASKED = Asked(user="U1", author="Ana", text="How much was sold in October?", ts="1.0")


def cell(stdout: str, code: str = "print(total)") -> CellRan:
    return CellRan(call_id="c1", cell_id="T/c1", code=code, status="ok", title="Look", stdout=stdout, duration_s=0.1)


def traced(report: str, *steps: Step, entry: TeamNote = ENTRY) -> Traced:
    (figure,) = trace(report, facts_of([(ASKED, Recalled(notes=(entry,)), *steps)])).figures
    return figure


def test_an_old_result_of_the_memory_is_no_proof_of_this_turn() -> None:
    figure = traced("We sold 482,310 EUR in October.", cell("rows 12\n"))
    assert (figure.state, figure.reason) == ("unsourced", "memory")
    assert figure.near == ("October revenue (2026-11-02)",)


@pytest.mark.parametrize(
    "report",
    [
        'We sold 482,310 EUR (from the team\'s entry "October revenue", of 2026-11-02).',
        "We sold 482,310 EUR; this is from memory, nothing was computed.",
        "Laut „October revenue“ waren es 482,310 EUR.",
        "Es waren 482,310 EUR, aus dem Gedächtnis des Teams.",
        "Fueron 482,310 EUR, según una entrada del equipo.",
        "C'étaient 482,310 EUR, d'après une note de l'équipe.",
        "チームの記録では 482,310 EUR です。",
        "据团队记录，销售额为 482,310 EUR。",
    ],
)
def test_a_number_that_is_told_as_one_of_the_memory_is_given(report: str) -> None:
    figure = next(
        each for each in trace(report, facts_of([(ASKED, Recalled(notes=(ENTRY,)))])).figures if "482" in each.text
    )
    assert figure.state == "given"
    assert figure.places[0].what == "memory"


def test_a_title_among_the_words_of_a_sentence_does_not_say_where_its_number_is_from() -> None:
    assert traced("The October revenue was 482,310 EUR.", cell("rows 12\n")).reason == "memory"


def test_what_a_cell_computed_anew_is_sourced_whatever_the_memory_says() -> None:
    assert traced("We sold 482,310 EUR in October.", cell("October 482310 EUR\n")).state == "sourced"


def test_what_the_question_says_too_is_given() -> None:
    asked = ASKED.model_copy(update={"text": "Did we sell 482,310 EUR?"})
    (figure,) = trace("Yes, 482,310 EUR.", facts_of([(asked, Recalled(notes=(ENTRY,)))])).figures
    assert (figure.state, figure.places[0].what) == ("given", "question")


def test_a_definition_that_the_code_goes_by_is_given() -> None:
    days = TeamNote(place="definitions.md", title="active customer", text="an order in the last 90 days", kept=KEPT)
    code = "active = orders[orders.age < 90]\nprint(len(active))"
    figures = trace(
        "1,204 customers ordered in the last 90 days.",
        facts_of([(ASKED, Recalled(notes=(days,)), cell("1204\n", code))]),
    ).figures
    assert [each.state for each in figures] == ["sourced", "given"]


def test_in_a_table_the_report_says_it_anywhere() -> None:
    table = "| month | revenue |\n|---|---|\n| October | 482,310 EUR |\n"
    assert traced(table, cell("rows 12\n")).reason == "memory"
    assert traced(f"{table}\nOctober is from the team's memory.", cell("rows 12\n")).state == "given"


@pytest.mark.parametrize(
    ("kept", "day"),
    [
        (KEPT, "2026-11-02"),
        (f"{KEPT}; changed by Ana on 2026-11-23", "2026-11-23"),
        ("Kept by Ana on 2026-11-02; said by Ben on 2020-01-01 in C1, message 1.1", "2026-11-02"),
        ("", ""),
        ("by hand", ""),
    ],
)
def test_the_day_of_an_entry_is_that_of_its_last_change_and_no_name_gives_another(kept: str, day: str) -> None:
    named = entry_named(ENTRY.model_copy(update={"kept": kept}))
    assert day_of(named) == day
    assert says_so(f"It is of {day}.", named) is bool(day)
