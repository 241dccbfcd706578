"""The menu of a message: left out, put back, edited, analysed, asked about; and a person in the analyst's place.

The presses go through the bot's own listeners, on the Slack of whole turns.
"""

from __future__ import annotations

import json
from typing import Any, get_args

import fakeredis
import pytest
from test_turn_approvals import AtOnce
from turn_world import ANA, BEN, CHANNEL, Death, Json, Meanwhile, NewWorld, World, cell, finish, question

from bot.message_handler import MessageHandler
from bot.presses.menu import MessageMenu
from core.blobs import Blobs
from core.commands.registry import commands, language_of
from core.interactions import FORM_FIELD, AgainButton, Menu, SuggestionButton
from core.queue import Wakes
from core.slack.views.menu import CHOICE
from core.slack.writing.writer import SlackWriter
from core.values import Language, ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

CHEN = "U0CHEN0001"
"""Reads Chinese."""


class Office:
    """A thread, the bot that people press at, and what the model was asked."""

    def __init__(self, world: World, *script: Json) -> None:
        world.model = Meanwhile(ScriptedModel(list(script)), {})
        self.world = world
        slack = SlackWriter(world.slack.client(), world.store)
        self.handler = MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store),
            slack=slack,
            later=AtOnce(),
            lookups=AtOnce(),
        )
        self.menu = MessageMenu(world.store, slack, self.handler)

    def say(self, text: str, **more: Any) -> ThreadKey:
        key = self.world.say(text, **more)
        self.world.settle(key)
        return key

    def choose(self, ts: str, key: ThreadKey, choice: str, *, user: str = ANA) -> Json:
        """Open the menu of a message and choose. Returns the ack."""
        with self.world._unwatched():
            message = {"ts": ts, "thread_ts": key.root_ts}
            body = {"callback_id": Menu.ID, "trigger_id": "1.2.x", "user": {"id": user}, "message": message}
            assert self.menu.open({**body, "channel": {"id": key.channel}}, key.team) == "opened"
            view = self.world.slack.views[-1]
            offered = [option["value"] for option in view["blocks"][0]["element"]["options"]]
            assert choice in offered, offered
            values = {CHOICE: {CHOICE: {"selected_option": {"value": choice}}}}
            return self.submit(view, values, key, user=user)

    def submit(self, view: Json, values: Json, key: ThreadKey, *, user: str = ANA, view_id: str = "V1") -> Json:
        with self.world._unwatched():
            sent = {"id": view_id, **view, "state": {"values": values}}
            return self.menu.submit({"view": sent, "user": {"id": user}}, key.team)

    def fill(self, view: Json, text: str, key: ThreadKey, *, what: str = "", user: str = ANA) -> Json:
        field = f"{FORM_FIELD}:0"
        values: Json = {field: {field: {"value": text}}}
        if what:
            values[CHOICE] = {CHOICE: {"selected_option": {"value": what}}}
        return self.submit(view, values, key, user=user)

    def prompts(self, since: int = 0) -> str:
        assert isinstance(self.world.model, Meanwhile)
        requests = self.world.model.requests[since:]
        return "\n".join(json.dumps(request.messages, ensure_ascii=False) for request in requests)

    @property
    def asked(self) -> int:
        assert isinstance(self.world.model, Meanwhile)
        return len(self.world.model.requests)

    def signs(self, key: ThreadKey, ts: str) -> list[str]:
        message = next(each for each in self.world.messages(key) if each["ts"] == ts)
        return [sign["name"] for sign in message.get("reactions", ())]

    def report_ts(self, key: ThreadKey, words: str) -> str:
        return next(m["ts"] for m in self.world.messages(key, ours=True) if words in json.dumps(m) and m.get("blocks"))


