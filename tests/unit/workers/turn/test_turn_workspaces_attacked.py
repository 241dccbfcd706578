"""Workspace B uses every door of the bot with the ids of workspace A, whose channel even has the same id.

Nothing of A may change, A's Slack may hear of nothing, and no word of A may come to B. The same uses in A do something.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, get_args

import fakeredis
import pytest
from slack_bolt import App, BoltRequest
from slack_sdk import WebClient
from sqlalchemy import text as sql
from test_turn_fork import LOAD, SALES, script
from test_turn_report_buttons import AtOnce
from turn_world import ANA, BEN, CHANNEL, NewWorld, cell, finish, question
from workspaces_world import A, B, TwoWorkspaces

from bot.app import build_app
from bot.connection.oauth import Installing
from bot.connection.retry_buffer import RetryBuffer
from bot.desks import Desks
from bot.message_handler import MessageHandler
from core.interactions import INTERACTIONS, Interaction, Menu
from core.queue import Wakes
from core.spool import Spool
from core.values import ThreadKey

SECRETS = ("heron", "ibis")
"""Words that only A's threads hold. No digits: a time or an id could hold those too."""


class Bot:
    """The bot of both workspaces, and A's two threads: one with a report, one that waits for an answer."""

    def __init__(self, two: TwoWorkspaces) -> None:
        self.two = two
        store, settings = two.world.store, two.world.settings
        workspaces = two.workspaces()
        wakes = Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), store)

        def handler_of(team: str) -> MessageHandler:
            return MessageHandler(
                settings=settings.for_workspace(team),
                store=store,
                wakes=wakes,
                slack=workspaces.of(team).slack,
                later=AtOnce(),
                lookups=AtOnce(),
            )

        desks = Desks(store, handler_of, many=True)
        buffer = RetryBuffer(
            lambda one: desks.of(one.team).handler.take_event(one.event, one.team, one.bot_user_id),
            Spool(settings.spool),
        )
        assert workspaces.tokens is not None
        installing = Installing(settings, store, workspaces.tokens, lambda team: None)
        self.app: App = build_app(WebClient(), store, desks, buffer, signing_secret="s", installing=installing)
        world = two.at(A)
        script(world, LOAD, finish("The heron total is an ibis."))
        self.reported = world.say("what is the heron total?", files=SALES)
        world.settle(self.reported)
        script(world, cell("print('ibis')"), question("Which heron?", "grey", "purple"))
        self.waiting = world.say("how many herons?")
        world.settle(self.waiting)
        assert world.statuses(self.reported) == ["done"]
        assert world.statuses(self.waiting) == ["waiting"]

    def send(self, body: dict[str, Any]) -> None:
        reply = self.app.dispatch(BoltRequest(body=body, mode="socket_mode"))
        assert reply is not None
        assert reply.status == 200, reply.body

    def snapshot(self) -> dict[str, list[str]]:
        """Every row that has to do with A, by table; without the audit of what was refused."""
        with self.two.world.store._reading() as db:
            names = [row[0] for row in db.execute(sql("SELECT name FROM sqlite_master WHERE type = 'table'"))]
            return {
                name: sorted(row for row in map(str, db.execute(sql(f'SELECT * FROM "{name}"'))) if A in row)
                for name in names
                if name != "audit"
            }

    def calls(self, team: str) -> list[str]:
        return [str(call) for call in self.two.slacks[team].calls]


@pytest.fixture
def bot(new_world: NewWorld) -> Bot:
    two = TwoWorkspaces(new_world())
    two.install(A, bot_user_id="U0FAKEBOT1", bot_id="B0FAKEBOT1")
    two.install(B, bot_user_id="U0FAKEBOT1", bot_id="B0FAKEBOT1")
    return Bot(two)


def payloads(kind: type[Interaction], bot: Bot, key: ThreadKey) -> Iterator[Interaction]:
    """Interactions of this kind that name a thread of A, one for each thing that they can do."""
    turn = bot.two.world.turns(key)[-1].id
    steps = bot.two.world.steps(key, "questioned")
    given: dict[str, Any] = {
        "turn": turn,
        "thread": key.id,
        "ts": key.root_ts,
        "call": steps[-1]["call_id"] if steps else "c1",
        "n": 0,
        "page": 0,
        "question": "what now?",
        "proposal": "p1",
        "held": "files:1",
        "channel": CHANNEL,
        "space": f"channels/{CHANNEL}",
        "file": f"channels/{CHANNEL}/notes.md",
        "key": "0" * 16,
        "schedule": f"{key.id}/s1",
    }
    fields = {name: field for name, field in kind.model_fields.items() if field.is_required()}
    choices = {name: _literals(field.annotation) for name, field in fields.items() if name not in given}
    for chosen in itertools.product(*choices.values()):
        own = {name: given[name] for name in fields if name in given}
        yield kind(**own, **dict(zip(choices, chosen, strict=True)))


