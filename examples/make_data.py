"""Makes the sample data of this folder: the same bytes every time, from fixed seeds and the standard library only.

    python examples/make_data.py            writes examples/sales/ and examples/telco/
    python examples/make_data.py --to DIR   writes them below DIR

`break_column` makes broken copies of a file for tests and for trying out how errors are repaired.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Literal

HERE = Path(__file__).resolve().parent
SALES_SEED = 20240630
TELCO_SEED = 7000
CUSTOMERS = 7000

Row = dict[str, str]


# --- the sales ledger -------------------------------------------------------------------------------------------------

FIRST_DAY, LAST_DAY = date(2022, 1, 1), date(2024, 6, 30)
ORDERS = 5000


@dataclass(frozen=True)
class Product:
    """What is sold: list price in dollars, how often it is bought, and the first day it can be."""

    name: str
    category: str
    price: float
    weight: float
    since: date = FIRST_DAY


PRODUCTS = (
    Product("Desk Lamp Orbit", "Lighting", 39.9, 1.3),
    Product("Floor Lamp Arc", "Lighting", 129.0, 0.8),
    Product("Standing Desk Pro", "Furniture", 549.0, 0.9),
    Product("Office Chair Flex", "Furniture", 289.0, 1.2),
    Product("Bookshelf Oak", "Furniture", 179.5, 0.7),
    Product("Noise-cancelling Headset", "Electronics", 149.0, 1.1),
    Product("4K Monitor 27", "Electronics", 379.0, 1.0),
    Product("Docking Station USB-C", "Electronics", 189.0, 0.9, since=date(2023, 4, 1)),
    Product("Notebook A5 (10 pack)", "Stationery", 24.5, 1.5),
    Product("Whiteboard 120x90", "Stationery", 84.0, 0.6),
)
REGIONS = {"North": 1.25, "South": 1.0, "East": 0.8, "West": 1.1}
REGION_SPELLINGS = (str.lower, str.upper, lambda r: f" {r}", lambda r: f"{r} ", lambda r: f" {r.lower()}")
CHANNELS = {"Online": 0.55, "Partner": 0.28, "Store": 0.17}
FIRST_NAMES = ("Atlas", "Birch", "Cobalt", "Delta", "Elm", "Fjord", "Granite", "Harbour", "Iris", "Juniper")
LAST_NAMES = ("Studio", "Logistics", "Dental", "Foods", "Systems", "Architects")
CUSTOMER_NAMES = (
    *(f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES),
    *("Café Müller", "Señor Paños", "Brød & Co"),
)
SALES_COLUMNS = (
    *("order_id", "order_date", "region", "product", "category", "channel", "customer"),
    *("quantity", "unit_price", "amount", "type"),
)


def demand(day: date) -> float:
    """How busy a day is, around 1: growth over the years, a peak before the holidays, quiet weekends."""
    years = (day - FIRST_DAY).days / 365.25
    season = {11: 1.45, 12: 1.6, 1: 0.8, 2: 0.85, 7: 0.85, 8: 0.8}.get(day.month, 1.0)
    return (1 + 0.16 * years) * season * (0.55 if day.weekday() >= 5 else 1.0)


def regional(region: str, day: date) -> float:
    """A region's weight on a day. West loses a third of its business from September 2023 on."""
    return REGIONS[region] * (0.62 if region == "West" and day >= date(2023, 9, 1) else 1.0)


def weighted(random: Random, options: Iterable[tuple[str, float]]) -> str:
    """One of the options, by weight."""
    names, weights = zip(*options, strict=True)
    return str(random.choices(names, weights)[0])


def written_date(random: Random, day: date) -> str:
    """A date as one of the four systems behind the ledger writes it."""
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    style = random.random()
    if style < 0.72:
        return day.isoformat()
    if style < 0.87:
        return f"{day.day:02d}/{day.month:02d}/{day.year}"
    if style < 0.96:
        return f"{months[day.month - 1]} {day.day:02d}, {day.year}"
    return f"{day.year}/{day.month:02d}/{day.day:02d}"


def written_amount(random: Random, amount: float) -> str:
    """Dollars as people write them: plain, with thousands separators, with a sign of currency, in brackets."""
    style = random.random()
    if style < 0.55:
        return f"{amount:.2f}"
    if style < 0.75:
        return f"{amount:,.2f}"
    if amount < 0 and style < 0.85:
        return f"({-amount:,.2f})"
    return f"-${-amount:,.2f}" if amount < 0 else f"${amount:,.2f}"


