"""Words that are commands: a message that says one of them and nothing else."""

from __future__ import annotations

import pytest

from core.commands import ANSWERS, command_in, commands
from core.phrases import phrases


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


def test_no_word_means_two_things() -> None:
    every = [word for command in commands().values() for words in command.words.values() for word in words]
    assert len(every) == len(set(every))


def test_every_command_has_words_in_each_language_and_phrases_that_exist() -> None:
    for command in commands().values():
        assert set(command.words) == {"en", "zh"}
        assert all(command.words.values())
        assert {key for key in (command.nothing, command.reply) if key} <= set(phrases())
