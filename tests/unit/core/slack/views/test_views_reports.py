"""What the buttons under a report open stays within Slack's limits, page by page, and parses nothing of the data."""

from __future__ import annotations

from typing import get_args

import pytest

from core.phrases import say
from core.rows import VoteRow
from core.slack.blocks import broken_view, characters
from core.slack.views.report_votes import with_votes
from core.slack.views.reports import code_view, reason_view, report_buttons, sources_view, step_view
from core.steps import CellRan, FigureSource, SourcePlace
from core.thread_cells import NumberedCell, numbered_cells
from core.values import Language
from playground.blocks.check import check_view

TURN = "T1:C1:100.000001/t1"
HOSTILE = "<!channel> *x* `y` <http://evil.example|z> " * 200
WORST = FigureSource(
    figure="9" * 60,
    state="derived",
    how="sum",
    arithmetic="1 + " * 70 + "= 70",
    places=(SourcePlace(what="output", cell_id="c1", line=1, about="a" * 120, value="1,234,567"),) * 4,
)


def cell(n: int, code: str = "x = 1", stdout: str = HOSTILE) -> CellRan:
    return CellRan(call_id="1", cell_id=f"c{n}", title=HOSTILE, code=code, status="ok", stdout=stdout)


CELLS = numbered_cells([[cell(1)]])


def test_a_row_that_is_not_first_is_named_with_the_one_that_is() -> None:
    near = ("120 (cell 1, line 2: North)", "100 (cell 1, line 3: South)")
    view = str(
        sources_view(TURN, [FigureSource(figure="100", state="unsourced", reason="rank", near=near)], CELLS, "en", 0)
    )
    assert "by the outputs another row has this rank" in view
    assert view.index(near[0]) < view.index(near[1])


def test_a_figure_that_only_the_memory_has_is_shown_with_its_entry_and_day() -> None:
    places = (SourcePlace(what="memory", about="October revenue (2026-11-02)", value="482310"),)
    given = FigureSource(figure="482,310 EUR", state="given", places=places)
    untold = FigureSource(figure="482,310 EUR", state="unsourced", reason="memory", places=places, near=("x",))
    for language in get_args(Language):
        for one in (given, untold):
            assert "October revenue (2026-11-02)" in str(sources_view(TURN, [one], CELLS, language, 0))
    assert "not computed here" in str(sources_view(TURN, [untold], CELLS, "en", 0))


def test_a_line_that_says_itself_what_its_figure_is_of_is_shown_once() -> None:
    cells = numbered_cells([[cell(1, stdout="on time: 80.4 %\nNorth  12")]])
    places = [
        SourcePlace(what="output", cell_id="c1", line=at, about=about)
        for at, about in ((1, "on time: 80.4 %"), (2, "North"))
    ]
    sources = [FigureSource(figure=f"{n}", state="sourced", places=(place,)) for n, place in enumerate(places)]
    view = str(sources_view(TURN, sources, cells, "en", 0))
    assert (view.count("on time: 80.4 %"), view.count("North  12")) == (1, 1)


@pytest.mark.parametrize(
    ("language", "written"),
    [("en", "1,234.5 / 0.5 = 2,469"), ("de", "1.234,5 / 0,5 = 2.469"), ("fr", "1\u202f234,5 / 0,5 = 2\u202f469")],
)
def test_the_numbers_of_a_step_are_written_as_the_language_writes_them(language: Language, written: str) -> None:
    one = FigureSource(figure="2.469", state="derived", how="ratio", arithmetic="1,234.5 / 0.5 = 2,469")
    assert repr(written)[1:-1] in str(sources_view(TURN, [one], CELLS, language, 0))


@pytest.mark.parametrize("how", ["formula", "a step of next year"])
def test_a_formula_and_a_step_of_a_newer_version_show_their_arithmetic(how: str) -> None:
    one = FigureSource(figure="20 %", state="derived", how=how, arithmetic="(120 − 100) / 100 × 100 = 20")
    view = str(sources_view(TURN, [one], CELLS, "en", 0))
    assert "formula" in view
    assert one.arithmetic in view


@pytest.mark.parametrize("count", [0, 1, 100])
def test_every_page_of_sources_is_within_the_limits(count: int) -> None:
    sources = [WORST.model_copy(update={"figure": f"{n} {'9' * 50}"}) for n in range(count)]
    seen, page = 0, 0
    while True:
        view = sources_view(TURN, sources, CELLS, "en", page)
        assert broken_view(view) == []
        assert all(characters([block]) <= 3_000 for block in view["blocks"])
        figures = [block for block in view["blocks"] if block["type"] == "rich_text" and "9" * 50 in str(block)]
        seen += len(figures)
        if "Next" not in str(view["blocks"][-1]):
            break
        page += 1
    assert seen == count


