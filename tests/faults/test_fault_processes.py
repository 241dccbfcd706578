"""After any death at any moment the threads go on, and nothing is lost, repeated or left behind."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from fault_cases import AFTER_A_CHART, MOMENTS, ArrivingMeanwhile, Case, Moment
from fault_checks import check_leftovers, check_thread, outcome
from fault_list import BOT_MEANWHILE, NODE_FAULTS, PROCESS_FAULTS, WORKER_TREE, ProcessFault
from fault_model import CHART_LETTER
from fault_table import Table
from fault_world import Node, World
from patience import eventually

from core.store import StoreUnreachable
from playground import Options
from tryout.stack.blocks_text import message_text

pytestmark = pytest.mark.fault


@pytest.mark.parametrize("fault", PROCESS_FAULTS, ids=lambda fault: fault.name)
def test_threads_go_on_by_themselves(fault: ProcessFault, world: World, table: Table) -> None:
    if fault.fills_disk and not world.has_small_disk:
        pytest.skip("this machine lets us mount no small disk that may be filled")
    walk_through(fault, world, table)


@pytest.mark.parametrize("fault", NODE_FAULTS, ids=lambda fault: fault.name)
def test_threads_go_on_at_another_node(fault: ProcessFault, pair: World, table: Table) -> None:
    walk_through(fault, pair, table, others=pair.nodes[1:])


def test_what_came_while_postgres_was_away_outlives_the_bot(world: World, table: Table) -> None:
    world.slack.set_options(retry_delays_s=[])  # Slack sends nothing a second time: only the bot's disk has it
    walk_through(BOT_MEANWHILE, world, table, at=(ArrivingMeanwhile, *MOMENTS[1:]))
    world.slack.set_options(retry_delays_s=Options().retry_delays_s)


def test_a_chart_is_posted_once_and_cells_that_were_cut_off_do_not_count(world: World, table: Table) -> None:
    for moment in walk_through(WORKER_TREE, world, table, at=AFTER_A_CHART):
        case = moment.case
        assert case.charts() == sum(letter.endswith(f".{CHART_LETTER}") for letter in case.letters)
        said = [message_text(message) for message in case.said()]
        counted = [int(found[1]) for text in said if (found := re.match(r"\*\*Done \((\d+) cells? run\)", text))]
        assert sum(counted) == len(case.letters), said


def walk_through(
    fault: ProcessFault,
    world: World,
    table: Table,
    others: Sequence[Node] = (),
    at: Sequence[Callable[[Case], Moment]] = MOMENTS,
) -> list[Moment]:
    """Bring a thread to each moment, start `others`, strike, and check what must hold."""
    moments = [moment(Case(world)) for moment in at]
    for moment in moments:
        moment.reach()
    for node in others:
        node.start()
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
    world.start_all()  # a node that comes back later
    for moment in moments:
        moment.follow_up()
    eventually(lambda: all(moment.case.answered() for moment in moments), "the follow-ups")
    try:
        for moment in moments:
            check_thread(moment.case)
        check_leftovers(world)
    except AssertionError:
        print("worker log:", world.log())
        raise
    return moments


def release(moments: list[Moment]) -> None:
    for moment in moments:
        moment.release()


def answers(world: World, moments: list[Moment], since: float) -> dict[Moment, float]:
    """The seconds from `since` to each thread's answer."""
    came: dict[Moment, float] = {}

    def all_came() -> bool:
        for moment in moments:
            with suppress(StoreUnreachable):  # the connection of the test itself was cut too
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
