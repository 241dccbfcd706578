"""The message that asks whether something may run, its states and its forms, as Slack gets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.phrases import say
from core.slack.blocks import broken_limits, broken_view
from core.slack.views.approvals import (
    MOST_PARTS,
    approval_message,
    code_parts,
    code_view,
    decided_message,
    edit_view,
    hint_view,
    outdated_message,
    submitted,
    syntax_error,
)
from core.slack.views.modals import field_id
from core.steps import Agreed, Approval, Commanded, Decided, Draft, Questioned, Redrafted, draft_of
from core.values import Language
from playground.blocks.check import check_view
from workers.agent.code.risks import touched

Golden = Callable[[str, object], None]
TURN = "T1:C1:1.0/t1"
CODE = "import os\nimport pandas as pd\nsales = pd.read_csv('old.csv')\nsales.to_csv('new.csv')\nos.remove('old.csv')"
TOO_LONG = {"state": {"values": {"field:0": {"field:0": {"value": "a" * 3_001}}}}}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


def asked(language: Language = "en", code: str = CODE) -> Questioned:
    found = touched(code)
    return Questioned(
        call_id="approve:1",
        question=say("approval_question", language, title="Clean the sales & keep <them>"),
        options=tuple(say(f"approval_{word}", language) for word in ("run", "skip", "reject")),
        approval=Approval(
            what="python", title="Clean", code=code, risks=found.risks, reads=found.reads, writes=found.writes
        ),
    )


def decided(outcome: str, **more: str) -> Decided:
    given = {"call_id": "approve:1", "outcome": outcome, "user": "U1", "author": "Ana", **more}
    return Decided.model_validate(given)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_question_whether_a_cell_may_run(golden: Golden, language: Language) -> None:
    message = approval_message(Draft(asked(language)), TURN, language)
    golden(f"blocks/approval_{language}.json", {"text": message.text, "blocks": message.blocks})


HIDDEN = "delete from a \u202e-- \u200bonly read"
SHOWN = "delete from a ⟨U+202E⟩-- ⟨U+200B⟩only read"


@pytest.mark.parametrize("what", ["python", "bash", "statement", "plan", "stage"])
def test_characters_that_nobody_sees_are_shown_in_each_approval(what: Any) -> None:
    options = ("Yes", "No") if what in ("plan", "stage") else ("Yes", "No", "Other")
    approval = Approval(what=what, title="t", code=HIDDEN)
    question = Questioned(call_id="approve:1", question="May \u2066it\u2069 run?", options=options, approval=approval)
    message = approval_message(Draft(question), TURN, "en")
    told = json.dumps([message.text, message.blocks], ensure_ascii=False)
    assert SHOWN in told
    assert "May ⟨U+2066⟩it⟨U+2069⟩ run?" in told
    assert "4 hidden characters were found here" in told
    after = decided_message(question, decided("run"), "en")
    page = code_view(question, "en")
    for shown in (told, json.dumps([after.text, after.blocks, page], ensure_ascii=False)):
        assert not {"\u202e", "\u200b", "\u2066", "\u2069"} & set(shown)
        assert SHOWN in shown


def test_code_that_a_person_edits_is_not_changed_by_what_is_shown() -> None:
    form = edit_view(Draft(asked(code="x = 'a\u200bb'")), TURN, "en")
    assert "a\u200bb" in json.dumps(form, ensure_ascii=False)


def test_an_approval_without_hidden_characters_says_nothing_of_them() -> None:
    message = approval_message(Draft(asked()), TURN, "en")
    assert "hidden" not in json.dumps([message.text, message.blocks])


@pytest.mark.parametrize("language", list(get_args(Language)))
def test_what_people_read_once_one_of_two_has_changed_the_text(golden: Golden, language: Language) -> None:
    question = asked(language).model_copy(update={"people": 2})
    by = {"call_id": "approve:1", "user": "U1", "ts": "1.0"}
    changed = Redrafted(author="Ana & <Co>", code="print(1)", **by)
    draft = draft_of([question, Agreed(author="Ben", **by), changed], question)
    now = approval_message(draft, TURN, language)
    end = decided("edited", code="print(1)", author="Ben", editor="Ana & <Co>")
    messages = [now, outdated_message(draft, language), decided_message(question, end, language)]
    assert [broken_limits(message.blocks) for message in messages] == [[]] * 3
    form = edit_view(draft, TURN, language)
    assert broken_view(form) == []
    told = [{"text": message.text, "blocks": message.blocks} for message in messages]
    golden(f"blocks/approval_changed_{language}.json", [*told, form["submit"]["text"]])


def test_the_question_whether_a_statement_may_run(golden: Golden) -> None:
    question = Questioned(
        call_id="confirm:1",
        question=say("confirm_statement", "en", source="shop"),
        options=("Run the query", "Skip it"),
        approval=Approval(what="statement", title="shop", code="SELECT 1", reads=("shop",)),
    )
    message = approval_message(Draft(question), TURN, "en")
    golden("blocks/approval_statement.json", {"text": message.text, "blocks": message.blocks})


def test_a_statement_with_placeholders_says_so_and_opens_whole() -> None:
    masked, whole = "SELECT 1 WHERE mail = '<email>'", "SELECT 1 WHERE mail = 'zoe@shop.example'"
    approval = Approval(what="statement", title="shop", code=masked, folded=whole, reads=("shop",))
    question = Questioned(call_id="confirm:1", question="May it run?", options=("Run", "Skip"), approval=approval)
    decision = decided_message(question, decided("run"), "en")
    shown = json.dumps([approval_message(Draft(question), TURN, "en").blocks, decision.blocks])
    assert ("<email>" in shown, "zoe@" in shown, '"Show all"' in shown) == (True, False, True)
    assert "Personal values stand here as placeholders" in shown
    assert whole in json.dumps(code_view(question, "en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_question_once_it_is_decided(golden: Golden, language: Language) -> None:
    ends = [
        *(decided(outcome) for outcome in ("run", "skip", "reject", "other")),
        decided("edited", code="print('mine')"),
        decided("redo", hint="by <month>"),
        decided("redo"),
        Decided(call_id="approve:1", outcome="expired"),
        Commanded(command="stop", user="U1", author="Ana", text="stop", ts="1.0"),
        None,
    ]
    drawn = [decided_message(asked(language), end, language) for end in ends]
    golden(f"blocks/approval_decided_{language}.json", [{"text": each.text, "blocks": each.blocks} for each in drawn])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_forms(golden: Golden, language: Language) -> None:
    long = "\n".join(f"value_{n} = {n}" for n in range(300))
    question = asked(language)
    views = [
        edit_view(Draft(question), TURN, language),
        hint_view(question, TURN, language),
        code_view(question, language),
    ]
    golden(f"blocks/approval_forms_{language}.json", views)
    assert [broken_view(view) for view in (*views, edit_view(Draft(asked(language, long)), TURN, language))] == [[]] * 4


@given(st.text() | st.lists(st.text("ab\n x", max_size=3_500), max_size=60).map("\n".join))
def test_whatever_the_code_slack_takes_the_message_and_its_forms(code: str) -> None:
    question = asked(code=code)
    assert broken_limits(approval_message(Draft(question), TURN, "en").blocks) == []
    assert broken_limits(decided_message(question, decided("edited", code=code), "en").blocks) == []
    assert broken_view(code_view(question, "en")) == []
    parts = code_parts(code)
    assert len(parts) <= MOST_PARTS
    if parts:
        assert "\n".join(parts) == code
        assert broken_view(edit_view(Draft(question), TURN, "en")) == []


@pytest.mark.parametrize("letter", ["a", "表", "😀"])
def test_code_of_any_letters_opens_in_a_window_that_slack_takes(letter: str) -> None:
    code = "\n".join([letter * 2_890] * MOST_PARTS)
    view = code_view(asked(code=code), "en")
    check_view(view, lambda _: True)
    assert broken_view(view) == []
    assert ("too long to be shown" in str(view["blocks"][-1])) is (letter != "a")
    if code_parts(code):
        assert broken_view(edit_view(Draft(asked(code=code)), TURN, "en")) == []


def test_code_that_no_form_takes_has_no_edit_button() -> None:
    for code in ("a" * 3_000, "\n".join(["b" * 1_500] * 100), "\n".join(["表" * 1_900] * 30)):
        assert "approve:edit" not in str(approval_message(Draft(asked(code=code)), TURN, "en").blocks)
        assert "approve:run" in str(approval_message(Draft(asked(code=code)), TURN, "en").blocks)


def test_an_error_stands_under_the_field_with_its_line() -> None:
    assert syntax_error(["a = 1\nb = 2", "c = 3\nd = ("], "en") == {field_id(1): "Line 4: '(' was never closed"}
    assert syntax_error(["a = 1", "b = 2"], "en") == {}
    assert list(syntax_error(["\x00"], "en")) == [field_id(0)]


@pytest.mark.parametrize(
    "view", [None, {}, {"state": {}}, {"state": {"values": {"x": {}}}}, {"state": {"values": 3}}, TOO_LONG]
)
def test_a_form_that_is_not_ours_has_no_fields(view: object) -> None:
    assert submitted(view) is None
