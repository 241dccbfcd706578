"""The headline numbers of the stories, computed plainly from the files. A report must agree with them.

Each function takes the folder of its data set. Dates, amounts and spellings are read here by rules of their own, so
that a mistake in the product cannot hide in a shared helper.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

FORMATS = ("%Y-%m-%d", "%d/%m/%Y", "%b %d, %Y", "%Y/%m/%d")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _orders(folder: Path) -> list[dict[str, str]]:
    """The ledger without its exact copies."""
    return [dict(pairs) for pairs in dict.fromkeys(tuple(row.items()) for row in _rows(folder / "sales.csv"))]


def _amount(row: dict[str, str]) -> float:
    text = row["amount"]
    if not text:
        return round(int(row["quantity"]) * float(row["unit_price"]), 2)
    digits = float("".join(char for char in text if char.isdigit() or char == "."))
    return -digits if text.startswith(("-", "(")) else digits


def _day(row: dict[str, str]) -> date | None:
    for form in FORMATS:
        try:
            return datetime.strptime(row["order_date"], form).date()
        except ValueError:
            continue
    return None


def _sum(folder: Path, wanted: Callable[[dict[str, str]], bool]) -> float:
    return sum(_amount(row) for row in _orders(folder) if wanted(row))


def _in(row: dict[str, str], year: int) -> bool:
    day = _day(row)
    return day is not None and day.year == year


def net_sales(folder: Path) -> float:
    """All amounts, refunds taken off, each order once, in dollars."""
    return _sum(folder, lambda row: True)


def sales_2023(folder: Path) -> float:
    """The same for orders dated 2023."""
    return _sum(folder, lambda row: _in(row, 2023))


def north_2023(folder: Path) -> float:
    """The same for the region North, however it is spelled."""
    return _sum(folder, lambda row: _in(row, 2023) and row["region"].strip().lower() == "north")


def north_2023_without_refunds(folder: Path) -> float:
    """The same without refunds."""
    return _sum(
        folder,
        lambda row: _in(row, 2023) and row["region"].strip().lower() == "north" and row["type"] != "Return",
    )


def online_2023(folder: Path) -> float:
    """Net amounts of 2023 over the channel Online."""
    return _sum(folder, lambda row: _in(row, 2023) and row["channel"] == "Online")


def refund_count(folder: Path) -> float:
    """Orders that are refunds."""
    return sum(row["type"] == "Return" for row in _orders(folder))


def copies(folder: Path) -> float:
    """Rows that are exact copies of another."""
    return len(_rows(folder / "sales.csv")) - len(_orders(folder))


def _churned(folder: Path) -> dict[str, bool]:
    return {row["customer_id"]: row["churn"] == "Yes" for row in _rows(folder / "churn.csv")}


def _churn_rate(folder: Path, column: str, value: str) -> float:
    churned = _churned(folder)
    chosen = [churned[row["customer_id"]] for row in _rows(folder / "services.csv") if row[column] == value]
    return sum(chosen) / len(chosen)


def churn_rate(folder: Path) -> float:
    """The share of customers that left, 0..1."""
    churned = _churned(folder)
    return sum(churned.values()) / len(churned)


def month_to_month_churn_rate(folder: Path) -> float:
    """The same among month-to-month contracts."""
    return _churn_rate(folder, "contract", "Month-to-month")


def fiber_churn_rate(folder: Path) -> float:
    """The same among customers with fibre."""
    return _churn_rate(folder, "internet_service", "Fiber optic")


NUMBERS: dict[str, Callable[[Path], float]] = {
    function.__name__: function
    for function in (
        net_sales,
        sales_2023,
        north_2023,
        north_2023_without_refunds,
        online_2023,
        refund_count,
        copies,
        churn_rate,
        month_to_month_churn_rate,
        fiber_churn_rate,
    )
}


def written(value: float, form: str) -> str:
    """A number as reports write it: "$N" dollars, "N" a plain number, "P" a percentage with one decimal."""
    return {"$N": f"${value:,.0f}", "N": f"{value:,.0f}", "P": f"{value:.1%}"}[form]
