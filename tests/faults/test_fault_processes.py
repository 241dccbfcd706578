"""Whatever dies, at whatever moment: the threads go on, and nothing is lost, repeated or left behind."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from fault_cases import MOMENTS, Case, Moment
from fault_checks import check_leftovers, check_thread, outcome
from fault_list import HOST_FAULTS, PROCESS_FAULTS, ProcessFault
from fault_table import Table
from fault_world import Host, World
from patience import eventually

pytestmark = pytest.mark.fault


@pytest.mark.parametrize("fault", PROCESS_FAULTS, ids=lambda fault: fault.name)
def test_threads_go_on_by_themselves(fault: ProcessFault, world: World, table: Table) -> None:
    if fault.fills_disk and not world.has_small_disk:
        pytest.skip("this machine lets us mount no small disk that may be filled")
    walk_through(fault, world, table)


@pytest.mark.parametrize("fault", HOST_FAULTS, ids=lambda fault: fault.name)
def test_threads_go_on_at_another_host(fault: ProcessFault, pair: World, table: Table) -> None:
    walk_through(fault, pair, table, others=pair.hosts[1:])


def walk_through(fault: ProcessFault, world: World, table: Table, others: Sequence[Host] = ()) -> None:
    """Threads are brought to every moment, `others` start, the fault strikes, and what must hold is looked at."""
    moments = [moment(Case(world)) for moment in MOMENTS]
    for moment in moments:
        moment.reach()
    for host in others:
        host.start()
    for moment in moments:
        moment.strike()
    fault.strike(world)
    if not fault.held:
        release(moments)
    if fault.back is not None:
        fault.back(world)
    back = time.monotonic()
    if fault.held:
        release(moments)
    for moment, seconds in answers(world, moments, back).items():
        table.note(fault.name, moment.name, outcome(moment.case), seconds)
    world.start_all()  # a host that comes back by and by
    for moment in moments:
        moment.case.ask("d")
    eventually(lambda: all(moment.case.answered() for moment in moments), "the follow-ups")
    for moment in moments:
        check_thread(moment.case)
    check_leftovers(world)


def release(moments: list[Moment]) -> None:
    for moment in moments:
        moment.release()


def answers(world: World, moments: list[Moment], since: float) -> dict[Moment, float]:
    """When each thread had its answer, in seconds."""
    came: dict[Moment, float] = {}

    def all_came() -> bool:
        for moment in moments:
            if moment not in came and moment.case.answered():
                came[moment] = time.monotonic() - since
        return len(came) == len(moments)

    try:
        eventually(all_came, "all answers")
    except AssertionError:
        for moment in moments:
            if moment not in came:
                print(f"no answer {moment.name}: {moment.case.thread.id}", [m.get("text") for m in moment.case.said()])
        print("worker log:", world.log())
        raise
    return {moment: came[moment] for moment in moments}
