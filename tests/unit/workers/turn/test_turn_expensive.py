"""A call of a model that is estimated to be expensive waits for a yes, with the estimate and what it rests on."""

from __future__ import annotations

from itertools import count

import pytest
from turn_world import ANA, BEN, Death, Json, NewWorld, World, cell, failure, finish

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

PRICE = "[prices.scripted]\ninput = 10\noutput = 100\n"
"""A reply of a thousand tokens alone costs 0.10."""
ASKS = f"{PRICE}[approvals]\nabove = 0.05\n"
COUNT = cell("print(7)", "Count")
REPORT = finish("It is 7.")


def asked(world: World, *script: Json) -> ThreadKey:
    world.model = ScriptedModel([*(script or (COUNT, REPORT)), *[REPORT] * 4])
    key = world.say("how much?")
    world.settle(key)
    return key


def whats(world: World, key: ThreadKey) -> list[str]:
    return [step["approval"]["call"] for step in world.steps(key, "questioned")]


def test_the_first_call_waits_with_its_estimate_and_what_it_rests_on(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    key = asked(world)
    assert world.statuses(key) == ["waiting"]
    assert world.steps(key, "replied") == []
    text = world.text(key)
    for words in ("This is expensive", "Estimate: 0.", "above 0.05 USD", "a million tokens of scripted"):
        assert words in text
    assert "[Go on]" in text
    assert "[Stop here]" in text
    assert "[Edit]" not in text
    assert not world.works(key)


def test_a_yes_counts_for_later_calls_of_the_same_kind_and_others_ask_for_themselves(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    key = asked(world)
    world.decide(key, "run")
    world.settle(key)
    assert whats(world, key) == ["cost:act", "cost:check"]
    assert "[Go on without it]" in world.text(key)
    world.decide(key, "run")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert [step["purpose"] for step in world.steps(key, "replied")] == ["act", "act", "check"]


def test_a_report_is_posted_without_a_check_that_nobody_wants_to_pay(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    key = asked(world)
    world.decide(key, "run")
    world.settle(key)
    world.decide(key, "skip")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "It is 7." in world.text(key)
    assert [step["purpose"] for step in world.steps(key, "replied")] == ["act", "act"]


def test_a_no_ends_the_turn_and_continue_asks_again(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    key = asked(world)
    world.decide(key, "reject")
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "too expensive" in world.text(key)
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    assert whats(world, key) == ["cost:act"] * 2


def test_words_are_kept_for_the_analyst_and_the_question_stands_again(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    key = asked(world)
    world.say("only the north, please", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    world.decide(key, "run")
    world.settle(key)
    assert whats(world, key)[:2] == ["cost:act"] * 2
    assert "Count" in world.text(key)


def test_the_option_in_words_is_a_yes(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    key = asked(world)
    world.say("Go on", thread=key)
    world.settle(key)
    assert [step["outcome"] for step in world.steps(key, "decided")] == ["run"]


def test_somebody_who_may_not_approve_decides_nothing(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    key = asked(world)
    world.decide(key, "run", user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    assert world.steps(key, "decided") == []
    world.decide(key, "run", user=ANA)
    world.settle(key)
    assert world.steps(key, "replied") != []


@pytest.mark.parametrize(
    "team",
    ["", PRICE, "[approvals]\nabove = 0.05\n", f"{PRICE}[approvals]\nabove = 50\n"],
    ids=["nothing", "no bound", "no price", "below"],
)
def test_nobody_is_asked_without_a_bound_or_a_price_or_below_the_bound(new_world: NewWorld, team: str) -> None:
    world = new_world(team=team)
    key = asked(world)
    assert world.statuses(key) == ["done"]
    assert world.steps(key, "questioned") == []


def test_a_second_way_is_left_out_when_nobody_wants_to_pay_for_it(new_world: NewWorld) -> None:
    world = new_world(team=f'{ASKS}[check]\nsecond_route = "always"\n')
    key = asked(world, cell("print('units', 120)", "Count"), finish("North sold 120 units."))
    for do in ("run", "skip", "skip"):
        world.decide(key, do)
        world.settle(key)
    assert whats(world, key) == ["cost:act", "cost:check", "cost:route"]
    assert world.statuses(key) == ["done"]
    assert "North sold 120 units." in world.text(key)


def test_a_call_that_failed_is_tried_again_on_the_same_yes(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    key = asked(world, failure("too_long"), COUNT, REPORT)
    world.decide(key, "run")
    world.settle(key)
    assert whats(world, key).count("cost:act") == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the card dies with its worker
def test_a_worker_may_die_anywhere_around_the_question_and_it_is_asked_and_answered_once(new_world: NewWorld) -> None:
    world = new_world(team=ASKS)
    for at in count(1):
        death = Death(at)
        world.model = ScriptedModel([COUNT, REPORT])
        key = world.say("how much?")
        world.settle(key, death)
        place = f"died after effect {at}: {' '.join(death.effects)}"
        assert whats(world, key) == ["cost:act"], place
        assert world.text(key).count("[Stop here]") == 1, place
        world.decide(key, "run")
        world.settle(key, None if death.dead else death)
        world.decide(key, "skip")
        world.settle(key)
        assert whats(world, key) == ["cost:act", "cost:check"], place
        assert world.statuses(key) == ["done"], place
        assert [step["purpose"] for step in world.steps(key, "replied")] == ["act", "act"], place
        if not death.dead:
            break
