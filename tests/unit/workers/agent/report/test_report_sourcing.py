"""A report's figures are looked up before it is posted: unproven ones go back to the model, then they are marked."""

from __future__ import annotations

import pytest
from agent_kit import BRIEFED, asked, cell, finish, judged, play, run, turn

from core.steps import CellRan, ChartData, Checked, Corrected, Finished, GaveUp, Questioned, SeriesData, Step
from core.values import StoredFile
from workers.agent.actions import AskHuman, AskModel, CorrectModel, Finish, GiveUp, RunCell
from workers.agent.decide import decide
from workers.agent.guards import UNSOURCED
from workers.agent.report.sourcing import trace_report
from workers.agent.turn import AgentLimits, Turn
from workers.models.scripted import ScriptedModel

TOTALS = "region\nNorth    4321\nSouth    1234\n"
READ = "df = pd.read_csv('sales.csv')"
OPENING: tuple[Step, ...] = (asked(), BRIEFED, run(READ), cell(READ, stdout=TOTALS, title="Totals"))
WRONG = "North sold 5,678 and South 1,234."
RIGHT = "North sold 4,321 and South 1,234."


def _printed(action: RunCell) -> CellRan:
    return CellRan(
        call_id=action.call_id, cell_id=action.cell_id, title=action.title, code=action.code, status="ok", stdout=TOTALS
    )


def _played(*reports: str, checks: str = '{"is_final": true}', **fields: object) -> tuple[Step, ...]:
    replies = [{"calls": [{"name": "run_python", "arguments": {"code": READ}}]}]
    replies += [{"calls": [{"name": "finish", "arguments": {"report": report}}]} for report in reports]
    return play([asked(), BRIEFED], ScriptedModel(replies, checks=[{"text": checks}]), _printed, **fields)


def _end(steps: tuple[Step, ...]) -> Finished:
    assert isinstance(steps[-1], Finished)
    return steps[-1]


def test_a_figure_that_no_output_shows_goes_back_with_its_sentence_and_what_the_outputs_show() -> None:
    action = decide(turn(*OPENING, finish(WRONG)))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == (UNSOURCED, "f1")
    assert "5,678" in action.text
    assert "North sold 5,678 and South 1,234." in action.text
    assert "4321 (cell 1, line 2: North" in action.text


def test_a_report_whose_figures_stand_in_the_outputs_is_judged_at_once() -> None:
    assert isinstance(decide(turn(*OPENING, finish(RIGHT))), AskModel)


UNFIT = "North went from 1,234 to 4,321, up 25 %."
FIT = "North went from 1,234 to 4,321, up 250 %."


def test_figures_that_contradict_one_another_go_back_with_what_the_others_give() -> None:
    printed = f"{TOTALS}up 25 %\nup 250 %\n"
    opening = (*OPENING[:3], cell(READ, stdout=printed, title="Totals"))
    action = decide(turn(*opening, finish(UNFIT)))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == (UNSOURCED, "f1")
    assert "not found in the outputs" not in action.text
    assert '"25 %" in: North went from 1,234 to 4,321, up 25 %.' in action.text
    assert "By 1,234 → 4,321 of the report it would be 250 %." in action.text
    assert isinstance(decide(turn(*opening, finish(FIT))), AskModel)


def test_a_model_that_keeps_figures_which_contradict_is_not_told_again_and_the_judge_looks_at_them() -> None:
    printed = f"{TOTALS}up 25 %\n"
    opening = (*OPENING[:3], cell(READ, stdout=printed, title="Totals"))
    sent_back = Corrected(reason=UNSOURCED, text="It does not fit.", call_id="f1")
    action = decide(turn(*opening, finish(UNFIT), sent_back, finish(UNFIT, "f2")))
    assert isinstance(action, AskModel)
    assert "25 % in: North went from 1,234 to 4,321, up 25 %. – by 1,234 → 4,321 it would be 250 %" in str(
        action.messages
    )
    posted = decide(turn(*opening, finish(UNFIT), sent_back, finish(UNFIT, "f2"), Checked(is_final=True, reason="")))
    assert isinstance(posted, Finish)
    assert posted.report == UNFIT


def test_a_report_that_the_model_mends_is_posted_without_marks() -> None:
    steps = _played(WRONG, RIGHT)
    assert _end(steps).report == RIGHT
    assert [step.reason for step in steps if isinstance(step, Corrected)] == [UNSOURCED]


