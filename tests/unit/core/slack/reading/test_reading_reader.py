"""Who is in a channel, as far as Slack says it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.slack.fake import FakeSlack
from core.slack.reading.reader import SlackReader

CHANNEL = "C0SALES001"
BEN = "U0BEN00001"


def seen(slack: FakeSlack, *more: str) -> str:
    return SlackReader(slack.client()).outsiders_in(CHANNEL, {slack.team, *more})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda slack: None, "none"),
        (lambda slack: slack.channel_flags.update(is_ext_shared=True), "some"),
        (lambda slack: slack.channel_flags.update(is_pending_ext_shared=True), "some"),
        (lambda slack: slack.flags.update({BEN: {"is_restricted": True}}), "some"),
        (lambda slack: slack.flags.update({BEN: {"is_ultra_restricted": True}}), "some"),
        (lambda slack: slack.flags.update({BEN: {"is_stranger": True}}), "some"),
        (lambda slack: slack.flags.update({BEN: {"team_id": "T0OTHER"}}), "some"),
        (lambda slack: slack.flags.update({BEN: {"team_id": "T0OTHER", "is_bot": True}}), "none"),
        (lambda slack: slack.channel_flags.update(is_im=True, user=BEN), "none"),
        (lambda slack: slack.channels[CHANNEL]["members"].append("U0NOBODY01"), "unknown"),
    ],
    ids=["members", "shared", "pending", "guest", "guest of one", "stranger", "team", "bot", "direct", "not listed"],
)
def test_guests_and_people_of_other_workspaces_are_outsiders(
    change: Callable[[FakeSlack], object], expected: str
) -> None:
    slack = FakeSlack()
    change(slack)
    assert seen(slack) == expected


def test_people_of_a_workspace_that_counts_as_ours_are_no_outsiders() -> None:
    slack = FakeSlack()
    slack.flags[BEN] = {"team_id": "T0OTHER"}
    assert seen(slack, "T0OTHER") == "none"


def test_a_guest_of_another_channel_is_no_outsider_of_this_one() -> None:
    slack = FakeSlack()
    slack.flags[BEN] = {"is_restricted": True}
    slack.channels[CHANNEL]["members"].remove(BEN)
    assert seen(slack) == "none"


def test_a_slack_that_refuses_to_say_it_leaves_it_unknown() -> None:
    slack = FakeSlack()
    slack.fault("conversations.members", "error", error="missing_scope")
    assert seen(slack) == "unknown"


@pytest.mark.parametrize("error", ["channel_not_found", "not_in_channel"])
def test_of_a_channel_that_is_hidden_from_us_nobody_is_told_anything(error: str) -> None:
    slack = FakeSlack()
    slack.fault("conversations.info", "error", error=error, times=3)
    reader = SlackReader(slack.client())
    assert not reader.may_read("C0HIDDEN01", BEN, {slack.team})
    assert not reader.is_public("C0HIDDEN01")
    assert reader.outsiders_in("C0HIDDEN01", {slack.team}) == "unknown"


@pytest.mark.parametrize("is_in", [True, False])
def test_a_person_of_a_private_channel_with_thousands_of_members_may_read_it(is_in: bool) -> None:
    slack = FakeSlack()
    slack.channel_flags.update(is_private=True)
    slack.channels[CHANNEL]["members"] = [f"U{number:010}" for number in range(6_000)] + [BEN] * is_in
    assert SlackReader(slack.client()).may_read(CHANNEL, BEN, {slack.team}) is is_in


def test_the_names_of_shared_channels_come_with_the_channels() -> None:
    slack = FakeSlack()
    slack.channels |= {f"C0MORE{n:04}": {"name": f"more-{n}", "members": [BEN]} for n in range(90)}
    reader = SlackReader(slack.client())
    names = {reader.channel_name(channel) for channel in reader.shared_channels(BEN) or ()}
    assert names == {"#sales", *(f"#more-{n}" for n in range(90))}
    assert "conversations.info" not in [method for method, _ in slack.calls]
