"""The card of a turn is redrawn whole from its steps, within Slack's limits, in the language of the turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.phrases import say
from core.slack.blocks import SlackMessage, as_plain_plans, broken_limits, characters
from core.steps import (
    Approval,
    Asked,
    Briefed,
    CellRan,
    Decided,
    FileAbstract,
    FileProblem,
    Finished,
    GaveUp,
    Planned,
    PlanStep,
    Queried,
    Questioned,
    Recalled,
    Replied,
    StatementRan,
    Step,
    TeamNote,
    Usage,
)
from core.values import Language, StoredFile
from workers.agent.actions import RunCell
from workers.delivery.endings import gave_up_blocks, stopped_text
from workers.delivery.progress import ProgressView, TaskView, TurnState, progress_blocks, progress_of
from workers.delivery.questions import answered_blocks, question_blocks

Golden = Callable[[str, object], None]

CHART = StoredFile(name="revenue.png", mimetype="image/png", size=9, sha256="a" * 64)
ASKED = Asked(user="U1", author="Ana", text="Which region grew?", ts="1.0")
BRIEFED = Briefed(
    files=(FileAbstract(path="sales.csv", format="csv", size=10, sha256="b" * 64),),
    problems=(FileProblem(name="old.pdf", why="it is a PDF."),),
)
FAILED = CellRan(
    call_id="1", cell_id="c1", title="Load", code="df = 1 / 0", status="error", error_name="ZeroDivisionError",
    error="Traceback\nZeroDivisionError: division by zero", error_line=1,
)  # fmt: skip
RAN = CellRan(
    call_id="2", cell_id="c2", title="Revenue by region", code="print(total)", status="ok", stdout="rows\ntotal 42\n",
    figures=(CHART,),
)  # fmt: skip
STEPS: tuple[Step, ...] = (
    ASKED,
    BRIEFED,
    FAILED,
    RAN,
    Questioned(call_id="3", question="Which year?", options=("2022", "2023")),
    Asked(user="U2", author="Bo", text="2023", ts="2.0"),
)


def drawn(message: SlackMessage) -> dict[str, object]:
    assert broken_limits(message.blocks) == []
    assert 0 < len(message.text) <= 3_000
    return {"text": message.text, "blocks": message.blocks}


def test_a_cell_that_only_asks_for_a_yes_is_not_shown_as_failed() -> None:
    asks = FAILED.model_copy(update={"ended_by": "question"})
    (task,) = [task for task in progress_of([ASKED, asks], "en", "waiting", currency="").tasks if task.id == "c1"]
    assert (task.status, task.output) == ("complete", "Asked for a yes")


def test_the_card_gives_a_refusal_in_its_own_words() -> None:
    error = "RequestRefused: The data source shop may not be queried in this channel."
    refused = FAILED.model_copy(update={"error_name": "RequestRefused", "error": error})
    (task,) = [task for task in progress_of([ASKED, refused], "en").tasks if task.id == "c1"]
    assert (task.status, task.output) == ("error", "The data source shop may not be queried in this channel.")


def test_a_cell_that_raises_the_words_of_a_refusal_is_shown_as_failed() -> None:
    error = "RequestRefused: This statement on crm needs a person's yes."
    says = FAILED.model_copy(update={"error_name": "RequestRefused", "error": error})
    (task,) = [task for task in progress_of([ASKED, says], "en", "waiting", currency="").tasks if task.id == "c1"]
    assert (task.status, task.output) == ("error", error.removeprefix("RequestRefused: "))


def test_a_cell_that_runs_again_after_a_yes_has_one_line() -> None:
    asks = FAILED.model_copy(update={"ended_by": "question"})
    again = RunCell(asks.call_id, "c2", asks.title, asks.code)
    ran = RAN.model_copy(update={"call_id": asks.call_id, "title": asks.title})
    running = progress_of([ASKED, asks], "en", running=again).tasks
    done = progress_of([ASKED, asks, ran], "en", "done").tasks
    assert [[(task.id, task.title) for task in tasks] for tasks in (running, done)] == [[("c2", "Load")]] * 2


@pytest.mark.parametrize(
    ("what", "outcome", "titles"),
    [
        ("statement", None, ["Asked a question", "Load"]),
        ("statement", "run", ["Load"]),
        ("statement", "skip", ["Asked a question", "Load"]),
        ("python", "edited", ["Load"]),
        ("plan", "run", ["Asked a question", "Load"]),
    ],
)
def test_the_card_does_not_repeat_a_question_about_a_cell_that_people_allowed(
    what: Any, outcome: Any, titles: list[str]
) -> None:
    asks = Questioned(call_id="q", question="May it?", approval=Approval(what=what, title="crm", code="SELECT 1"))
    said = Decided(call_id="q", outcome=outcome, user="U1", author="Ana", ts="3.0") if outcome else None
    steps = [ASKED, asks, FAILED, *([said] if said else [])]
    assert [task.title for task in progress_of(steps, "en", "done").tasks] == titles


def test_only_a_running_turn_can_be_stopped_on_its_card(golden: Golden) -> None:
    running = progress_blocks(progress_of(STEPS, "en", note="…"), "T1:C1:1.0/t1")
    golden("blocks/progress_stoppable.json", drawn(running))
    for state in ("waiting", "done", "stopped", "failed"):
        at_rest = progress_blocks(progress_of(STEPS, "en", state), "T1:C1:1.0/t1")
        (steps,) = at_rest.blocks[-1]["elements"]
        assert steps["action_id"] == "step:0"


def test_a_card_without_a_cell_has_no_step_to_open() -> None:
    at_rest = progress_blocks(progress_of((ASKED,), "en", "done"), "T1:C1:1.0/t1")
    assert "actions" not in [block["type"] for block in at_rest.blocks]


def test_a_card_in_a_talk_of_people_has_a_leave_button_in_every_state(golden: Golden) -> None:
    running = progress_blocks(progress_of(STEPS, "en"), "T1:C1:1.0/t1", leaves="T1:C1:1.0")
    golden("blocks/progress_leavable.json", drawn(running))
    for state in ("waiting", "done", "stopped", "failed"):
        at_rest = progress_blocks(progress_of(STEPS, "en", state), "T1:C1:1.0/t1", leaves="T1:C1:1.0")
        _, leave = at_rest.blocks[-1]["elements"]
        assert leave["action_id"] == "leave"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_stopped_turn_says_who_stopped_it_and_what_was_done(golden: Golden, language: str) -> None:
    halted = RAN.model_copy(update={"cell_id": "c3", "title": "Train <model>", "status": "killed", "notice": "…"})
    text = stopped_text("Bo", [FAILED, RAN, halted], language, told=str)  # type: ignore[arg-type]
    step = GaveUp(reason="stopped", text=text, fault="user")
    golden(f"blocks/stopped_{language}.json", drawn(gave_up_blocks(step, language, [RAN, halted])))  # type: ignore[arg-type]


def test_a_stopped_turn_says_of_a_cell_that_asked_only_that_it_did() -> None:
    asks = FAILED.model_copy(update={"ended_by": "question"})
    ran = RAN.model_copy(update={"call_id": asks.call_id, "title": asks.title})
    later = asks.model_copy(update={"call_id": "9", "cell_id": "c9", "title": "Orders"})
    text = stopped_text("Bo", [asks, ran, later], "en", told=str)
    assert text.splitlines()[-2:] == ["- Load — total 42 · revenue.png", "- Orders — Asked for a yes"]
    assert text.count("Load") == 1


@given(st.lists(st.text(max_size=400), max_size=20))
def test_whatever_cells_were_called_a_stop_keeps_slacks_limits(titles: list[str]) -> None:
    text = stopped_text(
        "x" * 300, [RAN.model_copy(update={"title": title, "stdout": title}) for title in titles], "en", told=str
    )
    drawn(gave_up_blocks(GaveUp(reason="stopped", text=text, fault="user"), "en"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_card_of_a_running_turn(golden: Golden, language: str) -> None:
    running = RunCell(call_id="4", cell_id="c3", title="Compare years", code="compare(2022, 2023)")
    view = progress_of(STEPS, language, running=running, live_output="step 1\nstep 2\n", note="…")  # type: ignore[arg-type]
    golden(f"blocks/progress_running_{language}.json", drawn(progress_blocks(view)))


@pytest.mark.parametrize(
    ("stdout", "shown"),
    [
        ("rows 412\n→ North leads with 482,310 EUR\ndtype: float64\n", "North leads with 482,310 EUR"),
        ("→ first\n→ second\n", "second"),
        ("rows 412\n→\ntotal 42\n", "total 42"),
        ("North → South\n", "North → South"),
    ],
)
def test_the_card_shows_the_line_that_the_code_marked_else_the_last(stdout: str, shown: str) -> None:
    view = progress_of((ASKED, RAN.model_copy(update={"stdout": stdout, "figures": ()})), "en")
    assert [task.output for task in view.tasks if task.id == RAN.cell_id] == [shown]


def test_the_line_of_a_failed_cell_is_its_error_whatever_it_marked() -> None:
    view = progress_of((ASKED, FAILED.model_copy(update={"stdout": "→ all is well\n"})), "en")
    assert view.tasks[0].output == "ZeroDivisionError: division by zero"


PLANNED = Planned(
    steps=(
        PlanStep(title="Read the sales", shows="rows and types"),
        PlanStep(title="Revenue by region", shows="a total each"),
        PlanStep(title="Compare years", shows="change in percent"),
        PlanStep(title="Draw it", shows="one chart"),
    ),
    why="There are two currencies.",
    call_id="2",
)


def test_the_steps_of_the_plan_that_no_cell_began_stand_below(golden: Golden) -> None:
    running = RunCell("4", "c3", "Compare years", "compare()", plan_step=3)
    steps = (ASKED, BRIEFED, PLANNED, RAN.model_copy(update={"plan_step": 2}))
    message = progress_blocks(progress_of(steps, "en", running=running))
    golden("blocks/progress_planned.json", drawn(message))
    waiting = [task["title"] for task in message.blocks[0]["tasks"] if task["status"] == "pending"]
    assert waiting == ["1. Read the sales", "4. Draw it"]


@pytest.mark.parametrize("state", ["waiting", "done", "stopped", "failed"])
def test_at_rest_no_step_of_the_plan_is_still_to_come(state: TurnState) -> None:
    view = progress_of((ASKED, PLANNED, RAN), "en", state)
    assert not any(task.title.endswith("Draw it") for task in view.tasks)


@pytest.mark.parametrize("language", ["en", "zh", "de", "es", "fr", "ja"])
def test_a_changed_plan_says_what_changed_it(language: Language) -> None:
    view = progress_of((ASKED, PLANNED, RAN), language, "done")
    assert (say("progress_replanned", language), PLANNED.why) in [(task.title, task.output) for task in view.tasks]


def queried(rows: int, source: str = "shop", **more: object) -> StatementRan:
    return StatementRan(source=source, sql="SELECT secret FROM orders", rows=rows, seconds=0.26, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_card_shows_what_cells_asked_of_data_sources_without_the_sql(golden: Golden, language: str) -> None:
    asked = (queried(4_120), queried(1), queried(1, "crm"), queried(0, "hr", error="HR IS REFUSED"))
    steps = (
        *STEPS,
        RAN.model_copy(update={"statements": asked}),
        Queried(cell_id="c4", statement=queried(7)),
        Queried(cell_id="c5", statement=queried(1)),
    )
    running = RunCell(call_id="5", cell_id="c5", title="Compare years", code="compare(2022, 2023)")
    message = progress_blocks(progress_of(steps, language, running=running, live_output="step 1\n"))  # type: ignore[arg-type]
    golden(f"blocks/progress_queries_{language}.json", drawn(message))
    shown = json.dumps(message.blocks)
    assert "SELECT" not in shown
    assert "REFUSED" not in shown


ASKED_MODEL = Replied(
    purpose="act", usage=Usage(prompt_tokens=12_000, completion_tokens=345), cost_micros=31_000, model="gpt-x"
)
LONG = RAN.model_copy(update={"cell_id": "c4", "title": "Draw", "stdout": "x" * 900, "duration_s": 83.4})


@pytest.mark.parametrize("language", ["en", "zh", "de"])
def test_each_step_says_how_long_it_took_and_the_card_what_was_spent_so_far(golden: Golden, language: Language) -> None:
    slow = (RAN.model_copy(update={"duration_s": 2.41}), LONG)
    steps = (ASKED, FAILED.model_copy(update={"duration_s": 0.03}), ASKED_MODEL, *slow, ASKED_MODEL)
    running = RunCell("4", "c5", "Compare years", "compare(2022, 2023)")
    view = progress_of(steps, language, currency="EUR", running=running, note="…")
    golden(f"blocks/progress_costs_{language}.json", drawn(progress_blocks(view, "T1:C1:1.0/t1")))


def test_a_repaired_step_took_as_long_as_all_its_tries() -> None:
    tries = [FAILED.model_copy(update={"cell_id": f"c{n}", "title": RAN.title, "duration_s": 2.0}) for n in (5, 6)]
    message = progress_blocks(progress_of((ASKED, *tries, RAN.model_copy(update={"duration_s": 0.5})), "en"))
    (task,) = message.blocks[0]["tasks"]
    assert str(task["output"]).count("4.5 s") == 1


@pytest.mark.parametrize("state", ["waiting", "stopped", "failed"])
def test_a_card_whose_turn_has_no_report_says_what_was_spent(state: TurnState) -> None:
    blocks = progress_blocks(progress_of((*STEPS, ASKED_MODEL), "en", state, currency="EUR")).blocks
    assert [element["text"] for element in blocks[-1]["elements"]] == ["12,345 tokens · about 0.03 EUR"]


def test_a_card_above_a_report_leaves_what_was_spent_to_it() -> None:
    assert "tokens" not in json.dumps(progress_blocks(progress_of((*STEPS, ASKED_MODEL), "en", "done")).blocks)


def test_without_a_price_the_card_says_tokens_and_without_a_count_nothing() -> None:
    free = ASKED_MODEL.model_copy(update={"cost_micros": None})
    assert progress_of((*STEPS, free), "en").spent == "12,345 tokens"
    assert progress_of((*STEPS, free.model_copy(update={"usage": Usage()})), "en").spent == ""


def test_the_card_of_a_finished_turn_shows_nothing_as_going_on(golden: Golden) -> None:
    steps = (*STEPS, RAN.model_copy(update={"cell_id": "c3"}), Finished(report="done"))
    message = progress_blocks(progress_of(steps, "en", "done"))
    golden("blocks/progress_done.json", drawn(message))
    assert {task["status"] for task in message.blocks[0]["tasks"]} <= {"complete", "error"}


def test_a_stopped_turn_leaves_no_task_in_progress() -> None:
    view = progress_of(STEPS, "en", "stopped", running=RunCell("4", "c3", "Compare", "x"))
    assert view.tasks[-1].status == "error"


def test_the_card_counts_all_cells_that_ran_as_the_line_under_the_report_does() -> None:
    tried = ("error", "error", "ok")
    cells = [RAN.model_copy(update={"cell_id": str(n), "status": status}) for n, status in enumerate(tried)]
    steps = [Recalled(notes=(TeamNote(place="a.md", title="Churn", text="x"),)), *cells]
    view = progress_of(steps, "en", "done")
    assert [task.id for task in view.tasks] == ["recalled-0", "2"]
    assert "Done (3 cells run)" in json.dumps(progress_blocks(view).blocks)


def test_a_turn_without_steps_has_a_card_too() -> None:
    message = progress_blocks(progress_of((ASKED,), "en", note="Reading"))
    assert message.blocks[0]["type"] == "section"
    drawn(message)


def test_the_opening_question_is_no_task_and_a_later_message_is() -> None:
    titles = [task.title for task in progress_of(STEPS, "en").tasks]
    assert titles == ["Read the files", "Load", "Revenue by region", "Asked a question", "Message from Bo"]


@pytest.mark.parametrize("count", [45, 46, 200])
def test_many_steps_fold_into_one_line(count: int) -> None:
    view = ProgressView("en", "running", tuple(TaskView(f"c{n}", f"Step {n}", "complete") for n in range(count)))
    tasks = progress_blocks(view).blocks[0]["tasks"]
    assert len(tasks) == 45
    assert tasks[-1]["title"] == f"Step {count - 1}"
    if count > 45:
        assert tasks[0]["title"] == f"{count - 44} earlier steps not shown"


tasks = st.builds(
    TaskView,
    id=st.uuids().map(str),
    title=st.text(max_size=400),
    status=st.sampled_from(["pending", "in_progress", "complete", "error"]),
    output=st.text(max_size=3_000),
    details=st.text(max_size=3_000),
)


@given(st.lists(tasks, max_size=60), st.text(max_size=4_000))
def test_any_card_fits(given_tasks: list[TaskView], note: str) -> None:
    view = ProgressView("en", "running", tuple(given_tasks), note[:500])
    message = progress_blocks(view)
    drawn(message)
    assert characters(message.blocks) <= 10_500
    assert broken_limits(as_plain_plans(message.blocks)) == [], "where Slack has no plans"


def test_a_card_without_a_plan_has_its_lines_and_its_buttons(golden: Golden) -> None:
    running = RunCell(call_id="4", cell_id="c3", title="Compare <!here>", code="compare(2022, 2023)")
    view = progress_of(STEPS, "en", running=running, live_output="step 1\n", note="…")
    message = progress_blocks(view, "T1:C1:1.0/t1", leaves="T1:C1:1.0")
    plain = as_plain_plans(message.blocks)
    golden("blocks/progress_without_plans.json", drawn(message._replace(blocks=plain)))
    assert plain[-2:] == message.blocks[-2:]


def test_data_in_a_card_cannot_ping() -> None:
    view = ProgressView("en", "running", (TaskView("c", "<!channel>", "complete", "<@U1>"),), "<!here>")
    message = progress_blocks(view)
    assert "<!" not in message.text
    assert message.blocks[1]["elements"][0]["text"] == "&lt;!here&gt;"
    assert "<!" not in str(progress_blocks(ProgressView("en", "running", (), "<!here>")).blocks)


def test_a_question_has_a_button_per_option(golden: Golden) -> None:
    message = question_blocks("Which column is the date?", ["order_date", "paid_on"], "T1:C1:1.0/t2", "call-1", "en")
    golden("blocks/question.json", drawn(message))
    buttons = message.blocks[1]["elements"]
    assert [button["action_id"] for button in buttons] == ["answer:0", "answer:1"]
    assert [button["text"]["text"] for button in buttons] == ["order_date", "paid_on"]
    assert json.loads(buttons[1]["value"]) == {"turn": "T1:C1:1.0/t2", "call": "call-1", "n": 1}


def test_options_too_long_for_a_button_stand_whole_above_their_numbers(golden: Golden) -> None:
    options = [f"{place} question with all its columns ".ljust(300, "x") for place in ("A", "The second", "The last")]
    message = question_blocks("What do you mean?", [*options, "no"], "T1:C1:1.0/t2", "call-1", "en")
    golden("blocks/question_long.json", drawn(message))
    assert [button["text"]["text"] for button in message.blocks[2]["elements"]] == ["1", "2", "3", "4"]
    assert all(option in str(message.blocks[1]) for option in options)


def test_an_empty_option_has_no_button_and_no_number() -> None:
    message = question_blocks("Which?", ["net", " ", "both"], "t", "c", "en")
    assert [button["action_id"] for button in message.blocks[1]["elements"]] == ["answer:0", "answer:1"]


def test_a_question_without_options_asks_for_words() -> None:
    message = question_blocks("Which file?", [], "t", "c", "zh")
    assert [block["type"] for block in message.blocks] == ["rich_text", "context"]


@given(st.text(max_size=5_000), st.lists(st.text(max_size=2_000), max_size=40))
def test_any_question_fits(question: str, options: list[str]) -> None:
    drawn(question_blocks(question, options, "t" * 100, "c" * 60, "en"))


def test_an_answered_question_has_no_buttons_and_names_who_answered(golden: Golden) -> None:
    golden("blocks/answered.json", drawn(answered_blocks("Which year?", "2023", "Bo <b>", "en")))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_honest_end(golden: Golden, language: str) -> None:
    step = GaveUp(reason="same_error", text="The column `amount` holds no numbers. Send it as numbers.", fault="user")
    golden(f"blocks/gave_up_{language}.json", drawn(gave_up_blocks(step, language, (RAN, FAILED))))  # type: ignore[arg-type]


def test_an_end_without_any_cell_says_so() -> None:
    message = gave_up_blocks(GaveUp(reason="model_down", text="No model.", fault="ours"), "en")
    assert "No code has run" in message.text
