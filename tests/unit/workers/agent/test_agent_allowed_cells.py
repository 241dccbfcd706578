"""Which cells people allowed, and which one runs again once its statement got a yes."""

from __future__ import annotations

import pytest

from core.steps import (
    CONFIRM_CALL,
    OWN_CALL,
    Approval,
    CellRan,
    Corrected,
    Decided,
    Moved,
    Questioned,
    Replied,
    Step,
    ToolRan,
    Undone,
)
from workers.agent.allowed_cells import asking_cell, last_runs, runs_again

QUESTION = Questioned(
    call_id=f"{CONFIRM_CALL}1",
    question="May it run?",
    approval=Approval(what="statement", title="crm", code="SELECT 1"),
)
YES = Decided(call_id=QUESTION.call_id, outcome="run", user="U1", author="Ana", ts="9.0")
NO = YES.model_copy(update={"outcome": "skip"})
OTHER = YES.model_copy(update={"outcome": "other"})


def cell(number: int, call_id: str = "a", **changed: object) -> CellRan:
    ran = CellRan(call_id=call_id, cell_id=f"t/c{number}", title="Read", code="query(q)", status="ok")
    return ran.model_copy(update=changed)


def stopped(number: int = 1, call_id: str = "a", **changed: object) -> CellRan:
    return cell(number, call_id, status="error", ended_by="question", **changed)


CALLED = ToolRan(server="crm", tool="close", arguments="{}", asked="a" * 64, number=1, state="ended")


@pytest.mark.parametrize(
    ("steps", "again"),
    [
        ((QUESTION, stopped(), YES), {"a"}),
        ((QUESTION, YES, stopped()), {"a"}),
        ((QUESTION, stopped(), NO), set()),
        ((QUESTION, stopped(), OTHER), set()),
        ((QUESTION, stopped()), set()),
        ((QUESTION, stopped(), YES, cell(2)), set()),
        ((QUESTION, stopped(), YES, QUESTION, stopped(2)), set()),
        ((QUESTION, stopped(), YES, QUESTION, stopped(2), YES), {"a"}),
        ((QUESTION, stopped(), YES, cell(2, status="error", error="ValueError: no", error_name="ValueError")), set()),
        ((QUESTION, cell(1), YES), set()),
        ((QUESTION, stopped(), YES, Corrected(reason="out_of_cells", text="no more", call_id="a")), set()),
        ((QUESTION, stopped(tool_calls=(CALLED,)), YES), set()),
        ((QUESTION, stopped(language="bash"), YES), set()),
        ((QUESTION, stopped(left_out=True), YES), set()),
        ((QUESTION, stopped(), YES, Moved(node="b", came=True)), {"a"}),
        ((QUESTION, stopped(), YES, Moved(node="b", came=True, lost=("df",))), set()),
        ((QUESTION, stopped(), Undone(cell_id="t/c0", title="Load", user="U1", author="Ana", ts="9.0"), YES), set()),
        ((stopped(), YES), {"a"}),
        ((QUESTION, stopped(), cell(2, f"{OWN_CALL}8.0"), YES), set()),
    ],
    ids=[
        "a yes",
        "a yes before the cell had ended",
        "a no",
        "other words",
        "no answer yet",
        "it ran",
        "it waits for its second statement",
        "its second statement got a yes too",
        "it failed by itself",
        "it ended well although it was refused",
        "it may not run any more",
        "it had called a tool",
        "a command of a shell",
        "somebody left it out",
        "the session moved, and all came along",
        "variables did not come along",
        "somebody took a cell back meanwhile",
        "the question is not among these steps",
        "somebody ran own code meanwhile",
    ],
)
def test_a_cell_runs_again_only_after_a_yes_to_the_statement_that_stopped_it(
    steps: tuple[Step, ...], again: set[str]
) -> None:
    assert runs_again(steps).keys() == again


def test_a_cell_that_stopped_to_ask_gives_way_to_the_run_that_followed() -> None:
    first, second, other = stopped(1), cell(2), stopped(3, "b")
    assert last_runs((QUESTION, first, YES, second, QUESTION, other)) == [second, other]


def test_a_stopped_cell_stays_beside_a_later_reply_that_gives_its_call_the_same_id() -> None:
    first, later = stopped(1), cell(2)
    assert last_runs((QUESTION, first, NO, Replied(purpose="act"), later)) == [first, later]


@pytest.mark.parametrize("steps", [(QUESTION, stopped(), YES, cell(2)), (QUESTION, YES, stopped(), cell(2))])
def test_a_question_is_about_the_cell_that_ended_behind_it(steps: tuple[Step, ...]) -> None:
    own = cell(9, f"{OWN_CALL}8.0")
    assert asking_cell((cell(0, "z"), *steps, own), QUESTION.call_id) == stopped()
    assert asking_cell((cell(0, "z"), QUESTION, own), QUESTION.call_id) is None


def test_a_cell_that_failed_stays_beside_a_later_one_of_the_same_call() -> None:
    first = cell(1, status="error", error="ValueError: no", error_name="ValueError")
    assert last_runs((first, cell(2))) == [first, cell(2)]
