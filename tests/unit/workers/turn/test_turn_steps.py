"""One step of a turn on demand: from the card and from the report, its code and its output, for whoever may look.

The presses go through the bot's own listener, on the Slack of whole turns. Each press meets a bot that just started.
"""

from __future__ import annotations

from typing import Any

import pytest
from test_turn_report_buttons import Desk
from turn_world import ANA, BEN, CHANNEL, Json, Meanwhile, NewWorld, World, cell, finish

from bot.presses.steps import Steps
from core.interactions import StepButton
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

SCRIPT = (
    cell('print("North 120")\n"a value"', "Totals"),
    cell("1 / 0", "Share"),
    cell('print("fine")', "Share"),
    *[finish("North sold 120 units.")] * 4,
)


class Card(Desk):
    """A thread with a card, and the bot that people press at."""

    def card(self) -> Json:
        return next(m for m in self.world.messages(self.key, ours=True) if "Show steps" in str(m.get("blocks")))

    def open(self, *, user: str = ANA, team: str = "", channel: str = "", trigger: str = "1.2.x") -> str:
        button = next(e for b in self.card()["blocks"] if b["type"] == "actions" for e in b["elements"])
        container = {"channel_id": channel or self.key.channel, "message_ts": self.card()["ts"]}
        return self._press(button, {"container": container, "trigger_id": trigger}, user, team)

    def choose(self, title: str, *, user: str = ANA, view: int = -1) -> str:
        """Choose a step in the modal that was opened or changed last."""
        (select,) = self.world.slack.views[view]["blocks"][0]["elements"]
        option = next(each for each in select["options"] if title in each["text"]["text"])
        return self._press({"selected_option": option}, {"view": {"id": "V1", "hash": "1.a"}}, user, "")

    def _press(self, action: Json, where: Json, user: str, team: str) -> str:
        with self.world._unwatched():
            given = {**action, "action_ts": self.world.slack._next_ts()}
            handler = self.bot._handler
            steps = Steps(self.world.store, self.bot._slack, handler)  # type: ignore[arg-type]
            return steps.press({"actions": [given], "user": {"id": user}, **where}, team or self.key.team)


@pytest.fixture
def card(new_world: NewWorld) -> Card:
    return Card(new_world(), *SCRIPT)


def test_the_card_opens_the_newest_step_with_its_code_and_its_output(card: Card) -> None:
    assert card.open() == "shown"
    (text,) = card.opened
    assert "3. Share" in text
    assert 'print("fine")' in text
    assert "What it printed" in text
    assert "\nfine" in text
    assert "North 120" not in text


def test_another_step_can_be_chosen_in_the_window(card: Card) -> None:
    card.open()
    assert card.choose("1. Totals") == "turned"
    assert 'print("North 120")' in card.opened[-1]
    assert "Its last value" in card.opened[-1]
    assert "a value" in card.opened[-1]
    assert card.choose("2. Share") == "turned"
    assert "failed (ZeroDivisionError)" in card.opened[-1]
    assert "How it failed" in card.opened[-1]


def test_the_report_leads_to_the_same_steps(card: Card) -> None:
    card.press("code")
    assert card.choose("1. Totals") == "turned"
    assert "What it printed" in card.opened[-1]
    assert "North 120" in card.opened[-1]


def test_the_window_keeps_to_slacks_limits(new_world: NewWorld) -> None:
    code = "# a line\n" * 900
    card = Card(new_world(), *[cell(f"{code}print({n})", f"Step {n}") for n in range(6)], *[finish("Done.")] * 4)
    assert card.open() == "shown"  # FakeSlack refuses a view that Slack would refuse
    assert card.choose("2. Step 1") == "turned"
    assert len(card.world.slack.views[-1]["blocks"]) <= 100


def test_who_may_not_look_is_told_and_sees_nothing(new_world: NewWorld) -> None:
    card = Card(new_world(team=f'[access]\nlook = ["{ANA}"]\nask = ["{ANA}"]\n'), *SCRIPT)
    assert card.open(user=BEN) == "refused"
    assert card.world.slack.views == []
    said = [text for _, text in card.world.slack.whispers] + [card.world.text(card.key)]
    assert any("you may not do this here" in text for text in said)
    assert card.open() == "shown"
    assert card.choose("1. Totals", user=BEN) == "refused"
    assert len(card.world.slack.views) == 1


