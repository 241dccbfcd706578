"""What follows from the steps of a turn: each rule of decide.py, driven by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from agent_kit import (
    BRIEFED,
    PROMPTS,
    SALES,
    asked,
    call,
    cell,
    failed,
    finish,
    judged,
    play,
    ran_well,
    run,
    said,
    turn,
)

from core.steps import (
    APPROVAL_EXPIRED,
    CONFIRM_CALL,
    OWN_CALL,
    Approval,
    Asked,
    Briefed,
    CellRan,
    Checked,
    Commanded,
    Compacted,
    Corrected,
    Decided,
    FileAbstract,
    Finished,
    Forgot,
    GaveUp,
    ModelFailed,
    Questioned,
    Replied,
    Resumed,
    ToolCall,
    Undone,
    UnknownStep,
)
from workers.agent.actions import (
    AskApproval,
    AskHuman,
    AskModel,
    CorrectModel,
    Finish,
    GiveUp,
    Obey,
    RecordVerdict,
    RunCell,
    Wait,
)
from workers.agent.decide import decide
from workers.agent.guards import failed_so_far, known_so_far
from workers.agent.prompt.messages import messages
from workers.agent.replies.tools import TOOLS
from workers.agent.thread.effective_steps import RESET_CALL, effective_steps
from workers.agent.turn import AgentLimits, Allowance
from workers.models.scripted import ScriptedModel

READ = cell("df = pd.read_csv('sales.csv')", files_read=("sales.csv",))
OPENING = (asked(), BRIEFED, run("df = pd.read_csv('sales.csv')"), READ)


def corrected(reason: str, call_id: str | None = "c1") -> Corrected:
    return Corrected(reason=reason, text=reason, call_id=call_id)


def test_a_turn_without_a_question_waits() -> None:
    assert decide(turn()) == Wait()


@pytest.mark.parametrize("end", [Finished(report="r"), GaveUp(reason="x", text="t")])
def test_a_closed_turn_waits_even_when_mail_came_later(end: Finished | GaveUp) -> None:
    assert decide(turn(asked(), end)) == Wait()
    assert decide(turn(asked(), end, asked("more"))) == Wait()


def test_a_question_is_put_to_the_model_with_the_three_tools() -> None:
    action = decide(turn(asked(), BRIEFED))
    assert isinstance(action, AskModel)
    assert action.purpose == "act"
    assert [tool["function"]["name"] for tool in action.tools] == ["run_python", "ask_user", "finish"]
    assert action.tools is TOOLS


def test_a_model_without_tools_is_offered_none() -> None:
    action = decide(turn(asked(), native_tools=False))
    assert isinstance(action, AskModel)
    assert action.tools == ()


def test_a_requested_cell_is_run_under_an_id_that_follows_from_the_steps() -> None:
    steps = (asked(), BRIEFED, run("print(1)", title="Look"))
    assert decide(turn(*steps)) == RunCell("c1", "T1/c1", "Look", "print(1)")
    assert decide(turn(*steps)) == decide(turn(*steps))
    assert decide(turn(*OPENING, run("print(2)", "c9"))) == RunCell("c9", "T1/c2", "Step", "print(2)")


def test_the_output_of_a_cell_goes_back_to_the_model_even_when_it_failed() -> None:
    action = decide(turn(asked(), BRIEFED, run("df['amount']"), failed()))
    assert isinstance(action, AskModel)
    assert "KeyError: 'amount'" in action.messages[-1]["content"]


def test_several_calls_of_one_reply_run_in_their_order() -> None:
    reply = said(call("run_python", "a", code="x=1", title="A"), call("run_python", "b", code="y=2", title="B"))
    first = decide(turn(asked(), reply))
    second = decide(turn(asked(), reply, cell("x=1", "a")))
    assert isinstance(first, RunCell)
    assert isinstance(second, RunCell)
    assert (first.code, second.code) == ("x=1", "y=2")
    assert isinstance(decide(turn(asked(), reply, cell("x=1", "a"), cell("y=2", "b", 2))), AskModel)


def test_calls_that_share_an_id_or_have_none_are_still_run_once_each() -> None:
    reply = said(
        call("run_python", "a", code="x=1"), call("run_python", "a", code="y=2"), call("run_python", "", code="z=3")
    )
    steps: list = [asked(), reply]
    ran = []
    while isinstance(action := decide(turn(*steps)), RunCell):
        ran.append(action.code)
        steps.append(cell(action.code, action.call_id, len(ran)))
    assert ran == ["x=1", "y=2", "z=3"]


def test_cells_behind_a_failed_one_of_the_same_reply_are_not_run() -> None:
    reply = said(call("run_python", "a", code="x=1/0"), call("run_python", "b", code="print(x)"))
    action = decide(turn(asked(), reply, failed("ZeroDivisionError: division by zero", call_id="a")))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == ("skipped", "b")


def test_of_a_reply_that_was_cut_off_only_the_call_that_was_cut_is_asked_for_again() -> None:
    cut = ToolCall(id="b", name="run_python", arguments='{"code": "print(tot')
    reply = said(call("run_python", "a", code="total = 42"), cut, end="length")
    action = decide(turn(*OPENING, reply, cell("total = 42", "a", 2)))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == ("cut_off", "b")
    assert "This call of run_python was cut off" in action.text
    assert "nothing of it was used" not in action.text


def test_a_report_written_in_the_same_reply_as_a_cell_is_not_used() -> None:
    reply = said(call("run_python", "a", code="print(total)"), call("finish", "b", report="The total is 42."))
    action = decide(turn(*OPENING, reply, cell("print(total)", "a", 2)))
    assert isinstance(action, CorrectModel)
    assert action.reason == "too_early"


# --- people


def test_a_question_to_the_people_parks_the_turn_until_somebody_answers() -> None:
    reply = said(call("ask_user", "q1", question="Which year?", options=["2023", "2024"]))
    assert decide(turn(asked(), reply)) == AskHuman("q1", "Which year?", ("2023", "2024"))
    parked = Questioned(call_id="q1", question="Which year?", options=("2023", "2024"))
    assert decide(turn(asked(), reply, parked)) == Wait()
    assert decide(turn(asked(), reply, parked, Briefed())) == Wait()
    action = decide(turn(asked(), reply, parked, asked("2024", "Ben", "2.0")))
    assert isinstance(action, AskModel)
    assert action.messages[-1] == {"role": "tool", "tool_call_id": "q1", "content": "Ben answers:\n> 2024"}


def test_a_message_that_comes_while_a_cell_waits_does_not_cancel_it() -> None:
    action = decide(turn(asked(), run("print(1)"), asked("only 2024 please", "Ben")))
    assert isinstance(action, RunCell)


def test_a_cell_that_was_written_before_the_answer_to_its_question_does_not_run() -> None:
    """ "May I delete it?" with the cell that deletes it behind: a no came too late for that."""
    reply = said(call("ask_user", "q1", question="Delete it?"), call("run_python", "c1", code="x = 1", title="Delete"))
    question = Questioned(call_id="q1", question="Delete it?")
    action = decide(turn(asked(), reply, question, asked("No!", "Ben", "2.0")))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == ("skipped", "c1")
    assert "before the answer" in action.text


@pytest.mark.parametrize("reply", [finish(call_id="c1"), said(call("ask_user", "c1", question="Which year?"))])
def test_a_report_or_question_written_before_a_new_message_is_not_posted(reply: Replied) -> None:
    action = decide(turn(*OPENING, reply, asked("wait, only 2024", "Ben")))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == ("new_message", "c1")


def test_a_new_message_does_not_cost_the_answer_when_no_reply_is_left_and_the_report_says_so() -> None:
    limits = AgentLimits(max_model_calls=2)
    action = decide(turn(*OPENING, finish(), asked("thanks already", "Ben"), limits=limits))
    assert isinstance(action, Finish)
    assert action.report.startswith("North sells most: 1,204.50.\n\n_Written before the last message of Ben: ")
    assert decide(turn(*OPENING, finish(), limits=limits)) == Finish("North sells most: 1,204.50.")


# --- no invented data


def test_finishing_is_refused_while_no_cell_has_read_the_given_file() -> None:
    made_up = cell("df = pd.DataFrame({'Amount': [1, 2]})", files_read=())
    action = decide(turn(asked(), BRIEFED, run("df = ..."), made_up, finish()))
    assert isinstance(action, CorrectModel)
    assert action.reason == "no_data_read"
    assert "sales.csv" in action.text


def test_what_the_kernel_saw_counts_more_than_a_name_in_the_code() -> None:
    pretended = cell("name = 'sales.csv'", files_read=())
    assert isinstance(decide(turn(asked(), BRIEFED, run("…"), pretended, finish())), CorrectModel)
    through_a_variable = cell("df = pd.read_csv(path)", files_read=("sales.csv",))
    assert isinstance(decide(turn(asked(), BRIEFED, run("…"), through_a_variable, finish())), AskModel)


@pytest.mark.parametrize(
    ("code", "reads"),
    [
        ("df = pd.read_csv('sales.csv')", True),
        ("df = pd.read_csv('./sales.csv')", True),
        ("df = pd.read_csv(f'{folder}/sales.csv')", True),
        ("for f in glob.glob('*.csv'): pass", True),
        ("# sales.csv\ndf = pd.DataFrame({'a': [1]})", False),
        ("df = pd.read_csv('sales2.csv')", False),
        ("df = pd.DataFrame({'*': [1]})", False),
        ("df = (", False),
    ],
)
def test_without_the_kernels_word_the_names_in_the_code_decide(code: str, reads: bool) -> None:
    action = decide(turn(asked(), BRIEFED, run(code), cell(code), finish()))
    assert isinstance(action, AskModel if reads else CorrectModel)


def test_a_file_that_could_not_be_used_does_not_have_to_be_read() -> None:
    problem = Briefed(problems=({"name": "x.csv", "why": "empty"},))  # type: ignore[arg-type]
    assert isinstance(decide(turn(asked(), problem, finish("The file is empty."))), AskModel)


@pytest.mark.parametrize(("sees", "more", "sent_back"), [(True, (), False), (False, (), True), (True, (SALES,), True)])
def test_a_picture_that_the_model_is_shown_does_not_have_to_be_read(
    sees: bool, more: tuple[FileAbstract, ...], sent_back: bool
) -> None:
    picture = FileAbstract(path="photo.png", format="png", size=1_000, sha256="2" * 64, read_hint="")
    action = decide(turn(asked("What is this?"), Briefed(files=(picture, *more)), finish("It is a cat."), sees=sees))
    assert isinstance(action, CorrectModel) == sent_back


@pytest.mark.parametrize(
    ("files", "report", "partial", "sent_back"),
    [
        (("photo1.png",), "I cannot see photo1.png. Please send the table.", True, False),
        (("photo1.png",), "I cannot see photo1.png. Please send the table.", False, True),
        (("photo1.png",), "It shows 12 cats.", True, True),
        (("photo1.png", "sales.csv"), "I cannot see photo1.png. Please send the table.", True, True),
        (("sales.csv",), "I cannot read sales.csv.", True, True),
    ],
)
def test_a_report_may_say_that_a_picture_cannot_be_seen_and_not_that_a_table_cannot_be_read(
    files: tuple[str, ...], report: str, partial: bool, sent_back: bool
) -> None:
    photo = FileAbstract(path="photo1.png", format="png", size=1_000, sha256="2" * 64, read_hint="")
    given = tuple(SALES if name == "sales.csv" else photo for name in files)
    end = said(call("finish", "f1", report=report, partial=partial))
    assert isinstance(decide(turn(asked("What is this?"), Briefed(files=given), end)), CorrectModel) == sent_back


def test_a_table_of_an_earlier_turn_is_no_matter_where_a_picture_cannot_be_seen() -> None:
    photo = FileAbstract(path="photo1.png", format="png", size=1_000, sha256="2" * 64, read_hint="")
    end = said(call("finish", "f1", report="I cannot see photo1.png. Please send the table.", partial=True))
    earlier = ((asked("How much?"), BRIEFED, finish()),)
    now = turn(asked("What is this?"), Briefed(files=(photo,)), end, earlier=earlier)
    assert not isinstance(decide(now), CorrectModel)


def test_a_failed_attempt_to_read_counts_so_that_a_broken_file_can_be_reported() -> None:
    attempt = failed("EmptyDataError: no columns", code="pd.read_csv('sales.csv')", files_read=("sales.csv",))
    assert isinstance(decide(turn(asked(), BRIEFED, run("…"), attempt, finish("It cannot be read."))), AskModel)


def test_a_follow_up_may_rest_on_a_file_that_an_earlier_turn_read() -> None:
    first = (*OPENING, finish(), judged('{"is_final": true}'), Checked(is_final=True), Finished(report="r"))
    assert isinstance(decide(turn(asked("by month?"), finish(), earlier=(first,))), AskModel)


def test_a_requirement_file_of_a_program_needs_no_cell_that_reads_it() -> None:
    requirement = FileAbstract(path="Greet.TOML", format="txt", size=1, sha256="a" * 64)
    action = decide(turn(asked(), Briefed(files=(requirement,)), finish("Write “build”: this builds the file.")))
    assert isinstance(action, AskModel)
    assert action.purpose == "check"


def test_a_file_of_an_earlier_turn_that_no_cell_ever_read_still_has_to_be_read() -> None:
    first = (asked(), BRIEFED, GaveUp(reason="nonsense_replies", text="…"))
    action = decide(turn(asked("and now?"), finish(), earlier=(first,)))
    assert isinstance(action, CorrectModel)
    assert action.reason == "no_data_read"


def test_a_new_file_of_a_follow_up_has_to_be_read_in_that_turn() -> None:
    new = Briefed(files=(SALES.model_copy(update={"path": "costs.csv"}),))
    action = decide(turn(asked(), new, finish(), earlier=(OPENING,)))
    assert isinstance(action, CorrectModel)
    assert "costs.csv" in action.text


def test_a_model_that_keeps_making_up_data_is_stopped_and_nothing_of_it_is_posted() -> None:
    replies = []
    for n in range(10):
        replies.append({"calls": [{"name": "run_python", "arguments": {"code": f"df = pd.DataFrame({{'a': [{n}]}})"}}]})
        replies.append({"calls": [{"name": "finish", "arguments": {"report": f"It is {n}."}}]})
    steps = play([asked(), BRIEFED], ScriptedModel(replies))
    assert isinstance(steps[-1], GaveUp)
    assert steps[-1].reason == "data_not_read"
    assert "without reading your data" in steps[-1].text


# --- the judge


def test_a_report_is_judged_once_before_it_is_posted() -> None:
    steps = (*OPENING, finish())
    action = decide(turn(*steps))
    assert isinstance(action, AskModel)
    assert (action.purpose, action.tools) == ("check", ())
    judgement = judged('{"is_final": true}')
    assert decide(turn(*steps, judgement)) == RecordVerdict(True)
    assert decide(turn(*steps, judgement, Checked(is_final=True))) == Finish("North sells most: 1,204.50.")


def test_a_report_that_is_not_final_goes_back_with_the_judges_reason() -> None:
    steps = (*OPENING, finish(), judged('{"is_final": false, "reason": "the months are missing"}'))
    verdict = decide(turn(*steps))
    assert verdict == RecordVerdict(False, "the months are missing")
    action = decide(turn(*steps, Checked(is_final=False, reason="the months are missing")))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == ("not_final", "f1")
    assert "the months are missing" in action.text


def test_after_two_refusals_the_next_report_is_posted_with_a_line_that_says_so() -> None:
    model = ScriptedModel(
        [{"calls": [{"name": "finish", "arguments": {"report": f"Report {n}"}}]} for n in range(1, 9)],
        checks=[{"text": '{"is_final": false, "reason": "not good enough"}'}],
    )
    steps = play([asked("What is 1+1?")], model)
    assert isinstance(steps[-1], Finished)
    assert steps[-1].report.startswith("Report 3\n\n_The final check sent earlier versions of this report back")
    assert "the last time: not good enough" in steps[-1].report
    assert sum(isinstance(step, Checked) for step in steps) == 2


def test_a_judge_that_cannot_be_understood_is_asked_once_more_and_never_costs_the_answer() -> None:
    model = ScriptedModel([{"text": "Four."}], checks=[{"text": "¯\\_(ツ)_/¯"}])
    steps = play([asked("What is 2+2?")], model)
    assert [step.purpose for step in steps if isinstance(step, Replied)] == ["act", "check", "check"]
    assert Checked(is_final=True, reason="the judge's reply could not be read") in steps
    assert steps[-1] == Finished(report="Four.")


def test_an_empty_judgement_means_not_final() -> None:
    assert decide(turn(*OPENING, finish(), judged("  "))) == RecordVerdict(False)


def test_the_judge_is_not_asked_when_no_reply_is_left() -> None:
    assert isinstance(decide(turn(*OPENING, finish(), limits=AgentLimits(max_model_calls=2))), Finish)


def test_a_report_that_was_sent_back_is_posted_with_a_caveat_when_nothing_better_comes_of_it() -> None:
    model = ScriptedModel(
        [{"calls": [{"name": "finish", "arguments": {"report": "North leads."}}]}, *[{"text": ""}] * 5],
        checks=[{"text": '{"is_final": false, "reason": "the months are missing"}'}],
    )
    end = play([asked("Which region?")], model)[-1]
    assert isinstance(end, Finished)
    assert end.report.startswith("North leads.\n\n_This is as far as I got")
    assert "(the months are missing)" in end.report
    assert isinstance(play([asked("Which region?")], model, limits=AgentLimits(max_model_calls=2))[-1], Finished)


# --- replies that cannot be acted on


def test_an_empty_reply_is_answered_to_the_model() -> None:
    action = decide(turn(asked(), said()))
    assert isinstance(action, CorrectModel)
    assert action.reason == "empty_reply"


def test_three_useless_replies_in_a_row_end_the_turn_honestly() -> None:
    steps = play([asked("hello")], ScriptedModel([{"text": ""}] * 9))
    assert isinstance(steps[-1], GaveUp)
    assert steps[-1].reason == "nonsense_replies"
    assert sum(isinstance(step, Replied) for step in steps) == 3


def test_a_useful_reply_in_between_starts_the_count_anew() -> None:
    empty, work = {"text": ""}, {"calls": [{"name": "run_python", "arguments": {"code": "1"}}]}
    model = ScriptedModel([empty, empty, work, empty, empty, {"text": "Done: 4."}])
    assert play([asked("hello")], model)[-1] == Finished(report="Done: 4.")


def test_a_reply_that_only_announces_work_is_sent_back() -> None:
    action = decide(turn(asked(), said(text="I have a plan.\n\nLet me load the file first.")))
    assert isinstance(action, CorrectModel)
    assert action.reason == "text_only"


def test_a_final_answer_in_plain_text_is_taken_as_a_report_and_goes_the_way_of_every_report() -> None:
    answer = said(text="North sells most, with 1,204.50. Let me know if you need more.")
    unread = decide(turn(asked(), BRIEFED, answer))
    assert isinstance(unread, CorrectModel)
    assert unread.reason == "no_data_read"
    read = decide(turn(*OPENING, answer))
    assert isinstance(read, AskModel)
    assert read.purpose == "check"


def test_a_plain_question_in_text_is_put_to_the_people() -> None:
    assert decide(turn(asked("analyse it"), said(text="Which file do you mean?"))) == AskHuman(
        "reply-1", "Which file do you mean?", ()
    )


# --- repetition and caps


def test_the_same_error_three_times_asks_for_a_change_of_approach() -> None:
    steps: list = [asked(), BRIEFED]
    for n in range(3):
        steps += [run(f"df['amount'] + {n}"), failed(code=f"df['amount'] + {n}", number=n + 1)]
        if n < 2:
            assert isinstance(decide(turn(*steps)), AskModel)
    action = decide(turn(*steps))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == ("change_of_approach", None)
    assert "KeyError: 'amount'" in action.text
    assert isinstance(decide(turn(*steps, corrected("change_of_approach", None))), AskModel)


def test_looking_around_between_two_errors_does_not_hide_that_they_are_the_same() -> None:
    steps: list = [asked(), BRIEFED]
    for n in range(3):
        steps += [run(f"x{n}"), failed(code=f"df['amount'] + {n}", number=2 * n + 1)]
        steps += [run(f"df.head({n})"), cell(f"df.head({n})", number=2 * n + 2)]
    action = decide(turn(*steps))
    assert isinstance(action, CorrectModel)
    assert action.reason == "change_of_approach"


def test_the_same_code_three_times_counts_whatever_its_layout_and_even_when_it_works() -> None:
    codes = ["df.head()", "df.head()  # again", "df . head ( )"]
    steps: list = [asked(), BRIEFED]
    for n, code in enumerate(codes, start=1):
        steps += [run(code), cell(code, number=n)]
    action = decide(turn(*steps))
    assert isinstance(action, CorrectModel)
    assert action.reason == "change_of_approach"
    assert "same code came 3 times" in action.text
    assert "It ran well, and what it showed stands above" in action.text
    assert "turned out wrong" not in action.text


def test_stuck_again_after_a_change_of_approach_means_stopping_with_what_is_known() -> None:
    def ran(action: RunCell) -> CellRan:
        if "read_csv" in action.code:
            return cell(
                action.code, action.call_id, 1, title="Load", stdout="rows 412\ncolumns 3", files_read=("sales.csv",)
            )
        return failed(code=action.code, call_id=action.call_id)

    load = {"calls": [{"name": "run_python", "arguments": {"code": "df = pd.read_csv('sales.csv')", "title": "Load"}}]}
    wrong = [{"calls": [{"name": "run_python", "arguments": {"code": f"df['amount'] + {n}"}}]} for n in range(20)]
    steps = play([asked(), BRIEFED], ScriptedModel([load, *wrong]), ran)
    end = steps[-1]
    assert isinstance(end, GaveUp)
    assert (end.reason, end.fault) == ("stuck_on_error", "model")
    assert "`KeyError: 'amount'`" in end.text
    assert "- Load: rows 412; columns 3" in end.text
    assert sum(isinstance(step, CellRan) for step in steps) == 7


def test_three_time_outs_are_the_same_error() -> None:
    steps: list = [asked()]
    for n in range(3):
        steps += [run(f"slow({n})"), cell(f"slow({n})", status="timeout", number=n + 1)]
    action = decide(turn(*steps))
    assert isinstance(action, CorrectModel)
    assert action.reason == "change_of_approach"


def test_when_the_cells_are_used_up_the_model_is_told_to_finish_and_then_stopped() -> None:
    limits = AgentLimits(max_cells=2)
    steps: list = [asked(), run("1", "a"), cell("1", "a", 1), run("2", "b"), cell("2", "b", 2), run("3", "c")]
    action = decide(turn(*steps, limits=limits))
    assert isinstance(action, CorrectModel)
    assert (action.reason, action.call_id) == ("out_of_cells", "c")
    stopped = decide(turn(*steps, corrected("out_of_cells", "c"), run("4", "d"), limits=limits))
    assert isinstance(stopped, GiveUp)
    assert stopped.reason == "out_of_cells"


def test_the_number_of_model_calls_is_capped() -> None:
    model = ScriptedModel([{"calls": [{"name": "run_python", "arguments": {"code": f"x = {n}"}}]} for n in range(99)])
    steps = play([asked()], model, limits=AgentLimits(max_model_calls=7))
    assert isinstance(steps[-1], GaveUp)
    assert steps[-1].reason == "out_of_replies"
    assert sum(isinstance(step, Replied) for step in steps) == 7


def test_the_stop_is_told_in_the_language_of_the_question() -> None:
    steps = play([asked("按地区统计销售额")], ScriptedModel([{"text": ""}] * 9), language="zh")
    assert isinstance(steps[-1], GaveUp)
    assert steps[-1].text.startswith("**我没能完成这次分析。**")


# --- whole turns


@pytest.mark.parametrize("native", [True, False])
def test_a_turn_goes_from_question_to_report(native: bool) -> None:
    code = "df = pd.read_csv('sales.csv')\nprint(df.shape)"
    tools = [
        {"calls": [{"name": "run_python", "arguments": {"code": code, "title": "Load"}}]},
        {"calls": [{"name": "finish", "arguments": {"report": "North, 1,204.50."}}]},
    ]
    fenced = [{"text": f"Load\n```python\n{code}\n```"}, {"text": "<finish>North, 1,204.50.</finish>"}]
    model = ScriptedModel(tools if native else fenced, native_tools=native)
    steps = play([asked(), BRIEFED], model)
    assert [step.kind for step in steps[2:]] == ["replied", "cell", "replied", "replied", "checked", "finished"]
    end = steps[-1]
    assert isinstance(end, Finished)
    assert (end.report, end.partial) == ("North, 1,204.50.", False)
    assert [(each.figure, each.state, [place.what for place in each.places]) for each in end.sources] == [
        ("1,204.50", "given", ["file"])
    ]


def test_a_turn_cut_at_any_step_goes_on_to_the_same_end() -> None:
    script = [
        {"calls": [{"name": "python", "arguments": "df = pd.read_csv('sales.csv')"}]},
        {"text": ""},
        {"calls": [{"name": "ask_user", "arguments": {"question": "Which year?"}}]},
    ]
    whole = play([asked(), BRIEFED], ScriptedModel(script))
    assert isinstance(whole[-1], Questioned)
    for cut in range(2, len(whole)):
        assert play(whole[:cut], ScriptedModel(script)) == whole


def test_every_correction_is_a_prompt_of_its_own_name_or_a_reason_of_malformed() -> None:
    assert {"skipped", "too_early", "new_message", "no_data_read", "not_final", "out_of_cells"} <= set(PROMPTS.names)
    assert ran_well(RunCell("a", "b", "t", "1")).status == "ok"
    assert Asked(user="U", author="", text="", ts="").kind == "asked"


def test_a_report_in_front_of_a_cell_waits_for_what_the_cell_shows() -> None:
    report = call("finish", "f", report="The table is in sums.xlsx.")
    both = said(report, call("run_python", "c2", code="df.to_excel('sums.xlsx')", title="Write"))
    early = decide(turn(*OPENING, both))
    assert isinstance(early, CorrectModel)
    assert early.reason == "too_early"
    sent_back = Corrected(reason="too_early", text=early.text, call_id="f")
    assert isinstance(decide(turn(*OPENING, both, sent_back)), RunCell)


def test_a_report_in_front_of_a_cell_counts_in_the_last_reply() -> None:
    both = said(call("finish", "f", report="North leads."), call("run_python", "c2", code="1", title="Look"))
    assert isinstance(decide(turn(*OPENING, both, limits=AgentLimits(max_model_calls=2))), Finish)


def test_a_report_that_was_sent_back_is_posted_when_the_model_cannot_be_asked_any_more() -> None:
    sent_back = Corrected(reason="unsourced", text="Not found: 4711.", call_id="f1")
    too_long = ModelFailed(purpose="act", reason="model_context", prompt_chars=9_000)
    steps = (*OPENING, finish("North sold 4711 EUR."), sent_back)
    shorter = [step for n in (4_000, 2_000) for step in (too_long, Compacted(context_chars=n))]
    end = decide(turn(*steps, *shorter, too_long))
    assert isinstance(end, Finish)
    assert end.report.startswith("North sold 4711 EUR (")
    end = decide(turn(*steps, limits=AgentLimits(context_chars=1_000)))
    assert isinstance(end, Finish)


def test_several_cells_too_many_in_one_reply_still_leave_a_reply_for_the_report() -> None:
    three = said(*(call("run_python", name, code=f"print('{name}')", title=name) for name in "abc"))
    steps = [asked(), three, cell("print('a')", "a", 1)]
    for name in "bc":
        action = decide(turn(*steps, limits=AgentLimits(max_cells=1)))
        assert isinstance(action, CorrectModel)
        assert (action.reason, action.call_id) == ("out_of_cells", name)
        steps.append(Corrected(reason="out_of_cells", text=action.text, call_id=name))
    assert isinstance(decide(turn(*steps, limits=AgentLimits(max_cells=1))), AskModel)
    again = decide(turn(*steps, run("print('d')", "d"), limits=AgentLimits(max_cells=1)))
    assert isinstance(again, GiveUp)
    assert again.reason == "out_of_cells"


@pytest.mark.parametrize("options", [(), ("gross", "net")])
def test_nobody_is_asked_when_no_reply_is_left_to_read_the_answer(options: tuple[str, ...]) -> None:
    ask = said(call("ask_user", "q", question="Gross or net?", options=list(options)))
    end = decide(turn(*OPENING, ask, limits=AgentLimits(max_model_calls=2)))
    assert isinstance(end, GiveUp)
    assert end.reason == "out_of_replies"
    shown = "Gross or net? (gross / net)" if options else "Gross or net?"
    assert f"**To go on I would need to know:** {shown}\n" in end.text
    assert isinstance(decide(turn(*OPENING, ask)), AskHuman)


# --- budgets


def test_a_budget_bounds_the_replies_like_the_limit_does_and_the_tighter_one_counts() -> None:
    steps = (*OPENING, run("df.head()", "c2"), cell("df.head()", "c2", 2))
    roomy = turn(*steps, allowance=Allowance(calls=10, scope="day"))
    assert "Limit near" not in str(decide(roomy))
    assert "Limit near: 2 replies" in str(decide(replace(roomy, allowance=Allowance(calls=2, scope="day"))))
    assert "Last reply for this question" in str(
        decide(replace(roomy, limits=AgentLimits(max_model_calls=3), allowance=Allowance(calls=2, scope="day")))
    )


@pytest.mark.parametrize("scope", ["turn", "thread", "person", "day"])
def test_a_budget_that_is_used_up_ends_the_turn_with_what_is_known(scope: Literal["turn", "thread"]) -> None:
    known = cell("df.sum()", "c2", 2, title="Sum", result="1204.5")
    action = decide(turn(*OPENING, run("df.sum()", "c2"), known, allowance=Allowance(calls=0, scope=scope)))
    assert isinstance(action, GiveUp)
    assert action.reason == "out_of_budget"
    assert "1204.5" in action.text
    assert "[budget]" in action.text


def test_a_report_that_a_budget_made_the_last_word_says_so_and_is_not_judged() -> None:
    hurried = decide(turn(*OPENING, finish("All 7."), allowance=Allowance(calls=0, scope="turn")))
    assert isinstance(hurried, Finish)
    assert hurried.report.startswith("All 7.\n\n_The language model's budget for this question")
    assert isinstance(decide(turn(*OPENING, finish("All 7."), allowance=Allowance(calls=5, scope="turn"))), AskModel)


# --- what a person called back


WAITING = Questioned(
    call_id="approve:1",
    question="May this run?",
    approval=Approval(what="python", title="Read", code="df = 1", call="c1"),
)
UNDECIDED = Decided(call_id="approve:1", outcome="expired", ts="9.0")


LET_RUN = Decided(call_id="approve:1", outcome="run", user="U1", author="Ana", ts="9.0")


def test_a_cell_whose_code_a_person_changed_says_so_beside_its_title() -> None:
    edited = LET_RUN.model_copy(update={"outcome": "edited", "code": "df = 2"})
    before = (asked(), BRIEFED, run("df = 1"), WAITING)
    changed = decide(turn(*before, edited, approvals="every cell"))
    assert isinstance(changed, RunCell)
    assert (changed.code, changed.title.partition(" (")[2]) == ("df = 2", "code changed by Ana)")
    same = decide(turn(*before, edited.model_copy(update={"code": "df = 1"}), approvals="every cell"))
    assert same == decide(turn(*before, LET_RUN, approvals="every cell"))


SAYS_SO = "RequestRefused: This statement on crm needs a person's yes."


def stopped_for_its_statement(code: str = "df = 1") -> CellRan:
    return cell(code, "c1", status="error", error=SAYS_SO, error_name="RequestRefused", ended_by="question")


STATEMENT = Questioned(
    call_id="approve:2", question="May it be sent?", approval=Approval(what="statement", title="crm", code="SELECT 1")
)
SEND_IT = Decided(call_id="approve:2", outcome="run", user="U1", author="Ana", ts="9.5")
STOPPED = (asked(), BRIEFED, run("df = 1"), WAITING, LET_RUN, stopped_for_its_statement())


def test_code_that_stopped_only_for_a_yes_to_its_statement_needs_no_second_yes() -> None:
    before = (*STOPPED, STATEMENT, SEND_IT)
    again = decide(turn(*before, run("df = 1", "c2"), approvals="every cell"))
    assert isinstance(again, RunCell)
    assert again.code == "df = 1"
    changed = decide(turn(*before, run("df = 2", "c2"), approvals="every cell"))
    assert isinstance(changed, AskApproval)


def test_a_cell_that_runs_again_after_a_yes_counts_once_among_the_cells_of_a_turn() -> None:
    yes = SEND_IT.model_copy(update={"call_id": f"{CONFIRM_CALL}1"})
    steps = (asked(), BRIEFED, run("df = 1", "c1"), stopped_for_its_statement(), yes)
    again = decide(turn(*steps, limits=AgentLimits(max_cells=1)))
    assert isinstance(again, RunCell)
    assert again.cell_id.endswith("/c2")
    ran = cell("df = 1", "c1", 2)
    for most, ends in ((1, True), (2, False)):
        after = decide(turn(*steps, ran, run("df = 2", "c9"), limits=AgentLimits(max_cells=most)))
        assert isinstance(after, CorrectModel) is ends


def test_that_yes_counts_once_and_only_after_a_yes_to_the_statement() -> None:
    second = stopped_for_its_statement().model_copy(update={"call_id": "c2", "cell_id": "t/c2"})
    for steps in (STOPPED, (*STOPPED, STATEMENT, SEND_IT, run("df = 1", "c2"), second)):
        assert isinstance(decide(turn(*steps, run("df = 1", "c9"), approvals="every cell")), AskApproval)
    skipped = SEND_IT.model_copy(update={"outcome": "skip"})
    steps = (*STOPPED, STATEMENT, skipped, run("df = 1", "c9"))
    assert isinstance(decide(turn(*steps, approvals="every cell")), AskApproval)


@pytest.mark.parametrize(
    "ran",
    [
        cell("df = 1", "c1"),
        cell("df = 1", "c1", status="error", error="ValueError: no", error_name="ValueError"),
        cell("df = 1", "c1", status="error", error=SAYS_SO, error_name="RequestRefused"),
        stopped_for_its_statement("df = 0"),
    ],
    ids=["ran well", "failed by itself", "said itself that it waits", "ran as somebody changed it"],
)
def test_any_other_code_that_ran_before_is_asked_about_again(ran: CellRan) -> None:
    steps = (asked(), BRIEFED, run("df = 1"), WAITING, LET_RUN, ran, STATEMENT, SEND_IT, run("df = 1", "c2"))
    assert isinstance(decide(turn(*steps, approvals="every cell")), AskApproval)


def test_a_cell_that_stopped_for_its_statement_but_that_nobody_let_run_is_asked_about() -> None:
    steps = (asked(), BRIEFED, run("df = 1"), stopped_for_its_statement(), run("df = 1", "c2"))
    assert isinstance(decide(turn(*steps, approvals="every cell")), AskApproval)


def test_a_statement_that_nobody_decided_on_in_time_is_told_by_the_title_of_its_cell() -> None:
    late = SEND_IT.model_copy(update={"outcome": "expired"})
    own = cell("x = 1", f"{OWN_CALL}8.0", 2, title="Code of Ben: x = 1")
    action = decide(turn(asked(), BRIEFED, run("df = 1"), STATEMENT, stopped_for_its_statement(), own, late))
    assert isinstance(action, GiveUp)
    assert "whether the step “Step” may run" in action.text


def test_a_turn_ends_when_nobody_decides_in_time() -> None:
    action = decide(turn(asked(), BRIEFED, run("df = 1"), WAITING, UNDECIDED, approvals="every cell"))
    assert isinstance(action, GiveUp)
    assert (action.reason, action.fault) == (APPROVAL_EXPIRED, "user")
    assert "“Read”" in action.text


def test_a_step_without_a_title_is_named_all_the_same() -> None:
    assert WAITING.approval is not None
    untitled = WAITING.model_copy(update={"approval": WAITING.approval.model_copy(update={"title": ""})})
    action = decide(turn(asked(), BRIEFED, run("df = 1"), untitled, UNDECIDED, approvals="every cell"))
    assert isinstance(action, GiveUp)
    assert "“”" not in action.text


def test_a_stop_counts_before_the_end_of_the_time() -> None:
    stop = Commanded(command="stop", user="U1", author="Ana", text="stop", ts="9.1")
    action = decide(turn(asked(), BRIEFED, run("df = 1"), WAITING, UNDECIDED, stop, approvals="every cell"))
    assert action == Obey(stop)


def test_what_nobody_decided_in_time_is_asked_again_after_continue() -> None:
    end = GaveUp(reason=APPROVAL_EXPIRED, text="Nobody decided.", fault="user")
    resumed = Resumed(user="U1", author="Ana", text="continue", ts="10.0")
    (steps,) = effective_steps([(asked(), BRIEFED, run("df = 1"), WAITING, UNDECIDED, end, resumed)])
    action = decide(turn(*steps, approvals="every cell"))
    assert isinstance(action, AskApproval)
    assert action.number == 2


def test_an_end_that_was_called_back_does_not_count() -> None:
    end = GaveUp(reason="model_down", text="It is away.")
    resumed = Resumed(user="U1", author="Ana", text="continue", ts="9.0")
    (standing,) = effective_steps([(*OPENING, end, resumed)])
    assert standing == OPENING
    assert isinstance(decide(turn(*standing)), AskModel)
    (again,) = effective_steps([(*OPENING, end, resumed, end)])
    assert decide(turn(*again)) == Wait()


def test_a_cell_that_was_taken_back_counts_for_nothing_but_its_number() -> None:
    undone = Undone(cell_id=READ.cell_id, title=READ.title, user="U2", author="Ben", ts="9.0")
    (standing,) = effective_steps([(*OPENING, undone, run("df.head()", "c2"))])
    action = decide(turn(*standing))
    assert isinstance(action, RunCell)
    assert action.cell_id == "T1/c2"
    told = str(messages(turn(*standing)))
    assert "undone" in told
    assert "Ben took the cell" in told
    assert known_so_far(standing) == []


def test_a_cell_that_asked_a_person_is_not_told_to_people_as_failed() -> None:
    refused = "RequestRefused: This statement on shop needs a person's yes."
    asks = cell("query(q)", status="error", error=refused, error_name="RequestRefused", ended_by="question")
    wrong = cell("query(q)", "c2", 2, title="Sum", status="error", error="KeyError: 'amount'", error_name="KeyError")
    assert [each["title"] for each in failed_so_far([asks, wrong])] == ["Sum"]


def test_a_cell_may_be_taken_back_from_a_later_turn() -> None:
    undone = Undone(cell_id=READ.cell_id, title=READ.title, user="U2", author="Ben", ts="9.0")
    first, _ = effective_steps([(*OPENING, Finished(report="r")), (asked("undo"), undone)])
    assert [step.status for step in first if isinstance(step, CellRan)] == ["undone"]


def test_a_question_about_a_reset_that_did_not_come_to_be_is_forgotten() -> None:
    question = Questioned(call_id=RESET_CALL, question="Really?", options=("Yes", "No"))
    yes = Forgot(done=True, user="U1", author="Ana", text="The session is reset.")
    withdrawn = (asked("reset"), question, asked("no"), yes.model_copy(update={"done": False}))
    something_else = (asked("reset"), question, asked("what sold best?"))
    reset = (asked("reset"), question, asked("yes"), yes)
    assert effective_steps([withdrawn, something_else, reset]) == ((), (asked("what sold best?"),), reset)
    assert decide(turn(asked("reset"), question)) == Wait()
    assert decide(turn(*reset)) == Wait()
    told = str(messages(turn(asked("and by month?"), earlier=(OPENING, reset))))
    assert "The session is reset." in told


# --- what a newer version stored


@pytest.mark.parametrize("end", [(), (finish(), judged("true"))], ids=["open", "with a report"])
@pytest.mark.parametrize("place", range(len(OPENING) + 1))
def test_an_unknown_step_changes_nothing_of_what_follows(place: int, end: tuple[Replied, ...]) -> None:
    unknown = UnknownStep(body={"kind": "of a newer version"})
    steps = (*OPENING, *end)
    found = effective_steps([(*steps[:place], unknown, *steps[place:], unknown)])
    assert found == (steps,)
    assert decide(turn(*found[0])) == decide(turn(*steps))


def test_a_reset_that_was_withdrawn_counts_for_nothing_even_before_an_unknown_step() -> None:
    withdrawn = Forgot(done=False, user="U1", author="Ana", text="Nothing was reset.")
    assert effective_steps([(asked("reset"), withdrawn, UnknownStep(body={"kind": "later"}))]) == ((),)