def test_every_page_of_code_is_within_the_limits_and_no_line_is_lost() -> None:
    cells = [NumberedCell(n, cell(n, code="\n".join(f"a_{n}_{k} = {k}" for k in range(1_500)))) for n in range(1, 9)]
    shown, page = "", 0
    while True:
        view = code_view(TURN, cells, "en", page)
        assert broken_view(view) == []
        shown += "".join(
            text["text"]
            for block in view["blocks"]
            if block["type"] == "rich_text"
            for text in block["elements"][0]["elements"]
        )
        if "Next" not in str(view["blocks"][-1]):
            break
        page += 1
    assert page
    assert all(one.cell.code in shown for one in cells)


def test_every_page_of_a_step_is_within_the_limits_and_no_character_is_lost() -> None:
    """A step holds 50,000 characters of each text at most (`workers/turn/cell_results.py`)."""
    code, printed, value, error = ("".join(f"{sign}{n:04}" for n in range(10_000)) for sign in "cpve")
    big = cell(1, code, printed).model_copy(update={"result": value, "error": error, "stderr": HOSTILE, "title": "x"})
    shown, page = "", 0
    while True:
        view = step_view(TURN, [NumberedCell(1, big)], 1, "en", page)
        assert broken_view(view) == []
        check_view(view, lambda _: True)
        parts = [block for block in view["blocks"] if block["type"] == "rich_text"]
        shown += "".join(part["elements"][0]["elements"][0]["text"] for part in parts)
        if "Next" not in str(view["blocks"][-1]):
            break
        page += 1
    assert page
    assert all(text in shown for text in (code, printed, value, error))


def test_a_hundred_steps_can_be_chosen_and_the_chosen_one_is_among_them() -> None:
    cells = [NumberedCell(n, cell(n, stdout=f"out {n}")) for n in range(1, 151)]
    for number in (0, 1, 150):
        view = step_view(TURN, cells, number, "en")
        assert broken_view(view) == []
        (select,) = view["blocks"][0]["elements"]
        assert len(select["options"]) == 100
        assert f'"cell":{number or 150},' in select["initial_option"]["value"]
        assert f"out {number or 150}" in str(view["blocks"])
    assert broken_view(code_view(TURN, cells, "en")) == []


def test_what_a_step_showed_is_not_told_after_a_reset() -> None:
    view = step_view(TURN, [NumberedCell(1, cell(1, stdout="secret"))], 1, "en", output=False)
    assert "x = 1" in str(view)
    assert "secret" not in str(view)
    assert "was reset after this step" in str(view)


def test_the_form_and_the_row_of_buttons_are_within_the_limits() -> None:
    assert broken_view(reason_view(TURN, "en", HOSTILE)) == []
    assert len(report_buttons(TURN, "en", has_sources=True, has_code=True)["elements"]) <= 25


def test_nothing_of_the_data_is_parsed_by_slack() -> None:
    view = sources_view(TURN, [WORST], CELLS, "en")
    for block in view["blocks"]:
        assert block["type"] != "section"
        assert "<!channel>" not in str(block.get("elements")) or block["type"] == "rich_text"


def test_a_cell_that_was_taken_back_says_so() -> None:
    undone = NumberedCell(1, cell(1).model_copy(update={"status": "undone", "title": "Look"}))
    assert "undone" in str(code_view(TURN, [undone], "en"))


def test_votes_replace_the_line_that_was_there() -> None:
    row = report_buttons(TURN, "en", has_sources=True, has_code=True)
    once = with_votes([row], [("Ana", VoteRow("U1", "down", HOSTILE))], "en")
    twice = with_votes(once, [("Ana", VoteRow("U1", "up", ""))], "en")
    assert "&lt;!channel&gt;" in str(once[-1])
    assert len(twice) == 2
    assert twice[-1]["elements"][0]["text"] == "👍 1 · 👎 0"


@pytest.mark.parametrize("language", get_args(Language))
def test_the_question_for_a_reason_is_read_whole(language: Language) -> None:
    view = reason_view(TURN, language)
    assert broken_view(view) == []
    assert view["blocks"][0]["label"]["text"] == say("vote_reason_label", language)
