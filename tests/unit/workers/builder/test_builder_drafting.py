"""A requirement file out of a reply: found between any fences, read strictly, without what is for people alone."""

from __future__ import annotations

import pytest

from workers.builder.requirements.drafting import NoDraft, drafted, lowered_guards, read_draft, within
from workers.builder.requirements.requirement import read

TEXT = '[project]\nrequirements = """\nPrint ``` and hello.\n"""\n'


@pytest.mark.parametrize(
    "reply",
    [
        f"``````toml\n{TEXT}``````",
        f"Sure!\n~~~~\n{TEXT}~~~~\nDone.",
        f"<think>```\nx = 1\n```</think>\n``````\n{TEXT}``````\n",
        f"```bash\nls\n```\n``````toml\n{TEXT}``````",
        f"``````toml\r\n{TEXT}",
        TEXT,
    ],
)
def test_the_file_is_found_however_it_is_wrapped(reply: str) -> None:
    assert read_draft(reply).text == TEXT


def test_at_most_three_questions_outside_of_the_file_are_kept() -> None:
    asked = "\n".join(f"? Question {n}" for n in range(9))
    draft = read_draft(f"? First {'x' * 900}\n``````\n# ? not this one\n{TEXT}``````\n{asked}")
    assert [one[:10] for one in draft.questions] == ["First xxxx", "Question 0", "Question 1"]
    assert max(map(len, draft.questions)) <= 240


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "no TOML file"),
        ("``````", "no TOML file"),
        ("hello = 1", "no TOML file"),
        ("``````\n[project]\nrequirements = [\n``````", "this is no TOML"),
        ("``````\n[project]\nrequirments = 'x'\n``````", "did you mean `requirements`"),
        (f"``````\n{TEXT}[run]\npackages = ['requests']\n``````", r"people alone: \[run\]"),
        (
            f"``````\n{TEXT}[build]\nwithout = ['security']\n[security]\n``````",
            r"people alone: \[build\]",
        ),
    ],
)
def test_what_is_no_usable_draft_is_said(reply: str, why: str) -> None:
    with pytest.raises(NoDraft, match=why):
        read_draft(reply)


def test_a_change_leaves_what_people_wrote_for_themselves() -> None:
    own = f"{TEXT}[security]\nallow = ['network']\n"
    assert read_draft(f"``````\n{own}``````", read(own)).text == own
    with pytest.raises(NoDraft, match="people alone"):
        read_draft(f"``````\n{own.replace('network', 'secrets')}``````", read(own))
    with pytest.raises(NoDraft, match="people alone"):
        read_draft(f"``````\n{TEXT}``````", read(own))


def test_a_second_reply_is_asked_for_with_what_was_wrong_and_no_third() -> None:
    told: list[tuple[bool, str]] = []

    def ask(problem: str, before: str) -> str:
        told.append((bool(problem), before))
        return f"prose {len(told)}"

    with pytest.raises(NoDraft):
        drafted(ask)
    assert told == [(False, ""), (True, "prose 1")]


def test_what_lowers_the_guard_is_named_and_what_costs_is_bounded() -> None:
    build = "[build]\nwithout = ['types', 'security']\nmodel = 'dear'\nmax_calls = 999\n"
    tables = f"{build}[security]\nallow = ['network']\n"
    made = read(TEXT + tables)
    assert lowered_guards(made) == ["allow = ['network']", "without = ['security']"]
    assert (within(made).build.model, within(made).build.max_calls) == ("", 60)
    assert lowered_guards(read(TEXT)) == []
