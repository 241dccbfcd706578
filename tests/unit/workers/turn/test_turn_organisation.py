"""Enterprise Grid: events and presses of an organisation's installation reach the right workspace.

They go through the bot's own Bolt app.
"""

from __future__ import annotations

from typing import Any

import pytest
from test_turn_interactions import Bot, threads, waiting
from turn_world import ANA, NewWorld

AT_HOME = '[access]\nown_teams = ["T0FAKE0001"]\n'
"""People of the test's Slack are at home there, and no strangers in the organisation's other workspaces."""
ORG = {"enterprise_id": "E324567", "user_id": "W43567", "is_bot": True, "is_enterprise_install": True}


def mention(ts: str, **more: Any) -> dict[str, Any]:
    """A mention as the Events API sends it to an app that is installed for a whole organisation."""
    event = {
        "type": "app_mention",
        "user": ANA,
        "text": "<@UBOT> how much?",
        "ts": ts,
        "channel": "C1",
        "event_ts": ts,
    }
    about = {"type": "event_callback", "api_app_id": "A1", "event_id": f"Ev{ts}", "event_time": 1, "token": "x"}
    return {**about, "enterprise_id": "E324567", "event": event, **more}


@pytest.mark.parametrize(
    "where",
    [
        {"team_id": "T1", "authorizations": [{**ORG, "team_id": "T1"}]},
        {"team_id": "T1", "authorizations": [ORG]},
        {"team_id": "T9", "context_team_id": "T1", "authorizations": [{**ORG, "team_id": None}]},
    ],
    ids=["named", "no team", "null, with its context"],
)
def test_an_event_of_an_organisation_belongs_to_its_workspace(new_world: NewWorld, where: dict[str, Any]) -> None:
    world = new_world(team=AT_HOME)
    Bot(world).take(mention("1700000000.000100", **where))
    assert [(key.team, len(world.store.unread(key.id))) for key in threads(world)] == [("T1", 1)]


def test_the_same_person_channel_and_moment_in_two_workspaces_are_two_threads(new_world: NewWorld) -> None:
    world, bot = (made := new_world(team=AT_HOME)), Bot(made)
    for team in ("T1", "T2"):
        bot.take(mention("1700000000.000100", team_id=team, authorizations=[ORG]))
    assert [key.team for key in threads(world)] == ["T1", "T2"]
    assert [len(world.store.unread(key.id)) for key in threads(world)] == [1, 1]


def test_an_event_that_names_an_organisation_alone_is_nobodys(new_world: NewWorld) -> None:
    world = new_world(team=AT_HOME)
    Bot(world).take(mention("1700000000.000100", team_id="E324567", authorizations=[ORG]))
    assert threads(world) == []


def test_a_press_of_somebody_at_home_in_another_workspace_counts_in_that_of_its_message(new_world: NewWorld) -> None:
    world = new_world()
    scene = waiting(world)
    body = scene.body(ANA)
    body |= {"team": None, "enterprise": {"id": "E324567"}, "is_enterprise_install": True}
    body |= {"user": {"id": ANA, "team_id": "T9"}, "message": {"ts": scene.shown, "team": scene.key.team}}
    Bot(world).take(body)
    scene.settle()
    assert world.statuses(scene.key) == ["stopped"]
