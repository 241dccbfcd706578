"""A world for each test of whole turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from turn_world import NewWorld, World, hurried, new_database


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database to copy."""
    return new_database(tmp_path_factory.mktemp("template"))


@pytest.fixture
def new_world(tmp_path: Path, empty_database: Path) -> Iterator[NewWorld]:
    """`new_world()` is another world; its arguments are those of `World`. Its database is empty unless one is given."""
    numbers = count(1)
    with hurried(), ExitStack() as worlds:

        def made(template: Path = empty_database, **options: Any) -> World:
            folder = tmp_path / f"world-{next(numbers)}"
            return worlds.enter_context(closing(World(folder, template, **options)))

        yield made


@pytest.fixture
def world(new_world: NewWorld) -> World:
    """The world of the test; its model is set with `world.model = ...`."""
    return new_world()