def _literals(annotation: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = ()
    for each in get_args(annotation):
        found += _literals(each) if get_args(each) else (each,)
    return tuple(each for each in found if isinstance(each, str))


def used(kind: type[Interaction], one: Interaction, key: ThreadKey, team: str) -> dict[str, Any]:
    """The payload with which Slack tells that somebody of `team` used it."""
    about = {
        "team": {"id": team, "domain": "d"},
        "user": {"id": BEN, "team_id": team},
        "trigger_id": "1.2.3",
        "api_app_id": "A1",
    }
    message = {"ts": key.root_ts, "thread_ts": key.root_ts, "text": "x", "user": ANA}
    place = {"channel": {"id": CHANNEL}, "message": message, "message_ts": key.root_ts}
    if kind is Menu:
        return {**about, **place, "type": "message_action", "callback_id": one.id}
    if kind.__name__.endswith("Form"):
        view = {
            "id": "V1",
            "type": "modal",
            "callback_id": one.id,
            "private_metadata": one.encode(),
            "state": {"values": {}},
            "hash": "h",
        }
        return {**about, "type": "view_submission", "view": view}
    payload = one.model_dump()["turn"] if set(one.model_dump()) == {"turn"} else one.encode()
    action = {"type": "button", "action_id": one.id, "block_id": "b", "value": payload, "action_ts": "1.1"}
    container = {"type": "message", "message_ts": key.root_ts, "channel_id": CHANNEL, "thread_ts": key.root_ts}
    return {**about, **place, "type": "block_actions", "container": container, "actions": [action]}


@pytest.mark.parametrize("kind", INTERACTIONS, ids=lambda kind: kind.__name__)
def test_no_press_and_no_form_of_another_workspace_reaches_a_thread(bot: Bot, kind: type[Interaction]) -> None:
    before, heard, told = bot.snapshot(), bot.calls(A), len(bot.calls(B))
    sent = 0
    for key in (bot.reported, bot.waiting):
        for one in payloads(kind, bot, key):
            bot.send(used(kind, one, key, B))
            sent += 1
    assert sent
    assert bot.snapshot() == before
    assert bot.calls(A) == heard
    said = "\n".join(bot.calls(B)[told:])
    assert not any(secret in said for secret in SECRETS)


def test_the_same_presses_in_the_own_workspace_do_something(bot: Bot) -> None:
    effective = set()
    for kind in INTERACTIONS:
        for key in (bot.reported, bot.waiting):
            for one in payloads(kind, bot, key):
                before, heard = bot.snapshot(), bot.calls(A)
                bot.send(used(kind, one, key, A))
                if bot.snapshot() != before or bot.calls(A) != heard:
                    effective.add(kind.__name__)
    assert {"StopButton", "OptionButton", "Menu", "ReportButton", "HomeButton"} <= effective
    assert len(effective) >= 9, effective


# --- events


def event(team: str, **inner: Any) -> dict[str, Any]:
    return {
        "type": "event_callback",
        "team_id": team,
        "api_app_id": "A1",
        "event_id": "Ev1",
        "event_time": 1_700_000_000,
        "event": inner,
        "authorizations": [{"team_id": team, "enterprise_id": None, "user_id": "U0FAKEBOT1", "is_bot": True}],
    }


def about_thread(key: ThreadKey) -> list[dict[str, Any]]:
    """Events that would stop, change, delete or join a thread."""
    at = {"channel": CHANNEL, "channel_type": "channel"}
    return [
        {
            "type": "reaction_added",
            "reaction": "x",
            "user": BEN,
            "event_ts": "1900000000.000001",
            "item": {"type": "message", **at, "ts": key.root_ts},
        },
        {
            "type": "agent_session_stopped",
            "channel": CHANNEL,
            "thread_ts": key.root_ts,
            "user": BEN,
            "event_ts": "1900000000.000002",
        },
        {
            "type": "message",
            "subtype": "message_deleted",
            **at,
            "deleted_ts": key.root_ts,
            "ts": "1900000000.000100",
            "previous_message": {"user": ANA, "ts": key.root_ts, "text": "x"},
        },
        {
            "type": "message",
            "subtype": "message_changed",
            **at,
            "ts": "1900000000.000200",
            "message": {"user": ANA, "ts": key.root_ts, "text": "something else", "edited": {"user": ANA}},
            "previous_message": {"user": ANA, "ts": key.root_ts, "text": "x"},
        },
        {"type": "message", **at, "user": BEN, "ts": "1900000000.000300", "thread_ts": key.root_ts, "text": "grey"},
        {
            "type": "app_mention",
            **at,
            "user": BEN,
            "ts": "1900000000.000400",
            "thread_ts": key.root_ts,
            "text": "<@U0FAKEBOT1> stop",
        },
    ]


@pytest.mark.parametrize("number", range(6))
def test_no_event_of_another_workspace_reaches_a_thread_with_the_same_channel_and_ts(bot: Bot, number: int) -> None:
    before, heard = bot.snapshot(), bot.calls(A)
    for key in (bot.reported, bot.waiting):
        bot.send(event(B, **about_thread(key)[number]))
    assert bot.snapshot() == before
    assert bot.calls(A) == heard


@pytest.mark.parametrize("number", range(6))
def test_the_same_events_of_the_own_workspace_do(bot: Bot, number: int) -> None:
    before = bot.snapshot()
    bot.send(event(A, **about_thread(bot.waiting)[number]))
    assert bot.snapshot() != before


def find(bot: Bot, team: str) -> str:
    calls = len(bot.calls(team))
    ts = bot.two.slacks[team].say("find: heron", user=ANA)["ts"]
    mention = {"type": "app_mention", "channel": CHANNEL, "channel_type": "channel", "user": ANA, "ts": ts}
    bot.send(event(team, **mention, text="<@U0FAKEBOT1> find: heron"))
    return "\n".join(bot.calls(team)[calls:])


def test_find_finds_nothing_of_another_workspace(bot: Bot) -> None:
    assert bot.reported.root_ts.replace(".", "") in find(bot, A)
    found = find(bot, B)
    assert "chat.postEphemeral" in found
    assert bot.reported.root_ts.replace(".", "") not in found
    assert "total" not in found


def test_the_home_of_a_person_shows_nothing_of_another_workspace(bot: Bot) -> None:
    opened = {"type": "app_home_opened", "user": ANA, "tab": "home", "channel": "D0ANA00001"}
    bot.send(event(B, **opened))
    bot.send(event(A, **opened))
    assert "heron" in str(bot.two.slacks[A].homes[ANA])
    assert "heron" not in str(bot.two.slacks[B].homes[ANA])
