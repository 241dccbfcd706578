"""A wake advances its thread; a turn at which processes died is not advanced beside others."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from patience import PATIENCE_S
from turn_world import BEN, NewWorld, World, finish

from core.settings import load_settings
from core.store import Store
from core.store.thread_state import ThreadState
from core.store.wait_queue import QueuedThread
from core.values import Lease, ThreadKey, TurnStatus
from workers.models.scripted import ScriptedModel
from workers.service import jobs
from workers.service.admission import Admission
from workers.service.backoff import ALONE_AFTER, MOST_CRASHES, MOST_DELAYS, Backoff
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


def test_a_question_after_a_turn_that_was_postponed_too_often_is_answered(world: World, asked: ThreadKey) -> None:
    backoff, begins = Backoff(world._redis), world.store.thread_state(asked.id).progress
    for _ in range(MOST_DELAYS + 1):
        backoff.postpone(asked.id, begins)  # the token of the workspace could not be read for hours
    jobs.run(world.worker(), asked.id)
    assert world.statuses(asked) == ["failed"]
    world.say("what was sold, now?", thread=asked)
    jobs.run(world.worker(), asked.id)
    assert world.statuses(asked) == ["failed", "done"]


def test_what_a_job_failed_of_is_not_told_to_rq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("words of a person")

    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    monkeypatch.setattr(jobs, "run", fail)
    monkeypatch.setattr(jobs, "_prepared", [(settings, SimpleNamespace(close=lambda: None, stops_asked=None))])
    with pytest.raises(jobs.JobFailed) as failed:
        jobs.advance("T1:C1:1.0")
    assert "words of a person" not in "".join(traceback.format_exception(failed.value))  # RQ keeps it in Redis


def between_end_and_release(world: World, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let this happen once, right after the Store has noted that a turn rests without mail."""
    end, left = Store.set_turn_status, [happens]

    def ended(store: Store, lease: Lease, turn_id: str, status: TurnStatus) -> bool:
        has_mail = end(store, lease, turn_id, status)
        if left:
            left.pop()()
        return has_mail

    monkeypatch.setattr(Store, "set_turn_status", ended)


