"""The menu of a message: what people think of an answer, which one is an example, and what a message said before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_turn_stepping_in import Office
from turn_world import ANA, BEN, NewWorld, World, cell, finish

from core.interactions import VersionButton
from core.values import ThreadKey

ANSWER = "The bird is a kestrel."


def asked(world: World) -> tuple[Office, ThreadKey]:
    office = Office(world, cell("print('kestrel')"), finish(ANSWER), finish("Done."))
    return office, office.say("which bird?")


def rated(office: Office, key: ThreadKey, ts: str, what: str, reason: str = "", user: str = BEN) -> Any:
    """Choose “Rate…” in the menu, then this; returns what the form's ack says."""
    view = office.choose(ts, key, "rate", user=user)["view"]
    return office.fill(view, reason, key, what=what, user=user)


def edit(office: Office, key: ThreadKey, ts: str, text: str) -> None:
    office.fill(office.choose(ts, key, "edit")["view"], text, key)
    office.world.settle(key)


def turned(office: Office, key: ThreadKey, ts: str, n: int, user: str = ANA) -> str:
    """Press an arrow; returns the text of the version that is shown."""
    value = VersionButton(thread=key.id, ts=ts, n=n).encode()
    with office.world._unwatched():
        body = {"actions": [{"value": value}], "view": {"id": "V1", "hash": "1.a"}, "user": {"id": user}}
        assert office.menu.versions.turn(body, key.team) == "turned"
        return json.dumps(office.world.slack.views[-1], ensure_ascii=False)


# --- rate, mark as example


def test_a_vote_from_the_menu_counts_as_one_under_the_report(world: World) -> None:
    office, key = asked(world)
    (turn,) = world.turns(key)
    assert rated(office, key, key.root_ts, "up") == {}
    assert rated(office, key, office.report_ts(key, "kestrel"), "down", "it is\na heron") == {}
    (vote,) = world.store.votes(turn.id)
    assert (vote.user, vote.vote, vote.reason) == (BEN, "down", "it is a heron")
    assert "👎" in json.dumps(world.messages(key), ensure_ascii=False)


def test_an_example_is_marked_by_a_person_and_taken_back(world: World) -> None:
    office, key = asked(world)
    (turn,) = world.turns(key)
    assert rated(office, key, key.root_ts, "example") == {}
    assert list(world.store.examples(turn.id)) == [BEN]
    view = office.choose(key.root_ts, key, "rate", user=BEN)["view"]
    assert [each["value"] for each in view["blocks"][0]["element"]["options"]] == ["up", "down", "no_example"]
    assert rated(office, key, key.root_ts, "no_example") == {}
    assert world.store.examples(turn.id) == {}
    assert world.store.votes(turn.id) == []


def test_a_message_without_an_answer_or_a_change_offers_neither(world: World) -> None:
    office, key = asked(world)
    with pytest.raises(AssertionError, match="analyse"):
        office.choose("1.000001", key, "rate")
    with pytest.raises(AssertionError, match="analyse"):
        office.choose(key.root_ts, key, "versions")


def test_whoever_may_not_look_marks_and_reads_nothing(new_world: NewWorld) -> None:
    world = new_world(team=f'[access]\nlook = ["{ANA}"]\n')
    office, key = asked(world)
    (turn,) = world.turns(key)
    rated(office, key, key.root_ts, "example")
    rated(office, key, key.root_ts, "up")
    assert (world.store.examples(turn.id), world.store.votes(turn.id)) == ({}, [])
    edit(office, key, key.root_ts, "which fish?")
    assert "view" not in office.choose(key.root_ts, key, "versions", user=BEN)


def test_an_answer_that_was_purged_meanwhile_is_not_rated(world: World) -> None:
    office, key = asked(world)
    view = office.choose(key.root_ts, key, "rate")["view"]
    world.store.purge_thread(key.id)
    assert "not stored any more" in str(office.fill(view, "", key, what="up"))


# --- versions


def test_arrows_walk_through_what_a_message_said_with_who_and_when(world: World) -> None:
    office, key = asked(world)
    edit(office, key, key.root_ts, "which fish?")
    office.choose(key.root_ts, key, "leave_out", user=BEN)
    world.settle(key)
    first = json.dumps(office.choose(key.root_ts, key, "versions")["view"], ensure_ascii=False)
    assert "1 of 3 · as it was written" in first
    assert "which bird?" in first
    assert "▶" in first
    assert "◀" not in first
    second = turned(office, key, key.root_ts, 1)
    assert "2 of 3 · edited for the model · " in second
    assert "which fish?" in second
    assert "ana" in second.split("edited for the model")[1][:20]
    last = turned(office, key, key.root_ts, 9)
    assert "3 of 3 · left out of the context · ben" in last
    assert "▶" not in last
    assert "UTC" in last


def test_reports_have_versions_too(world: World) -> None:
    office, key = asked(world)
    ts = office.report_ts(key, "The bird")
    edit(office, key, ts, "It is a heron.")
    first = json.dumps(office.choose(ts, key, "versions")["view"], ensure_ascii=False)
    assert ANSWER in first
    assert "Threadbook" in first
    assert "It is a heron." in turned(office, key, ts, 1)


def test_what_an_author_replaced_in_slack_is_read_by_the_author_alone(world: World) -> None:
    office, key = asked(world)
    world.store.change_message(key.team, key.channel, key.root_ts, "which fish?")
    world.store.change_message(key.team, key.channel, key.root_ts, "which beetle?")
    assert "which bird?" in turned(office, key, key.root_ts, 0)
    assert "which fish?" in turned(office, key, key.root_ts, 1)
    hidden = turned(office, key, key.root_ts, 1, user=BEN)
    assert "which fish?" not in hidden
    assert "Only they can read them" in hidden
    assert "which beetle?" in turned(office, key, key.root_ts, 2, user=BEN)
    world.store.delete_message(key.team, key.channel, key.root_ts)
    body = {"actions": [{"value": VersionButton(thread=key.id, ts=key.root_ts, n=0).encode()}]}
    assert office.menu.versions.turn({**body, "view": {"id": "V1"}, "user": {"id": ANA}}, key.team) == "refused"


def test_no_version_of_a_private_channel_is_shown_to_who_is_not_in_it(world: World) -> None:
    office, key = asked(world)
    edit(office, key, key.root_ts, "which beetle?")
    world.slack.channel_flags["is_private"] = True
    world.slack.channels[key.channel]["members"] = [ANA]
    body = {"actions": [{"value": VersionButton(thread=key.id, ts=key.root_ts, n=0).encode()}]}
    assert office.menu.versions.turn({**body, "view": {"id": "V1"}, "user": {"id": BEN}}, key.team) == "refused"
    assert office.menu.versions.turn({**body, "view": {"id": "V1"}, "user": {"id": ANA}}, key.team) == "turned"


def test_a_press_that_is_none_of_ours_shows_nothing(world: World) -> None:
    office, key = asked(world)
    value = VersionButton(thread=key.id, ts=key.root_ts, n=0).encode()
    body = {"actions": [{"value": value}], "view": {"id": "V1"}, "user": {"id": ANA}}
    assert office.menu.versions.turn(body, "T0OTHER") == "malformed"
    assert office.menu.versions.turn({**body, "actions": [{"value": "x"}]}, key.team) == "malformed"
    assert office.menu.versions.turn({**body, "actions": []}, key.team) == "malformed"
