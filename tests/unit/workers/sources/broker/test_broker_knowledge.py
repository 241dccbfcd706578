"""What the broker knows of a source: built once, and given to those who ask while it is built again."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from workers.sources.broker import knowledge
from workers.sources.broker.knowledge import Knowledge
from workers.sources.catalogue import Catalogue, Column, Table
from workers.sources.values import TableName

ORDERS = Catalogue((Table(TableName("s", "orders"), (Column("id", "int"),)),), ("s",))


def test_who_asks_while_a_schema_is_built_again_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    driver: Any = None
    source: Any = None
    known = Knowledge(source, None)
    found: list[str] = []
    built: list[int] = []

    def ask() -> None:
        found.append(known.search(driver, "orders"))

    def catalogue_of(*_: Any) -> Catalogue:
        built.append(len(found))
        if len(built) == 2:
            another = threading.Thread(target=ask, daemon=True)
            another.start()
            another.join(timeout=10)
        return ORDERS

    monkeypatch.setattr(knowledge, "catalogue_of", catalogue_of)
    ask()
    monkeypatch.setattr(knowledge, "KNOWN_S", 0.0)
    ask()
    assert built == [0, 1]
    assert [("orders" in text) for text in found] == [True, True, True]


def test_a_schema_that_a_statement_has_shown_to_be_outdated_is_built_again_after_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver: Any = None
    source: Any = None
    known, built, now = Knowledge(source, None), list[float](), [0.0]

    def catalogue_of(*_: Any) -> Catalogue:
        built.append(now[0])
        return ORDERS

    monkeypatch.setattr(knowledge, "catalogue_of", catalogue_of)
    monkeypatch.setattr(knowledge.time, "monotonic", lambda: now[0])
    for now[0], is_doubted in ((0.0, False), (30.0, True), (59.0, False), (61.0, False), (130.0, False), (131.0, True)):
        if is_doubted:
            known.doubt()
        known.search(driver, "orders")
    assert built == [0.0, 61.0, 131.0]
