"""A scheduled report asks a real Postgres again at its time, with a login that can only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sources_world
from schedule_world import TEAM, Shop
from turn_world import World, hurried, new_database

pytestmark = pytest.mark.integration


@pytest.fixture
def shop(tmp_path: Path, postgres_address: tuple[str, int]) -> Iterator[Shop]:
    world = closing(World(tmp_path / "world", new_database(tmp_path), team=TEAM))
    with hurried(), sources_world.postgres(postgres_address) as database, world as made:

        def write(statements: list[str]) -> None:
            for each in statements:
                database.admin.execute(each)

        found = Shop(made, database.reader, write)
        found.open()
        yield found
        found.close()


def test_a_run_tells_what_changed_in_postgres_and_nothing_when_nothing_did(shop: Shop) -> None:
    shop.schedule()
    posts = len(shop.world.messages(shop.key))
    shop.run()
    assert len(shop.world.messages(shop.key)) == posts
    shop.change("INSERT INTO orders VALUES (5, 2, 10.00, NULL)")
    assert "total: 122.74 → 132.74" in shop.run()
    assert shop.world.model.requests == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("ALTER TABLE orders RENAME COLUMN amount TO paid", "amount"),
        ("ALTER TABLE orders ALTER COLUMN amount TYPE text USING 'EUR ' || amount", "column 'amount' was"),
        ("DELETE FROM orders", "a query gives no rows any more"),
    ],
    ids=["renamed", "retyped", "no rows"],
)
def test_a_table_that_looks_otherwise_in_postgres_stops_the_schedule(shop: Shop, statement: str, says: str) -> None:
    shop.schedule()
    shop.change(statement)
    assert says in shop.run()
    assert shop.state() == "stopped"