def test_what_stays_unsourced_is_marked_and_its_row_is_named_in_the_sources() -> None:
    assert _end(_played(WRONG, WRONG, WRONG)).report == "North sold 5,678 (⚠ not computed here) and South 1,234."
    end = decide(turn(*OPENING, finish(WRONG), judged("true"), Checked(is_final=True)))
    assert isinstance(end, Finish)
    assert [(one.figure, one.state) for one in end.sources] == [("5,678", "unsourced"), ("1,234", "sourced")]
    place = end.sources[1].places[0]
    assert (place.cell_id, place.line) == ("T1/c1", 3)


def test_a_figure_that_is_new_after_the_last_return_is_told_once_and_only_that_one() -> None:
    new = "North sold 5,678 and South 9,999."
    steps = _played(WRONG, WRONG, new, RIGHT)
    sent_back = [step.text for step in steps if isinstance(step, Corrected)]
    assert _end(steps).report == RIGHT
    assert len(sent_back) == 3
    assert '"9,999" in' in sent_back[2]
    assert '"5,678" in' not in sent_back[2]
    again = _end(_played(WRONG, WRONG, new, "North sold 5,678 and South 8,888.", RIGHT)).report
    assert "South 8,888 (⚠ not computed here)" in again


def test_the_right_value_of_the_wrong_row_is_marked_as_that_of_something_else() -> None:
    end = _end(_played(*["South sold 4,321."] * 3))
    assert end.report == "South sold 4,321 (⚠ not computed here: the outputs show it for something else)."


def test_a_sentence_that_names_the_wrong_leader_goes_back_with_the_right_one_then_it_is_marked() -> None:
    action = decide(turn(*OPENING, finish("South leads with 1,234.")))
    assert isinstance(action, CorrectModel)
    assert "by the outputs another row has the rank" in action.text
    assert action.text.index("4321 (cell 1, line 2: North") < action.text.index("1234 (cell 1, line 3: South")
    end = _end(_played(*["South leads with 1,234."] * 3))
    assert end.report == "South leads with 1,234 (⚠ by the outputs another row has this rank)."
    assert [(one.figure, one.reason) for one in end.sources] == [("1,234", "rank")]


def test_the_mark_is_in_the_language_of_the_thread() -> None:
    assert "⚠ 此数字未经计算" in _end(_played(*["北区卖了5,678件。"] * 3, language="zh")).report


@pytest.mark.parametrize("told", ["**5,678**", "`5,678`"])
def test_the_mark_stands_behind_the_signs_around_a_figure(told: str) -> None:
    action = decide(turn(*OPENING, finish(f"North sold {told} in all."), limits=AgentLimits(max_model_calls=2)))
    assert isinstance(action, Finish)
    assert f"{told} (⚠ not computed here) in all" in action.report


def test_in_a_table_the_sign_is_explained_below_the_report() -> None:
    report = "| Region | Sold |\n|---|---|\n| North | 5,678 |\n| South | 1,234 |"
    end = _end(_played(report, report, report)).report
    assert "| North | 5,678 ⚠ |" in end
    assert "| South | 1,234 |" in end
    assert end.endswith("_⚠ in a table: not computed here. No output of this thread shows this figure for its row._")


def test_a_report_with_figures_is_marked_also_when_no_cell_ran() -> None:
    replies = [{"calls": [{"name": "finish", "arguments": {"report": "Churn is 12.3 %."}}]}] * 3
    end = play([asked("What is our churn?")], ScriptedModel(replies, checks=[{"text": '{"is_final": true}'}]))[-1]
    assert isinstance(end, Finished)
    assert end.report == "Churn is 12.3 % (⚠ not computed here)."


def test_a_report_that_the_judge_refused_twice_is_posted_with_marks_and_a_line_that_says_so() -> None:
    steps = _played(WRONG, RIGHT, WRONG, WRONG, checks='{"is_final": false, "reason": "no months"}')
    assert [step.reason for step in steps if isinstance(step, Corrected)] == [UNSOURCED, "not_final", "not_final"]
    first, _, line = _end(steps).report.partition("\n\n")
    assert "5,678 (⚠ not computed here)" in first
    assert line.startswith("_The final check sent earlier versions of this report back (the last time: no months).")


def test_a_report_that_was_sent_back_for_its_figures_is_posted_with_marks_when_nothing_better_comes() -> None:
    replies: list[dict[str, object]] = [{"calls": [{"name": "run_python", "arguments": {"code": READ}}]}]
    replies += [{"calls": [{"name": "finish", "arguments": {"report": WRONG}}]}, *[{"text": ""}] * 5]
    end = play([asked(), BRIEFED], ScriptedModel(replies), _printed)[-1]
    assert isinstance(end, Finished)
    assert end.report.startswith("North sold 5,678 (⚠ not computed here)")


def test_without_a_reply_left_the_report_is_posted_with_marks_at_once() -> None:
    action = decide(turn(*OPENING, finish(WRONG), limits=AgentLimits(max_model_calls=2)))
    assert isinstance(action, Finish)
    assert "5,678 (⚠ not computed here)" in action.report


