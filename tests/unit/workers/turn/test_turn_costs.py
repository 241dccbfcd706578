"""What a whole turn asks of the Store, of Redis and of Slack stays within bounds. Counts are no times."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from turn_costs import BOT, THREE_CELLS, WORKER, Costs, counted, quick_cards, table, whole_turn
from turn_world import NewWorld, World, cell, question

from core.store import Store
from workers.models.scripted import ScriptedModel
from workers.service import jobs


@pytest.fixture(autouse=True)
def _quick_cards() -> Iterator[None]:
    with quick_cards():
        yield


def costs_of(world: World) -> dict[str, Costs]:
    """The costs of a thread's first turn, in a process that has had a turn before."""
    world.model = ScriptedModel(THREE_CELLS)
    whole_turn(world)
    world.model = ScriptedModel(THREE_CELLS)
    _, found = whole_turn(world)
    return found


def test_a_turn_of_three_cells_stays_within_its_bounds(world: World) -> None:
    found = costs_of(world)
    bot, worker = found[BOT], found[WORKER]
    assert bot.statements.total() <= 2, table(found)
    assert bot.transactions.total() <= 1, table(found)
    assert worker.statements.total() <= 23, table(found)
    assert worker.transactions.total() <= 14, table(found)
    assert bot.redis.total() <= 4, table(found)
    assert worker.redis.total() <= 12, table(found)
    files = {method for method in worker.slack if method.startswith("files.")}
    shown = (bot.slack + worker.slack).total() - sum(worker.slack[method] for method in files) - bot.slack["users.info"]
    assert shown <= 6, table(found)


def test_the_second_turn_of_a_thread_costs_two_reads_more(world: World) -> None:
    world.model = ScriptedModel(turns=[THREE_CELLS, THREE_CELLS])
    key, first = whole_turn(world)
    _, second = whole_turn(world, key)
    for name in (BOT, WORKER):
        assert second[name].statements.total() <= first[name].statements.total() + 2, table(second)


@pytest.mark.parametrize(("looks", "more"), [(False, {}), (True, {"MGET": 1})])
def test_threads_that_were_woken_already_cost_a_turn_that_ends_one_command_at_most(
    world: World, looks: bool, more: dict[str, int]
) -> None:
    world.model = ScriptedModel(turns=[THREE_CELLS, THREE_CELLS, THREE_CELLS])
    whole_turn(world)
    found = []
    for waiting in (0, 3):
        key, worker = world.say("how much?"), world.worker()
        if looks:
            worker.admission.note_waiting()
        for _ in range(waiting):
            world.wakes().wake(world.say("how much?").id)
        with counted() as costs:
            jobs.run(worker, key.id)
        found.append(costs)
    alone, among = found
    assert among.redis - alone.redis == more, table({"alone": alone, "among": among})
    assert among.statements == alone.statements


def test_the_card_says_what_a_turn_spent_so_far_in_no_more_calls(new_world: NewWorld) -> None:
    calls = []
    for price in ("", "[prices.scripted]\ninput = 10\noutput = 100\n"):
        world = new_world(team=price)
        usage = {"usage": {"prompt_tokens": 1_000, "completion_tokens": 100}} if price else {}
        world.model = ScriptedModel([{**reply, **usage} for reply in (cell("x = 1"), question("Which year?"))])
        key = world.say("how much?")
        world.settle(key)
        assert ("2,200 tokens · about 0.04 USD" in world.text(key)) == bool(price)
        calls.append(len(world.slack.calls))
    assert calls[0] == calls[1]


@pytest.mark.integration
def test_a_turn_takes_at_most_forty_round_trips_to_postgres(new_world: NewWorld, postgres_url: str) -> None:
    store = Store(postgres_url)
    store.migrate()
    store.close()
    found = costs_of(new_world(database_url=postgres_url))
    assert found[WORKER].statements.total() <= 21, table(found)
    assert found[WORKER].exchanges + found[BOT].exchanges <= 27, table(found)
