"""The model is away: the thread offers to wait, another configured model, or to stop. The first press counts."""

from __future__ import annotations

from typing import Any

import fakeredis
import pytest
from test_turn_report_buttons import AtOnce
from turn_world import ANA, BEN, Death, Json, Meanwhile, NewWorld, World, cell, failure, finish

from bot.message_handler import MessageHandler
from bot.presses.model_choice import ModelChoices
from core.queue import Wakes
from core.slack.writing.writer import SlackWriter
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

SCRIPT = (cell("print(1)"), finish("It is 1."))


class Away:
    """A thread whose model went away after a cell, and the bot that people press at."""

    def __init__(self, world: World, how: str = "unavailable", *, models: bool = True) -> None:
        self.world = world
        world.model = ScriptedModel([cell("x = 1"), failure(how), *SCRIPT])
        self.small = Meanwhile(ScriptedModel([cell("x = 1"), *SCRIPT]), {})
        world.models = {"small": self.small} if models else {}
        self.key = world.say("how much?")
        world.settle(self.key)

    @property
    def ending(self) -> Json:
        """The last message that says that the model is away."""
        mine = self.world.messages(self.key, ours=True)
        return [message for message in mine if "language model" in str(message.get("blocks"))][-1]

    @property
    def labels(self) -> list[str]:
        blocks = self.ending["blocks"]
        return [each["text"]["text"] for block in blocks if block["type"] == "actions" for each in block["elements"]]

    def press(self, label: str, *, user: str = ANA, team: str = "", ending: Json | None = None) -> str:
        world, shown = self.world, ending or self.ending
        elements = [each for block in shown["blocks"] if block["type"] == "actions" for each in block["elements"]]
        (value,) = [each["value"] for each in elements if each["text"]["text"] == label]
        slack = SlackWriter(world.slack.client(), world.store)
        handler = MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store),
            slack=slack,
            later=AtOnce(),
            lookups=AtOnce(),
        )
        container = {"channel_id": self.key.channel, "message_ts": shown["ts"]}
        body = {"actions": [{"value": value}], "container": container, "user": {"id": user}}
        with world._unwatched():
            return ModelChoices(world.store, slack, handler).press(body, team or self.key.team)

    def settle(self, death: Death | None = None) -> list[str]:
        self.world.settle(self.key, death)
        return self.world.statuses(self.key)


@pytest.fixture
def away(world: World) -> Away:
    return Away(world)


def test_the_thread_offers_to_wait_another_model_and_to_stop(away: Away) -> None:
    assert away.labels == ["Wait for it", "Go on with small", "Stop here"]
    assert away.settle() == ["stopped"]


def test_without_another_model_it_offers_to_wait_and_to_stop(world: World) -> None:
    assert Away(world, models=False).labels == ["Wait for it", "Stop here"]


def test_a_model_that_refuses_us_is_not_waited_for(new_world: NewWorld) -> None:
    assert Away(new_world(), "refused").labels == ["Go on with small", "Stop here"]
    world = new_world()
    away = Away(world, "refused", models=False)
    assert away.labels == []


def test_another_model_goes_on_from_where_the_first_one_left(away: Away) -> None:
    assert away.press("Go on with small", user=BEN) == "taken"
    assert away.settle() == ["done"]
    assert "ben lets me go on with small." in message_text(away.ending)
    assert away.labels == []
    shown = str(away.small.requests[0].messages)
    assert "x = 1" in shown, "it knows the cell that ran before"
    assert away.world.turns(away.key)[0].model == away.small.name
    assert [step["cell_id"].rpartition("/")[2] for step in away.world.steps(away.key, "cell")] == ["c1", "c2"]


def test_waiting_tries_again_until_the_model_answers(away: Away) -> None:
    world = away.world
    world.model = ScriptedModel([cell("x = 1"), failure("unavailable")])
    assert away.press("Wait for it") == "taken"
    world.run(away.key)
    assert world.statuses(away.key) == ["running"], "it gives up no more"
    assert world.put_off(away.key)
    assert "I try again automatically" in message_text(away.ending)
    world.model = ScriptedModel([cell("x = 1"), *SCRIPT])
    assert away.settle() == ["done"]


