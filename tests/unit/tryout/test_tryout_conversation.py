"""Whoever waits for an answer gets it, also when no turn brings it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from core.values import ThreadKey
from tryout.conversation import Conversation
from tryout.stack import Stack

KEY = ThreadKey("T1", "C1", "100.000001")


class LocalStack:
    """A stack whose bot answers at the second look, without a turn."""

    def __init__(self) -> None:
        self.looks = 0
        self.store = SimpleNamespace(turns=lambda _: [], unread=lambda _: (), current_turn=lambda _: None)
        self.slack = SimpleNamespace(
            say=lambda *_, **__: SimpleNamespace(thread=KEY, ts="100.000001"), thread=lambda _: self.messages()
        )

    def check(self) -> None:
        self.looks += 1

    def messages(self) -> list[dict[str, Any]]:
        asked = {"ts": "100.000001", "text": "@threadbook help"}
        return [asked, {"ts": "100.000002", "text": "Say …", "bot_id": "B1"}] if self.looks > 1 else [asked]


def test_a_word_that_is_answered_without_a_turn_is_not_waited_for() -> None:
    stack = LocalStack()
    seen: list[str] = []
    talk = Conversation(cast(Stack, stack), "C1", lambda message: seen.append(message["text"]))
    assert talk.say("help", []) == "done"
    assert seen == ["@threadbook help", "Say …"]
