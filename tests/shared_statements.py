"""Statements that one test compiled serve the next. SQLAlchemy keeps them by engine, and each test has a new engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

from core.store import database


@contextmanager
def used() -> Iterator[None]:
    """Inside the block all SQLite databases share one dialect and one cache of compiled statements."""
    first = create_engine("sqlite://")
    with first.connect():
        pass  # now its dialect knows what this SQLite can do
    compiled: dict[Any, Any] = {}
    make = database._engine

    def sharing(url: str, *, patient: bool) -> Engine:
        engine = make(url, patient=patient)
        if engine.dialect.name == "sqlite":
            engine.dialect = first.dialect
            engine.update_execution_options(compiled_cache=compiled)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_engine", sharing)
        yield
    first.dispose()
