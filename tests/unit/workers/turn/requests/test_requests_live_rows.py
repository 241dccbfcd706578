"""A scheduled report whose cells ask a data source: the statements are sent again, and what came is looked at first."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import pytest
from schedule_world import ASK, EVERY, TEAM, Shop, of_file
from turn_world import ANA, BEN, Meanwhile, NewWorld, cell, finish

from workers.models.scripted import ScriptedModel
from workers.service.schedules.runner import begin_due


@pytest.fixture(params=["db", "duckdb"])
def shop(request: pytest.FixtureRequest, new_world: NewWorld, tmp_path: Path) -> Iterator[Shop]:
    shop = of_file(new_world(team=TEAM), tmp_path / f"shop.{request.param}")
    yield shop
    shop.close()


def test_a_statement_is_sent_again_and_only_the_figures_that_changed_are_told(shop: Shop) -> None:
    shop.schedule()
    shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)")
    text = shop.run()
    assert "total: 122.74 → 132.74" in text
    assert "orders: 4 → 5" in text
    assert shop.world.model.requests == []  # type: ignore[attr-defined]
    assert shop.state() == "active"


def test_a_statement_that_names_no_source_is_sent_to_the_one_that_it_was_sent_to(
    new_world: NewWorld, tmp_path: Path
) -> None:
    other = '[sources.archive]\nurl_env = "ARCHIVE"\nchannels = ["C0OTHER001"]\n'
    shop = of_file(new_world(team=other + TEAM), tmp_path / "shop.db")
    try:
        shop.schedule(ASK.replace(", source='shop'", ""))
        shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)")
        assert "total: 122.74 → 132.74" in shop.run()
    finally:
        shop.close()


def test_each_statement_is_written_down_in_the_name_of_the_owner(shop: Shop) -> None:
    shop.schedule()
    shop.run()
    (line,) = shop.world.store.audit_lines(actor=ANA)[-1:]
    assert (line.action, line.resource, line.outcome) == ("query", shop.key.id, "done")
    assert (line.details["source"], line.details["rows"], line.details["by"]) == ("shop", 4, "schedule")


@pytest.mark.parametrize(
    ("code", "statements", "says"),
    [
        (
            ASK.replace("amount, customer", "*"),
            ["ALTER TABLE orders RENAME COLUMN customer TO buyer"],
            "no column 'customer' (new: 'buyer')",
        ),
        (ASK, ["ALTER TABLE orders RENAME COLUMN amount TO paid"], "amount"),
        (
            ASK,
            [
                "CREATE TABLE other AS SELECT id, customer, 'EUR ' || amount AS amount, placed FROM orders",
                "DROP TABLE orders",
                "ALTER TABLE other RENAME TO orders",
            ],
            "column 'amount' was",
        ),
        (ASK, ["DELETE FROM orders"], "a query gives no rows any more"),
    ],
    ids=["renamed", "gone", "retyped", "no rows"],
)
def test_rows_that_look_otherwise_stop_the_schedule_with_the_reason_and_no_number(
    shop: Shop, code: str, statements: list[str], says: str
) -> None:
    shop.schedule(code)
    shop.change(*statements)
    text = shop.run()
    assert says in text
    assert "→" not in text
    assert shop.state() == "stopped"


def many(factor: int, count: int = 30) -> list[str]:
    values = ", ".join(f"({100 + n}, 1, {(10 + n % 7) * factor}.5, NULL)" for n in range(count))
    return ["DELETE FROM orders", f"INSERT INTO orders VALUES {values}"]


def test_values_of_another_unit_stop_the_schedule_and_other_values_of_the_same_do_not(shop: Shop) -> None:
    shop.change(*many(1))
    report = finish("There are **30** orders.")
    shop.schedule(report=report)
    shop.change(*many(2, 31))
    assert "→" in shop.run()
    shop.change(*many(1000))
    text = shop.run()
    assert "column 'amount': the middle value was 13.5" in text
    assert shop.state() == "stopped"


@pytest.mark.parametrize(
    ("more", "shown", "held"),
    [
        ("", "KeyError: 'zoe@shop.example'", False),
        ('[privacy]\nredact = ["email"]\n', "KeyError: '<email>'", False),
        ('[privacy]\nredact = ["email"]\nreports = "values"\n', "KeyError: 'zoe@shop.example'", False),
        (f'people = ["{ANA}"]\n', "the details are for people who may query its data", True),
    ],
    ids=["all", "placeholders", "values", "people"],
)
def test_why_a_run_stopped_shows_what_everybody_in_the_thread_may_read(
    new_world: NewWorld, tmp_path: Path, more: str, shown: str, held: bool
) -> None:
    shop = of_file(new_world(team=TEAM + more), tmp_path / "shop.db")
    try:
        shop.schedule(f"{ASK}\nif len(orders) > 4:\n    raise KeyError('zoe' + chr(64) + 'shop.example')")
        shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)")
        assert shown in html.unescape(shop.run())
        (found,) = shop.world.store.schedules(shop.key.id)
        assert shown in found.reason
    finally:
        shop.close()
    shop = of_file(new_world(team=TEAM + more), tmp_path / "other.db")
    try:
        shop.change(*many(1))
        shop.schedule(report=finish("There are **30** orders."))
        shop.change(*many(1000))
        assert ("13.5" not in shop.run()) == held
    finally:
        shop.close()


def test_who_may_not_ask_a_source_schedules_no_report_from_it(new_world: NewWorld, tmp_path: Path) -> None:
    shop = of_file(new_world(team=f'{TEAM}people = ["{ANA}"]\n'), tmp_path / "shop.db")
    try:
        shop.schedule()
        shop.world.say("every Friday 9:00 run this again", thread=shop.key, user=BEN)
        shop.world.settle(shop.key)
        assert "You may not query the data source shop" in shop.said()
        assert [each.owner for each in shop.world.store.schedules(shop.key.id)] == [ANA]
    finally:
        shop.close()


HIDDEN = """run
```
try:
    n = len(query('select id from customers', source='shop'))
except Exception:
    n = 0
print('n', n)
```"""


def test_code_that_was_refused_a_source_gets_its_rows_by_no_schedule_of_somebody_who_may_ask(
    new_world: NewWorld, tmp_path: Path
) -> None:
    shop = of_file(new_world(team=f'{TEAM}people = ["{ANA}"]\n'), tmp_path / "shop.db")
    world = shop.world
    try:
        look, told = cell("print('customers', n)", "Look"), finish("There are **0** customers.")
        world.model = Meanwhile(ScriptedModel([cell("print(1)"), finish("It works."), look, told]), {})
        shop.key = world.say("Does it work?")
        world.settle(shop.key)
        for text, user in ((HIDDEN, BEN), ("How many customers?", ANA), (EVERY, ANA)):
            world.say(text, thread=shop.key, user=user)
            world.settle(shop.key)
        assert "the code reads no data" in shop.said()
        said = shop.run()
    finally:
        shop.close()
    assert "asked the data source shop in this run, and not when the report was made" in said
    assert [line.outcome for line in world.store.audit_lines(actor=ANA) if line.action == "query"] == ["refused"]


def test_a_statement_that_gave_no_row_before_may_give_none_again(shop: Shop) -> None:
    none = "\nprint('returned', len(query('select id from orders where amount < 0', source='shop')))"
    shop.schedule(ASK + none)
    shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)")
    assert "total: 122.74 → 132.74" in shop.run()


def test_a_source_that_is_away_is_said_and_asked_again_at_the_next_time(shop: Shop) -> None:
    shop.schedule()
    shop.close()
    text = shop.run(times=6)
    assert "did not run" in text
    assert "shop does not answer now" in text
    assert shop.state() == "active"
    shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)")
    assert "total: 122.74 → 132.74" in shop.run()


def test_a_source_that_is_back_in_time_loses_no_run(shop: Shop) -> None:
    shop.schedule()
    shop.close()
    posts = len(shop.world.messages(shop.key))
    (found,) = shop.world.store.schedules(shop.key.id)
    assert begin_due(shop.world.store, found.next_at, shop.world.settings) == 1
    shop.work(found.next_at)
    assert len(shop.world.messages(shop.key)) == posts
    shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)")
    shop.work(found.next_at)
    assert "total: 122.74 → 132.74" in shop.said()


def test_a_source_that_the_owner_may_not_ask_any_more_is_said_and_tried_at_the_next_time(
    new_world: NewWorld, tmp_path: Path
) -> None:
    shop = of_file(new_world(team=f'{TEAM}people = ["{ANA}"]\n'), tmp_path / "shop.db")
    shop.schedule()
    shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)")
    own = shop.world.settings.sources
    shop.world.settings = shop.world.settings.model_copy(
        update={"sources": {"shop": own["shop"].model_copy(update={"people": (BEN,)})}}
    )
    text = shop.run()
    assert "did not run" in text
    assert "may query the data source shop" in text
    assert "→" not in text
    assert shop.state() == "active"
    (line,) = shop.world.store.audit_lines(actor=ANA)[-1:]
    assert (line.action, line.outcome) == ("query", "refused")
    shop.world.settings = shop.world.settings.model_copy(update={"sources": own})
    assert "total: 122.74 → 132.74" in shop.run()
    shop.close()


def test_a_run_asks_a_source_for_no_more_than_a_question_may(new_world: NewWorld, tmp_path: Path) -> None:
    shop = of_file(new_world(team=TEAM), tmp_path / "shop.db")
    shop.schedule(f"{ASK}\n{ASK}")
    less = {"shop": shop.world.settings.sources["shop"].model_copy(update={"turn_queries": 1})}
    shop.world.settings = shop.world.settings.model_copy(update={"sources": less})
    text = shop.run()
    assert "for as much as one question may" in text
    assert shop.state() == "stopped"
    shop.close()
