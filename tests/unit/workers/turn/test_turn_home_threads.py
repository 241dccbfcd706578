"""The window “Threads” of the app's home: it finds, filters and pins what a person may see, and lists nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from test_turn_home import SCRIPT, Lobby
from turn_world import ANA, BEN, CHANNEL, Json, NewWorld, World, cell, finish, question

from bot.home import threads as room
from core.errors import SlackUnreachable
from core.interactions import PinButton, ThreadFilter, ThreadsButton, ThreadsForm
from core.slack.blocks import Limit, broken_view
from core.slack.reading.reader import SlackReader
from core.slack.views.threads import PER_PAGE, WORDS
from core.values import Lease, ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

PRIVATE = "C0LEADERS1"


def asked(world: World, text: str, *script: Json, **more: Any) -> ThreadKey:
    world.model = ScriptedModel(list(script or SCRIPT))
    key = world.say(text, **more)
    world.settle(key)
    return key


class Window:
    """The window as one person has it open. Each use meets a bot that just started."""

    def __init__(self, lobby: Lobby, user: str = ANA, words: str = "") -> None:
        self.lobby, self.user, self.words = lobby, user, words
        assert lobby.press("threads", user=user) == "form"
        self.view = lobby.world.slack.views[-1]
        if words:
            self.search(words)

    @property
    def text(self) -> str:
        return message_text({"blocks": self.view["blocks"]})

    @property
    def titles(self) -> list[str]:
        """The first line of each thread that is listed."""
        parts = [each for block in self.view["blocks"] for each in block.get("elements", ())]
        bold = [each for part in parts for each in part.get("elements", ()) if each.get("style")]
        return [str(each["text"]) for each in bold]

    def search(self, words: str, form: ThreadsForm | None = None) -> None:
        self.words = words
        view = {**self.view, "state": self._state(), **({"private_metadata": form.encode()} if form else {})}
        ack = self.lobby.bot.threads.submit({"view": view, "user": {"id": self.user}}, self.lobby.world.slack.team)
        assert ack["response_action"] == "update"
        self._shows(ack["view"])

    def choose(self, **filter: Any) -> None:
        assert self._press("turn", ThreadsButton(**filter)) == "turned"

    def pin(self, key: ThreadKey, do: Any = "pin", **filter: Any) -> str:
        return self._press("pin", PinButton(do=do, thread=key.id, **filter))

    def _press(self, listener: str, button: ThreadsButton | PinButton) -> str:
        body = {"actions": [{"value": button.encode(), "action_ts": "1.1"}], "user": {"id": self.user}}
        view = {**self.view, "id": "V1", "hash": "1.a", "state": self._state()}
        shown = len(self.lobby.world.slack.views)
        found = getattr(self.lobby.bot.threads, listener)({**body, "view": view}, self.lobby.world.slack.team)
        if len(self.lobby.world.slack.views) > shown:
            self._shows(self.lobby.world.slack.views[-1])
        return str(found)

    def _state(self) -> Json:
        return {"values": {WORDS: {WORDS: {"type": "plain_text_input", "value": self.words or None}}}}

    def _shows(self, view: Json) -> None:
        assert broken_view(view) == []
        assert len(view["blocks"]) < Limit.VIEW_BLOCKS
        self.view = view


@pytest.fixture
def lobby(world: World) -> Lobby:
    return Lobby(world)


def test_a_search_takes_the_words_of_find_and_shows_where_they_stand(lobby: Lobby) -> None:
    asked(lobby.world, "How did churn go in March?")
    asked(lobby.world, "Which region sells most?", cell("print(1)"), finish("The **heron** region sells most."))
    window = Window(lobby)
    assert window.titles == ["Which region sells most?", "How did churn go in March?"], "the newest first"
    window.search("heron")
    assert window.titles == ["Which region sells most?"]
    assert "The heron region sells most." in window.text
    assert "1 turn · done" in window.text
    window.search("heron churn")
    assert "No thread fits." in window.text
    window.search("!!!")
    assert "No thread fits." in window.text


def test_filters_hold_together_with_the_words_and_stay_chosen(lobby: Lobby) -> None:
    world = lobby.world
    done = asked(world, "churn of March")
    waiting = asked(world, "churn of April", question("Net or gross?", "net", "gross"))
    bens = asked(world, "churn of May", user=BEN)
    window = Window(lobby, words="churn")
    assert window.titles == ["churn of May", "churn of April", "churn of March"]
    window.choose(mine=True)
    assert window.titles == ["churn of April", "churn of March"]
    window.choose(mine=True, state="waiting")
    assert window.titles == ["churn of April"]
    assert ThreadsForm.decode(window.view["private_metadata"]) == ThreadsForm(mine=True, state="waiting")
    window.search("March", ThreadsForm(mine=True, state="waiting"))
    assert window.titles == []
    window.search("March", ThreadsForm(mine=True, state="done"))
    assert window.titles == ["churn of March"]
    window.search("")
    window.choose(since="day", channel=CHANNEL)
    assert len(window.titles) == len({done, waiting, bens})
    window.choose(channel="D")
    assert window.titles == [], "no direct message was asked in"


def test_each_option_of_a_select_changes_one_field_and_fits_slack(lobby: Lobby) -> None:
    lobby.world.slack.channels |= {f"C{n:08}": {"name": f"c{n}", "members": [ANA]} for n in range(300)}
    window = Window(lobby)
    window.choose(mine=True, channel=CHANNEL, since="quarter", state="waiting", pinned=True)
    (row,) = [block for block in window.view["blocks"] if "static_select" in str(block)]
    for select in row["elements"]:
        assert len(select["options"]) <= Limit.SELECT_OPTIONS
        assert all(len(each["value"]) <= Limit.OPTION_VALUE for each in select["options"])
        name = select["action_id"].partition(":")[2]
        for option in select["options"]:
            given = ThreadsButton.decode(option["value"])
            assert given is not None
            rest = given.model_dump(exclude={name, "page"})
            assert rest == ThreadFilter(
                mine=True, channel=CHANNEL, since="quarter", state="waiting", pinned=True
            ).model_dump(exclude={name})


def test_what_a_person_may_not_see_is_not_listed_and_not_pinned(lobby: Lobby, monkeypatch: pytest.MonkeyPatch) -> None:
    world = lobby.world
    world.slack.channels[PRIVATE] = {"name": "leaders", "members": [ANA, BEN]}
    secret = asked(world, "churn of the leaders", channel=PRIVATE)
    monkeypatch.setattr(SlackReader, "may_read", lambda slack, channel, user, own: channel != PRIVATE)
    world.slack.channels[PRIVATE]["members"] = [BEN]
    assert Window(lobby, BEN, "churn").titles == ["churn of the leaders"]
    window = Window(lobby, ANA, "churn")
    assert window.titles == []
    window.choose(channel=PRIVATE)
    assert window.titles == []
    assert window.pin(secret) == "refused"
    assert "you may not see it" in window.text
    assert not any(each.is_own_pin for each in world.store.find_threads(reader=ANA))


def test_a_thread_with_rows_of_a_source_is_shown_to_those_who_may_ask_it(new_world: NewWorld) -> None:
    lobby = Lobby(new_world(team=f'[access]\nlook = ["{BEN}"]\n'))
    asked(lobby.world, "how much?")
    assert Window(lobby, BEN).titles == ["how much?"]
    assert Window(lobby, ANA).titles == [], "`look` of [access] decides, as for `find`"


def test_a_pin_is_ones_own_and_stands_first_in_the_home(lobby: Lobby) -> None:
    world = lobby.world
    key = asked(world, "how much?", user=BEN)
    window = Window(lobby)
    assert window.pin(key) == "done"
    assert "[Unpin]" in window.text
    assert "pinned by you" in window.text
    assert "Pinned by you" in lobby.text(ANA), "the home is drawn anew"
    assert window.pin(key) == "late"
    assert "Pinned by you" not in lobby.open(BEN)
    assert "pinned" not in Window(lobby, BEN).text
    window.choose(pinned=True)
    assert window.titles == ["how much?"]
    assert window.pin(key, "unpin", pinned=True) == "done"
    assert window.titles == []
    assert "Pinned by you" not in lobby.text(ANA)


def test_a_pin_for_everybody_counts_as_pinned_for_each(lobby: Lobby) -> None:
    key = asked(lobby.world, "how much?", user=BEN)
    lease = Lease(thread_id=key.id, token=lobby.world.store.raise_fence(key.id), owner="w")
    lobby.world.store.pin_thread(lease, BEN)
    window = Window(lobby)
    window.choose(pinned=True)
    assert window.titles == ["how much?"]
    assert "pinned for everybody" in window.text
    assert "[Pin for me]" in window.text
    assert "Pinned by you" not in lobby.open(ANA)


def test_pages_are_turned_with_the_same_words_and_filter(lobby: Lobby) -> None:
    for n in range(PER_PAGE + 2):
        lobby.world.say(f"churn {n}")
    window = Window(lobby, words="churn")
    assert len(window.titles) == PER_PAGE
    assert "[▶]" in window.text
    assert "[◀]" not in window.text
    window.choose(page=1)
    assert window.titles == ["churn 1", "churn 0"]
    assert "[◀]" in window.text
    assert "[▶]" not in window.text
    window.choose(page=99)
    assert window.titles == []


def test_what_cannot_be_looked_at_in_time_is_left_out_and_the_window_says_so(
    lobby: Lobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(lobby.world, "how much?")
    monkeypatch.setattr(room, "LOOK_S", -1.0)
    window = Window(lobby)
    assert window.titles == []
    assert "Not all threads could be checked" in window.text


def test_a_slack_that_does_not_answer_hides_what_it_does_not_tell(
    lobby: Lobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> bool:
        raise SlackUnreachable("conversations.info got no reply")

    key = asked(lobby.world, "how much?")
    monkeypatch.setattr(SlackReader, "shared_channels", lambda slack, user: None)
    monkeypatch.setattr(SlackReader, "may_read", away)
    window = Window(lobby)
    assert window.titles == []
    assert "Not all threads could be checked" in window.text
    assert window.pin(key) == "refused"


def test_who_may_not_ask_gets_no_window(lobby: Lobby) -> None:
    lobby.world.slack.flags[ANA] = {"is_restricted": True}
    assert lobby.press("threads") == "refused"


@pytest.mark.parametrize("body", [{}, {"actions": []}, {"actions": [{"value": "x"}], "user": {"id": ANA}}, {"view": 1}])
def test_nonsense_means_nothing(lobby: Lobby, body: Json) -> None:
    found, team = lobby.bot.threads, lobby.world.slack.team
    assert found.turn(body, team) == "malformed"
    assert found.pin(body, team) == "malformed"
    assert found.submit(body, team) == {}