def test_a_stop_ends_the_waiting(away: Away) -> None:
    away.world.model = ScriptedModel([cell("x = 1"), failure("unavailable")])
    away.press("Wait for it")
    away.world.run(away.key)
    away.world.say("stop", thread=away.key, user=BEN)
    assert away.settle() == ["stopped"]
    assert away.world.steps(away.key, "gave_up")[-1]["reason"] == "stopped"


def test_after_an_hour_of_waiting_the_choice_is_offered_again(away: Away, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.turn.commands.switch.WAIT_S", -1.0)
    away.world.model = ScriptedModel([cell("x = 1"), failure("unavailable")])
    before = away.ending["ts"]
    away.press("Wait for it")
    assert away.settle() == ["stopped"]
    assert away.ending["ts"] != before
    assert "Wait for it" in away.labels


def test_stopping_leaves_it_and_continue_goes_on_later(away: Away) -> None:
    assert away.press("Stop here") == "taken"
    assert away.settle() == ["stopped"]
    assert away.labels == []
    away.world.model = ScriptedModel([cell("x = 1"), *SCRIPT])
    away.world.say("continue", thread=away.key)
    assert away.settle() == ["done"]


@pytest.mark.parametrize("label", ["Wait for it", "Go on with small"])
def test_pressing_twice_or_two_people_at_once_is_one_decision(away: Away, label: str) -> None:
    shown = away.ending
    assert away.press(label, ending=shown) == "taken"
    assert away.press("Go on with small", user=BEN, ending=shown) == "late"
    away.world.model = ScriptedModel([cell("x = 1"), *SCRIPT])  # it answers again
    assert away.settle() == ["done"]
    assert len(away.world.steps(away.key, "resumed")) == 1
    assert away.world.slack.whispers[-1] == (BEN, "This was decided, or the thread has gone on.")


def test_a_late_press_changes_nothing_and_takes_the_buttons_away(away: Away) -> None:
    shown = away.ending
    away.world.model = ScriptedModel([cell("x = 1"), *SCRIPT])
    away.world.say("continue", thread=away.key)
    away.settle()
    assert away.press("Go on with small", ending=shown) == "late"
    assert away.settle() == ["done"]
    assert away.labels == []


@pytest.mark.parametrize("label", ["Wait for it", "Go on with small"])
def test_a_choice_that_is_made_while_a_command_is_carried_out_counts(
    away: Away, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = ModelChoices._is_open

    def carried_out_meanwhile(*given: Any) -> bool:
        is_open = look(*given)
        away.world.say("undo", thread=away.key)
        away.settle()
        return is_open

    monkeypatch.setattr(ModelChoices, "_is_open", carried_out_meanwhile)
    assert away.press(label) == "taken"
    away.world.model = ScriptedModel([cell("x = 1"), *SCRIPT])
    assert away.settle() == ["done"]
    assert len(away.world.steps(away.key, "resumed")) == 1


def test_who_may_not_is_told_and_the_buttons_stay(new_world: NewWorld) -> None:
    away = Away(new_world(team=f'[access]\nask = ["{ANA}"]\n'))
    assert away.press("Go on with small", user=BEN) == "refused"
    assert away.settle() == ["stopped"]
    assert "Go on with small" in away.labels
    assert any("you may not do this here" in text for _, text in away.world.slack.whispers)


def test_a_press_of_another_workspace_means_nothing(away: Away) -> None:
    assert away.press("Go on with small", team="T0OTHER") == "unknown"


@pytest.mark.parametrize("at", range(1, 12))
def test_a_worker_that_dies_after_the_choice_is_followed_by_one_that_goes_on_with_it(away: Away, at: int) -> None:
    away.press("Go on with small")
    assert away.settle(Death(at)) == ["done"]
    assert len(away.world.steps(away.key, "resumed")) == 1
    assert len(away.world.steps(away.key, "finished")) == 1


@pytest.mark.parametrize("body", [{}, {"actions": [{"value": "{}"}]}, {"actions": []}])
def test_nonsense_means_nothing(away: Away, body: dict[str, Any]) -> None:
    world = away.world
    slack = SlackWriter(world.slack.client(), world.store)
    handler: Any = None
    assert ModelChoices(world.store, slack, handler).press(body, away.key.team) == "malformed"


def test_a_command_since_then_leaves_the_choice_open(away: Away) -> None:
    away.world.say("cost", thread=away.key, user=BEN)
    assert away.settle() == ["stopped"]
    assert away.press("Go on with small") == "taken"
    assert away.settle() == ["done"]