def sales_rows() -> list[Row]:
    """The ledger in its original order, with its dirt."""
    random = Random(SALES_SEED)  # noqa: S311 - sample data wants a repeatable generator, not a secret one
    days = [FIRST_DAY + timedelta(days=n) for n in range((LAST_DAY - FIRST_DAY).days + 1)]
    ordered = sorted(random.choices(days, [demand(day) for day in days], k=ORDERS))
    rows: list[Row] = []
    for number, day in enumerate(ordered, start=1):
        region = weighted(random, [(name, regional(name, day)) for name in REGIONS])
        product = random.choices(PRODUCTS, [p.weight if day >= p.since else 0.0 for p in PRODUCTS])[0]
        channel = weighted(random, CHANNELS.items())
        quantity = 1 + int(random.expovariate(1 / (6.0 if channel == "Partner" else 2.2)))
        price = round(product.price * (1.04 ** (day.year - 2022)), 2)
        returned = random.random() < (0.075 if product.category == "Electronics" else 0.03)
        quantity = -min(quantity, 3) if returned else quantity
        amount = round(quantity * price, 2)
        spelling = random.choice(REGION_SPELLINGS) if random.random() < 0.07 else str
        rows.append(
            {
                "order_id": f"SO-{100000 + number}",
                "order_date": "" if random.random() < 0.004 else written_date(random, day),
                "region": "" if random.random() < 0.006 else spelling(region),
                "product": product.name,
                "category": product.category,
                "channel": channel,
                "customer": "" if random.random() < 0.01 else random.choice(CUSTOMER_NAMES),
                "quantity": str(quantity),
                "unit_price": f"{price:.2f}",
                "amount": "" if random.random() < 0.012 else written_amount(random, amount),
                "type": "Return" if returned else "Sale",
            }
        )
    mistyped = rows[3100]
    mistyped.update(quantity="400", amount=f"{400 * float(mistyped['unit_price']):,.2f}", type="Sale")
    for row in random.sample(rows, 45):
        rows.insert(rows.index(row) + 1, dict(row))
    return rows


# --- the telco customers ----------------------------------------------------------------------------------------------

CITIES = {"Harbin": 0.18, "Chengdu": 0.24, "Wuhan": 0.22, "Xiamen": 0.14, "Dalian": 0.22}
REASONS = {
    "Competitor made a better offer": 0.34,
    "Price too high": 0.24,
    "Network reliability": 0.18,
    "Attitude of support": 0.14,
    "Moved away": 0.10,
}
TELCO_TABLES: dict[str, tuple[str, ...]] = {
    "demographics": ("customer_id", "gender", "age", "senior_citizen", "partner", "dependents", "city"),
    "services": (
        *("customer_id", "tenure_months", "contract", "phone_service", "internet_service"),
        *("online_security", "tech_support", "streaming_tv"),
    ),
    "payments": (
        *("customer_id", "payment_method", "paperless_billing", "monthly_charges", "total_charges"),
        "late_payments",
    ),
    "churn": ("customer_id", "churn", "churn_reason"),
}


def yes_no(random: Random, chance: float) -> str:
    """Yes with this chance."""
    return "Yes" if random.random() < chance else "No"


def churn_chance(customer: Row) -> float:
    """How likely a customer leaves, 0..1: short contracts, fibre and charges push; tenure and help hold."""
    score = -1.35
    score += {"Month-to-month": 1.55, "One year": 0.0, "Two year": -1.2}[customer["contract"]]
    score += {"Fiber optic": 0.75, "DSL": 0.0, "No internet": -0.7}[customer["internet_service"]]
    score += -0.032 * int(customer["tenure_months"])
    score += 0.012 * (float(customer["monthly_charges"]) - 65)
    score += 0.28 * int(customer["late_payments"])
    score += 0.35 if customer["payment_method"] == "Electronic check" else 0.0
    score += -0.45 if customer["tech_support"] == "Yes" else 0.0
    score += -0.35 if customer["online_security"] == "Yes" else 0.0
    score += 0.2 if customer["senior_citizen"] == "Yes" else 0.0
    return 1 / (1 + math.exp(-score))


