"""The forms of the team's memory can be drawn in every language, for an entry, a playbook and a function."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from core.slack.blocks import Limit, broken_limits, broken_view
from core.slack.views import memory as drawn
from core.steps import FunctionDraft, PlaybookNote, PromptPart, Proposed
from core.values import Language

PAGE = "---\nplaybook: Units\nwhen: Which region sold the most?\n---\n```python\nprint(1)\n```\n"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("what", "title"),
    [
        ("entry", {"en": "What to remember", "zh": "要记住的内容"}),
        ("playbook", {"en": "Read and change", "zh": "查看并修改"}),
        ("function", {"en": "What it should do", "zh": "它应该做什么"}),
    ],
)
def test_what_is_to_be_kept_can_be_changed_first(what, title, language) -> None:
    proposed = Proposed(
        what=what,
        id="entry:100.1",
        file="channels/C/a.md",
        title="Units",
        text=PAGE,
        user="U1",
        author="ben",
        ts="100.1",
    )
    view = drawn.edit_view(proposed, "T1:C1:100.000001", language)
    assert broken_view(view) == []
    assert view["title"]["text"] == title[language]


@pytest.mark.parametrize("what", ["entry", "playbook", "program", "packages", "function"])
def test_characters_that_nobody_sees_are_shown_before_anybody_says_yes(what: Any) -> None:
    draft = FunctionDraft(name="rate", schema_text="{}", code="x = 'a\u202eb'", tests="assert 'a\u200bb'")
    proposed = Proposed(
        what=what,
        id="entry:100.1",
        file="a.md",
        title="Un\u200bits",
        text="only \u202eread",
        about="" if what == "entry" else "only \u202eread",
        draft=draft if what == "function" else None,
        passed=True,
        user="U1",
        author="ben",
        ts="100.1",
    )
    message = drawn.proposal_message(proposed, "T1:C1:100.000001", "en")
    told = json.dumps([message.text, message.blocks], ensure_ascii=False)
    assert not {"\u202e", "\u200b"} & set(told)
    assert "⟨U+202E⟩read" in told
    assert f"{4 if what == 'function' else 2} hidden characters were found here" in told
    assert broken_limits(message.blocks) == []
    form = json.dumps(drawn.edit_view(proposed, "T1:C1:100.000001", "en"), ensure_ascii=False)
    assert "⟨U+" not in form, "what a person edits stays as it is"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("passed", [True, False])
def test_a_function_that_has_not_passed_has_no_button_that_accepts_it(passed: bool, language: Language) -> None:
    draft = FunctionDraft(name="rate", schema_text="{}", code="x = 1\n" * 3_000, tests="`<!channel>`\n" * 3_000)
    proposed = Proposed(
        what="function",
        id="function:100.1",
        file="channels/C1/functions/tested/rate",
        title="rate",
        text="the rate",
        about="✓ test_rate\n" * 900,
        draft=draft,
        passed=passed,
        user="U1",
        author="ben",
        ts="100.1",
    )
    message = drawn.proposal_message(proposed, "T1:C1:100.000001", language)
    (actions,) = [block for block in message.blocks if block["type"] == "actions"]
    assert [button["action_id"] for button in actions["elements"]] == [
        *(["memory:keep"] if passed else []), "memory:retest", "memory:again", "memory:edit", "memory:drop",
    ]  # fmt: skip
    assert sum(len(str(block)) for block in message.blocks) < 4 * Limit.SECTION


@pytest.mark.parametrize("letter", ["a", "表", "😀"])
def test_a_long_playbook_of_any_letters_can_be_read(letter: str) -> None:
    note = PlaybookNote(file="a.md", name="Units", owner="ana", kept="2026-11-01", text=letter * 80_000)
    view = drawn.playbook_view(note, "en")
    assert broken_view(view) == []
    assert letter * 1_000 in str(view["blocks"][0])
    assert "too long to be shown" in str(view["blocks"][-1])


@pytest.mark.parametrize("letter", ["a", "表", "😀"])
def test_what_the_model_was_told_is_shown_as_far_as_a_window_takes_it(letter: str) -> None:
    proposed = Proposed(
        what="function",
        id="function:100.1",
        file="a",
        title="rate",
        text="the rate",
        prompts=(PromptPart(role="user", text=letter * 150_000),),
        user="U1",
        author="ben",
        ts="100.1",
    )
    view = drawn.prompts_view(proposed, "en")
    assert broken_view(view) == []
    assert "…" in str(view["blocks"][-1]) or letter == "a"


def test_a_playbook_that_no_form_takes_has_no_edit_button() -> None:
    for text, is_there in ((PAGE, True), ("x" * 3_000, False)):
        proposed = Proposed(
            what="playbook", id="playbook:100.1", file="a.md", title="Units", text=text, about="about", user="U1",
            author="ben", ts="100.1",
        )  # fmt: skip
        assert ("memory:edit" in str(drawn.proposal_message(proposed, "T1:C1:100.000001", "en").blocks)) is is_there


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("what", ["entry", "playbook", "program", "function"])
def test_no_title_and_no_button_of_a_form_is_cut(what: Any, language: Language) -> None:
    proposed = Proposed(
        what=what, id="entry:100.1", file="a", title="Units", text=PAGE, user="U1", author="ben", ts="100.1"
    )
    view = drawn.edit_view(proposed, "T1:C1:100.000001", language)
    assert [view[part]["text"] for part in ("title", "submit", "close") if "…" in view[part]["text"]] == []


@pytest.mark.parametrize(("language", "leave"), [("en", "Don't"), ("de", "Nicht befolgen"), ("ja", "従わない")])
def test_a_playbook_is_not_followed_rather_than_not_kept(language: Language, leave: str) -> None:
    note = PlaybookNote(file="p.md", name="Units", text=PAGE, owner="Ana", kept="2026-11-30")
    (buttons,) = [block for block in drawn.followed_message(note, "t1", language).blocks if block["type"] == "actions"]
    assert [each["text"]["text"] for each in buttons["elements"]][1] == leave
