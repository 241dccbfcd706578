"""The sample data: made again with the same bytes, with the dirt and the drivers that the stories rely on."""

from __future__ import annotations

import csv
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


def _rows(path: Path, encoding: str = "utf-8") -> list[dict[str, str]]:
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.DictReader(file))


def test_the_generator_makes_the_committed_files_byte_for_byte(make_data: ModuleType, tmp_path: Path) -> None:
    for name, make in make_data.MAKERS.items():
        make(tmp_path / name)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.csv")}
    committed = {path.relative_to(EXAMPLES): path.read_bytes() for path in EXAMPLES.rglob("*.csv")}
    assert set(made) == set(committed)
    assert [path for path in made if made[path] != committed[path]] == []


def test_every_file_is_small_enough_for_a_repository() -> None:
    assert all(path.stat().st_size < 1_500_000 for path in EXAMPLES.rglob("*.csv"))


def test_the_ledger_has_every_kind_of_dirt_that_its_readme_names() -> None:
    rows = _rows(EXAMPLES / "sales/sales.csv")
    amounts, dates = {row["amount"] for row in rows}, {row["order_date"] for row in rows}
    assert "" in amounts
    assert any(amount.startswith("$") and "," in amount for amount in amounts)
    assert any(amount.startswith("(") for amount in amounts)
    assert any(date.count("/") == 2 and int(date[:2]) > 12 for date in dates if date[2:3] == "/")
    assert any(date[:3].isalpha() for date in dates)
    assert "" in dates
    assert {row["region"].strip().lower() for row in rows} == {"north", "south", "east", "west", ""}
    assert len({row["region"] for row in rows}) > 10
    assert len(rows) - len({tuple(row.values()) for row in rows}) == 45
    assert any(row["type"] == "Return" and int(row["quantity"]) < 0 for row in rows)


def test_the_telco_tables_hold_the_same_customers_once_each_in_different_orders() -> None:
    ids = {
        path.stem: [row["customer_id"] for row in _rows(path)] for path in sorted((EXAMPLES / "telco").glob("*.csv"))
    }
    assert len(ids) == 4
    assert {len(set(listed)) for listed in ids.values()} == {7000}
    assert len({tuple(sorted(listed)) for listed in ids.values()}) == 1
    assert len({tuple(listed) for listed in ids.values()}) == 4


def test_the_data_dictionary_names_every_telco_column() -> None:
    dictionary = (EXAMPLES / "telco/data_dictionary.md").read_text(encoding="utf-8")
    for path in (EXAMPLES / "telco").glob("*.csv"):
        for column in _rows(path)[0]:
            assert column in dictionary, column


@pytest.mark.parametrize(
    ("how", "column", "says"),
    [
        ("rename", "amount", "amt"),
        ("units", "quantity", " pcs"),
        ("drop", "amount", ""),
        ("latin-1", "customer", "Café Müller"),
    ],
)
def test_a_column_can_be_broken_on_purpose(
    make_data: ModuleType, tmp_path: Path, how: str, column: str, says: str
) -> None:
    broken = tmp_path / "broken.csv"
    make_data.break_column(EXAMPLES / "sales/sales.csv", broken, column, how, new_name="amt")
    rows = _rows(broken, "latin-1" if how == "latin-1" else "utf-8")
    assert len(rows) == 5045
    assert (column in rows[0]) == (how in ("units", "latin-1"))
    assert says in broken.read_text(encoding="latin-1" if how == "latin-1" else "utf-8")


def test_breaking_a_column_that_is_not_there_is_refused(make_data: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no column 'nothing', it has: order_id, order_date"):
        make_data.break_column(EXAMPLES / "sales/sales.csv", tmp_path / "x.csv", "nothing", "drop")