def test_a_left_out_message_is_in_no_later_prompt_and_put_back_restores_it(world: World) -> None:
    office = Office(world, finish("Done."), finish("Done."), finish("Done."))
    key = office.say("the secret word is heron")
    since = office.asked
    assert office.choose(key.root_ts, key, "leave_out") == {}
    world.settle(key)
    assert "no_entry_sign" in office.signs(key, key.root_ts)
    office.say("and now?", thread=key)
    assert office.asked > since
    assert "heron" not in office.prompts(since)
    since = office.asked
    office.choose(key.root_ts, key, "put_back")
    world.settle(key)
    assert "no_entry_sign" not in office.signs(key, key.root_ts)
    office.say("and then?", thread=key)
    assert "heron" in office.prompts(since)


def test_a_left_out_report_and_chart_are_in_no_later_prompt(world: World) -> None:
    office = Office(world, cell("print('kestrel')"), finish("The bird is a kestrel."), finish("Done."))
    key = office.say("which bird?")
    office.choose(office.report_ts(key, "The bird is a kestrel"), key, "leave_out")
    world.settle(key)
    since = office.asked
    office.say("and now?", thread=key)
    requests = world.model.requests[since:]  # type: ignore[attr-defined]
    assert "The bird is a kestrel" not in json.dumps(requests[0].messages)  # the script gives its reply once more


def test_own_code_that_is_left_out_is_in_no_later_prompt(world: World) -> None:
    office = Office(world, finish("Done."))
    key = office.say("run ```bird = 'osprey'\nprint(bird)```")
    office.choose(key.root_ts, key, "leave_out")
    world.settle(key)
    office.say("which bird?", thread=key)
    assert "osprey" not in office.prompts()


def test_leaving_out_twice_or_by_two_people_at_once_is_one_state(world: World) -> None:
    office = Office(world, finish("Done."), finish("Done."))
    key = office.say("heron")
    office.choose(key.root_ts, key, "leave_out")
    office.choose(key.root_ts, key, "leave_out", user=BEN)
    world.settle(key)
    since = office.asked
    office.say("and now?", thread=key)
    assert "heron" not in office.prompts(since)
    assert office.signs(key, key.root_ts).count("no_entry_sign") == 1


@pytest.mark.parametrize("at", range(1, 6))
def test_a_message_is_left_out_wherever_a_worker_dies(new_world: NewWorld, at: int) -> None:
    world = new_world()
    office = Office(world, finish("Done."), finish("Done."))
    key = office.say("heron")
    office.choose(key.root_ts, key, "leave_out")
    world.settle(key, Death(at))
    since = office.asked
    office.say("and now?", thread=key)
    assert "heron" not in office.prompts(since)


def test_the_only_question_of_an_open_turn_stays_and_who_tried_is_told(world: World) -> None:
    office = Office(world, question("Which year?"), finish("Done."))
    key = office.say("heron")
    office.choose(key.root_ts, key, "leave_out")
    world.settle(key)
    assert [text for _, text in world.slack.whispers if "only question" in text]
    office.say("2024", thread=key)
    assert world.statuses(key) == ["done"]