def telco_customers() -> list[Row]:
    """Every customer with the columns of all four tables, sorted by id."""
    random = Random(TELCO_SEED)  # noqa: S311 - sample data wants a repeatable generator, not a secret one
    ids = random.sample(range(1000, 9999), CUSTOMERS)
    customers = []
    for number in sorted(ids):
        age = min(92, max(18, round(random.gauss(46, 16))))
        contract = weighted(random, [("Month-to-month", 0.55), ("One year", 0.21), ("Two year", 0.24)])
        longest = {"Month-to-month": 22, "One year": 40, "Two year": 58}[contract]
        tenure = min(72, int(random.expovariate(1 / longest)) if contract == "Month-to-month" else 0)
        if contract != "Month-to-month":
            tenure = min(72, max(1, round(random.gauss(longest, 14))))
        internet = weighted(random, [("Fiber optic", 0.44), ("DSL", 0.34), ("No internet", 0.22)])
        online = internet != "No internet"
        extras = {
            "online_security": yes_no(random, 0.36) if online else "No",
            "tech_support": yes_no(random, 0.36) if online else "No",
            "streaming_tv": yes_no(random, 0.5) if online else "No",
        }
        base = {"Fiber optic": 70.0, "DSL": 45.0, "No internet": 20.0}[internet]
        monthly = base + 7.5 * sum(value == "Yes" for value in extras.values()) + random.gauss(0, 3.5)
        monthly = round(max(18.0, monthly), 2)
        electronic = 0.42 if contract == "Month-to-month" else 0.18
        customer = {
            "customer_id": f"C-{number}",
            "gender": random.choice(("Female", "Male")),
            "age": str(age) if random.random() > 0.008 else "",
            "senior_citizen": "Yes" if age >= 65 else "No",
            "partner": yes_no(random, 0.48),
            "dependents": yes_no(random, 0.3),
            "city": weighted(random, CITIES.items()),
            "tenure_months": str(tenure),
            "contract": contract,
            "phone_service": yes_no(random, 0.9) if online else "Yes",
            "internet_service": internet,
            **extras,
            "payment_method": weighted(
                random,
                [
                    ("Electronic check", electronic),
                    ("Mailed check", 0.2),
                    ("Bank transfer", 0.22),
                    ("Credit card", 0.2),
                ],
            ),
            "paperless_billing": yes_no(random, 0.6),
            "monthly_charges": f"{monthly:.2f}",
            "total_charges": f"{monthly * tenure * random.uniform(0.95, 1.05):.2f}" if tenure else " ",
            "late_payments": str(min(6, int(random.expovariate(1.6)))),
        }
        customer["churn"] = yes_no(random, churn_chance(customer))
        customer["churn_reason"] = weighted(random, REASONS.items()) if customer["churn"] == "Yes" else ""
        customers.append(customer)
    return customers


# --- files ------------------------------------------------------------------------------------------------------------


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """The given columns of the rows as UTF-8 with a header line and plain newlines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def make_sales(folder: Path) -> None:
    """Writes sales.csv into the folder."""
    write_csv(folder / "sales.csv", SALES_COLUMNS, sales_rows())


def make_telco(folder: Path) -> None:
    """Writes the four telco tables into the folder; each table has its own order of customers."""
    customers = telco_customers()
    for name, columns in TELCO_TABLES.items():
        shuffled = Random(f"{TELCO_SEED} {name}").sample(customers, len(customers))  # noqa: S311 - as above
        write_csv(folder / f"{name}.csv", columns, shuffled)


Breakage = Literal["rename", "units", "drop", "latin-1"]


def break_column(source: Path, target: Path, column: str, how: Breakage, new_name: str = "") -> None:
    """Writes a copy of a CSV whose one column is broken in a given way.

    "rename" gives it another name, "units" writes " pcs" behind every seventh value and "n/a" for every fiftieth,
    "drop" leaves it out, "latin-1" keeps it and writes the whole file in an old encoding. Raises ValueError when there
    is no such column.
    """
    with source.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns, rows = list(reader.fieldnames or ()), list(reader)
    if column not in columns:
        raise ValueError(f"{source.name} has no column {column!r}, it has: {', '.join(columns)}")
    if how == "units":
        seen: dict[tuple[str, ...], int] = {}
        for row in rows:
            number = seen.setdefault(tuple(row.values()), len(seen))  # copies of a row stay copies
            row[column] = "n/a" if number % 50 == 0 else f"{row[column]} pcs" if number % 7 == 0 else row[column]
    if how == "drop":
        columns.remove(column)
    if how == "rename":
        columns[columns.index(column)] = new_name
        for row in rows:
            row[new_name] = row.pop(column)
    write_csv(target, columns, rows)
    if how == "latin-1":
        target.write_bytes(target.read_text(encoding="utf-8").encode("latin-1"))


MAKERS: dict[str, Callable[[Path], None]] = {"sales": make_sales, "telco": make_telco}


def main() -> None:
    """Writes every data set below the folder named on the command line."""
    parser = argparse.ArgumentParser(description="Write the sample data sets.")
    parser.add_argument("--to", type=Path, default=HERE, help="folder to write into (default: this folder)")
    folder: Path = parser.parse_args().to
    for name, make in MAKERS.items():
        make(folder / name)
        print(f"wrote {folder / name}")


if __name__ == "__main__":
    main()
