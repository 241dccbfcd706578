"""A plan comes with a cell, as data, and each cell says how far it is. It costs no call and a short answer has none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from agent_kit import BRIEFED, asked, call, cell, play, said, turn
from hypothesis import given
from hypothesis import strategies as st

from core.steps import CellRan, Planned, PlanStep, Replied, Step, ToolCall
from workers.agent.actions import RecordPlan, RunCell
from workers.agent.decide import decide
from workers.agent.prompt.messages import messages
from workers.agent.replies.intents import Intent, Malformed, RunPython
from workers.agent.replies.parse import read_reply
from workers.agent.replies.plans import MOST_STEPS, lines_of, plan_text, read_plan
from workers.agent.stages import MOST_STAGES, Stage, read_stages
from workers.agent.turn import AgentLimits
from workers.models.scripted import ScriptedModel

LOAD, SUM, COMPARE = (
    PlanStep(title="Read the sales", shows="rows and types"),
    PlanStep(title="Add up by region", shows="a total for each region"),
    PlanStep(title="Compare the years", shows="change in percent"),
)
CODE = "df = pd.read_csv('sales.csv')"
HEAD = (asked(), BRIEFED)


def planned(*steps: PlanStep, why: str = "") -> Planned:
    return Planned(steps=steps, why=why, call_id="c0")


def written(*steps: PlanStep) -> list[dict[str, str]]:
    return [{"step": step.title, "shows": step.shows} for step in steps]


def python(call_id: str, *, code: str = CODE, **said_of_plan: object) -> Replied:
    return said(call("run_python", call_id, code=code, title="Load", **said_of_plan))


def states(*steps: Step) -> list[str]:
    return [line.state for line in lines_of(steps)]


def read(reply: Replied) -> Intent:
    return read_reply(reply, 1).intents[0]


def test_the_plan_is_kept_before_its_cell_runs_and_asks_the_model_nothing() -> None:
    reply = python("c1", plan=written(LOAD, SUM), step=1)
    now = turn(*HEAD, reply)
    assert decide(now) == RecordPlan((LOAD, SUM), "", "c1")
    then = decide(replace(now, steps=(*now.steps, planned(LOAD, SUM).model_copy(update={"call_id": "c1"}))))
    assert isinstance(then, RunCell)
    assert then.plan_step == 1


def played(*plans: list[dict[str, str]]) -> tuple[Step, ...]:
    cells = [{"code": CODE, "title": "Load"}, {"code": "df.sum()", "title": "Sum"}]
    told = [{**each, "plan": plan} for each, plan in zip(cells, [*plans, [], []], strict=False)]
    calls = [*({"name": "run_python", "arguments": each} for each in told)]
    return play(HEAD, ScriptedModel([*({"calls": [each]} for each in calls), {"text": "All of it is done."}]))


def test_a_turn_with_a_plan_asks_the_model_as_often_as_one_without() -> None:
    with_plan, without = played(written(LOAD, SUM)), played()
    assert any(isinstance(step, Planned) for step in with_plan)
    assert len([step for step in with_plan if isinstance(step, Replied)]) == len(
        [step for step in without if isinstance(step, Replied)]
    )


def test_an_answer_needs_no_plan() -> None:
    steps = played()
    assert not any(isinstance(step, Planned) for step in steps)
    assert steps[-1].kind == "finished"


def test_a_new_plan_replaces_the_old_one_and_says_why() -> None:
    before = (*HEAD, planned(LOAD, SUM), cell(plan_step=1))
    now = turn(*before, python("c2", plan=written(SUM, COMPARE), why="There are two currencies."))
    assert decide(now) == RecordPlan((SUM, COMPARE), "There are two currencies.", "c2")
    again = (*before, planned(SUM, COMPARE, why="There are two currencies."))
    assert [line.step for line in lines_of(again)] == [SUM, COMPARE]
    assert states(*again) == ["open", "open"]


def test_the_same_plan_again_is_no_new_plan() -> None:
    now = turn(*HEAD, planned(LOAD, SUM), cell(plan_step=1), python("c2", plan=written(LOAD, SUM), step=2))
    assert isinstance(decide(now), RunCell)


def test_in_staged_review_the_plan_that_people_approve_counts() -> None:
    assert not isinstance(decide(turn(*HEAD, python("c1", plan=written(LOAD, SUM)), approvals="plan")), RecordPlan)


def test_a_step_is_done_once_the_cell_that_names_it_ran_well() -> None:
    ran: list[CellRan] = [cell(plan_step=2), cell(plan_step=1, status="error", error="KeyError: 'a'")]
    assert states(planned(LOAD, SUM, COMPARE), *ran) == ["failed", "done", "open"]
    assert states(planned(LOAD, SUM, COMPARE), *ran, cell(plan_step=1)) == ["done", "done", "open"]


def test_a_cell_that_names_no_step_does_the_first_one_that_is_left() -> None:
    ran = [cell(), cell(status="error"), cell(plan_step=9)]
    assert states(planned(LOAD, SUM, COMPARE), *ran[:2]) == ["done", "failed", "open"]
    assert states(planned(LOAD, SUM, COMPARE), *ran) == ["done", "done", "open"]


def test_a_cell_that_was_taken_back_and_a_persons_own_cell_do_no_step() -> None:
    own = cell(call_id="own:1.0", user="U1")
    assert own.is_own
    assert states(planned(LOAD, SUM), own, cell(status="undone", plan_step=1)) == ["open", "open"]


@pytest.mark.parametrize(
    "plan",
    [
        [{"step": "Load", "shows": "rows"}, {"step": "Sum", "shows": "totals"}],
        [{"title": "Load", "expected": "rows"}, {"name": "Sum", "output": "totals"}],
        ["Load — rows", "2. Sum: totals"],
        "1. Load — rows\n2. Sum — totals",
        {"steps": ["Load — rows", "Sum — totals"]},
    ],
)
def test_a_plan_is_read_in_whatever_shape_models_give_it(plan: object) -> None:
    assert read_plan(plan) == (PlanStep(title="Load", shows="rows"), PlanStep(title="Sum", shows="totals"))


@pytest.mark.parametrize("plan", [None, 3, [], {}, "no list", [{"step": "only one", "shows": "x"}], [None, {}, ""]])
def test_what_is_no_plan_costs_no_cell(plan: object) -> None:
    intent = read(python("c1", plan=plan, why="x", step="none"))
    assert intent == RunPython("c1", CODE, "Load")


@pytest.mark.parametrize(
    "plan",
    [
        [{"step": f"Step {n}", "shows": f"table {n}"} for n in range(1, 16)],
        [f"Step {n} — table {n}" for n in range(1, 16)],
        "\n".join(f"{n}. Step {n} — table {n}" for n in range(1, 16)),
    ],
    ids=["objects", "lines", "text"],
)
def test_no_step_of_a_long_plan_is_lost(plan: object) -> None:
    steps = read_plan(plan)
    assert len(steps) == MOST_STEPS
    assert steps[10] == PlanStep(title="Step 11", shows="table 11")
    assert steps[11].title == "Step 12; Step 13; Step 14; Step 15"
    assert steps[11].shows == "table 12; table 13; table 14; table 15"


def test_no_stage_of_a_long_plan_that_people_approve_is_lost() -> None:
    listed = read_stages("\n".join(f"{n}. Stage {n} — table {n}" for n in range(1, 15)))
    assert len(listed) == MOST_STAGES
    assert listed[-1] == Stage("Stage 12; Stage 13; Stage 14", "table 12; table 13; table 14")


def test_a_plan_is_bounded_at_the_door() -> None:
    intent = read(python("c1", plan=[{"step": "x" * 900, "shows": "y" * 900}] * 50, why="z" * 900, step=123))
    assert isinstance(intent, RunPython)
    assert len(intent.plan) == MOST_STEPS
    assert all(len(each.title) <= 300 and len(each.shows) <= 300 for each in intent.plan)
    assert len(intent.why) <= 300
    assert intent.step < 100


@given(st.recursive(st.none() | st.text() | st.integers() | st.floats(), lambda each: st.lists(each) | st.dictionaries(
    st.sampled_from(["step", "shows", "plan"]), each)))  # fmt: skip
def test_whatever_a_model_calls_a_plan_the_cell_is_read(plan: object) -> None:
    arguments = json.dumps({"code": CODE, "plan": plan, "why": plan, "step": plan})
    reply = Replied(purpose="act", calls=(ToolCall(id="c1", name="run_python", arguments=arguments),))
    assert isinstance(read(reply), RunPython)


def test_without_tools_the_plan_stands_in_lines_before_the_code() -> None:
    words = (
        "<plan>\nThe dates are of two formats.\n1. Read the sales — rows and types\n2. Add up by region\n</plan>\n"
        "```python\n# Step 2: Totals by region\nprint(1)\n```"
    )
    intent = read(said(text=words))
    plan = (LOAD, PlanStep(title="Add up by region"))
    assert intent == RunPython(
        "reply-1", "# Step 2: Totals by region\nprint(1)", "Totals by region", plan, "The dates are of two formats.", 2
    )


@pytest.mark.parametrize(
    "line", ["Schritt 3: Summen", "步骤 3：Summen", "第3步：Summen", "Étape 3 : Summen", "STEP 3. Sum"]
)
def test_the_number_of_a_step_is_read_in_the_words_of_the_language(line: str) -> None:
    intent = read(said(text=f"```python\n# {line}\nprint(1)\n```"))
    assert isinstance(intent, RunPython)
    assert (intent.step, intent.title) == (3, line.rsplit(maxsplit=1)[-1].rsplit("：", maxsplit=1)[-1])


def test_a_plan_alone_is_no_report() -> None:
    intent = read(said(text="<plan>\n1. Read the sales — rows\n2. Add up — totals\n</plan>"))
    assert isinstance(intent, Malformed)


def test_the_model_sees_its_plan_as_it_gave_it() -> None:
    told = messages(turn(*HEAD, python("c1", plan=written(LOAD, SUM), step=1), planned(LOAD, SUM), cell(plan_step=1)))
    arguments = json.loads(told[2]["tool_calls"][0]["function"]["arguments"])
    assert arguments["plan"] == written(LOAD, SUM)
    assert arguments["step"] == 1


def test_the_plan_outlives_the_cells_that_a_shorter_prompt_leaves_out() -> None:
    steps: list[Step] = [*HEAD, python("c0", plan=written(LOAD, SUM, COMPARE), step=1)]
    steps += [planned(LOAD, SUM, COMPARE), cell("x", "c0", plan_step=1, stdout="o" * 7_000)]
    for number in range(1, 20):
        steps += [python(f"c{number}", code=f"x = {number}"), cell("x", f"c{number}", plan_step=2, stdout="o" * 7_000)]
    told = json.dumps(messages(turn(*steps, limits=AgentLimits(context_chars=30_000))), ensure_ascii=False)
    assert "Cells left out here" in told
    assert "✓ 2. Add up by region — a total for each region" in told.replace("\\n", "\n")
    assert "○ 3. Compare the years" in told


def test_a_plan_is_told_a_line_for_each_step_with_its_sign() -> None:
    steps = (planned(LOAD, PlanStep(title="Sum")), cell(plan_step=1))
    assert plan_text(lines_of(steps)) == "✓ 1. Read the sales — rows and types\n○ 2. Sum"
