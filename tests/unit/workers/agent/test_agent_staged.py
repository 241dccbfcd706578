"""Staged review as the agent decides it: each stage has its own checks, and the report is what people approved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_kit import asked, cell, finish, judged, run, turn

from core.steps import Approval, Asked, Checked, Corrected, Decided, Questioned, Step
from workers.agent.actions import Action, AskApproval, AskModel, CorrectModel, Finish
from workers.agent.decide import decide
from workers.agent.edits import Edit, edits, moved
from workers.agent.prompt.messages import messages
from workers.agent.report.sourcing import without_idle_legend
from workers.agent.stages import asks_for_stages, plan_of
from workers.agent.turn import AgentLimits

PLAN = "1. Load — a clean table\n2. Compare — the winner"
PRINT = "print(sums)"
SHOWN = "North  4321\nSouth  1234\n"
WRONG, RIGHT = "North sold 5,678.", "North sold 4,321."


def settled(number: int, what: Any, code: str, call: str, outcome: Any = "run", text: str = "") -> list[Step]:
    """Our question about a plan or a result, and what Ben decided."""
    approval = Approval(what=what, title="", code=code, call=call)
    return [
        Questioned(call_id=f"approve:{number}", question="?", options=("Yes", "No"), approval=approval),
        Decided(call_id=f"approve:{number}", outcome=outcome, user="UBEN", author="Ben", ts=f"{number}.5", code=text),
    ]


START: tuple[Step, ...] = (asked("Step by step: who wins?"), finish(PLAN, "f0"), *settled(1, "plan", PLAN, "f0"))
RAN: tuple[Step, ...] = (run(PRINT), cell(PRINT, stdout=SHOWN))


def refused(report: str, call_id: str) -> list[Step]:
    return [finish(report, call_id), Corrected(reason="unsourced", text="…", call_id=call_id)]


def done(number: int, report: str, call_id: str, outcome: Any = "run", text: str = "") -> list[Step]:
    """A result that the judge let pass, and what people made of it."""
    reply: list[Step] = [finish(report, call_id), Checked(is_final=True)]
    return [*reply, *settled(number, "stage", report, call_id, outcome, text)]


def next_of(*steps: Step, **fields: Any) -> Action:
    return decide(turn(*steps, **fields))


@pytest.mark.parametrize(
    "text",
    [
        "Step by step: who wins?",
        "Schritt für Schritt bitte: wer gewinnt? Erst der Plan.",
        "¿Quién gana? Paso a paso, por favor.",
        "Étape par étape : qui gagne ?",
        "Qui gagne ? Pas à pas, s'il vous plaît.",
        "请分步进行：谁赢了？",
        "ステップごとに進めてください：誰が勝ちましたか？",
        "段階的に進めてください：誰が勝ちましたか？",
    ],
)
def test_people_ask_for_stages_in_each_language(text: str) -> None:
    assert asks_for_stages([asked(text)])


@pytest.mark.parametrize("text", ["Who wins?", "Eine schrittweise Regression bitte.", "Une étape de plus."])
def test_other_questions_have_no_stages(text: str) -> None:
    assert not asks_for_stages([asked(text)])


def test_each_stage_has_returns_of_its_own() -> None:
    first = [*START, *RAN, *refused(WRONG, "f1"), *refused(WRONG, "f2"), *done(2, RIGHT, "f3")]
    action = next_of(*first, finish(WRONG, "f4"))
    assert isinstance(action, CorrectModel)
    assert action.reason == "unsourced"


def test_a_figure_of_an_earlier_stage_is_told_again_where_it_comes_again() -> None:
    limits = AgentLimits(max_refusals=1)
    steps = [*START, *RAN, *refused(WRONG, "f1"), *done(2, WRONG, "f2"), *refused("South sold 9,876.", "f3")]
    action = next_of(*steps, finish(WRONG, "f4"), limits=limits)
    assert isinstance(action, CorrectModel)
    assert "5,678" in action.text
    again = [*refused(WRONG, "f4"), finish("South sold 9,876.", "f5")]
    assert not isinstance(next_of(*steps, *again, limits=limits), CorrectModel)


def test_a_question_that_nobody_decided_in_time_gives_no_new_returns() -> None:
    steps = [*START, *RAN, *refused(WRONG, "f1"), *refused(WRONG, "f2"), finish(WRONG, "f3")]
    steps += [Checked(is_final=True), *settled(2, "stage", WRONG, "f3", "expired"), asked("continue", ts="9.0")]
    assert not isinstance(next_of(*steps[:-1]), CorrectModel)


def test_the_judge_reads_the_result_of_a_stage_before_people_do() -> None:
    action = next_of(*START, *RAN, finish(RIGHT))
    assert isinstance(action, AskModel)
    assert action.purpose == "check"
    assert "stage 1 of 2: Load — a clean table" in json.dumps(action.messages, ensure_ascii=False)
    sent_back = next_of(*START, *RAN, finish(RIGHT), Checked(is_final=False, reason="no table"))
    assert isinstance(sent_back, CorrectModel)
    assert "no table" in sent_back.text
    asks = next_of(*START, *RAN, finish(RIGHT), judged('{"is_final": true}'), Checked(is_final=True))
    assert isinstance(asks, AskApproval)
    assert (asks.approval.title, asks.approval.code) == ("1 of 2, Load", RIGHT)


def test_people_read_that_the_judge_did_not_see_the_last_version_of_a_stage() -> None:
    steps = [*START, *RAN]
    for number in (1, 2):
        steps += [finish(RIGHT, f"f{number}"), Checked(is_final=False, reason="no table")]
        steps.append(Corrected(reason="not_final", text="…", call_id=f"f{number}"))
    action = next_of(*steps, finish(RIGHT, "f3"))
    assert isinstance(action, AskApproval)
    assert "(the last time: no table)" in action.approval.code
    later = next_of(*steps, *done(2, RIGHT, "f3"), finish("South sold 1,234.", "f4"))
    assert isinstance(later, AskModel)
    assert later.purpose == "check"


def test_without_a_model_call_left_people_are_asked_at_once() -> None:
    assert isinstance(next_of(*START, *RAN, finish(RIGHT), limits=AgentLimits(max_model_calls=3)), AskApproval)


def in_words(number: int, code: str, call: str, words: str, outcome: Any) -> list[Step]:
    question, decided = settled(number, "stage", code, call, outcome)
    return [question, Asked(user="UBEN", author="Ben", text=words, ts=f"{number}.5"), decided]


def test_an_approval_in_words_ends_its_stage() -> None:
    first = [*START, *RAN, *done(2, RIGHT, "f1"), finish("South sold 1,234.", "f2"), Checked(is_final=True)]
    assert isinstance(next_of(*first, *in_words(3, "South sold 1,234.", "f2", "yes", "run")), Finish)
    sent_back = next_of(*first, *in_words(3, "South sold 1,234.", "f2", "and the East?", "other"))
    assert isinstance(sent_back, CorrectModel)
    assert sent_back.reason == "stage_sent_back"


# --- what a person changed in a result

TABLE = "| Region | Sold |\n|---|---|\n| North | 5,678 |\n| South | 1,234 |\n\nNorth leads with 4,321."
MARKED = TABLE.replace("5,678", "5,678 ⚠")
LEGEND = "\n\n_⚠ in a table: not computed here. No output of this thread shows this figure for its row._"


def changed(text: str) -> tuple[Step, ...]:
    """A turn whose only stage Ben changed to this text."""
    plan = "1. Compare — the winner"
    start = [asked("Step by step: who wins?"), finish(plan, "f0"), *settled(1, "plan", plan, "f0"), *RAN]
    result = settled(2, "stage", MARKED + LEGEND, "f1", "edited", text)
    return (
        *start,
        *refused(TABLE, "f0b"),
        *refused(TABLE, "f0c"),
        finish(TABLE, "f1"),
        Checked(is_final=True),
        *result,
    )


def test_the_report_names_what_a_person_changed_and_keeps_the_sources() -> None:
    end = next_of(*changed(MARKED.replace("5,678 ⚠", "4,321").replace("leads", "is ahead")))
    assert isinstance(end, Finish)
    assert "*Ben changed in it: 5,678 ⚠ → 4,321; leads → is ahead*\n\n*Approved by Ben, " in end.report
    assert [(one.figure, one.state) for one in end.sources] == [("1,234", "sourced"), ("4,321", "sourced")]
    assert [end.report[one.start : one.start + 5] for one in end.sources] == ["1,234", "4,321"]


def test_an_unchanged_stage_names_no_change_and_keeps_its_marks_among_the_sources() -> None:
    end = next_of(*changed(MARKED + LEGEND))
    assert isinstance(end, Finish)
    assert "changed in it" not in end.report
    assert next((one.figure, one.state) for one in end.sources) == ("5,678", "unsourced")


def test_the_model_reads_what_a_person_changed_in_a_result() -> None:
    steps = (*START, *RAN, *done(2, RIGHT, "f1", "edited", "North sold about 4,300."))
    told = "\n".join(str(message["content"]) for message in messages(turn(*steps)))
    assert "-North sold 4,321.\n+North sold about 4,300." in told


def test_the_line_on_signs_goes_with_the_last_sign() -> None:
    assert without_idle_legend(TABLE + LEGEND) == TABLE
    assert without_idle_legend(MARKED + LEGEND) == MARKED + LEGEND
    assert without_idle_legend(f"{TABLE} (⚠ not computed here){LEGEND}") == f"{TABLE} (⚠ not computed here)"


def test_edits_are_the_words_that_differ() -> None:
    before, after = "a 13.82 ⚠ | b\nsame\nlast one", "a 14.84 | b\nsame\nnew\nlast one"
    found = edits(before, after)
    assert [(each.old.strip(), each.new.strip()) for each in found] == [("13.82 ⚠", "14.84"), ("", "new")]
    assert moved(before.index("last"), 4, found) == after.index("last")
    assert moved(before.index("13.82"), 5, found) is None
    assert moved(0, 1, [Edit(5, "x", "yy")]) == 0


# --- what the model is told


def told_of(*steps: Step) -> str:
    return "\n".join(str(message["content"]) for message in messages(turn(*steps)))


def test_a_stage_is_told_once_where_people_decided() -> None:
    first = (*START, *RAN)
    assert told_of(*first).count("# Step by step") == 1
    assert "Work on stage 1 of 2 only: Load" in told_of(*START)
    assert "in the report already" not in told_of(*first)
    assert not messages(turn(*first))[-1]["content"].count("# Step by step")
    second = (*first, *done(2, RIGHT, "f1"), *refused(WRONG, "f2"))
    assert told_of(*second).count("Work on stage 2 of 2 only: Compare") == 1
    assert told_of(*second).count("2. Compare — the winner") == 1
    assert "in the report already" in told_of(*second)


def test_a_plan_that_people_changed_is_told_as_it_is_now() -> None:
    plan = settled(1, "plan", PLAN, "f0", "edited", "1. Only compare — the winner")
    told = told_of(asked("Step by step: who wins?"), finish(PLAN, "f0"), *plan)
    assert "Work on stage 1 of 1 only: Only compare" in told
    assert "The people approved this plan:\n1. Only compare — the winner\n" in told


def test_the_stage_is_still_told_in_the_shortest_prompt() -> None:
    steps = [*START]
    for number in range(30):
        steps += [run(f"x = {number}", f"c{number}"), cell("x", f"c{number}", number, stdout="o" * 7_000)]
    told = "\n".join(str(m["content"]) for m in messages(turn(*steps, limits=AgentLimits(context_chars=30_000))))
    assert "Cells left out here" in told
    assert "Work on stage 1 of 2 only: Load" in told


def test_each_line_of_a_plan_that_people_changed_is_a_stage() -> None:
    def plan(text: str) -> tuple[str, ...]:
        steps = (finish(PLAN, "f0"), *settled(1, "plan", PLAN, "f0", "edited", text))
        return tuple(stage.title for stage in plan_of(steps) or ())

    assert plan("1. Load — a table\nCompare: the winner\n\nTell") == ("Load", "Compare", "Tell")
    assert plan("only the totals") == ("only the totals",)
    assert plan(" \n") == ("Load", "Compare")
