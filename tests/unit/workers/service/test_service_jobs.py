"""A wake advances its thread; a turn at which processes died is not advanced beside others."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from turn_world import World, finish

from core.settings import load_settings
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.service import jobs
from workers.service.backoff import ALONE_AFTER, MOST_CRASHES, Backoff
from workers.service.context import WorkerContext


def shared(world: World) -> WorkerContext:
    """A process that has other turns too."""
    return replace(world.worker(), is_shared=True)


def die_at_the_first_step(world: World, key: ThreadKey, times: int) -> None:
    for _ in range(times):
        Backoff(world._redis).begin(world.store.thread_state(key.id).progress)


@pytest.fixture
def asked(world: World) -> ThreadKey:
    world.model = ScriptedModel([finish("Nothing was sold.")])
    return world.say("what was sold?")


def test_a_turn_whose_processes_died_is_handed_to_a_process_of_its_own(world: World, asked: ThreadKey) -> None:
    die_at_the_first_step(world, asked, ALONE_AFTER)
    with pytest.raises(jobs.NeedsOwnProcess):
        jobs.run(shared(world), asked.id)
    assert world.statuses(asked) == []
    assert not world.worker().leases.is_held(asked.id)
    jobs.run(world.worker(), asked.id)
    assert world.statuses(asked) == ["done"]


def test_handing_a_turn_over_is_no_try(world: World, asked: ThreadKey) -> None:
    die_at_the_first_step(world, asked, ALONE_AFTER)
    for _ in range(MOST_CRASHES):
        with pytest.raises(jobs.NeedsOwnProcess):
            jobs.run(shared(world), asked.id)
    jobs.run(world.worker(), asked.id)
    assert world.statuses(asked) == ["done"]


def test_one_death_may_be_the_fault_of_another_turn(world: World, asked: ThreadKey) -> None:
    die_at_the_first_step(world, asked, ALONE_AFTER - 1)
    jobs.run(shared(world), asked.id)
    assert world.statuses(asked) == ["done"]


def test_what_a_job_failed_of_is_not_told_to_rq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("words of a person")

    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    monkeypatch.setattr(jobs, "run", fail)
    monkeypatch.setattr(jobs, "_prepared", [(settings, SimpleNamespace(close=lambda: None, stops_asked=None))])
    with pytest.raises(jobs.JobFailed) as failed:
        jobs.advance("T1:C1:1.0")
    assert "words of a person" not in "".join(traceback.format_exception(failed.value))  # RQ keeps it in Redis