def test_whoever_may_not_change_the_context_is_told_alone(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\ncontext = ["{ANA}"]\n')
    office = Office(world, finish("Done."), finish("Done."))
    key = office.say("heron")
    before = world.seen(key)
    office.choose(key.root_ts, key, "leave_out", user=BEN)
    world.settle(key)
    assert world.seen(key) == before
    assert [user for user, text in world.slack.whispers if "may not do this" in text] == [BEN]


def test_a_message_that_is_edited_for_the_model_keeps_its_original(world: World) -> None:
    office = Office(world, finish("Done."), finish("Done."), finish("Done."))
    key = office.say("count the herons")
    ack = office.choose(key.root_ts, key, "edit")
    assert ack["view"]["blocks"][0]["element"]["initial_value"] == "count the herons"
    office.fill(ack["view"], "count the ospreys", key, user=BEN)
    world.settle(key)
    since = office.asked
    office.say("and now?", thread=key)
    assert "ospreys" in office.prompts(since)
    assert "herons" not in office.prompts(since)
    first = world.store.steps(world.turns(key)[0].id)
    assert next(step.text for step in first if step.kind == "asked") == "count the herons"
    assert [(step.text, step.user) for step in first if step.kind == "changed"] == [("count the ospreys", BEN)]
    assert office.choose(key.root_ts, key, "edit")["view"]["blocks"][0]["element"]["initial_value"] == (
        "count the ospreys"
    )


def test_a_guest_does_not_read_what_members_wrote_for_the_model(world: World) -> None:
    office = Office(world, finish("Done."))
    key = office.say("count the herons")
    office.fill(office.choose(key.root_ts, key, "edit")["view"], "count the ospreys", key)
    world.settle(key)
    world.slack.flags[BEN] = {"is_restricted": True}
    assert "ospreys" not in json.dumps(office.choose(key.root_ts, key, "edit", user=BEN))
    assert [user for user, text in world.slack.whispers if "guest" in text.casefold()] == [BEN]


def test_a_note_that_no_turn_has_read_is_edited_without_its_word(world: World) -> None:
    office = Office(world, finish("Done."), finish("Done."))
    key = office.say("how many?")
    world.say("note: in thousands", thread=key)
    ts = world.messages(key)[-1]["ts"]
    ack = office.choose(ts, key, "edit")
    assert ack["view"]["blocks"][0]["element"]["initial_value"] == "in thousands"
    office.fill(ack["view"], "in millions", key)
    world.settle(key)
    since = office.asked
    office.say("and now?", thread=key)
    assert "in millions" in office.prompts(since)
    assert "in thousands" not in office.prompts(since)


def test_a_report_that_is_edited_is_read_as_it_is_now(world: World) -> None:
    office = Office(world, finish("The bird is a heron."), finish("Done."))
    key = office.say("which bird?")
    ack = office.choose(office.report_ts(key, "The bird is a heron"), key, "edit")
    office.fill(ack["view"], "The bird is an osprey.", key)
    world.settle(key)
    since = office.asked
    office.say("and now?", thread=key)
    assert "osprey" in office.prompts(since)
    assert "heron" not in office.prompts(since)


@pytest.mark.parametrize("choice", ["leave_out", "edit"])
def test_a_message_that_the_analyst_does_not_read_is_not_changed(world: World, choice: str) -> None:
    office = Office(world, finish("Done."))
    key = office.say("heron")
    card = world.messages(key, ours=True)[0]["ts"]
    ack = office.choose(card, key, choice)
    world.settle(key)
    told = json.dumps(ack) + "".join(text for _, text in world.slack.whispers)
    assert "does not read that message" in told


def test_any_message_is_analysed_in_the_name_of_who_chose_that(world: World) -> None:
    office = Office(world, cell("print(open('birds.csv').read())"), finish("Done."))
    posted = world.slack.say("herons: 4, ospreys: 5", user=BEN, files={"birds.csv": b"bird,n\nheron,4\n"})
    key = ThreadKey(world.slack.team, CHANNEL, posted["ts"])
    assert office.choose(posted["ts"], key, "analyse") == {}
    world.settle(key)
    assert world.statuses(key) == ["done"]
    asked = world.steps(key, "asked")
    assert [step["user"] for step in asked] == [BEN, ANA]  # the talk comes along
    assert json.dumps(world.model.requests[0].messages).count("herons: 4") == 1  # type: ignore[attr-defined]
    assert "birds.csv" in office.prompts()
    assert "asks me to analyse" in world.text(key)


def test_a_question_about_a_message_is_asked_once_however_often_the_form_is_sent(world: World) -> None:
    office = Office(world, finish("Done."), finish("Done."))
    posted = world.slack.say("herons: 4", user=BEN)
    key = ThreadKey(world.slack.team, CHANNEL, posted["ts"])
    view = office.choose(posted["ts"], key, "ask")["view"]
    assert office.fill(view, "  ", key)["response_action"] == "errors"
    for _ in range(2):
        assert office.fill(view, "is that a lot?", key) == {}
    world.settle(key)
    assert len(world.turns(key)) == 1
    assert "is that a lot?" in office.prompts()
    assert "herons: 4" in office.prompts()


def test_whoever_may_not_ask_starts_nothing_by_the_menu(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\nask = ["{ANA}"]\n')
    office = Office(world)
    posted = world.slack.say("herons: 4", user=BEN)
    key = ThreadKey(world.slack.team, CHANNEL, posted["ts"])
    office.choose(posted["ts"], key, "analyse", user=BEN)
    world.settle(key)
    assert world.turns(key) == []


def notebook(world: World, key: ThreadKey) -> str:
    """The words between the cells of the notebook that came with the last report."""
    report = world.store.report(world.turns(key)[-1].id)
    assert report is not None
    (file,) = (file for file in report.files if file.name == "analysis.ipynb")
    cells = json.loads(Blobs(world.settings.files).get(file.sha256))["cells"]
    return "\n".join(each["source"] for each in cells if each["cell_type"] == "markdown")


def test_a_person_writes_the_analysts_answer_to_an_open_question_and_is_named(world: World) -> None:
    office = Office(world, cell("print(12)"), question("Which year?"))
    key = office.say("how many?")
    view = office.choose(key.root_ts, key, "speak")["view"]
    assert office.fill(view, "There are 12 of them.", key, what="message") == {}
    world.settle(key)
    assert world.statuses(key) == ["done"]
    (end,) = world.steps(key, "finished")
    assert (end["report"], end["author"]) == ("There are 12 of them.", "ana")
    assert "Written by ana for the analyst" in world.text(key)
    assert "[" not in world.text(key).split("Which year?")[1].split("\n")[1]
    assert "Written by ana for the analyst" in notebook(world, key)


def test_a_person_writes_the_analysts_next_cell_and_the_analyst_goes_on(new_world: NewWorld) -> None:
    world = new_world(team='[approvals]\nask = "every cell"\n')
    office = Office(world, question("Which year?"), finish("unused"), finish("Done."))
    key = office.say("how many?")
    view = office.choose(key.root_ts, key, "speak")["view"]
    assert office.fill(view, "n = (", key, what="cell")["response_action"] == "errors"
    office.fill(view, "n = 5\nprint(n)", key, what="cell")
    world.settle(key)
    (ran,) = world.steps(key, "cell")
    assert (ran["stdout"], ran["user"]) == ("5\n", ANA)
    assert "ana for the analyst" in ran["title"]
    assert world.statuses(key) == ["done"]
    assert world.steps(key, "decided") == []
    assert "### 1. ana for the analyst" in notebook(world, key)


def test_only_the_asker_or_an_admin_speaks_for_the_analyst(world: World) -> None:
    office = Office(world, question("Which year?"))
    key = office.say("how many?")
    view = office.choose(key.root_ts, key, "speak", user=BEN)["view"]
    office.fill(view, "There are 12.", key, what="message", user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["waiting"]
    assert [user for user, text in world.slack.whispers if "only the person who asked" in text] == [BEN]


def test_a_changed_question_that_was_answered_is_offered_again_and_asked_once(world: World) -> None:
    office = Office(world, finish("Done."), finish("Done."), finish("Done."))
    key = office.say("how many herons?")
    event = {
        "type": "message",
        "subtype": "message_changed",
        "channel": key.channel,
        "channel_type": "channel",
        "event_ts": "1999999999.000001",
        "message": {
            "type": "message",
            "user": ANA,
            "text": "how many ospreys?",
            "ts": key.root_ts,
            "edited": {"user": ANA, "ts": "1999999999.000001"},
        },
    }
    with world._unwatched():
        office.handler.take_event(event, key.team, "U0FAKEBOT1")
    assert [user for user, text in world.slack.whispers if "old text" in text] == [ANA]
    assert world.statuses(key) == ["done"]
    payload = AgainButton(thread=key.id, ts=key.root_ts).encode()
    body = {"actions": [{"value": payload}], "container": {"channel_id": key.channel, "is_ephemeral": True}}
    with world._unwatched():
        assert office.menu.questions.again({**body, "user": {"id": BEN}}, key.team) == "not theirs"
        assert office.menu.questions.again({**body, "user": {"id": ANA}}, "T0OTHER") == "malformed"
        for _ in range(2):
            assert office.menu.questions.again({**body, "user": {"id": ANA}}, key.team) == "asked"
    world.settle(key)
    assert world.statuses(key) == ["done", "done"]
    assert "how many ospreys?" in office.prompts()


def test_who_may_not_speak_in_an_open_turn_posts_no_question_by_a_button(new_world: NewWorld) -> None:
    world = new_world(team='[access]\nanswer = ["asker"]\nsteer = ["asker"]\n')
    office = Office(world, question("Gross or net?", "gross", "net"))
    key = office.say("revenue?")
    before = len(world.messages(key))
    payload = SuggestionButton(thread=key.id, question="How many?", n=1).encode()
    container = {"channel_id": key.channel, "message_ts": key.root_ts}
    with world._unwatched():
        body = {"actions": [{"value": payload}], "container": container, "user": {"id": BEN}}
        assert office.menu.questions.suggested(body, key.team) == "refused"
    assert not [each for each in world.messages(key)[before:] if "How many?" in json.dumps(each)]
    assert world.statuses(key) == ["waiting"]


def test_a_question_whose_words_were_edited_away_is_not_asked_again(world: World) -> None:
    office = Office(world, finish("Two."))
    key = world.say("how many orders?")
    world.settle(key)
    payload = AgainButton(thread=key.id, ts=key.root_ts).encode()
    body = {"actions": [{"value": payload}], "container": {"channel_id": key.channel, "is_ephemeral": True}}
    with world._unwatched():
        world.store.change_message(key.team, key.channel, key.root_ts, " ")
        assert office.menu.questions.again({**body, "user": {"id": ANA}}, key.team) == "empty"
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert [user for user, _ in world.slack.whispers] == [ANA]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"view": None, "user": {"id": ANA}},
        {"view": {"callback_id": "menu", "private_metadata": "{}"}, "user": {"id": ANA}},
        {"view": {"callback_id": "menu", "private_metadata": '{"thread":"T1:C1:1.0","ts":"x"}'}, "user": {"id": ANA}},
        {"view": {"callback_id": "menu", "private_metadata": '{"thread":"T1:C1:1.0","ts":"1.0"}'}, "user": {"id": ANA}},
    ],
)
def test_a_form_that_is_none_of_ours_does_nothing(world: World, body: Any) -> None:
    office = Office(world)
    assert office.menu.submit(body, "T0FAKE0001") == {}
    assert office.menu.open(body, "T0FAKE0001") == "malformed"
    assert office.menu.questions.again(body, "T0FAKE0001") == "malformed"


