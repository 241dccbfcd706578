"""A command at rest that cannot be carried out: the thread is told, and goes on with what comes next."""

from __future__ import annotations

import pytest
from turn_world import World, cell, finish

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.service.backoff import MOST_CRASHES, Backoff

MANY = 1_000


@pytest.fixture
def rested(world: World) -> ThreadKey:
    """A thread at rest with one answer."""
    world.model = ScriptedModel(turns=[[cell("x = 1"), finish("It is 1.")], [finish("It is 1 again.")]])
    key = world.say("how much?")
    world.settle(key)
    return key


def test_a_command_that_slack_refuses_leaves_the_thread_free_for_the_next_question(
    world: World, rested: ThreadKey
) -> None:
    world.slack.fault("chat.postMessage", "error", times=MANY, error="restricted_action")
    world.say("fork", thread=rested)  # only admins may begin threads in this channel
    world.settle(rested)
    world.slack.heal()
    world.say("and now?", thread=rested)
    world.settle(rested)
    assert world.statuses(rested) == ["done", "done"]


def test_a_command_that_fails_is_told_once_and_the_words_behind_it_are_answered(
    world: World, rested: ThreadKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ValueError("words of a person")

    monkeypatch.setattr("workers.turn.commands.undo.carry_out", fail)
    world.say("undo", thread=rested)
    world.say("and now?", thread=rested)
    world.settle(rested)
    assert world.statuses(rested) == ["done", "done"]
    assert world.text(rested).count("was not carried out") == 1
    assert "words of a person" not in world.text(rested)


def test_a_command_waits_for_a_slack_that_is_away_and_no_question_behind_it_is_given_up(
    world: World, rested: ThreadKey
) -> None:
    world.slack.fault("chat.postMessage", "drop_call", times=MANY)
    world.say("undo", thread=rested)
    world.say("and now?", thread=rested)
    for _ in range(MOST_CRASHES + 1):
        world.run(rested)
        assert world.put_off(rested)
    world.slack.heal()
    world.settle(rested)
    assert world.statuses(rested) == ["done", "done"]


def test_a_command_at_which_processes_die_is_left_out_and_nothing_else(world: World, rested: ThreadKey) -> None:
    world.say("undo", thread=rested)
    for _ in range(MOST_CRASHES):
        Backoff(world._redis).begin(world.store.thread_state(rested.id).progress)
    world.say("and now?", thread=rested)
    world.settle(rested)
    assert world.statuses(rested) == ["done", "done"]
    assert world.text(rested).count("was not carried out") == 1