def becomes_private(world: World) -> None:
    """The channel is private now, and only the asker is in it."""
    world.slack.channel_flags["is_private"] = True
    world.slack.channels[CHANNEL]["members"] = [ANA]


def test_a_window_shows_nothing_of_a_private_channel_to_who_is_not_in_it(card: Card) -> None:
    card.open()
    becomes_private(card.world)
    assert card.choose("1. Totals", user=BEN) == "refused"
    assert len(card.world.slack.views) == 1
    assert card.choose("1. Totals") == "turned"


def test_a_press_from_elsewhere_means_nothing(card: Card) -> None:
    assert card.open(channel="C0OTHER001") == "unknown"
    assert card.open(team="T0OTHER001") == "unknown"
    assert card.world.slack.views == []


@pytest.mark.parametrize("value", [None, "", "{}", '{"turn":"T1:C1:1.0/t9"}', '{"turn":"x y"}'])
def test_a_forged_press_opens_nothing(card: Card, value: Any) -> None:
    where = {"container": {"channel_id": card.key.channel}, "trigger_id": "1.2.x"}
    assert card._press({"value": value}, where, ANA, "") in ("malformed", "unknown")
    assert card.world.slack.views == []


def test_a_number_that_no_step_has_means_the_newest(card: Card) -> None:
    button = StepButton(turn=card.turn, cell=99_999, page=999)
    where = {"container": {"channel_id": card.key.channel}, "trigger_id": "1.2.x"}
    assert card._press({"value": button.encode()}, where, ANA, "") == "shown"
    assert "3. Share" in card.opened[0]


def test_a_trigger_that_slack_refuses_is_told(card: Card) -> None:
    assert card.open(trigger="") == "not opened"
    assert "Please press the button once more." in card.world.slack.whispers[-1][1]


def test_what_a_step_showed_is_not_told_once_the_thread_was_reset(card: Card) -> None:
    world = card.world
    for words in ("reset", "yes"):
        world.say(words, thread=card.key)
        world.settle(card.key)
    card.open()
    card.choose("1. Totals")
    assert 'print("North 120")' in card.opened[-1]
    assert "What it printed" not in card.opened[-1]
    assert "was reset after this step" in card.opened[-1]


def test_a_step_that_was_taken_back_says_so(card: Card) -> None:
    card.world.say("undo", thread=card.key)
    card.world.settle(card.key)
    card.open()
    assert "3. Share  undone" in card.opened[-1]


def test_a_turn_that_runs_shows_the_steps_that_have_ended(world: World) -> None:
    opened: list[str] = []

    def press() -> None:
        card = Card.__new__(Card)
        card.world, card.key = world, key
        turn = world.turns(key)[-1].id
        where = {"container": {"channel_id": key.channel}, "trigger_id": "1.2.x"}
        assert card._press({"value": StepButton(turn=turn).encode()}, where, ANA, "") == "shown"
        opened.extend(card.opened)

    world.model = Meanwhile(ScriptedModel(list(SCRIPT)), {1: press, 2: press})
    key = world.say("how much?")
    world.settle(key)
    assert "No step of this question has ended yet." in opened[0]
    assert "1. Totals" in opened[-1]


def test_the_window_speaks_the_language_of_the_thread(new_world: NewWorld) -> None:
    replies = (cell('print("120")', "合计"), *[finish("北方卖了 120 件。")] * 4)
    card = Card(new_world(), *replies, question="北方卖了多少？")
    button = StepButton(turn=card.turn)
    where = {"container": {"channel_id": card.key.channel}, "trigger_id": "1.2.x"}
    assert card._press({"value": button.encode()}, where, ANA, "") == "shown"
    assert "打印内容" in message_text({"blocks": card.world.slack.views[-1]["blocks"]})
