"""Each command has its module, and yes or no to a reset is understood in every way people say it."""

from __future__ import annotations

import pytest

from core.commands.registry import commands
from core.rows import StoredMessage
from core.steps import Asked, Commanded
from core.values import Language
from workers.agent.thread.inbox import read_mail
from workers.turn.commands import handler_of
from workers.turn.commands.reset import reset_question


def test_every_command_that_reaches_a_worker_has_its_module() -> None:
    for command in commands().values():
        if command.reaches_worker:
            assert callable(handler_of(command.name))


def message(text: str) -> StoredMessage:
    return StoredMessage(
        team="T", channel="C", channel_type="channel", ts="2.0", root_ts="1.0", user="U1", text=text, id=2, author="Ana"
    )


@pytest.mark.parametrize(
    ("language", "text", "command"),
    [
        ("en", "YES", "confirm"),
        ("en", "Yes, reset", "confirm"),
        ("en", "ok!", "confirm"),
        ("en", "No.", "decline"),
        ("en", "no, keep it", "decline"),
        ("zh", "是，清空", "confirm"),
        ("zh", "好的", "confirm"),
        ("zh", "不用了", "decline"),
        ("zh", "否，保留", "decline"),
        ("zh", "yes", "confirm"),
        ("en", "what sold best?", None),
    ],
)
def test_yes_and_no_to_a_reset_are_understood_in_any_case_and_anything_else_is_neither(
    language: Language, text: str, command: str | None
) -> None:
    (step,) = read_mail([message(text)], reset_question(language), lambda message: message.author).steps
    assert (step.command if isinstance(step, Commanded) else None) == command
    assert isinstance(step, Commanded if command else Asked)
