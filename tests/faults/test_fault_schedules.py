"""A due time of a schedule becomes one run that is told once, whoever dies between the two and however many nodes."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable

import pytest
from fault_cases import Case
from fault_model import CHART_LETTER
from fault_table import Table
from fault_world import World, kill
from patience import eventually
from sqlalchemy import text

from tryout.stack.blocks_text import message_text

pytestmark = pytest.mark.fault

EVERY = "every Monday 9:00 UTC run this again"
MOMENT = "a schedule, between its due time and its run"
TOLD = "is not shown any more"


def scheduled(world: World) -> Case:
    """A thread with a report and a schedule. People saw a figure that its code shows no more: its run tells of that."""
    case = Case(world)
    case.ask(CHART_LETTER)
    eventually(case.answered, "the report")
    case.post(EVERY)
    eventually(lambda: bool(world.store.schedules(case.thread.id)), "the schedule")
    eventually(case.ended, "its confirmation")
    shown = json.dumps([{"place": 0, "name": "total", "value": 1.0}])
    change(world, case, "UPDATE schedules SET shown = CAST(:value AS json) WHERE thread_id = :thread", shown)
    return case


def change(world: World, case: Case, sql: str, value: str = "") -> None:
    with world.engine.begin() as db:
        db.execute(text(sql), {"thread": case.thread.id} | ({"value": value} if value else {}))


def becomes_due(world: World, case: Case) -> None:
    """The time has come, and a janitor has made the run of it."""
    change(world, case, "UPDATE schedules SET next_at = now() - interval '1 second' WHERE thread_id = :thread")
    eventually(lambda: bool(runs(world, case)), "the run")


def runs(world: World, case: Case) -> list[str]:
    """The states of the runs of the thread's schedule."""
    sql = "SELECT r.state FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id WHERE s.thread_id = :thread"
    with world.engine.begin() as db:
        return [str(row[0]) for row in db.execute(text(sql), {"thread": case.thread.id})]


def told(case: Case) -> int:
    return sum(TOLD in message_text(message) for message in case.said())


def is_told_once(world: World, case: Case, table: Table, fault: str) -> None:
    since = time.monotonic()
    eventually(lambda: runs(world, case) == ["told"], "the end of the run")
    table.note(fault, MOMENT, "told once", time.monotonic() - since)
    assert told(case) == 1
    assert [one.state for one in world.store.schedules(case.thread.id)] == ["stopped"]


def hold(world: World) -> None:
    """No node takes a run up."""
    for node in world.nodes:
        if node.takes_work():
            eventually(lambda node=node: "schedules" in node.processes(), "the process of scheduled runs")
            kill(node.processes()["schedules"], signal.SIGSTOP)


def _process(world: World) -> None:
    kill(world.struck.processes()["schedules"])


def _everybody(world: World) -> None:
    world.struck.kill_everybody()
    world.start_all()


@pytest.mark.parametrize(
    ("fault", "strike"),
    [("scheduled runs: kill -9", _process), ("worker service with all its processes: kill -9", _everybody)],
    ids=["process", "everybody"],
)
def test_a_run_that_was_due_is_made_after_a_death(
    world: World, table: Table, fault: str, strike: Callable[[World], None]
) -> None:
    case = scheduled(world)
    hold(world)
    becomes_due(world, case)
    assert runs(world, case) == ["due"]
    strike(world)
    is_told_once(world, case, table, fault)


def test_two_nodes_make_one_run_and_the_second_makes_it_when_the_first_is_gone(pair: World, table: Table) -> None:
    case = scheduled(pair)
    pair.nodes[1].start()
    hold(pair)
    becomes_due(pair, case)
    pair.struck.kill_everybody()
    kill(pair.nodes[1].processes()["schedules"], signal.SIGCONT)
    is_told_once(pair, case, table, "first of two hosts: all processes killed at once")
    pair.start_all()
