"""Files that people send: they are fetched, described and read, or it is said of each why not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from turn_world import Meanwhile, World, cell, finish

from workers.models.scripted import ScriptedModel

LIST = cell("import os\nprint([name for name in sorted(os.listdir()) if open(name).read()])")
REPORT = finish("It is **7**.")


def test_where_no_file_can_be_read_the_turn_ends_with_a_sentence_and_the_model_is_not_asked(world: World) -> None:
    key = world.say("what is in it?", files={"broken.xlsx": b"not a workbook"})
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "broken.xlsx" in world.text(key)
    assert "I could not read any of the files" in world.text(key)
    assert "replied" not in world.kinds(key)


def test_the_question_is_kept_and_answered_when_a_good_file_follows(world: World) -> None:
    key = world.say("what is in it?", files={"broken.xlsx": b"not a workbook"})
    world.settle(key)
    world.model = ScriptedModel(turns=[[], [cell("print(open('good.csv').read())"), REPORT]])
    world.say("here", thread=key, files={"good.csv": b"x\n1\n"})
    world.settle(key)
    assert world.statuses(key) == ["stopped", "done"]
    assert world.steps(key, "cell")[-1]["files_read"] == ["good.csv"]


def test_one_bad_file_beside_a_good_one_is_named_and_stops_nothing(world: World) -> None:
    world.model = ScriptedModel([LIST, REPORT])
    key = world.say("what is in them?", files={"good.csv": b"x\n1\n", "empty.csv": b""})
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "empty.csv" in world.text(key)


def test_a_file_that_comes_with_a_follow_up_is_there_beside_the_first(world: World) -> None:
    world.model = ScriptedModel(turns=[[LIST, REPORT], [LIST, REPORT]])
    key = world.say("what is in it?", files={"one.csv": b"x\n1\n"})
    world.settle(key)
    world.say("and in this one?", thread=key, files={"two.csv": b"y\n2\n"})
    world.settle(key)
    assert world.steps(key, "cell")[-1]["stdout"] == "['one.csv', 'two.csv']\n"


def test_two_files_of_one_name_are_two_files_and_the_same_file_twice_is_one(world: World) -> None:
    world.model = ScriptedModel(turns=[[LIST, REPORT], [LIST, REPORT], [LIST, REPORT]])
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"})
    world.settle(key)
    for content in (b"x\n1\n", b"y\n2\n"):
        world.say("and here?", thread=key, files={"a.csv": content})
        world.settle(key)
    assert world.steps(key, "cell")[-1]["stdout"] == "['a-2.csv', 'a.csv']\n"


def test_a_file_that_vanished_is_said(world: World) -> None:
    key = world.say("what is in it?", files={"gone.csv": b"x\n1\n"})
    world.slack.forget_file(world.messages(key)[0]["files"][0]["id"])
    world.settle(key)
    assert "gone.csv" in world.text(key)
    assert world.statuses(key) == ["stopped"]


def test_a_download_that_breaks_off_is_tried_again(world: World) -> None:
    world.model = ScriptedModel([LIST, REPORT])
    world.slack.fault("download", "drop_call")
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"})
    world.settle(key)
    assert world.statuses(key) == ["done"]


def test_the_files_of_a_thread_are_put_back_when_its_session_starts_anew(world: World) -> None:
    world.model = ScriptedModel(turns=[[LIST, REPORT], [LIST, REPORT]])
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"})
    world.settle(key)
    world.sessions.restart()
    world.sessions.calls.clear()
    world.say("again?", thread=key)
    world.settle(key)
    called = [method for method, _, _ in world.sessions.calls]
    assert "put_held" in called
    assert "put" not in called, "what the node has is neither fetched nor hashed again"
    assert world.steps(key, "cell")[-1]["stdout"] == "['a.csv']\n"


def test_at_a_new_node_only_the_files_that_it_lacks_are_fetched(world: World) -> None:
    world.model = ScriptedModel(turns=[[LIST, REPORT], [LIST, REPORT], [LIST, REPORT]])
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"})
    world.settle(key)
    world.say("and here?", thread=key, files={"b.csv": b"y\n2\n"})
    world.run(key, node="there")
    world.say("again?", thread=key)
    world.sessions.calls.clear()
    world.run(key)
    assert [method for method, _, _ in world.sessions.calls].count("put") == 1
    assert world.steps(key, "cell")[-1]["stdout"] == "['a.csv', 'b.csv']\n"


@pytest.mark.parametrize("kind", ["drop_call", "drop_reply"])
def test_a_file_that_cannot_be_fetched_for_now_is_waited_for(world: World, kind: str) -> None:
    world.model = ScriptedModel([LIST, REPORT])
    world.slack.fault("download", kind, times=1_000)  # type: ignore[arg-type]
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"})
    for _ in range(2):
        world.run(key)
        assert world.put_off(key)
        assert world.statuses(key) == ["running"]
    assert world.text(key).count("Slack does not give me the file a.csv at the moment") == 1
    assert "replied" not in world.kinds(key)
    world.slack.heal()
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.steps(key, "cell")[-1]["stdout"] == "['a.csv']\n"
    assert world.steps(key, "briefed")[-1]["problems"] == []


@pytest.mark.parametrize("kind", ["drop_call", "http_error"])
def test_a_file_that_stays_away_is_waited_for_no_longer_than_was_said(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    world.model = ScriptedModel([LIST, REPORT])
    world.slack.fault("download", kind, times=1_000)  # type: ignore[arg-type]
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"})
    for _ in range(3):
        world.run(key)
        assert world.put_off(key)
    monkeypatch.setattr("workers.turn.mail.inbox.FILE_WAIT", timedelta())
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "a.csv: Slack has not given it to me for about ten minutes" in world.text(key)
    assert "I could not read any of the files" in world.text(key)


def test_a_later_file_is_waited_for_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def later() -> None:
        world.slack.fault("download", "drop_call", times=1_000)
        world.say("and this", thread=key, files={"b.csv": b"y\n1\n"})

    world.model = Meanwhile(ScriptedModel([LIST, REPORT]), {1: later})
    world.slack.fault("download", "drop_call", times=1_000)
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"})
    world.run(key)
    world.slack.heal()
    monkeypatch.setattr("workers.turn.mail.inbox.FILE_WAIT", timedelta())
    world.run(key)
    assert world.put_off(key)
    assert "Slack does not give me the file b.csv at the moment" in world.text(key)


def test_a_file_whose_look_up_gets_no_answer_is_waited_for(world: World) -> None:
    world.model = ScriptedModel([LIST, REPORT])
    world.slack.fault("files.info", "drop_call", times=1_000)
    key = world.say("what is in it?", files={"a.csv": b"x\n1\n"}, announced_by_id=True)
    world.run(key)
    assert world.put_off(key)
    assert "Slack does not let me open it" not in world.text(key)
    world.slack.heal()
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.steps(key, "cell")[-1]["stdout"] == "['a.csv']\n"
