"""The app's home lists the schedules of the channels that a person is in, and its buttons pause, resume, stop them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from test_turn_home import SCRIPT, Lobby
from test_turn_sources import COUNT, PEOPLE, REFUSED, Asked, asked, follows  # noqa: F401 - a fixture
from turn_world import ANA, BEN, CHANNEL, NewWorld, World

from core.interactions import ScheduleButton
from core.schedules.values import ScheduleOrder
from core.slack.blocks import Limit
from core.slack.reading.reader import SlackReader
from core.values import Lease, ThreadKey
from workers.models.scripted import ScriptedModel


def scheduled(world: World, words: str, schedule_id: str) -> ThreadKey:
    world.model = ScriptedModel(list(SCRIPT))
    key = world.say("how much?")
    world.settle(key)
    add(world, key, words, schedule_id)
    return key


def add(world: World, key: ThreadKey, words: str, schedule_id: str, owner: str = BEN) -> None:
    lease = Lease(thread_id=key.id, token=world.store.raise_fence(key.id), owner="w")
    order = ScheduleOrder(cron="0 9 * * 1", zone="Europe/Berlin", language="en")
    more: dict[str, Any] = {"owner": owner, "order": order, "next_at": datetime(2030, 1, 7, 8, tzinfo=UTC), "shown": []}
    world.store.add_schedule(lease, f"{key.id}/t1", said=words, schedule_id=schedule_id, **more)


def copied(world: World, key: ThreadKey, n: int) -> None:
    """One more schedule of the thread, of somebody else."""
    lease = Lease(thread_id=key.id, token=world.store.raise_fence(key.id), owner="w")
    (first, *_) = world.store.schedules(key.id)
    more: dict[str, Any] = {"said": first.said, "order": first.order, "next_at": first.next_at, "shown": []}
    world.store.add_schedule(lease, first.turn_id, owner=f"U0PERSON{n:02}", schedule_id=f"s{n}", **more)


def test_schedules_stand_with_owner_next_run_and_why_they_stopped(world: World) -> None:
    scheduled(world, "every Monday 9:00 run this again", "s1")
    scheduled(world, "every day at 8 run this again", "s2")
    world.store.set_schedule_state("s2", "stopped", "no column 'amount'")
    text = Lobby(world).open(ANA)
    assert text.index("every Monday 9:00") < text.index("every day at 8")
    assert "ben: next on" in text
    assert "no column 'amount'" in text


def test_schedules_of_a_channel_are_shown_to_nobody_who_is_not_in_it(world: World, monkeypatch: Any) -> None:
    scheduled(world, "every Monday 9:00 run this again", "s1")
    monkeypatch.setattr(SlackReader, "shared_channels", lambda slack, user: frozenset({"C0OTHER001"}))
    assert "every Monday" not in Lobby(world).open(ANA)


def test_the_home_is_silent_where_nothing_is_scheduled(world: World) -> None:
    assert "made again" not in Lobby(world).open(ANA)


# --- the buttons


def press(lobby: Lobby, do: Any, schedule_id: str, key: ThreadKey, user: str = ANA, ts: str = "1.000001") -> str:
    button = ScheduleButton(do=do, thread=key.id, schedule=schedule_id)
    body = {"actions": [{"value": button.encode(), "action_ts": ts}], "user": {"id": user}, "trigger_id": "1.2.x"}
    return lobby.bot.schedules.press({**body, "view": {"id": "V1", "hash": "1.a"}}, lobby.world.slack.team)


def said(world: World, key: ThreadKey, words: str) -> int:
    return sum(words in str(message.get("text")) for message in world.messages(key, ours=True))


def test_a_schedule_is_paused_resumed_and_stopped_and_its_thread_is_told(world: World) -> None:
    key, lobby = scheduled(world, "every Monday 9:00 run this again", "s1"), Lobby(world)
    text = lobby.open(ANA)
    assert "[Pause]" in text
    assert "[Stop]" in text
    assert "[Resume]" not in text
    assert press(lobby, "pause", "s1", key) == "paused"
    assert world.store.due_schedules(datetime(2031, 1, 1, tzinfo=UTC)) == []
    assert "[Resume]" in lobby.text(ANA), "the home is drawn anew"
    assert press(lobby, "pause", "s1", key, ts="1.000002") == "late"
    assert press(lobby, "resume", "s1", key, ts="1.000003") == "active"
    (row,) = world.store.schedules(key.id)
    assert row.state == "active"
    assert row.next_at < datetime(2030, 1, 1, tzinfo=UTC), "what was due meanwhile is left out"
    assert press(lobby, "stop", "s1", key, user=BEN, ts="1.000004") == "stopped"
    assert press(lobby, "resume", "s1", key, ts="1.000005") == "late", "stopped is stopped"
    assert "[Pause]" not in lobby.text(ANA)
    assert "stopped: ben" in lobby.text(ANA)
    for words, times in (("ana paused “every", 1), ("ana resumed “every", 1), ("ben stopped “every", 1)):
        assert said(world, key, words) == times
    assert [
        (line.actor, line.action, line.outcome) for line in world.store.audit_lines() if line.details.get("do")
    ] == [
        (ANA, "schedule", "done"),
        (ANA, "schedule", "done"),
        (BEN, "schedule", "done"),
    ]


def test_who_may_not_schedule_sees_no_button_and_a_press_changes_nothing(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\nschedule = ["{BEN}"]\n')
    key, lobby = scheduled(world, "every Monday 9:00 run this again", "s1"), Lobby(world)
    assert "[Pause]" not in lobby.open(ANA)
    assert "[Pause]" in lobby.open(BEN)
    assert press(lobby, "stop", "s1", key) == "refused"
    assert world.store.schedules(key.id)[0].state == "active"
    assert "You may not change this schedule" in str(world.slack.views[-1])
    assert [(line.actor, line.outcome) for line in world.store.audit_lines()][-1] == (ANA, "refused")


@pytest.mark.parametrize("text", ["stop schedules", "pause schedules", "every day at 9:00 run this again"])
def test_who_may_not_ask_a_source_changes_no_schedule_of_a_thread_with_its_rows(
    asked: Asked,  # noqa: F811 - the fixture
    text: str,
) -> None:
    world = asked(COUNT, more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    add(world, key, "every Monday 9:00 run this again", "s1", ANA)
    follows(world, text)
    assert [(each.owner, each.state) for each in world.store.schedules(key.id)] == [(ANA, "active")]
    assert REFUSED in world.text(key)
    (line,) = world.store.audit_lines(actor=BEN)
    assert (line.action, line.outcome, line.details) == ("schedule", "refused", {"source": "shop"})
    lobby = Lobby(world)
    assert ("[Pause]" in lobby.open(ANA), "[Pause]" in lobby.open(BEN)) == (True, False)
    add(world, key, "every day 9:00 run this again", "s2", BEN)
    assert lobby.open(BEN).count("[Pause]") == 1, "their own"
    follows(world, "stop schedules", user=ANA)
    assert {each.state for each in world.store.schedules(key.id)} == {"stopped"}


def test_nobody_changes_a_schedule_of_a_channel_that_they_are_not_in_or_that_is_gone(world: World) -> None:
    key, lobby = scheduled(world, "every Monday 9:00 run this again", "s1"), Lobby(world)
    assert press(lobby, "stop", "s2", key) == "gone"
    world.slack.channels[CHANNEL]["members"] = [BEN]
    assert press(lobby, "stop", "s1", key) == "gone"
    assert world.store.schedules(key.id)[0].state == "active"
    assert world.slack.views == []


def test_more_schedules_than_a_home_lists_are_counted(world: World) -> None:
    for n in range(10):
        scheduled(world, f"every Monday {n}:00 run this again", f"s{n}")
    lobby = Lobby(world)
    assert "and 2 more" in lobby.open(ANA)
    assert len(world.slack.homes[ANA]["blocks"]) < Limit.VIEW_BLOCKS


def test_a_home_asks_slack_only_about_the_schedules_that_it_lists(world: World) -> None:
    key = scheduled(world, "every Monday 9:00 run this again", "s0")
    for n in range(1, 60):
        copied(world, key, n)
    world.slack.calls.clear()
    assert "and 52 more" in Lobby(world).open(ANA)
    looked_up = {arguments["user"] for method, arguments in world.slack.calls if method == "users.info"}
    assert len(looked_up - {ANA}) <= 8


def test_channels_that_slack_does_not_tell_of_are_asked_for_a_few_times_however_many_schedules(world: World) -> None:
    key = scheduled(world, "every Monday 9:00 run this again", "s0")
    for n in range(1, 30):
        copied(world, key, n)
    world.slack.calls.clear()
    world.slack.fault("users.conversations", "error", error="missing_scope", times=1_000)
    assert "every Monday" not in Lobby(world).open(ANA)
    assert sum(method == "users.conversations" for method, _ in world.slack.calls) < 10


@pytest.mark.parametrize("body", [{}, {"actions": []}, {"actions": [{"value": "x"}], "user": {"id": ANA}}])
def test_a_press_that_is_none_means_nothing(world: World, body: Any) -> None:
    assert Lobby(world).bot.schedules.press(body, world.slack.team) == "malformed"
