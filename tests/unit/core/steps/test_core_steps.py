"""Steps as JSON: what a version does not know is kept, whatever it is."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from turn_kit import ASKED, CELL, CORRECTED, FINISHED, GAVE_UP, QUESTION, REPLIED, RESUMED

from core.steps import (
    Acknowledged,
    Agreed,
    Briefed,
    CellRan,
    Changed,
    Checked,
    Closed,
    Commanded,
    Compacted,
    Decided,
    FileAbstract,
    FilesHeld,
    FilesSettled,
    Forgot,
    Forked,
    FunctionDraft,
    FunctionTest,
    FunctionTried,
    HeldFile,
    Imported,
    Inherited,
    Instruction,
    KnownStep,
    Learning,
    Loaded,
    LoadedCell,
    ModelFailed,
    Moved,
    Noted,
    NotRebuilt,
    Planned,
    PlanStep,
    Preferred,
    Proposed,
    Queried,
    Recalled,
    Redrafted,
    Replied,
    RouteBegan,
    RouteRan,
    Said,
    Settled,
    Startup,
    StatementRan,
    Step,
    TeamNote,
    ToolCalled,
    ToolRan,
    Undone,
    Unfollowed,
    UnknownStep,
    Unread,
    dump_step,
    load_step,
    total_spent,
    user_of,
)
from core.values import FileRef

BY_ANA = {"user": "U1", "author": "Ana"}
STEPS: tuple[Step, ...] = (
    *(ASKED, REPLIED, CELL, CORRECTED, QUESTION, GAVE_UP, RESUMED, FINISHED),
    Briefed(files=(FileAbstract(path="sales.csv", format="csv", size=9, sha256="0" * 64),)),
    Queried(cell_id="x1", statement=StatementRan(source="shop", sql="SELECT 1", rows=1)),
    ToolCalled(cell_id="x1", call=ToolRan(server="tickets", tool="search", asked="a" * 64, state="began")),
    Preferred(staged=True, instructions=(Instruction(of="channel", text="in k EUR"),), user="U1", author="Ana"),
    Unread(files=(FileRef(id="F1", name="sales.csv"),)),
    Checked(is_final=True),
    Planned(steps=(PlanStep(title="Load", shows="rows"), PlanStep(title="Sum")), why="No dates.", call_id="c1"),
    Decided(call_id="confirm:1", outcome="run", **BY_ANA),
    Compacted(context_chars=9),
    Moved(node="there", came=True, cells=("Load",), lost=("connection",)),
    Commanded(command="undo", text="undo", ts="1.0", **BY_ANA),
    Acknowledged(command="undo", ts="1.0"),
    ModelFailed(purpose="act", reason="model_down", prompt_chars=9),
    Undone(cell_id="x1", title="Totals", ts="1.0", **BY_ANA),
    Forgot(done=True, text="Reset.", **BY_ANA),
    Noted(text="Amounts are in thousands.", ts="1.0", **BY_ANA),
    Changed(do="edit", target="message:1.0", text="how many?", ts="2.0", **BY_ANA),
    Closed(),
    Agreed(call_id="approve:1", ts="1.0", **BY_ANA),
    Redrafted(call_id="approve:1", ts="1.0", code="x = 2", **BY_ANA),
    Recalled(notes=(TeamNote(title="Active", text="Bought this year.", place="glossary.md"),), clashes=("Active",)),
    Unfollowed(file="playbooks/churn.md", ts="1.0", **BY_ANA),
    Proposed(what="entry", id="p1", file="glossary.md", title="Active", text="Bought this year.", ts="1.0", **BY_ANA),
    Settled(proposal="p1", outcome="kept", ts="2.0", **BY_ANA),
    Learning(id="function:1.0", need="the churn rate", space="channels/C1", ts="1.0", **BY_ANA),
    FunctionTried(
        learning="function:1.0",
        state="failed",
        draft=FunctionDraft(name="churn_rate", schema_text="{}", code="", tests=""),
        tests=(FunctionTest(name="test_share", outcome="failed", error="AssertionError"),),
    ),
    FilesHeld(
        id="files:1",
        key="t1:report:files",
        files=(HeldFile(name="a.csv", mimetype="text/csv", size=9, sha256="0" * 64, rows=2),),
        until=1.0,
        hours=24,
    ),
    FilesSettled(held="files:1", outcome="sent", ts="2.0", **BY_ANA),
    RouteBegan(cell_id="r1"),
    Startup(code="x = 1", ts="1.0", **BY_ANA),
    Forked(thread="T1:C1:2.0", turn=1, steps=4, ts="1.0", **BY_ANA),
    Inherited(
        source="T1:C1:1.0",
        turn=1,
        steps=4,
        state="0" * 64,
        ran=2,
        missing=(NotRebuilt(cell=3, title="Call", why="network"),),
        ts="1.0",
        **BY_ANA,
    ),
    Loaded(
        source="T1:C1:1.0",
        link="https://x",
        state="0" * 64,
        cells=(LoadedCell(title="Load", code="x = 1"),),
        ts="1.0",
        **BY_ANA,
    ),
    Imported(file="chat.db", format="model_programmer_1", place="conversation 3", group="0" * 16, **BY_ANA),
    Said(message={"role": "assistant", "content": "ls"}, type="edit", source="0" * 64, before="rm"),
    RouteRan(cell_id="r1", status="ok", code="answers = {}", result="{}", read=True),
)
KINDS = tuple(kind.model_fields["kind"].default for kind in get_args(get_args(KnownStep)[0]))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)
objects = st.dictionaries(st.text(max_size=9), json_values, max_size=5)


def test_there_is_an_example_of_every_kind() -> None:
    assert {step.kind for step in STEPS} == set(KINDS)
    assert "unknown" not in KINDS


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.kind)
def test_a_step_reads_as_it_was_written(step: Step) -> None:
    assert load_step(json.loads(json.dumps(dump_step(step)))) == step


@given(body=objects, kind=st.text(max_size=9))
def test_a_step_of_an_unknown_kind_is_kept_unchanged(body: dict[str, object], kind: str) -> None:
    stored = body if kind in KINDS else {**body, "kind": kind}
    step = load_step(stored)
    assert isinstance(step, UnknownStep)
    assert dump_step(step) == stored
    assert step.stored_kind == stored.get("kind", "")


@given(step=st.sampled_from(STEPS), later=objects)
def test_unknown_fields_of_a_known_kind_are_kept_and_the_rest_counts(step: Step, later: dict[str, object]) -> None:
    unknown = {f"later {name}": value for name, value in later.items()}
    found = load_step({**dump_step(step), **unknown})
    assert type(found) is type(step)
    assert found.later_fields == unknown
    assert dump_step(found) == {**dump_step(step), **unknown}
    assert found.model_copy(update={"kind": step.kind}) == found


@given(body=objects, kind=st.sampled_from(KINDS))
def test_reading_a_known_kind_never_raises_and_never_loses_a_field(body: dict[str, object], kind: str) -> None:
    stored = {**body, "kind": kind}
    assert stored.keys() <= dump_step(load_step(stored)).keys()


def test_unknown_fields_inside_a_step_are_kept_too() -> None:
    stored = {**dump_step(REPLIED), "usage": {"prompt_tokens": 1, "reasoning_tokens": 7}}
    found = load_step(stored)
    assert isinstance(found, Replied)
    assert found.usage.prompt_tokens == 1
    assert dump_step(found)["usage"]["reasoning_tokens"] == 7


def test_a_known_kind_that_cannot_be_read_is_an_unknown_step() -> None:
    stored = {**dump_step(CELL), "status": "frozen"}
    found = load_step(stored)
    assert isinstance(found, UnknownStep)
    assert (found.kind, found.stored_kind) == ("unknown", "cell")
    assert dump_step(found) == stored


def test_a_misspelled_field_is_refused_where_a_step_is_made() -> None:
    with pytest.raises(ValidationError):
        CellRan.model_validate({**dump_step(CELL), "stduot": ""})


def test_the_text_of_a_notice_is_read_under_its_old_name() -> None:
    stored = {name: value for name, value in dump_step(CELL).items() if name != "notice_text"}
    found = load_step({**stored, "told": "Nothing was lost."})
    assert isinstance(found, CellRan)
    assert found.notice_text == "Nothing was lost."
    assert not found.later_fields
    assert load_step(dump_step(found)) == found


def test_a_cell_that_an_earlier_version_stored_says_nothing_of_what_ended_it() -> None:
    stored = {name: value for name, value in dump_step(CELL).items() if name != "ended_by"}
    found = load_step({**stored, "error": "RequestRefused: This statement on crm needs a person's yes."})
    assert isinstance(found, CellRan)
    assert found.ended_by == ""


def test_the_person_behind_a_step_is_known_where_there_is_one() -> None:
    assert {step.kind for step in STEPS if user_of(step)} == {
        "asked",
        "learning",
        "proposed",
        "files_settled",
        "settled",
        "unfollowed",
        "commanded",
        "resumed",
        "undone",
        "forgot",
        "decided",
        "noted",
        "changed",
        "agreed",
        "redrafted",
        "forked",
        "inherited",
        "imported",
        "loaded",
        "startup",
    }
    assert user_of(UnknownStep(body={"user": "U1"})) == ""


def test_a_sum_has_a_cost_when_one_call_has_one() -> None:
    priced = REPLIED.model_copy(update={"cost_micros": 5})
    assert total_spent([REPLIED, REPLIED]).cost_micros is None
    assert total_spent([REPLIED, priced]).cost_micros == 5
    assert total_spent([REPLIED, priced]).tokens == 300
