"""Threads that a released version stored go on in this version: people ask on, answer, continue, undo and reset."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from releases.stored import RELEASES, contents, fill, kept
from turn_world import NewWorld, World, cell, finish

from core.steps import open_question
from core.store import Store
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

Json = dict[str, Any]
QUESTION = "and by product?"
READ_ALL = cell("import glob\nlen([open(name, 'rb').read() for name in glob.glob('*.*')])", "Read all")
ON_WITH_IT = ScriptedModel([[{**READ_ALL, "when": QUESTION}, finish("It goes on.")]] * 80)
"""Whatever was said before: a cell for this question, else a report."""


@dataclass(frozen=True)
class Stored:
    """A thread as a release left it."""

    release: str
    key: ThreadKey
    status: str

    def __str__(self) -> str:
        return f"{self.release}-{self.key.root_ts}-{self.status}"


def in_this_world(release: str) -> Json:
    """What a release stored, in the workspace of the fake Slack."""
    return kept(release, (("T0PLAYGRND", "T0FAKE0001"),))


@cache
def stored_threads() -> tuple[Stored, ...]:
    found = []
    for release in RELEASES:
        content = in_this_world(release)
        for thread in content["threads"]:
            turns = [turn for turn in content["turns"] if turn["thread_id"] == thread["id"]]
            if turns:
                last = max(turns, key=lambda turn: turn["number"])
                found.append(Stored(release, ThreadKey.parse(thread["id"]), last["status"]))
    return tuple(found)


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The upgraded database of a release, to be copied."""

    @cache
    def made(release: str) -> Path:
        path = tmp_path_factory.mktemp("release") / "store.db"
        fill(f"sqlite:///{path}", in_this_world(release))
        store = Store(f"sqlite:///{path}")
        store.migrate()
        store.close()
        return path

    return made


@pytest.fixture
def world_of(new_world: NewWorld, databases: Callable[[str], Path]) -> Callable[[Stored], World]:
    """`world_of(thread)` is a world in which Slack and the Store hold what the release left."""

    def made(thread: Stored) -> World:
        world = new_world(template=databases(thread.release))
        for data in contents(thread.release):
            world.worker().context.blobs.put(data)
        content = in_this_world(thread.release)
        for row in content["messages"]:
            put(world, row["ts"], thread.key, {"user": row["user"], "text": row["text"]}, row["thread_id"])
        for row in content["outbox"]:
            if row["ts"] and row["method"] == "chat.postMessage":
                put(world, row["ts"], thread.key, {**row["payload"], "bot_id": "B1"}, row["thread_id"])
        return world

    return made


def put(world: World, ts: str, key: ThreadKey, message: Json, thread_id: str) -> None:
    """A message that has been in Slack since then."""
    if thread_id == key.id:
        reply = {} if ts == key.root_ts else {"thread_ts": key.root_ts}
        world.slack._messages[key.channel, ts] = {
            "type": "message",
            "channel": key.channel,
            **message,
            "ts": ts,
            **reply,
        }


EVERY = pytest.mark.parametrize("thread", stored_threads(), ids=str)
UNANSWERED = [thread for thread in stored_threads() if thread.status == "waiting"]
GIVEN_UP = [thread for thread in stored_threads() if thread.status in ("stopped", "failed")]


@EVERY
def test_people_ask_on_in_a_thread_of_a_release(thread: Stored, world_of: Callable[[Stored], World]) -> None:
    world = world_of(thread)
    world.model = ON_WITH_IT
    before = len(world.turns(thread.key))
    world.say(QUESTION, thread=thread.key)
    world.settle(thread.key)
    assert world.statuses(thread.key)[-1] == "done"
    assert len(world.turns(thread.key)) == before + (thread.status != "waiting")
    assert "It goes on." in world.text(thread.key)
    assert not world.put_off(thread.key)


@EVERY
def test_a_turn_that_a_release_left_in_its_middle_is_ended(thread: Stored, world_of: Callable[[Stored], World]) -> None:
    """As after the death of the last worker of that version."""
    world = world_of(thread)
    turn = world.turns(thread.key)[-1]
    middle = max(1, len(world.steps(thread.key)) // 2)
    world.model = ON_WITH_IT
    with sqlite3.connect(str(world.settings.database_url).removeprefix("sqlite:///")) as db:
        db.execute("DELETE FROM steps WHERE turn_id = ? AND seq >= ?", (turn.id, middle))
        db.execute("DELETE FROM reports WHERE turn_id = ?", (turn.id,))
        db.execute("UPDATE turns SET status = 'running', ended_at = NULL WHERE id = ?", (turn.id,))
    db.close()
    world.settle(thread.key)
    assert world.statuses(thread.key)[-1] in ("done", "waiting", "stopped")
    assert not world.put_off(thread.key)
    assert len(world.steps(thread.key)) >= middle


@pytest.mark.parametrize("thread", UNANSWERED, ids=str)
def test_a_question_of_a_release_is_answered(thread: Stored, world_of: Callable[[Stored], World]) -> None:
    world = world_of(thread)
    question = open_question(world.store.steps(world.turns(thread.key)[-1].id))
    assert question is not None
    world.model = ON_WITH_IT
    world.say((question.options or ("net",))[0], thread=thread.key)
    world.settle(thread.key)
    assert world.statuses(thread.key)[-1] == "done"


@pytest.mark.parametrize("thread", GIVEN_UP, ids=str)
@pytest.mark.parametrize("command", ["continue", "undo", "reset"])
def test_a_command_is_carried_out_in_a_thread_of_a_release(
    thread: Stored, command: str, world_of: Callable[[Stored], World]
) -> None:
    world = world_of(thread)
    world.model = ON_WITH_IT
    said = len(world.messages(thread.key, ours=True))
    world.say(command, thread=thread.key)
    world.settle(thread.key)
    assert len(world.messages(thread.key, ours=True)) > said
    assert not world.put_off(thread.key)


def test_there_is_a_thread_for_each_of_these() -> None:
    assert UNANSWERED
    assert {thread.status for thread in stored_threads()} >= {"done", "stopped", "failed", "waiting"}