def said(world: World, key: ThreadKey) -> list[str]:
    return [message_text(message) for message in world.messages(key, ours=True)]


def chosen(choice: str) -> Json:
    return {CHOICE: {CHOICE: {"selected_option": {"value": choice}}}}


@pytest.mark.parametrize("choice", ["status", "plan", "cost", "explain"])
def test_what_words_say_of_a_thread_its_menu_says_once_however_often_the_form_is_sent(
    world: World, choice: str
) -> None:
    office = Office(world, cell("print(7)", "Count"), finish("It is **7**."))
    key = office.say("how much?")
    office.say(choice, thread=key)
    *before, by_word = said(world, key)
    view = office.choose(key.root_ts, key, "thread")["view"]
    assert [each["value"] for each in view["blocks"][0]["element"]["options"]] == [
        "status", "plan", "cost", "explain", "help",
    ]  # fmt: skip
    calls = len(world.slack.calls)
    for _ in range(2):
        assert office.submit(view, chosen(choice), key) == {}
    world.settle(key)
    assert said(world, key) == [*before, by_word, by_word]
    assert not [call for call in world.slack.calls[calls:] if call[0].startswith("reactions.")]
    assert world.statuses(key) == ["done"]


def test_the_menu_shows_how_a_turn_stands_while_it_runs(world: World) -> None:
    office = Office(world, question("Which year?"), finish("Done."))
    key = office.say("how much?")
    view = office.choose(key.root_ts, key, "thread", user=BEN)["view"]
    office.submit(view, chosen("status"), key, user=BEN)
    world.settle(key)
    assert "I wait for an answer: Which year?" in world.text(key)
    assert world.statuses(key) == ["waiting"]


