"""A playbook that names tables of a source knows how they were when it was kept, and says what has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from schedule_world import ASK, REPORT, TEAM, Shop, of_file
from test_turn_playbooks import decide, pages, prompt
from turn_world import BEN, Meanwhile, NewWorld, cell, finish

from core.values import ThreadKey
from workers.memory.playbooks.page import read_playbook, write_playbook
from workers.models.scripted import ScriptedModel

QUESTION = "How much did all customers order together?"


@pytest.fixture
def shop(new_world: NewWorld, tmp_path: Path) -> Iterator[Shop]:
    shop = of_file(new_world(team=f'{TEAM}tables_denied = ["salaries"]\n'), tmp_path / "shop.db")
    yield shop
    shop.close()


def kept(shop: Shop) -> None:
    """Somebody has kept a report about the orders as a playbook."""
    world = shop.world
    world.model = ScriptedModel([cell(ASK, "Sum up the orders"), REPORT])
    key = world.say(QUESTION)
    world.settle(key)
    world.say("keep this as a playbook", thread=key)
    world.settle(key)
    decide(world, key, "keep")


def ask(shop: Shop) -> tuple[ThreadKey, Any]:
    model = Meanwhile(ScriptedModel([finish("Done.")]), {})
    shop.world.model = model
    key = shop.world.say(QUESTION, user=BEN)
    shop.world.settle(key)
    return key, model


def test_a_playbook_keeps_the_types_of_its_tables_and_is_followed_while_they_stay(shop: Shop) -> None:
    kept(shop)
    (text,) = pages(shop.world)
    book = read_playbook(text)
    (table,) = book.inputs
    assert table.label == "shop.main.orders"
    assert dict(table.types)["amount"] == "decimal(10, 2)"
    assert read_playbook(write_playbook(book)) == book
    shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)", "ALTER TABLE orders ADD COLUMN note text")
    key, model = ask(shop)
    assert shop.world.statuses(key) == ["done"]
    assert "The team's playbook" in prompt(model)


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (["ALTER TABLE orders RENAME COLUMN amount TO amounts"], "no column “amount”, the nearest is “amounts”"),
        (["DROP TABLE orders"], "shop.main.orders: no such table"),
        (
            ["DROP TABLE orders", "CREATE TABLE orders (id int, customer int, amount varchar(20), placed timestamp)"],
            "column “amount” was decimal(10, 2) and is varchar(20)",
        ),
    ],
    ids=["renamed", "gone", "retyped"],
)
def test_a_table_that_has_changed_is_asked_about_before_the_model_is(
    shop: Shop, statements: list[str], says: str
) -> None:
    kept(shop)
    shop.change(*statements)
    key, model = ask(shop)
    assert shop.world.statuses(key) == ["waiting"]
    assert says in shop.world.text(key)
    assert model.requests == []


def test_nothing_is_said_of_a_source_that_is_away(shop: Shop) -> None:
    kept(shop)
    shop.close()
    key, model = ask(shop)
    assert shop.world.statuses(key) == ["done"]
    assert "The team's playbook" in prompt(model)


def test_whoever_may_not_ask_the_source_learns_nothing_of_its_tables(shop: Shop) -> None:
    kept(shop)
    shop.change("DROP TABLE orders")
    own = {"shop": shop.world.settings.sources["shop"].model_copy(update={"people": ("U0ANA00001",)})}
    shop.world.settings = shop.world.settings.model_copy(update={"sources": own})
    key, _ = ask(shop)
    assert shop.world.statuses(key) == ["done"]
    assert "no such table" not in shop.world.text(key)
