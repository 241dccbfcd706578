"""An error that comes again is looked at in a conversation of its own; what a cell did to its tables is told."""

from __future__ import annotations

import pytest
from agent_kit import BRIEFED, SALES, asked, cell, failed, play, run, turn

from core.steps import Briefed, CellRan, ColumnNote, Corrected, DataCheck, Finished, Level, Replied, Step
from executor.said import CHECKS
from workers.agent.actions import AskModel, CorrectModel, RunCell
from workers.agent.code.source import compared_values
from workers.agent.decide import decide
from workers.agent.prompt.messages import messages
from workers.agent.prompt.observation import noticed
from workers.agent.turn import AgentLimits
from workers.models.scripted import ScriptedModel

VARIABLES = "df: DataFrame of 412 rows, columns 'Amount' object\nnearest to 'amount': 'Amount'"
AGAIN: tuple[Step, ...] = (
    asked(),
    BRIEFED,
    run("df['amount']", "c1"),
    failed(code="df['amount']", call_id="c1", error_line=1),
    run("x = 1\ndf['amount']", "c2"),
    failed(code="x = 1\ndf['amount']", call_id="c2", number=2, error_line=2, variables=VARIABLES),
)


def debug(text: str) -> Replied:
    return Replied(purpose="debug", text=text)


def text_of(action: object) -> str:
    assert isinstance(action, AskModel)
    return "\n".join(str(message["content"]) for message in action.messages)


def test_the_second_time_it_is_asked_where_it_is_wrong_with_the_variables_of_the_failing_line() -> None:
    action = decide(turn(*AGAIN))
    assert isinstance(action, AskModel)
    assert (action.purpose, action.tools) == ("debug", ())
    assert "Where is it wrong?" in text_of(action)
    assert f"<variables>\n{VARIABLES}\n</variables>" in text_of(action)
    assert "Which region sells most?" in text_of(action)


def test_then_how_it_should_be_right_and_then_the_model_is_told_to_write_it() -> None:
    how = decide(turn(*AGAIN, debug("Line 2: the column is 'Amount'.")))
    assert "How should it be right?" in text_of(how)
    assert "Line 2: the column is 'Amount'." in text_of(how)
    told = decide(turn(*AGAIN, debug("Line 2."), debug("Use 'Amount'.")))
    assert isinstance(told, CorrectModel)
    assert "> Line 2." in told.text
    assert "> Use 'Amount'." in told.text
    after = decide(turn(*AGAIN, debug("Line 2."), debug("x"), Corrected(reason=told.reason, text=told.text)))
    assert isinstance(after, AskModel)
    assert after.purpose == "act"
    assert "> Use 'Amount'." in str(after.messages[-1]["content"])


def test_a_first_error_and_another_one_are_left_to_the_model() -> None:
    other = failed("ValueError: x", call_id="c2", number=2)
    for steps in (AGAIN[:4], (*AGAIN[:5], other)):
        action = decide(turn(*steps))
        assert isinstance(action, AskModel)
        assert action.purpose == "act"


def test_it_happens_once_in_a_turn_and_not_when_few_replies_are_left() -> None:
    done = (*AGAIN, Corrected(reason="debugged", text=""), run("1", "c3"), failed(call_id="c3", number=3))
    assert not (isinstance(action := decide(turn(*done)), AskModel) and action.purpose == "debug")
    short = decide(turn(*AGAIN, limits=AgentLimits(max_model_calls=6)))
    assert isinstance(short, AskModel)
    assert short.purpose == "act"


@pytest.mark.parametrize("answers", [("",), ("Line 2.", " ")])
def test_an_empty_answer_ends_the_chain_without_a_word(answers: tuple[str, ...]) -> None:
    told = decide(turn(*AGAIN, *map(debug, answers)))
    assert told == CorrectModel("debugged", "")


