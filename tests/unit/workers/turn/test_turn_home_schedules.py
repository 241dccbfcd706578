"""The app's home lists the schedules of the channels that a person is in, and no others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from test_turn_home import SCRIPT, Lobby
from turn_world import ANA, BEN, World

from core.schedules import ScheduleOrder
from core.slack.reader import SlackReader
from core.values import Lease, ThreadKey
from workers.models.scripted import ScriptedModel


def scheduled(world: World, said: str, schedule_id: str) -> ThreadKey:
    world.model = ScriptedModel(list(SCRIPT))
    key = world.say("how much?")
    world.settle(key)
    lease = Lease(thread_id=key.id, token=world.store.raise_fence(key.id), owner="w")
    order = ScheduleOrder(cron="0 9 * * 1", zone="Europe/Berlin", language="en")
    more: dict[str, Any] = {"owner": BEN, "order": order, "next_at": datetime(2030, 1, 7, 8, tzinfo=UTC), "shown": []}
    world.store.add_schedule(lease, f"{key.id}/t1", said=said, schedule_id=schedule_id, **more)
    return key


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
