"""Questions that fit the data: after a mention without a word, and as Slack's own prompts in a direct message."""

from __future__ import annotations

from typing import Any

import fakeredis
import pytest
from test_turn_report_buttons import AtOnce
from turn_world import ANA, BEN, NewWorld, World, cell, finish

from bot.home.home import Home
from bot.message_handler import MessageHandler
from bot.presses.questions import Questions
from core.interactions import SuggestionButton
from core.queue import Wakes
from core.slack.writing.writer import SlackWriter
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

CSV = {"sales.csv": b"region,revenue\nNorth,120\nSouth,100\nNorth,7\n"}
SCRIPT = (cell("import pandas as pd\nprint(len(pd.read_csv('sales.csv')))"), finish("There are 3 rows."))
FIRST = "Which region has the most revenue?"


class Offer:
    """A thread with data, a mention without a word in it, and the bot that people press at."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.model = ScriptedModel([*SCRIPT, *SCRIPT, *SCRIPT])
        self.key = world.say("how many rows?", files=CSV)
        world.settle(self.key)
        self.mention()

    @property
    def handler(self) -> MessageHandler:
        world = self.world
        return MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store),
            slack=SlackWriter(world.slack.client(), world.store),
            later=AtOnce(),
            lookups=AtOnce(),
        )

    def mention(self, user: str = ANA) -> None:
        posted = self.world.slack.say("<@U0FAKEBOT1>", user=user, thread_ts=self.key.root_ts)
        event = {**posted, "type": "app_mention"}
        self.handler.take_event(event, self.key.team, "U0FAKEBOT1")
        self.world.settle(self.key)

    @property
    def offered(self) -> list[dict[str, Any]]:
        mine = self.world.messages(self.key, ours=True)
        return [message for message in mine if "without a question" in message["text"]]

    def press(self, n: int = 0, *, user: str = ANA, channel: str = "", team: str = "") -> str:
        button = self.offered[0]["blocks"][-1]["elements"][n]
        container = {"channel_id": channel or self.key.channel, "message_ts": self.offered[0]["ts"]}
        action = {"value": button["value"], "action_ts": self.world.slack._next_ts()}
        body = {"actions": [action], "container": container, "user": {"id": user}}
        handler = self.handler
        outcome = Questions(self.world.store, handler.slack, handler).suggested(body, team or self.key.team)
        self.world.settle(self.key)
        return outcome


@pytest.fixture
def offer(world: World) -> Offer:
    return Offer(world)


def test_a_mention_without_a_word_is_offered_three_questions_for_the_data_at_hand(offer: Offer) -> None:
    (message,) = offer.offered
    labels = [element["text"]["text"] for element in message["blocks"][-1]["elements"]]
    assert labels[0] == FIRST
    assert len(labels) == 3
    assert offer.world.statuses(offer.key) == ["done"], "nothing was begun"


def test_without_data_it_gets_the_help(world: World) -> None:
    world.model = ScriptedModel([finish("Hello.")])
    offer = Offer.__new__(Offer)
    offer.world = world
    offer.key = world.say("hello")
    world.settle(offer.key)
    offer.mention()
    assert offer.offered == []
    assert "Ask me a question about your data" in world.text(offer.key)


def test_a_press_asks_the_question_in_the_name_of_whoever_pressed(offer: Offer) -> None:
    assert offer.press(user=BEN) == "asked"
    assert f"ben asks: {FIRST}" in offer.world.text(offer.key)
    assert offer.world.statuses(offer.key) == ["done", "done"]
    (asked,) = offer.world.steps(offer.key, "asked")
    assert (asked["user"], asked["text"]) == (BEN, FIRST)


def test_pressing_twice_or_two_people_at_once_is_one_question(offer: Offer) -> None:
    offer.press(user=ANA)
    offer.press(user=ANA)
    offer.press(user=BEN)
    assert len(offer.world.turns(offer.key)) == 2
    offer.press(1, user=BEN)
    assert len(offer.world.turns(offer.key)) == 3, "another question is another one"


def test_two_who_press_at_the_same_moment_ask_one_question(offer: Offer) -> None:
    offer.world.slack.fault("chat.postMessage", then=lambda: offer.press(user=BEN))
    offer.press(user=ANA)
    assert len(offer.world.turns(offer.key)) == 2
    assert len(offer.world.steps(offer.key, "asked")) == 1


def test_who_may_not_ask_is_told_and_nothing_is_asked(new_world: NewWorld) -> None:
    offer = Offer(new_world(team=f'[access]\nask = ["{ANA}"]\n'))
    assert offer.press(user=BEN) == "refused"
    assert len(offer.world.turns(offer.key)) == 1
    assert "you may not do this here" in offer.world.text(offer.key)


def test_a_press_from_elsewhere_means_nothing(offer: Offer) -> None:
    assert offer.press(channel="C0OTHER001") == "malformed"
    assert offer.press(team="T0OTHER") == "malformed"
    assert len(offer.world.turns(offer.key)) == 1


def test_a_payload_that_is_too_long_or_empty_is_no_question() -> None:
    for text in ("", "x" * 501):
        payload = f'{{"thread":"T1:C1:1.0","n":0,"question":"{text}"}}'
        assert SuggestionButton.decode(payload) is None


# --- direct messages


def direct(world: World, **changes: Any) -> ThreadKey:
    """A question in Ana's direct message, taken in by the bot."""
    channel = "D0ANA00001"
    posted = world.slack.say("how many rows?", channel=channel, files=CSV)
    offer = Offer.__new__(Offer)
    offer.world = world
    message = {**posted, "type": "message", "channel_type": "im", "subtype": "file_share", **changes}
    offer.handler.take_event(message, world.slack.team, "U0FAKEBOT1")
    return ThreadKey(world.slack.team, channel, posted["ts"])


