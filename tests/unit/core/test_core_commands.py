"""Words that are commands: a message that says one of them and nothing else."""

from __future__ import annotations

import pytest

from core.commands import ANSWERS, argument_of, command_in, commands
from core.phrases import phrases, say
from core.values import Language


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Undo!", "undo"),
        ("undo, please", "undo"),
        ("撤销。", "undo"),
        ("ＲＥＳＥＴ", "reset"),
        ("重置", "reset"),
        ("  Continue… ", "continue"),
        ("继续！", "continue"),
        ("Stop", "stop"),
        ("Help?", "help"),
        ("帮助", "help"),
    ],
)
def test_a_command_is_recognised_in_any_case_and_with_any_marks(text: str, name: str) -> None:
    assert command_in(text) == commands()[name]


@pytest.mark.parametrize(
    "text", ["undo the discount", "continue with the South", "重置密码的人有多少？", "", "!", "stop " * 20]
)
def test_a_question_that_holds_such_a_word_stays_a_question(text: str) -> None:
    assert command_in(text) is None


@pytest.mark.parametrize(
    ("text", "name"), [("YES", "confirm"), ("好的", "confirm"), ("No.", "decline"), ("不用", "decline")]
)
def test_yes_and_no_are_commands_only_as_answers(text: str, name: str) -> None:
    assert commands()[name].is_said_in(text)
    assert command_in(text) is None
    assert name in ANSWERS


CODE = "```"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"run {CODE}x = 1{CODE}", "x = 1"),
        (f"Run this:\n{CODE}\nx = 1\ny = 2\n{CODE}", "x = 1\ny = 2"),
        (f"run {CODE}python\n  x = 1{CODE}", "  x = 1"),
        (f"运行\n{CODE}x = 1{CODE}", "x = 1"),
        (f"run {CODE}a = 1{CODE}\n{CODE}b = 2{CODE}", "a = 1\nb = 2"),
        (f"run {CODE}{CODE}", ""),
    ],
)
def test_run_takes_the_code_between_fences(text: str, code: str) -> None:
    assert command_in(text) == commands()["run"]
    assert argument_of("run", text) == code


@pytest.mark.parametrize(
    "text",
    [
        "run the regression again",
        "run",
        f"run {CODE}x = 1",
        f"run {CODE}x = 1{CODE} and tell me why it fails",
        f"please explain {CODE}x = 1{CODE}",
        f"{CODE}run{CODE}",
    ],
)
def test_run_without_a_whole_block_or_with_words_beside_it_is_a_question(text: str) -> None:
    assert command_in(text) is None


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("note amounts are in thousands", "amounts are in thousands"),
        ("Note: a\nb", "a\nb"),
        ("备注：金额以千为单位", "金额以千为单位"),
        ("note", ""),
    ],
)
def test_note_takes_the_words_behind_it(text: str, note: str) -> None:
    assert command_in(text) == commands()["note"]
    assert argument_of("note", text) == note


def test_a_sentence_among_people_that_begins_with_note_is_no_note_and_with_a_colon_it_is() -> None:
    assert command_in("note that the north is closed", mention=False) is None
    assert command_in("note", mention=False) is None
    assert command_in("notebooks are nice") is None
    assert command_in("note: the north is closed", mention=False) == commands()["note"]


def test_no_word_means_two_things() -> None:
    every = [word for command in commands().values() for words in command.words.values() for word in words]
    assert len(every) == len(set(every))


def test_every_command_has_words_in_each_language_and_phrases_that_exist() -> None:
    for command in commands().values():
        if command.by_form:
            continue
        assert set(command.words) == {"en", "zh"}
        assert all(command.words.values())
        assert {key for key in (command.nothing, command.reply) if key} <= set(phrases())


@pytest.mark.parametrize(("language", "opening"), [("en", "“"), ("zh", "“")])
@pytest.mark.parametrize("phrase", ["help", "help_strict"])
def test_help_names_each_command_that_people_can_say(language: Language, opening: str, phrase: str) -> None:
    text = say(phrase, language)
    said = [command for command in commands().values() if not command.by_form and command.name not in ANSWERS]
    missing = [each.name for each in said if not any(f"{opening}{word}" in text for word in each.words[language])]
    assert missing == []
