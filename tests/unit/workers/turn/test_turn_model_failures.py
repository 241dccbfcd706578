"""A model that cannot be asked: one kind sentence, everything kept, and "continue" goes on where it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from turn_world import Meanwhile, World, cell, failure, finish

from workers.models.base import ContextTooLong, ModelUnavailable
from workers.models.scripted import ScriptedModel

LOOK, REPORT = cell("n = 1\nprint(n)"), finish("It is **7**.")


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("unavailable", "The language model does not answer at the moment"),
        ("refused", "The language model refuses our access"),
        ("nonsense", "I could not understand the language model's answers"),
        ("too_long", "This thread is too long for the language model"),
    ],
)
def test_each_failure_is_one_sentence_and_continue_goes_on_without_a_second_run(
    world: World, kind: str, sentence: str
) -> None:
    world.model = ScriptedModel([LOOK, failure(kind)])
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert world.text(key).count(sentence) == 1
    assert world.signs(key) == ["warning"]
    world.model = ScriptedModel([LOOK, REPORT])
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert len(world.sessions.ran) == 1
    assert world.signs(key) == ["white_check_mark"]


def test_another_question_after_a_failure_is_a_turn_of_its_own(world: World) -> None:
    world.model = ScriptedModel([failure("unavailable")])
    key = world.say("how much was sold?")
    world.settle(key)
    world.model = ScriptedModel(turns=[[], [REPORT]])
    world.say("how many customers?", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["stopped", "done"]


def test_a_prompt_that_is_too_long_is_made_shorter_and_asked_again(world: World) -> None:
    much = cell("for n in range(2_000):\n    print('a line of output', n)")
    world.model = model = Meanwhile(ScriptedModel([much, REPORT]), {2: raising(ContextTooLong("too long"))})
    key = world.say("how much was sold? ")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.kinds(key).count("compacted") == 1
    lengths = [sum(len(str(message["content"])) for message in request.messages) for request in model.requests]
    assert lengths[2] < lengths[1]


def test_a_judge_that_cannot_be_asked_costs_no_answer(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([LOOK, REPORT]), {"check": raising(ModelUnavailable("away"))})
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "It is **7**." in world.text(key)


def test_a_model_that_only_talks_is_corrected_and_then_given_up(world: World) -> None:
    world.model = ScriptedModel([{"text": "Well…"}, {"text": "Hm."}, {"text": "So."}, {"text": "Ah."}, {"text": "Oh."}])
    key = world.say("how much was sold?")
    world.settle(key)
    assert world.statuses(key)[-1] in ("done", "stopped")
    assert "corrected" in world.kinds(key)


def test_the_language_of_the_sentence_is_that_of_the_question(world: World) -> None:
    world.model = ScriptedModel([failure("unavailable")])
    key = world.say("卖了多少?")
    world.settle(key)
    assert "语言模型暂时没有响应" in world.text(key)