def test_a_conversation_in_a_direct_message_is_a_thread_with_a_title_and_prompts_for_its_data(world: World) -> None:
    world.model = ScriptedModel([*SCRIPT])
    key = direct(world)
    assert world.slack.titles == {key.root_ts: "how many rows?"}
    world.settle(key)
    assert world.statuses(key) == ["done"]
    prompts = world.slack.prompts[key.channel, key.root_ts]
    assert prompts[0] == FIRST
    assert len(prompts) == 3
    other = direct(world)
    assert other != key


def test_a_slack_without_titles_and_prompts_costs_nothing_and_is_not_asked_again(world: World) -> None:
    for method in ("assistant.threads.setTitle", "assistant.threads.setSuggestedPrompts"):
        world.slack.fault(method, "error", error="not_agent_app", times=9)
    world.model = ScriptedModel([*SCRIPT])
    key = direct(world)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    offer = Offer.__new__(Offer)
    offer.world = world
    handler = offer.handler
    for _ in range(3):
        handler.slack.set_title(key, "again")
    assert sum(method == "assistant.threads.setTitle" for method, _ in world.slack.calls) == 2


def test_channels_have_no_titles_and_no_prompts(offer: Offer) -> None:
    assert offer.world.slack.titles == {}
    assert offer.world.slack.prompts == {}


def test_a_new_conversation_is_offered_the_sources_that_the_person_may_ask(new_world: NewWorld) -> None:
    team = f'[sources.shop]\nurl_env = "A"\n\n[sources.payroll]\nurl_env = "B"\npeople = ["{BEN}"]\n'
    world = new_world(team=team)
    offer = Offer.__new__(Offer)
    offer.world = world
    handler = offer.handler
    opened = {"user": ANA, "tab": "messages", "channel": "D0ANA00001"}
    assert Home(world.store, handler.slack, handler).opened(opened, world.slack.team) == "suggested"
    prompts: list[str] = world.slack.prompts["D0ANA00001", ""]
    assert prompts[0] == "What is in the data source shop, and what could I ask about it?"
    assert "payroll" not in str(prompts)
    assert prompts[-1] == "help"