def test_mail_whose_wake_finds_the_lease_taken_is_answered_by_its_holder(
    world: World, asked: ThreadKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def follow_up() -> None:
        world.say("and last year?", thread=asked)
        jobs.run(world.worker(), asked.id)  # another worker has its wake, and cannot have the lease

    world.model = ScriptedModel(turns=[[finish("Nothing was sold.")], [finish("Nothing either.")]])
    between_end_and_release(world, monkeypatch, follow_up)
    jobs.run(world.worker(), asked.id)
    assert world.statuses(asked) == ["done", "done"]


def test_a_thread_that_was_refused_a_place_is_woken_by_the_next_end(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = new_world(team="[fairness]\nrunning = 1\n")
    world.model = ScriptedModel(turns=[[finish("Nothing was sold.")], [finish("Nothing either.")]])
    first, second = world.say("what was sold?"), world.say("and last year?")
    between_end_and_release(world, monkeypatch, lambda: jobs.run(world.worker(), second.id))
    worker = world.worker()
    jobs.run(worker, first.id)
    assert world.statuses(second) == []
    assert worker.wakes.take(worker.context.settings.node_id) == second.id


def test_threads_that_still_wait_are_looked_at_by_the_end_after_the_next(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = new_world(team="[fairness]\nrunning = 1\n")
    world.model = ScriptedModel(turns=[[finish(f"Nothing, {number}.")] for number in range(3)])
    first, *others = (world.say(f"what was sold in week {number}?") for number in range(3))

    def refused() -> None:
        for each in others:
            jobs.run(world.worker(), each.id)

    between_end_and_release(world, monkeypatch, refused)
    worker = world.worker()
    jobs.run(worker, first.id)
    for _ in others:
        woken = worker.wakes.take(worker.context.settings.node_id)
        assert woken in {each.id for each in others}
        jobs.run(worker, woken)
    assert [world.statuses(each) for each in others] == [["done"], ["done"]]


def test_a_turn_that_rests_in_peace_asks_for_no_wait_queue(
    world: World, asked: ThreadKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "wait_queue", lambda _: pytest.fail("nobody came"))
    jobs.run(world.worker(), asked.id)
    assert world.statuses(asked) == ["done"]


def once_refused(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let this happen once, while a thread that was refused a place still has its lease."""
    admit, left = Admission.admit, [happens]

    @contextmanager
    def admitted(admission: Admission, thread: QueuedThread) -> Iterator[bool]:
        with admit(admission, thread) as is_admitted:
            if not is_admitted and left:
                left.pop()()
            yield is_admitted

    monkeypatch.setattr(Admission, "admit", admitted)


class Held:
    """A turn that has come to its end, in a worker of its own, and is not given back before `end`."""

    def __init__(self, world: World, key: ThreadKey, monkeypatch: pytest.MonkeyPatch) -> None:
        ended, self._go_on = threading.Event(), threading.Event()
        end = Store.set_turn_status

        def held(store: Store, lease: Lease, turn_id: str, status: TurnStatus) -> bool:
            has_mail = end(store, lease, turn_id, status)
            if lease.thread_id == key.id:
                ended.set()
                assert self._go_on.wait(PATIENCE_S)
            return has_mail

        monkeypatch.setattr(Store, "set_turn_status", held)
        self._job = threading.Thread(target=jobs.run, args=(world.worker(), key.id), daemon=True)
        self._job.start()
        assert ended.wait(PATIENCE_S)

    def end(self) -> None:
        self._go_on.set()
        self._job.join(PATIENCE_S)
        assert not self._job.is_alive()


def test_a_thread_is_woken_whose_place_gets_free_while_it_is_refused(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = new_world(team="[fairness]\nrunning = 1\n")
    world.model = ScriptedModel(turns=[[finish("Nothing was sold.")], [finish("Nothing either.")]])
    first, second = world.say("what was sold?"), world.say("and last year?")
    once_refused(monkeypatch, Held(world, first, monkeypatch).end)
    worker = world.worker()
    jobs.run(worker, second.id)
    assert world.statuses(second) == []
    assert worker.wakes.take(worker.context.settings.node_id) == second.id


def test_a_thread_that_nobody_could_wake_as_one_turn_ended_is_woken_by_the_next(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = new_world(team="[fairness]\nper_person = 2\nrunning = 3\n")
    world.model = ScriptedModel(turns=[[finish(f"Nothing, {number}.")] for number in range(4)])
    of_ben = world.say("what was sold?", user=BEN)
    ones, third = [world.say(f"what was sold in week {number}?") for number in range(2)], world.say("and in all?")
    others = [Held(world, each, monkeypatch) for each in (of_ben, *ones)]
    once_refused(monkeypatch, others[0].end)  # it looks who waits, and the third one's lease is held
    worker = world.worker()
    jobs.run(worker, third.id)
    assert worker.wakes.take(worker.context.settings.node_id) is None
    others[1].end()
    assert worker.wakes.take(worker.context.settings.node_id) == third.id
    others[2].end()


def test_mail_that_comes_while_a_job_finds_nothing_to_do_is_answered(
    world: World, asked: ThreadKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.model = ScriptedModel(turns=[[finish("Nothing was sold.")], [finish("Nothing either.")]])
    jobs.run(world.worker(), asked.id)
    take, comes = Store.take_thread, [True]

    def taken(store: Store, thread_id: str) -> tuple[int, ThreadState]:
        found = take(store, thread_id)
        if comes:
            comes.clear()
            world.say("and last year?", thread=asked)
            jobs.run(world.worker(), asked.id)  # another worker has its wake, and cannot have the lease
        return found

    monkeypatch.setattr(Store, "take_thread", taken)
    jobs.run(world.worker(), asked.id)  # a job too many
    assert world.statuses(asked) == ["done", "done"]


def test_a_stop_that_comes_while_its_thread_is_refused_a_place_does_not_wait_for_one(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = new_world(team="[fairness]\nrunning = 1\n")
    world.model = ScriptedModel(turns=[[finish("Nothing was sold.")], [finish("Nothing either.")]])
    first, second = world.say("what was sold?"), world.say("and last year?")
    running = Held(world, first, monkeypatch)

    def stop() -> None:
        world.say("stop", thread=second)
        jobs.run(world.worker(), second.id)

    once_refused(monkeypatch, stop)
    jobs.run(world.worker(), second.id)
    assert world.store.unread(second.id) == []
    running.end()
