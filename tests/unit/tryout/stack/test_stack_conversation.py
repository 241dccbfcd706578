"""Whoever waits for an answer gets it, also when no turn brings it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from core.steps import Asked
from core.values import ThreadKey
from tryout.stack.conversation import Conversation
from tryout.stack.stack import Stack

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


class BeginningStack(LocalStack):
    """A stack whose bot says hello first. Its turn begins right after the first question to the Store, then rests."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = iter(["running"])
        self.store = SimpleNamespace(
            turns=lambda _: self.turns(self.stage if self.looks < 3 else "waiting"),
            unread=lambda _: [] if self.next_stage() else ["100.000001"],
            current_turn=lambda _: next(iter(self.turns(self.next_stage())), None),
            steps=lambda _: [Asked.model_construct(ts="100.000001")],
        )
        self.slack.shows_its_files = lambda _: True

    stage = ""

    def next_stage(self) -> str:
        before, self.stage = self.stage, next(self.stages, "running") if self.looks > 1 else ""
        return before

    def turns(self, status: str) -> list[Any]:
        return [SimpleNamespace(id="turn", status=status)] if status else []


def test_a_turn_that_begins_between_two_looks_at_the_store_is_waited_for() -> None:
    stack = BeginningStack()
    assert Conversation(cast(Stack, stack), "C1").say("help", []) == "waiting"