def test_sending_figures_back_is_no_futile_reply() -> None:
    limits = AgentLimits(max_refusals=6, max_futile=2)
    assert isinstance(decide(_after(WRONG, 4, limits)), AskModel)


def _after(report: str, times: int, limits: AgentLimits) -> Turn:
    steps: list[Step] = []
    for n in range(times):
        steps += [finish(report, f"f{n}"), Corrected(reason=UNSOURCED, text="…", call_id=f"f{n}")]
    return turn(*OPENING, *steps, limits=limits)


# --- tokens


@pytest.mark.parametrize(
    ("token", "kept"),
    [("[=1:4321]", True), ("[=1: 4,321]", True), ("[=1:4322]", False), ("[=2:4321]", False), ("[=x]", False)],
)
def test_a_token_binds_a_figure_and_fails_closed(token: str, kept: bool) -> None:
    report = f"North sold 4,321 {token}."
    action = decide(turn(*OPENING, finish(report)))
    assert isinstance(action, AskModel) == kept
    if isinstance(action, AskModel):
        assert "North sold 4,321." in str(action.messages)
        assert "[=" not in str(action.messages)


def test_people_never_see_a_token() -> None:
    assert _end(_played("North sold 4,321 [=1:4321].")).report == "North sold 4,321."
    assert "[=" not in _end(_played(*["North sold 4,321 [=9:1]."] * 3)).report
    assert "[=" not in _end(_played(*["Both sold 5,555 [=sum([1:4321, 1:1234])]."] * 3)).report


def test_a_formula_is_shown_with_the_sources_and_not_in_the_report() -> None:
    report = "North sold 250 % [=(1:4321-1:1234)/1:1234*100] more than South."
    end = decide(turn(*OPENING, finish(report), judged("true"), Checked(is_final=True)))
    assert isinstance(end, Finish)
    assert end.report == "North sold 250 % more than South."
    (source,) = end.sources
    assert (source.state, source.how) == ("derived", "formula")
    assert source.arithmetic == "(4,321 − 1,234) / 1,234 × 100 = 250.162075"
    assert [place.line for place in source.places] == [2, 3]


def test_a_formula_of_another_row_goes_back_with_the_reason() -> None:
    action = decide(turn(*OPENING, finish("South sold 4,321 [=1:4321*1].")))
    assert isinstance(action, CorrectModel)
    assert "By its token it is of another row than the sentence names." in action.text


def test_a_token_of_another_row_does_not_hold() -> None:
    action = decide(turn(*OPENING, finish("South sold 4,321 [=1:4321].")))
    assert isinstance(action, CorrectModel)
    assert "By its token it is of another row than the sentence names." in action.text


# --- a person decides


HOLD = AgentLimits(hold_unsourced=True, max_refusals=0)


def _held(*more: Step) -> Turn:
    return turn(*OPENING, finish(WRONG), *more, limits=HOLD)


def test_with_hold_a_person_is_asked_before_a_report_with_unsourced_figures_is_posted() -> None:
    action = decide(_held())
    assert isinstance(action, AskHuman)
    assert "5,678" in action.question
    assert action.options == ("Post it with marks", "Do not post it")


def _question() -> Questioned:
    action = decide(_held())
    assert isinstance(action, AskHuman)
    return Questioned(call_id=action.call_id, question=action.question, options=action.options)


def test_a_person_may_have_it_posted_with_marks() -> None:
    action = decide(_held(_question(), asked("Post it with marks", "Ben", ts="2.0")))
    assert isinstance(action, Finish)
    assert "5,678 (⚠ not computed here)" in action.report


def test_a_person_may_keep_it_back_and_the_turn_says_so() -> None:
    action = decide(_held(_question(), asked("Do not post it", "Ben", ts="2.0")))
    assert isinstance(action, GiveUp)
    assert (action.reason, action.fault) == ("held_back", "user")


def test_other_words_go_to_the_model_as_a_new_message() -> None:
    action = decide(_held(_question(), asked("use 2024 only", "Ben", ts="2.0")))
    assert isinstance(action, CorrectModel)
    assert action.reason == "new_message"


def _stuck(*more: Step) -> tuple[Step, ...]:
    """A report that was sent back for its figures, then nothing but empty replies, under `hold`."""
    replies: list[dict[str, object]] = [{"calls": [{"name": "run_python", "arguments": {"code": READ}}]}]
    replies += [{"calls": [{"name": "finish", "arguments": {"report": WRONG}}]}, *[{"text": ""}] * 8]
    limits = AgentLimits(hold_unsourced=True)
    steps = play([asked(), BRIEFED], ScriptedModel(replies), _printed, limits=limits)
    return play([*steps, *more], ScriptedModel(replies), _printed, limits=limits) if more else steps


