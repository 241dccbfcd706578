"""A cell that asked a source's catalogue is run again without the source, and is told the same once more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from schedule_world import ASK, REPORT, TEAM, Shop, of_file
from test_clean_rooms_room import outcome
from turn_world import ANA, NewWorld, World, cell

from core.blobs import Blobs
from core.values import ThreadKey
from workers.models.scripted import ScriptedModel
from workers.turn.requests import kept_rows

LOOK = "print(tables('shop'))\nprint(columns('orders', 'shop'))\nprint(search_schema('orders', 'shop'))\n"


@pytest.fixture
def shop(new_world: NewWorld, tmp_path: Path) -> Iterator[Shop]:
    shop = of_file(new_world(team=TEAM), tmp_path / "shop.db")
    yield shop
    shop.close()


def answered(shop: Shop, code: str) -> ThreadKey:
    """A thread with one answered question. The source is away from then on."""
    shop.world.model = ScriptedModel([cell(code, "Sum up"), REPORT])
    key = shop.world.say("How much was ordered?")
    shop.world.settle(key)
    shop.close()
    return key


def answers(world: World, key: ThreadKey) -> list[str]:
    """The contents that hold what the catalogue said."""
    (ran,) = world.steps(key, "cell")
    return [each["answer"]["sha256"] for each in ran["lookups"]]


def test_a_report_whose_cell_looked_into_the_catalogue_is_reproduced(shop: Shop) -> None:
    key = answered(shop, LOOK + ASK)
    shop.world.check()
    found = outcome(shop.world, key)
    assert (found.state, found.cells, found.differences) == ("reproduced", 1, ())
    assert len(answers(shop.world, key)) == 3


def test_an_answer_that_is_asked_for_twice_is_given_twice(shop: Shop) -> None:
    key = answered(shop, f"for _ in range(2): print(tables('shop'))\n{ASK}")
    shop.world.check()
    assert outcome(shop.world, key).state == "reproduced"


def test_a_cell_whose_answer_was_too_large_to_keep_is_not_run_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rows, "MOST_ANSWER", 10)
    key = answered(shop, LOOK + ASK)
    shop.world.check()
    found = outcome(shop.world, key)
    assert found.state != "reproduced"
    assert [each.why for each in found.left_out] == ["no_rows"]


def test_a_reset_forgets_what_the_catalogue_said(shop: Shop) -> None:
    world = shop.world
    key = answered(shop, LOOK + ASK)
    kept = answers(world, key)
    assert all(map(Blobs(world.settings.files).has, kept))
    world.slack.flags[ANA] = {"is_admin": True}
    for words in ("reset", "yes"):
        world.say(words, thread=key)
        world.settle(key)
    assert not any(map(Blobs(world.settings.files).has, kept))
