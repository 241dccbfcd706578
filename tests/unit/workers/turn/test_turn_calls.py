"""What a turn costs in calls to Slack, and that what is only nice to have never holds it."""

from __future__ import annotations

from collections import Counter

import pytest
from turn_world import World, cell, finish

from core.slack.writing import shares
from workers.delivery import card
from workers.models.scripted import ScriptedModel
from workers.turn.live import LiveProgress

PLAIN = [
    cell("x = 20"),
    cell("y = x * 2"),
    cell("print(x + y)"),
    finish("It is **60**. " + "And that is what there is to say of it. " * 20),
]
CHART = "import matplotlib.pyplot as plt\nplt.plot([1])"
CHARTS = [cell(CHART, "Sales"), cell(CHART, "Costs"), cell("print(1)"), finish("See above.")]
BY_BOT = Counter({"reactions.add": 1, "users.info": 1})
"""The bot of these worlds shows its eyes, sets no status line and leaves the name to the worker."""


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow this machine is, these turns are over before their first frame."""
    monkeypatch.setattr(card, "FIRST_AFTER_S", 1_000.0)


def calls(world: World) -> Counter[str]:
    return Counter(method for method, _ in world.slack.calls) - BY_BOT


def test_a_short_turn_of_three_cells_takes_four_calls_and_those_of_its_files(world: World) -> None:
    world.model = ScriptedModel(PLAIN)
    key = world.say("how much?")
    world.settle(key)
    found = calls(world)
    files = Counter({method: found.pop(method) for method in list(found) if method.startswith("files.")})
    assert found == {"chat.postMessage": 2, "reactions.add": 1, "reactions.remove": 1}
    assert files == {"files.getUploadURLExternal": 1, "files.completeUploadExternal": 1, "files.info": 1}
    assert world.signs(key) == ["white_check_mark"]
    assert world.slack.status == {}


def test_a_turn_with_charts_takes_one_ticket_each_and_keeps_the_readers_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "SHARE_WAIT_S", 1_000.0)
    world.model = ScriptedModel(CHARTS)
    key = world.say("draw it")
    world.settle(key)
    found = calls(world)
    assert found["files.getUploadURLExternal"] == 2 + 1
    assert found["files.completeUploadExternal"] == 3
    assert found["files.info"] == 3, "one look at each group of files that a message follows"
    posted = world.messages(key, ours=True)
    assert ["Done" in posted[0]["text"], posted[1]["text"], posted[2]["text"]] == [True, "Sales", "Costs"]
    assert [file["name"] for file in posted[3]["files"]] == ["report.html"]
    assert "See above." in posted[4]["text"], "the answer is the last message"


def test_the_first_card_of_a_short_turn_is_its_last_state(world: World) -> None:
    world.model = ScriptedModel(PLAIN)
    key = world.say("how much?")
    world.settle(key)
    first = world.messages(key, ours=True)[0]
    assert first["text"].startswith("Done (3 cells run)")
    assert "Stop" not in str(first["blocks"])


def test_a_card_that_cannot_be_posted_now_is_not_left_out(world: World) -> None:
    world.slack.fault("chat.postMessage", "error", error="token_revoked")
    world.model = ScriptedModel(PLAIN)
    key = world.say("how much?")
    world.run(key)
    assert world.put_off(key)
    world.settle(key)
    posted = world.messages(key, ours=True)
    assert ["Done (3 cells run)" in posted[0]["text"], "60" in posted[-1]["text"]] == [True, True]


def test_a_server_that_takes_no_files_says_so_once_per_thread(world: World) -> None:
    world.slack.fault("files.getUploadURLExternal", "error", error="unknown_method", times=99)
    world.model = ScriptedModel(turns=[PLAIN, PLAIN])
    key = world.say("draw it")
    world.settle(key)
    world.say("again", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done", "done"]
    assert world.text(key).count("takes no uploads") == 1
    assert "storage" not in world.text(key)
    assert calls(world)["files.getUploadURLExternal"] <= 6, (
        "one failed try of each process, where no Redis remembers it"
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [("missing_scope", "files:write"), ("storage_limit_reached", "free some storage"), ("other", "(other)")],
)
def test_files_that_slack_refuses_are_told_in_fitting_words(world: World, error: str, words: str) -> None:
    world.slack.fault("files.getUploadURLExternal", "error", error=error, times=99)
    world.model = ScriptedModel(PLAIN)
    key = world.say("how much?")
    world.settle(key)
    assert world.text(key).count(words) == 1


def test_files_that_slack_took_and_never_showed_are_told_with_the_next_question(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.slack.shows_files = False
    world.model = ScriptedModel(turns=[PLAIN, PLAIN, PLAIN])
    key = world.say("how much?")
    world.settle(key)
    world.slack.shows_files = True
    monkeypatch.setattr(shares, "LATE_AFTER_S", -60.0)
    for _ in range(2):
        world.say("and now?", thread=key)
        world.settle(key)
    assert world.text(key).count("does not show them: report.html") == 1
    assert calls(world)["files.completeUploadExternal"] == 3


def test_the_judges_json_never_reaches_the_card(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(LiveProgress, "add", lambda _self, piece: shown.append(piece))
    world.model = ScriptedModel([{"text": "I look.", **cell("print(1)")}, finish("Done.")])
    key = world.say("how much?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "I look." in shown
    assert not any("is_final" in piece for piece in shown)
