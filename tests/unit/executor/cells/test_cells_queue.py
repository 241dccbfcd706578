"""The queue of a thread's cells, and the phases of an interpreter: pure state, no subprocess."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from executor.cell import Cell
from executor.cells.queue import CellQueue
from executor.event_loop import Loop
from executor.interpreters.lifecycle import Lifecycle, Phase
from executor.notices import notice


def cell(cell_id: str, *attached: object, language: str = "python") -> Cell:
    return Cell(cell_id, "1", 1.0, language, list(attached))


def test_cells_run_in_the_order_in_which_they_came_one_at_a_time() -> None:
    queue = CellQueue()
    for name in "ab":
        queue.add(cell(name))
    assert [queue.begin().id, queue.next.id] == ["a", "b"]
    queue.end()
    assert (queue.begin().id, queue.next) == ("b", None)
    assert not queue.empty
    queue.end()
    assert queue.empty


def test_a_command_waits_for_its_approval_and_holds_no_cell_up() -> None:
    queue, client = CellQueue(), object()
    command = cell("b1", client, language="bash")
    queue.add(command)
    queue.add(cell("c1"))
    assert queue.is_undecided(command)
    assert queue.next.id == "c1"
    assert queue.undecided_of(client) == [command]
    queue.approve(command)
    queue.begin()
    assert queue.next is command
    assert not queue.is_undecided(command)


def test_a_refused_command_is_dropped() -> None:
    queue = CellQueue()
    command = cell("b1", language="bash")
    queue.add(command)
    queue.refuse(command)
    assert queue.find("b1") is None


def test_a_cell_is_found_in_whatever_state_it_is() -> None:
    queue = CellQueue()
    for one in (cell("a"), cell("b"), cell("c", language="bash")):
        queue.add(one)
    queue.begin()
    assert [queue.find(name).id for name in "abc"] == ["a", "b", "c"]
    assert queue.find("d") is None


def test_a_client_that_goes_takes_only_undecided_commands_along() -> None:
    queue, client = CellQueue(), object()
    for one in (cell("a", client), cell("b", client), cell("c", client, language="bash")):
        queue.add(one)
    queue.begin()
    queue.detach(client)
    assert [queue.find(name) is not None for name in "abc"] == [True, True, False]
    assert queue.running.attached == queue.next.attached == []


def session(*, ready: bool = True, on_kill: Callable[[], object] = lambda: None) -> SimpleNamespace:
    return SimpleNamespace(ready=ready, kill=lambda why, by_limit=False: on_kill())


@pytest.fixture
def lifecycle() -> Lifecycle:
    return Lifecycle(Loop())


def test_an_interpreter_goes_from_phase_to_phase(lifecycle: Lifecycle) -> None:
    phases = [lifecycle.phase]
    steps = (
        lambda: lifecycle.start(session()),
        lambda: lifecycle.opened(restoring=True),
        lifecycle.checkpointed,
        lifecycle.begin_cell,
        lifecycle.cell_ended,
        lifecycle.received,
        lifecycle.checkpointed,
        lifecycle.gone,
    )
    for step in steps:
        step()
        phases.append(lifecycle.phase)
    assert phases == [
        Phase.ABSENT,
        Phase.STARTING,
        Phase.RESTORING,
        Phase.IDLE,
        Phase.RUNNING,
        Phase.KEEPING,
        Phase.STORING,
        Phase.IDLE,
        Phase.ABSENT,
    ]


def test_only_an_idle_subprocess_takes_a_cell(lifecycle: Lifecycle) -> None:
    assert lifecycle.free_session is None
    lifecycle.start(session())
    assert lifecycle.free_session is None
    lifecycle.opened(restoring=False)
    assert lifecycle.free_session is lifecycle.session
    lifecycle.begin_cell()
    assert lifecycle.free_session is None


def test_a_subprocess_that_cannot_speak_any_more_takes_no_cell_and_keeps_nothing(lifecycle: Lifecycle) -> None:
    lifecycle.start(session(ready=False))
    lifecycle.opened(restoring=False)
    lifecycle.begin_cell()
    lifecycle.cell_ended()
    assert (lifecycle.phase, lifecycle.free_session) == (Phase.IDLE, None)


def test_an_end_on_purpose_is_told_from_every_other_end(lifecycle: Lifecycle) -> None:
    seen = []
    lifecycle.start(session(on_kill=lambda: seen.append(lifecycle.gone())))
    lifecycle.opened(restoring=True)
    lifecycle.end(notice("was_idle"))
    assert (seen, lifecycle.phase, lifecycle.session) == ([Phase.ENDING], Phase.ABSENT, None)
