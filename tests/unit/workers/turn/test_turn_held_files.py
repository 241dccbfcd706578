"""Files that wait for a person's yes: the answer does not wait for them, and none is lost or sent twice.

The presses go through the bot's own listener, on the Slack of whole turns.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import fakeredis
import pytest
from test_turn_privacy import Listening
from test_turn_report_buttons import AtOnce
from turn_world import ANA, BEN, CHANNEL, Death, Json, NewWorld, World, cell, finish

from bot.message_handler import MessageHandler
from bot.presses.held_files import HeldFiles
from core.interactions import FilesButton
from core.queue import Wakes
from core.slack.writing.writer import SlackWriter
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

ALWAYS = '[approvals]\nfiles = "always"\n'
TABLE = '"region,units\\nNorth,7\\nSouth,12\\n"'
WRITES = f'open("rest.csv", "w").write({TABLE})\nprint("North 7")'
REPORT = "North sold 7 units."
ASKS = "before they go to Slack"


def answered(world: World, *cells: Json, text: str = "how much?", channel: str = CHANNEL) -> ThreadKey:
    """A question whose cells write files, answered."""
    world.model = ScriptedModel([*(cells or (cell(WRITES, "Write"),)), *[finish(REPORT)] * 4])
    key = world.say(text, channel=channel)
    world.settle(key)
    return key


@pytest.mark.parametrize(("team", "told"), [(ALWAYS, True), ("", False)])
def test_the_analyst_is_told_that_files_wait(new_world: NewWorld, team: str, told: bool) -> None:
    world = new_world(team=team)
    world.model = heard = Listening(ScriptedModel([finish(REPORT)]))
    world.settle(world.say("how much?"))
    assert ("do not call them attached" in heard.heard) is told


def asking(world: World, key: ThreadKey, words: str = "rest.csv · ") -> Json:
    """The newest message that lists files."""
    return [each for each in world.messages(key, ours=True) if words in message_text(each)][-1]


def press(world: World, key: ThreadKey, do: Any = "send", *, user: str = ANA, held: str = "", ts: str = "") -> str:
    """Press a button of the newest question about files, or of another one."""
    with world._unwatched():
        handler = MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store),
            slack=(slack := SlackWriter(world.slack.client(), world.store)),
            later=AtOnce(),
            lookups=AtOnce(),
        )
        held = held or steps(world, key, "files_held")[-1]["id"]
        use = FilesButton(thread=key.id, held=held, do=do)
        body = {
            "actions": [{"value": use.encode(), "action_ts": ts or world.slack._next_ts()}],
            "container": {"channel_id": key.channel, "message_ts": world.store.outbox_get(f"{key.id}/{held}").ts},
            "user": {"id": user},
        }
        return HeldFiles(world.store, slack, handler).press(body, key.team)


def steps(world: World, key: ThreadKey, kind: str) -> list[Json]:
    """Steps of this kind of all turns."""
    every = (step for own in world.store.thread_steps(key.id).values() for step in own)
    return [step.model_dump() for step in every if step.kind == kind]


def outcomes(world: World, key: ThreadKey) -> list[tuple[str, str]]:
    return [(each["outcome"], each["user"]) for each in steps(world, key, "files_settled")]


@pytest.fixture
def world(new_world: NewWorld) -> World:
    return new_world(team=ALWAYS)


def test_the_answer_is_there_at_once_and_its_files_wait_with_name_size_and_rows(world: World) -> None:
    key = answered(world)
    assert REPORT in world.text(key)
    assert world.statuses(key) == ["done"]
    assert world.files(key) == []
    text = message_text(asking(world, key))
    assert "rest.csv · 30 B · 2 rows" in text
    assert "everybody who can read this channel" in text
    assert "[Send all]" in text
    assert "[Send none]" in text
    assert not world.works(key)


def test_a_team_that_sets_nothing_gets_its_files_at_once(new_world: NewWorld) -> None:
    world = new_world()
    key = answered(world)
    assert "rest.csv" in world.files(key)
    assert ASKS not in world.text(key)


def test_a_channel_has_a_rule_of_its_own(new_world: NewWorld) -> None:
    world = new_world(team=f'[channels.{CHANNEL}.approvals]\nfiles = "always"\n')
    assert world.files(answered(world)) == []
    assert "rest.csv" in world.files(answered(world, channel="C0OTHER001"))


def test_a_yes_sends_all_of_them_once_and_says_whose_it_was(world: World) -> None:
    key = answered(world)
    assert press(world, key) == "taken"
    world.settle(key)
    assert world.files(key).count("rest.csv") == 1
    assert outcomes(world, key) == [("sent", ANA)]
    text = message_text(asking(world, key))
    assert "ana sent them" in text
    assert "[Send all]" not in text


def test_a_no_keeps_them_and_says_how_they_are_had_later(world: World) -> None:
    key = answered(world)
    press(world, key, "keep")
    world.settle(key)
    assert world.files(key) == []
    assert outcomes(world, key) == [("kept", ANA)]
    assert "“send files”" in message_text(asking(world, key))


@pytest.mark.parametrize("first", ["keep", "send"])
def test_the_first_decision_counts_and_a_late_press_draws_the_message_again(world: World, first: str) -> None:
    key = answered(world)
    press(world, key, first)
    press(world, key, "send" if first == "keep" else "keep")  # before a worker has read the first one
    world.settle(key)
    assert len(outcomes(world, key)) == 1
    before = asking(world, key)
    assert press(world, key, "send", user=BEN) == "late"
    world.settle(key)
    assert asking(world, key) == before
    assert len(outcomes(world, key)) == 1
    assert world.files(key).count("rest.csv") == (first == "send")
    assert world.slack.whispers[-1][0] == BEN


def test_somebody_who_may_not_decide_changes_nothing_and_reads_why(world: World) -> None:
    key = answered(world)
    press(world, key, user=BEN)
    world.settle(key)
    assert outcomes(world, key) == []
    assert world.files(key) == []
    assert world.slack.whispers[-1][0] == BEN
    assert "may not decide this" in world.slack.whispers[-1][1]


def test_where_two_people_have_to_say_yes_the_first_one_stands_in_the_message(new_world: NewWorld) -> None:
    team = f'{ALWAYS}people = 2\n[access]\napprove = ["members"]\n'
    world = new_world(team=team)
    key = answered(world)
    press(world, key)
    press(world, key)
    world.settle(key)
    assert world.files(key) == []
    assert "ana said yes" in message_text(asking(world, key))
    press(world, key, user=BEN)
    world.settle(key)
    assert world.files(key).count("rest.csv") == 1
    assert outcomes(world, key) == [("sent", BEN)]


def test_the_thread_goes_on_while_files_wait(world: World) -> None:
    key = answered(world)
    world.say("and the south?", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done", "done"]
    press(world, key)
    world.settle(key)
    assert world.files(key).count("rest.csv") == 1


def test_a_decision_after_its_hours_sends_nothing_and_asking_again_makes_it_count(world: World) -> None:
    key = answered(world)
    late = f"{float(world.slack._next_ts()) + 25 * 3_600 + steps(world, key, 'files_held')[0]['until']:.6f}"
    press(world, key, ts=late)
    world.settle(key)
    assert outcomes(world, key) == [("expired", ANA)]
    assert world.files(key) == []
    assert "Nobody decided in time" in message_text(asking(world, key))
    world.say("send files", thread=key, user=BEN)
    world.settle(key)
    assert [each["key"] for each in steps(world, key, "files_held")] == [f"{key.id}/t1:report:files"] * 2
    press(world, key)
    world.settle(key)
    assert world.files(key).count("rest.csv") == 1


def test_asking_again_closes_the_first_message(world: World) -> None:
    key = answered(world)
    world.say("send files", thread=key)
    world.settle(key)
    assert press(world, key, held="files:1") == "late"
    assert press(world, key, held="files:2") == "taken"
    world.settle(key)
    assert world.files(key).count("rest.csv") == 1
    assert len(outcomes(world, key)) == 1


def test_send_files_where_none_wait_is_answered(world: World) -> None:
    key = answered(world)
    press(world, key)
    world.settle(key)
    world.say("send files", thread=key)
    world.settle(key)
    assert "No file of this thread waits" in world.text(key)


def test_charts_stand_in_the_answer_and_do_not_wait(world: World) -> None:
    key = answered(world, cell("import matplotlib.pyplot as plt\nplt.plot([1, 7])\nprint('North 7')", "Draw"))
    assert any(name.endswith(".png") for name in world.files(key))


@pytest.mark.parametrize("word", ["download all", "as csv", "as pdf"])
def test_what_people_ask_for_as_a_file_waits_too_and_is_asked_about_once(world: World, word: str) -> None:
    world.model = ScriptedModel([cell("print('North 7')"), finish(f"{REPORT}\n\n| a | b |\n|---|---|\n| 7 | 7 |")])
    key = world.say("how much?")
    world.settle(key)
    before = world.files(key)
    for _ in range(2):
        world.say(word, thread=key)
        world.settle(key)
    assert world.files(key) == before
    asked = [each for each in steps(world, key, "files_held") if not each["key"].endswith("report:files")]
    assert len(asked) == 1
    assert "wait for a yes above" in world.text(key)
    press(world, key, held=asked[0]["id"])
    world.settle(key)
    assert len(world.files(key)) == len(before) + len(asked[0]["files"])


def test_files_of_somebodys_own_code_wait_too(world: World) -> None:
    world.model = ScriptedModel([])
    key = world.say(f"run ```{WRITES}```")
    world.settle(key)
    assert world.files(key) == []
    assert len(steps(world, key, "files_held")) == 1
    press(world, key)
    world.settle(key)
    assert world.files(key) == ["rest.csv"]


def test_files_that_the_file_store_has_lost_end_the_question(world: World) -> None:
    key = answered(world, cell(WRITES))
    blobs = world.worker().context.blobs
    for each in steps(world, key, "files_held")[0]["files"]:
        blobs.set_aside(each["sha256"])
    press(world, key)
    world.settle(key)
    assert outcomes(world, key) == [("gone", ANA)]
    assert world.files(key) == []


def test_files_that_the_check_of_tables_holds_back_are_not_said_to_be_sent(world: World) -> None:
    key = answered(world, cell('open("live.xls", "wb").write(b"x" * 9)\nprint("North 7")', "Write"))
    press(world, key)
    world.settle(key)
    assert outcomes(world, key) == [("held", ANA)]
    assert world.files(key) == []
    assert "none of them may leave" in message_text(asking(world, key, "live.xls · "))
    assert "I did not post live.xls" in world.text(key)


def test_files_that_slack_refuses_stay_in_question(world: World) -> None:
    key = answered(world)
    world.slack.fault("files.completeUploadExternal", "error", error="storage_limit_reached")
    press(world, key)
    world.settle(key)
    assert outcomes(world, key) == []
    assert "storage" in world.text(key)
    press(world, key)
    world.settle(key)
    assert outcomes(world, key) == [("sent", ANA)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the card dies with its worker
def test_a_worker_may_die_between_any_two_effects_and_the_files_go_once(world: World) -> None:
    for at in count(1):
        death = Death(at)
        world.model = ScriptedModel([cell(WRITES, "Write"), finish(REPORT)])
        key = world.say("how much?")
        world.settle(key, death)
        place = f"died after effect {at}: {' '.join(death.effects)}"
        if not death.dead:
            press(world, key)
            world.settle(key, death)
        else:
            assert world.files(key) == [], place
            press(world, key)
            world.settle(key)
        assert world.files(key).count("rest.csv") == 1, place
        assert len(steps(world, key, "files_held")) == 1, place
        assert world.text(key).count("Send all") == 0, place
        assert len(outcomes(world, key)) == 1, place
        if not death.dead:
            break