def test_with_hold_a_turn_that_stops_asks_too_before_it_posts_a_report_that_was_sent_back() -> None:
    question = _stuck()[-1]
    assert isinstance(question, Questioned)
    assert question.options == ("Post it with marks", "Do not post it")
    posted = _stuck(asked("Post it with marks", "Ben", ts="2.0"))[-1]
    assert isinstance(posted, Finished)
    assert posted.report.startswith("North sold 5,678 (⚠ not computed here)")
    dropped = _stuck(asked("Do not post it", "Ben", ts="2.0"))[-1]
    assert isinstance(dropped, GaveUp)
    assert dropped.reason == "held_back"


def test_with_hold_other_words_are_no_yes_when_a_turn_has_to_stop() -> None:
    end = _stuck(asked("use 2024 only", "Ben", ts="2.0"))[-1]
    assert isinstance(end, Questioned)
    assert "5,678" in end.question


def test_with_hold_the_last_answer_counts_when_no_reply_is_left() -> None:
    limits = AgentLimits(hold_unsourced=True, max_refusals=0, max_model_calls=2)
    steps = (*OPENING, finish(WRONG), _question(), asked("use 2024 only", "Ben", ts="2.0"))
    again = decide(turn(*steps, limits=limits))
    assert isinstance(again, AskHuman)
    question = Questioned(call_id=again.call_id, question=again.question, options=again.options)
    answer = asked("Post it with marks", "Ben", ts="3.0")
    assert isinstance(decide(turn(*steps, question, answer, limits=limits)), Finish)


def test_with_hold_a_report_without_unsourced_figures_is_posted_at_once() -> None:
    steps = (*OPENING, finish(RIGHT), judged("true"), Checked(is_final=True))
    assert isinstance(decide(turn(*steps, limits=HOLD)), Finish)


def test_an_undone_cell_backs_no_figure() -> None:
    undone = cell(READ, stdout=TOTALS, status="undone", files_read=("sales.csv",))
    action = decide(turn(asked(), BRIEFED, run(READ), undone, finish(RIGHT)))
    assert isinstance(action, CorrectModel)


def test_what_a_person_says_in_the_thread_is_given() -> None:
    steps = (asked("Is 5,678 for North right?"), *OPENING[1:], finish("You name 5,678; North has 4,321."))
    assert isinstance(decide(turn(*steps)), AskModel)


def test_figures_of_an_earlier_turn_count_when_this_turn_computed_nothing_anew() -> None:
    earlier = (*OPENING, finish(RIGHT), Finished(report=RIGHT))
    assert isinstance(decide(turn(asked("and in words?"), finish("North had 4,321."), earlier=(earlier,))), AskModel)


def test_the_same_steps_give_the_same_marks() -> None:
    now = turn(*OPENING, finish(WRONG), limits=AgentLimits(max_refusals=0))
    assert decide(now) == decide(now)


def test_a_token_behind_words_goes_back() -> None:
    action = decide(turn(*OPENING, finish("North sold 4,321. That is far more than South [=1:4321-1:1234].")))
    assert isinstance(action, CorrectModel)
    assert '"South" in: North sold 4,321. That is far more than South' in action.text
    assert "Its token follows no figure." in action.text


def test_a_mark_stands_behind_the_unit_in_words_of_its_figure() -> None:
    end = _end(_played(*["North gained **56,780** points, **56,781 points** in all."] * 3))
    assert "**56,780** points (⚠ not computed here), **56,781 points** (⚠ not computed here) in all." in end.report


def test_a_chart_that_was_drawn_again_says_nothing_against_a_figure() -> None:
    def drawn(number: int, north: float) -> CellRan:
        points = (("North", north), ("South", 1234.0))
        series = (SeriesData(kind="bar", name="", points=points, total_points=2),)
        chart = ChartData(figure=f"{number}.png", title="Sales", x="region", y="sold", series=series)
        figure = StoredFile(name=f"{number}.png", mimetype="image/png", size=1, sha256="0" * 64)
        made = cell(READ, stdout="region    sold\nNorth    4321\nSouth    1234\n", title="Totals")
        return made.model_copy(update={"cell_id": f"T1/c{number}", "charts": (chart,), "figures": (figure,)})

    def flagged(*cells: CellRan) -> list[str]:
        return [one.reason for one in trace_report(turn(asked(), BRIEFED, *cells), "North sold 4,321.").unsourced]

    assert flagged(drawn(1, 4000.0)) == ["chart"]
    assert flagged(drawn(1, 4000.0), drawn(2, 4321.0)) == []
