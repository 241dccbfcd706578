"""Whoever asks a turn to stop: it stops wherever it is, keeps what it has, and goes on when somebody says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from patience import eventually
from turn_world import ANA, BEN, Meanwhile, World, cell, finish

from core.values import ThreadKey
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel

LONG = cell("kept = 7\nprint('begun')\nwhile True:\n    pass", "Wait long")
ADD = cell("total = 42", "Add up")
SAY_STOP: Callable[[World, ThreadKey], object] = lambda world, key: world.say("stop", thread=key, user=BEN)  # noqa: E731
PRESS_STOP: Callable[[World, ThreadKey], object] = lambda world, key: world.press_stop(key, user=BEN)  # noqa: E731


@pytest.mark.parametrize("stop", [SAY_STOP, PRESS_STOP], ids=["word", "press"])
def test_a_cell_that_runs_is_stopped_and_its_variables_are_kept(
    world: World, stop: Callable[[World, ThreadKey], object]
) -> None:
    world.model = ScriptedModel(turns=[[ADD, LONG], [cell("print(total + kept)"), finish("**49**.")]])
    key = world.say("how much was sold?")
    model = Meanwhile(world.model, {2: lambda: world.sessions.fault("run", then=lambda: stop(world, key))})
    world.model = model
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert [ran["status"] for ran in world.steps(key, "cell")] == ["ok", "killed"]
    assert "ben asked me to stop." in world.text(key)
    assert world.signs(key) == ["octagonal_sign"]
    world.say("what do you have?", thread=key)
    world.settle(key)
    assert world.steps(key, "cell")[-1]["stdout"] == "49\n"


class Silent:
    """A model that never answers by itself."""

    native_tools = True
    sees = False
    name = "silent"

    def __init__(self, asked: Callable[[], object], word: str) -> None:
        self._asked = asked
        self._word = word
        self.left = False

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self._asked()
        try:
            eventually(lambda: not request.wanted() or (self._word and on_delta(self._word)), "the end of the call")
        finally:
            self.left = True
        return ModelReply()


@pytest.mark.parametrize("word", ["", "still thinking "], ids=["silent", "talking"])
def test_a_call_of_the_model_is_left_as_soon_as_somebody_stops_it(world: World, word: str) -> None:
    world.model = model = Silent(lambda: world.say("stop", thread=key, user=BEN), word)
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "ben asked me to stop." in world.text(key)
    eventually(lambda: model.left, "the model to be left")


def test_a_call_that_is_left_counts_for_who_asked(world: World) -> None:
    """Otherwise who stops each call in time would spend nothing of a budget."""
    world.model = Silent(lambda: world.say("stop", thread=key, user=BEN), "still thinking ")
    key = world.say("how much was sold?")
    world.settle(key)
    spent = world.store.spent(user=ANA)
    assert spent.calls == 1
    assert spent.prompt_tokens > 1_000  # the system prompt alone has more
    assert spent.completion_tokens >= 4
    assert world.store.spent(user=BEN).calls == 0


def test_what_was_said_before_a_stop_is_stopped_too_and_what_comes_after_is_not(world: World) -> None:
    world.model = ScriptedModel([finish("Answered.")])
    key = world.say("how much was sold?")
    world.say("in euros", thread=key)
    world.say("stop", thread=key)
    world.say("how many customers?", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["stopped", "done"]
    assert [asked["text"] for asked in world.steps(key, "asked")] == ["how many customers?"]


def test_a_stop_where_nothing_runs_opens_no_turn(world: World) -> None:
    world.model = ScriptedModel(turns=[[finish("Answered.")]])
    key = world.say("how much was sold?")
    world.settle(key)
    world.say("stop", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]


def test_after_a_stop_continue_goes_on_with_the_same_turn(world: World) -> None:
    model = Meanwhile(
        ScriptedModel([ADD, cell("print(total)"), finish("**42**.")]),
        {2: lambda: world.say("stop", thread=key, user=BEN)},
    )
    world.model = model
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert [ran["stdout"] for ran in world.steps(key, "cell")] == ["", "42\n"]
    assert world.signs(key) == ["white_check_mark"]


def test_a_turn_that_somebody_else_continues_is_at_their_cost(world: World) -> None:
    """Else a person whose budget is used up could go on in the turns of others."""
    model = Meanwhile(
        ScriptedModel([ADD, cell("print(total)"), finish("**42**.")]),
        {2: lambda: world.say("stop", thread=key, user=BEN)},
    )
    world.model = model
    key = world.say("how much was sold?", user=ANA)
    world.settle(key)
    before = world.store.spent(user=ANA).calls
    assert before > 0
    assert world.store.spent(user=BEN).calls == 0
    world.say("continue", thread=key, user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.store.spent(user=ANA).calls == before
    assert world.store.spent(user=BEN).calls > 0


def test_the_files_that_came_before_a_stop_are_there_when_somebody_goes_on(world: World) -> None:
    world.model = ScriptedModel([cell("print(open('a.csv').read())"), finish("Read.")])
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"})
    world.say("stop", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    world.say("go on with the file", thread=key)
    world.settle(key)
    assert world.steps(key, "cell")[-1]["stdout"] == "x\n1\n\n"


def test_a_worker_that_finds_a_stop_and_a_cell_of_a_dead_one_ends_the_cell(world: World) -> None:
    world.model = ScriptedModel([ADD, finish("Answered.")])
    key = world.say("how much was sold?")
    world.say("stop", thread=key)
    world.settle(key)
    assert ("interrupt", key.id, "") in world.sessions.calls