def test_help_comes_once_in_the_persons_language_below_any_message(world: World) -> None:
    office = Office(world, finish("Done."))
    inside = office.say("how much?")
    thread = office.choose(inside.root_ts, inside, "thread", user=CHEN)["view"]
    outside = ThreadKey(world.slack.team, CHANNEL, world.slack.say("herons: 4", user=BEN)["ts"])
    office.choose(outside.root_ts, outside, "help", user=CHEN)
    for key, view in ((inside, thread), (outside, world.slack.views[-1])):
        for _ in range(2):
            assert office.submit(view, chosen("help"), key, user=CHEN) == {}
        world.settle(key)
        assert world.text(key).count("我认识的词") == 1
        assert len(world.turns(key)) == (key == inside)


def test_help_is_not_promised_where_the_bot_cannot_answer(world: World) -> None:
    office = Office(world)
    key = ThreadKey(world.slack.team, CHANNEL, "1.000001")
    ack = office.choose(key.root_ts, key, "help")
    assert "I am not in this conversation" in ack["errors"][CHOICE]


@pytest.mark.parametrize("language", get_args(Language))
def test_the_word_for_help_is_answered_in_its_own_language(language: Language) -> None:
    assert language_of(min(commands()["help"].words[language]), language) == language


def pasted(*texts: str) -> Json:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": text} for text in texts]]}


SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "2 &gt; 1"}}
ALERT = {"title": "CPU", "fields": [{"title": "host", "value": "a1"}]}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"text": "", "blocks": [pasted("north", "12")]}, "north\t12"),
        ({"attachments": [{"is_share": True, "author_name": "Ben", "text": "sales fell"}]}, "> sales fell"),
        ({"bot_id": "B9", "text": "12 orders are late"}, "12 orders are late"),
        ({"bot_id": "B9", "text": "", "blocks": [SECTION]}, "2 > 1"),
        ({"bot_id": "B9", "text": "", "blocks": [pasted("south", "7")]}, "south\t7"),
        ({"bot_id": "B9", "text": "", "blocks": [{**pasted("west", "8"), "type": "data_table"}]}, "west\t8"),
        ({"bot_id": "B9", "text": "Alert", "attachments": [ALERT]}, "host: a1"),
        ({"bot_id": "B9", "text": "", "attachments": [{"blocks": [SECTION]}]}, "2 > 1"),
        ({"bot_id": "B9", "text": "", "attachments": [{"fallback": "disk is full"}]}, "disk is full"),
    ],
)
@pytest.mark.parametrize("is_reply", [False, True])
def test_all_that_a_message_shows_is_analysed(world: World, given: Json, read: str, is_reply: bool) -> None:
    office = Office(world, finish("Done."))
    root = world.slack.say("ours", user=BEN)
    posted = world.slack.say("ours", user=BEN, thread_ts=root["ts"]) if is_reply else root
    world.slack._messages[CHANNEL, posted["ts"]].update(given)
    key = ThreadKey(world.slack.team, CHANNEL, root["ts"])
    assert office.choose(posted["ts"], key, "analyse") == {}
    world.settle(key)
    assert any(read in str(message["content"]) for request in world.model.requests for message in request.messages)  # type: ignore[attr-defined]


def test_of_a_message_of_a_person_its_link_previews_are_no_part(world: World) -> None:
    office = Office(world, finish("Done."))
    root = world.slack.say("see https://a.example", user=BEN)
    world.slack._messages[CHANNEL, root["ts"]]["attachments"] = [{"title": "A page", "text": "not theirs"}]
    key = ThreadKey(world.slack.team, CHANNEL, root["ts"])
    office.choose(root["ts"], key, "analyse")
    world.settle(key)
    assert "not theirs" not in office.prompts()