def test_a_whole_turn_with_an_error_that_comes_again_comes_to_its_report() -> None:
    def ran(action: RunCell) -> CellRan:
        if "amount" in action.code:
            return failed(code=action.code, call_id=action.call_id, number=int(action.cell_id[-1]))
        return cell(
            action.code, action.call_id, int(action.cell_id[-1]), stdout="total 4321", files_read=("sales.csv",)
        )

    codes = ["df['amount']", "y = df['amount']", "pd.read_csv('sales.csv')['Amount'].sum()"]
    replies = [{"calls": [{"name": "run_python", "arguments": {"code": code}}]} for code in codes]
    replies.append({"calls": [{"name": "finish", "arguments": {"report": "It is 4,321."}}]})
    steps = play([asked(), BRIEFED], ScriptedModel(replies, debugs=[{"text": "The name."}, {"text": "Amount."}]), ran)
    assert isinstance(steps[-1], Finished)
    assert [step.purpose for step in steps if isinstance(step, Replied)] == [
        "act", "act", "debug", "debug", "act", "act", "check",
    ]  # fmt: skip


# --- what was noticed


def told(code: str, names: tuple[str, ...], numbers: tuple[int, ...], program: str = "x = 1") -> str:
    levels = tuple(Level(value=value, rows=9) for value in ("North", " South"))
    column = ColumnNote(name="Region", dtype="object", unique=2, levels=levels)
    table = SALES.tables[0].model_copy(update={"columns": (column,)})
    given = Briefed(files=(SALES.model_copy(update={"tables": (table,)}),))
    ran = cell(program, checks=(DataCheck(code=code, names=names, numbers=numbers),))
    return noticed(turn(asked(), given, run(program), ran), ran)


@pytest.mark.parametrize("code", sorted(CHECKS))
def test_each_code_has_a_sentence_of_ours(code: str) -> None:
    names, numbers = CHECKS[code]
    text = told(code, ("df", "#2")[:names], tuple(range(11, 11 + numbers)))
    assert text.startswith("Noticed: ")
    assert ("`df`" in text) or names == 0
    assert "11" in text


def test_a_column_is_named_by_its_place_when_its_name_is_no_identifier() -> None:
    assert told("nan_made", ("df", "#3"), (0, 5, 100)).startswith(
        "Noticed: in `df`, column 3 has 5 missing values of 100, 0 before this cell."
    )


def test_an_empty_filter_is_answered_with_the_values_that_the_column_has() -> None:
    text = told("empty_frame", ("north", "df"), (412,), "north = df[df['Region'] == 'north']")
    assert "`north` has no rows left of 412." in text
    assert "Did you mean: 'Region' has no 'north'; it has 'North'" in text
    assert "it has ' South'" in told("empty_frame", ("s", "df"), (412,), "s = df[df.Region.isin(['South'])]")


def test_the_observation_says_what_was_noticed_outside_of_the_data() -> None:
    ran = cell("x", checks=(DataCheck(code="mixed_currencies", names=("df", "price"), numbers=(2,)),))
    (*_, last) = messages(turn(asked(), BRIEFED, run("x"), ran))
    assert "Noticed: `price` of `df` holds 2 currencies." in str(last["content"])


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("df[df['a'] == 'x']", (("a", "x"),)),
        ("df[df.a.str.lower() == 'x']", (("a", "x"),)),
        ("df[('y' == df['b']) & df['c'].isin(['z', 'w'])]", (("b", "y"), ("c", "z"), ("c", "w"))),
        ("if mode == 'x': pass", ()),
        ("df[", ()),
    ],
)
def test_texts_that_columns_are_compared_with_are_found(code: str, found: tuple[tuple[str, str], ...]) -> None:
    assert set(compared_values(code)) == set(found)


@pytest.mark.parametrize(
    ("ended_by", "told"),
    [
        ("setup", "No code can mend this: an admin has to."),
        ("source", "The code is not at fault: the source does not answer now."),
    ],
)
def test_an_error_that_no_code_can_mend_is_not_to_be_repaired(ended_by: str, told: str) -> None:
    steps: list[Step] = [asked()]
    for number in (1, 2):
        steps.append(run("query('select 1')", f"c{number}"))
        error = "RequestRefused: shop cannot be reached: nothing listens at its address."
        steps.append(failed(error, "query('select 1')", call_id=f"c{number}", number=number, ended_by=ended_by))
    action = decide(turn(*steps))
    assert isinstance(action, AskModel)
    assert action.purpose == "act"
    last = str(action.messages[-1]["content"])
    assert told in last
    assert "repair it" not in last
