"""A small shop's catalogue and dictionary; and golden files: UPDATE_GOLDEN=1 writes them again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workers.sources.catalogue import Catalogue, Column, ForeignKey, Table
from workers.sources.knowledge.entries import ColumnEntry, Dictionary, TableEntry, Trust
from workers.sources.values import TableName

GOLDEN = Path(__file__).parents[4] / "golden" / "knowledge"
ORDERS, CUSTOMERS = TableName("public", "orders"), TableName("public", "cust_mst")


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{name} differs: look at the diff, then UPDATE_GOLDEN=1"

    return compare


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue(
        (
            Table(
                CUSTOMERS,
                (Column("id", "integer", key=True), Column("region", "character varying(10)", "where they live")),
                "everybody who ever bought",
                1_000,
            ),
            Table(
                ORDERS,
                (
                    Column("id", "integer", key=True),
                    Column("cust_id", "integer"),
                    Column("net_amt", "numeric(10,2)"),
                    Column("placed", "timestamp without time zone"),
                ),
                rows=1_200_000,
                foreign_keys=(ForeignKey(("cust_id",), CUSTOMERS, ("id",)),),
            ),
        ),
        ("public",),
    )


@pytest.fixture
def dictionary() -> Dictionary:
    return Dictionary(
        (
            TableEntry(
                "orders",
                "One row per order.",
                "the web shop",
                Trust.HIGH,
                ("purchases",),
                (
                    ColumnEntry("net_amt", "numeric(10,2)", "value without tax", "0 … 9999", "EUR"),
                    ColumnEntry("placed", "", "when the customer ordered"),
                ),
            ),
            TableEntry("cust_mst", columns=(ColumnEntry("region", "", "", "NORTH, SOUTH"),)),
        )
    )
