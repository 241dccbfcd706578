"""What is away for a while: the turn waits, is put off or goes on elsewhere, and the thread reads as if nothing was."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest
from patience import eventually
from turn_world import Meanwhile, NewWorld, World, cell, finish, impatient

from core.blobs import Blobs
from core.errors import BlobsUnreachable
from workers.agent.actions import CorrectModel
from workers.delivery import card
from workers.models.scripted import ScriptedModel
from workers.service.backoff import MOST_CRASHES
from workers.turn import closing, runner

BEFORE_IT_IS_CLOSED = MOST_CRASHES + 1
"""Tries after which a turn would be closed as our fault, if each of them counted as a crash."""

COUNT = cell("n = globals().get('n', 0) + 1\nprint('ran', n)", "Count")
READ = cell("print(open('sales.csv').read())", "Read")
MORE = cell("n += 1\nprint('ran', n)", "Count on")
REPORT = finish("It is **7**.\n\n| a | b |\n|---|---|\n| x | y |")


def outputs(world: World, key: object) -> list[str]:
    return [ran["stdout"] for ran in world.steps(key, "cell")]  # type: ignore[arg-type]


def fails(_given: object) -> None:
    raise ValueError("a fault of ours")


def test_a_session_host_that_is_away_for_a_moment_is_waited_for(world: World) -> None:
    world.model = ScriptedModel([COUNT, REPORT])
    world.sessions.fault("run", "away", times=3)
    key = world.say("how much?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "I cannot reach the machine" not in world.text(key)
    assert outputs(world, key) == ["ran 1\n"]


def test_a_session_host_that_dies_after_a_cell_gives_its_result_later(world: World) -> None:
    world.model = ScriptedModel([COUNT, REPORT])
    world.sessions.fault("run", "lost")
    key = world.say("how much?")
    world.settle(key)
    assert outputs(world, key) == ["ran 1\n"]
    assert len(world.sessions.ran) == 1


def test_a_session_host_that_stays_away_is_said_once_and_the_turn_goes_on_by_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)
    world.model = ScriptedModel([COUNT, REPORT])
    world.sessions.fault("*", "away", times=10_000)
    key = world.say("how much?")
    for _ in range(2):
        world.run(key)
        assert world.put_off(key)
        assert world.statuses(key) == ["running"]
    assert world.text(key).count("I cannot reach the machine that runs my code") == 1
    world.sessions.heal()
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert outputs(world, key) == ["ran 1\n"]


def test_a_file_store_that_stays_away_is_said_once_and_the_turn_goes_on_by_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise BlobsUnreachable("the file store is away or full")

    world.model = ScriptedModel([READ, REPORT])
    key = world.say("how much?", files={"sales.csv": b"a,b\n1,2\n"})
    with monkeypatch.context() as broken:
        broken.setattr(Blobs, "put_as", refuse)
        world.run(key)
        assert "store for files" not in world.text(key), "a short moment is told to nobody"
        for _ in range(BEFORE_IT_IS_CLOSED):
            world.run(key)
            assert world.put_off(key)
            assert world.statuses(key) == ["running"]
    assert world.text(key).count("My store for files does not answer, or takes nothing in") == 1
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert outputs(world, key) == ["a,b\n1,2\n\n"]


def test_slack_and_a_session_host_that_are_away_together_close_no_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)
    world.model = ScriptedModel([COUNT, REPORT])
    key = world.say("how much?")
    world.sessions.fault("*", "away", times=10_000)
    world.slack.fault("chat.postMessage", "drop_call", times=10_000)
    for _ in range(BEFORE_IT_IS_CLOSED):
        world.run(key)
        assert world.put_off(key)
    world.slack.heal()
    world.sessions.heal()
    world.settle(key)
    assert world.statuses(key) == ["done"]


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_takes_no_temporary_file_is_waited_for_and_said_once(
    world: World, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    world.model = ScriptedModel([READ, REPORT])
    key = world.say("how much?", files={"sales.csv": b"a,b\n1,2\n"})
    with monkeypatch.context() as broken:
        broken.setattr(tempfile, "mkdtemp", refuse)
        for _ in range(BEFORE_IT_IS_CLOSED):
            world.run(key)
            assert world.put_off(key)
            assert world.statuses(key) == ["running"]
    assert world.text(key).count("I cannot reach the machine that runs my code") == 1
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert outputs(world, key) == ["a,b\n1,2\n\n"]


def test_a_process_of_turns_that_got_no_folder_makes_it_for_the_next_turn(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp" / "1"))
    world.model = ScriptedModel([READ, REPORT])
    key = world.say("how much?", files={"sales.csv": b"a,b\n1,2\n"})
    world.settle(key)
    assert world.statuses(key) == ["done"]


@pytest.mark.parametrize("method", ["chat.postMessage", "conversations.replies", "files.completeUploadExternal"])
@pytest.mark.parametrize("kind", ["drop_call", "drop_reply", "http_error", "ratelimited"])
def test_a_bad_moment_of_slack_posts_nothing_twice(world: World, method: str, kind: str) -> None:
    world.model = ScriptedModel([COUNT, cell("open('a.csv', 'w').write('1')"), REPORT])
    world.slack.fault(method, kind, times=2)  # type: ignore[arg-type]
    key = world.say("how much?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.text(key).count("It is **7**.") == 1
    assert world.files(key).count("a.csv") == 1


def test_a_slack_that_stays_away_puts_the_turn_off_and_loses_nothing(world: World) -> None:
    world.model = ScriptedModel([COUNT, REPORT])
    key = world.say("how much?")
    world.slack.fault("*", "drop_call", times=10_000)
    for _ in range(2):
        world.run(key)
        assert world.put_off(key)
    assert world.messages(key, ours=True) == []
    world.slack.heal()
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.text(key).count("It is **7**.") == 1
    assert outputs(world, key) == ["ran 1\n"]


def test_files_that_slack_refuses_are_said_and_the_report_stands(world: World) -> None:
    world.model = ScriptedModel([COUNT, REPORT])
    world.slack.fault("files.getUploadURLExternal", "error", times=10_000, error="file_uploads_disabled")
    key = world.say("how much?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "It is **7**." in world.text(key)
    assert "file_uploads_disabled" in world.text(key)


@pytest.mark.parametrize("takes_files", [True, False])
def test_the_report_lists_the_charts_that_are_in_the_thread(world: World, takes_files: bool) -> None:
    world.model = ScriptedModel([cell("import matplotlib.pyplot as plt\nplt.plot([1, 2])", "Draw"), REPORT])
    if not takes_files:
        world.slack.fault("files.getUploadURLExternal", "error", times=10_000, error="file_uploads_disabled")
    key = world.say("how much?")
    world.settle(key)
    kept = world.store.report(world.turns(key)[-1].id)
    assert kept is not None
    assert len(world.steps(key, "cell")[0]["figures"]) == 1
    assert ("Charts in this thread" in kept.markdown) == takes_files


@pytest.mark.parametrize("method", ["reactions.add", "assistant.threads.setStatus", "agents.sessions.setStatus"])
def test_a_server_without_a_nicety_is_good_enough(world: World, method: str) -> None:
    world.model = ScriptedModel([REPORT])
    world.slack.fault(method, "error", times=10_000, error="unknown_method")
    key = world.say("how much?")
    world.settle(key)
    assert world.statuses(key) == ["done"]


def test_a_card_that_people_deleted_stops_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "FIRST_AFTER_S", 0.0)

    def delete_card() -> None:
        eventually(lambda: world.messages(key, ours=True), "the card")
        world.slack.delete(world.messages(key, ours=True)[0]["ts"])

    world.model = Meanwhile(ScriptedModel([COUNT, REPORT]), {2: delete_card})
    key = world.say("how much?")
    world.settle(key)
    assert world.statuses(key) == ["done"]


def test_a_worker_that_lost_its_lease_writes_nothing_more_and_another_goes_on(world: World) -> None:
    world.model = Meanwhile(ScriptedModel([COUNT, MORE, REPORT]), {2: lambda: world.lose_lease(key)})
    key = world.say("how much?")
    world.run(key)
    assert world.statuses(key) == ["running"]
    assert world.kinds(key).count("replied") == 1
    before = world.seen(key)
    assert "It is **7**." not in world.text(key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert outputs(world, key) == ["ran 1\n", "ran 2\n"]
    assert len(world.seen(key)) > len(before)


def test_at_another_node_a_thread_has_its_files_and_says_that_its_variables_are_gone(world: World) -> None:
    look = cell("print('n' in globals(), open('a.csv').read())")
    world.model = ScriptedModel(turns=[[COUNT, REPORT], [look, REPORT]])
    key = world.say("how much?", files={"a.csv": b"x\n1\n"})
    world.settle(key)
    world.say("and now?", thread=key)
    world.run(key, node="there")
    assert outputs(world, key) == ["False x\n1\n\n"]
    assert "My Python session had to start again" in world.text(key)


def test_where_sessions_are_handed_over_a_thread_takes_its_variables_along(new_world: NewWorld) -> None:
    world = new_world(hands_over=True)
    world.model = ScriptedModel(turns=[[COUNT, REPORT], [MORE, REPORT]])
    key = world.say("how much?", files={"a.csv": b"x\n1\n"})
    world.settle(key)
    world.say("and now?", thread=key)
    world.run(key, node="there")
    assert outputs(world, key) == ["ran 2\n"]
    assert "This thread now continues on another machine" in world.text(key)


def test_a_wake_for_a_thread_that_was_purged_does_nothing(world: World) -> None:
    key = world.say("how much?")
    world.store.purge_thread(key.id)
    world.run(key)
    assert world.messages(key, ours=True) == []


def test_a_report_that_could_not_be_posted_is_posted_when_somebody_continues(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn had an end before the one that was taken back: it waited for ever, and took each message along."""
    world.model = ScriptedModel([COUNT, finish("It ran 1 time."), finish("It ran 1 time, in May too.")])
    with monkeypatch.context() as patch:
        patch.setattr(closing, "render_report", fails)
        key = world.say("how much?")
        world.settle(key)
    assert world.statuses(key) == ["failed"]
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.text(key).count("It ran 1 time.") == 1
    world.say("and in May?", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done", "done"]


def test_what_was_said_while_a_report_could_not_be_posted_is_read_when_somebody_continues(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.model = ScriptedModel([COUNT, finish("It ran 1 time."), finish("It ran 1 time, in May too.")])
    with monkeypatch.context() as patch:
        key = world.say("how much?")
        patch.setattr(closing, "render_report", lambda _: fails(world.say("in May too?", thread=key)))
        world.settle(key)
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "It ran 1 time, in May too." in world.text(key)


def test_a_reset_that_could_not_be_told_is_told_when_somebody_continues(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.model = ScriptedModel([COUNT, finish("It ran 1 time.")])
    key = world.say("how much?")
    world.settle(key)
    world.say("reset", thread=key)
    world.settle(key)
    with monkeypatch.context() as patch:
        patch.setattr(closing, "escape", fails)
        world.say("yes", thread=key)
        world.settle(key)
    assert world.statuses(key) == ["done", "failed"]
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done", "done"]


def test_a_turn_that_goes_round_without_the_model_ends_as_our_fault(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_MOST_ALONE", 10)
    monkeypatch.setattr(runner, "decide", lambda view: CorrectModel("skipped", "again", ""))
    world.model = ScriptedModel([REPORT])
    key = world.say("how much?")
    world.settle(key)
    assert world.statuses(key) == ["failed"]
    assert "Something went wrong on our side" in world.text(key)
    assert len(world.steps(key)) < 40
