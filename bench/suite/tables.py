"""The generated tables: rows as they are meant, and the files that hold them, with the dirt that files have."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl

SEED = 20261122
Row = dict[str, Any]
Rows = list[Row]
REGIONS = ("North", "South", "East", "West")


def _rng(name: str) -> random.Random:
    """Each table has draws of its own: a new table changes no other."""
    return random.Random(f"{SEED}-{name}")


def _day(rng: random.Random, first: str, days: int) -> date:
    return date.fromisoformat(first) + timedelta(days=rng.randrange(days))


def orders() -> Rows:
    """Clean orders of two years."""
    rng = _rng("orders")
    prices = {"Kettle": 34.9, "Toaster": 49.5, "Blender": 89.0, "Lamp": 24.25, "Fan": 59.99}
    made = []
    for number in range(600):
        product = rng.choice(list(prices))
        quantity = rng.randint(1, 9)
        made.append(
            {
                "order_id": f"A{number:05d}",
                "day": _day(rng, "2024-01-01", 731),
                "region": rng.choices(REGIONS, (4, 3, 2, 2))[0],
                "product": product,
                "quantity": quantity,
                "price": prices[product],
                "revenue": round(quantity * prices[product], 2),
            }
        )
    return made


def staff() -> Rows:
    """Clean staff records."""
    rng = _rng("staff")
    base = {"Sales": 52_000, "Finance": 61_000, "Research": 70_500, "Support": 43_000}
    return [
        {
            "employee": f"E{n:03d}",
            "department": (department := rng.choice(list(base))),
            "city": rng.choice(["Oslo", "Porto", "Graz"]),
            "hired": _day(rng, "2012-01-01", 4700),
            "salary": base[department] + 100 * rng.randint(-120, 160),
        }
        for n in range(180)
    ]


def visits() -> Rows:
    """Clean visits to a clinic."""
    rng = _rng("visits")
    return [
        {
            "visit": 7000 + n,
            "ward": rng.choice(["Cardiology", "Surgery", "Paediatrics", "Eye"]),
            "age": rng.randint(1, 94),
            "wait_minutes": max(0, round(rng.gauss(38, 15))),
            "fee": round(rng.gammavariate(3, 45), 2),
        }
        for n in range(420)
    ]


def dirty_sales() -> Rows:
    """Sales as they are meant. The file has marks of money, blanks and cases in the regions, doubles and a total."""
    rng = _rng("dirty_sales")
    return [
        {
            "invoice": 1000 + n,
            "region": rng.choice(REGIONS),
            "amount": round(rng.uniform(20, 4200), 2),
        }
        for n in range(240)
    ]


def survey() -> Rows:
    """A survey as it is meant. The file says yes in five ways and has ages that were not given."""
    rng = _rng("survey")
    return [
        {
            "respondent": n + 1,
            "age": None if rng.random() < 0.15 else rng.randint(18, 80),
            "recommends": rng.random() < 0.62,
            "score": rng.randint(1, 10),
        }
        for n in range(300)
    ]


def inventory() -> dict[str, Rows]:
    """Stock of three months, one sheet each."""
    rng = _rng("inventory")
    items = [f"Item {letter}" for letter in "ABCDEFGHIJKL"]
    return {
        month: [
            {"item": item, "units": rng.randint(0, 500), "unit_cost": round(rng.uniform(1, 60), 2)} for item in items
        ]
        for month in ("Jan", "Feb", "Mar")
    }


def budget() -> dict[str, Rows]:
    """Plan and actual costs of departments, in thousands, below two lines of title."""
    rng = _rng("budget")
    names = ("Marketing", "IT", "HR", "Legal", "Logistics", "Production")
    plan = [{"department": name, "amount_keur": rng.randint(120, 900)} for name in names]
    actual = [
        {"department": each["department"], "amount_keur": each["amount_keur"] + rng.randint(-80, 110)} for each in plan
    ]
    return {"Plan": plan, "Actual": actual}


def shipments() -> Rows:
    """Shipments; some have not arrived. The file writes days as in Germany."""
    rng = _rng("shipments")
    made = []
    for n in range(260):
        ordered = _day(rng, "2025-01-01", 300)
        shipped = ordered + timedelta(days=rng.randint(0, 6))
        delivered = None if rng.random() < 0.08 else shipped + timedelta(days=rng.randint(1, 14))
        made.append(
            {
                "shipment": f"S{n:04d}",
                "carrier": rng.choice(["Falcon", "Swift", "Turtle"]),
                "ordered": ordered,
                "shipped": shipped,
                "delivered": delivered,
                "weight_kg": round(rng.uniform(0.2, 30), 1),
            }
        )
    return made


def sensors() -> Rows:
    """Hourly temperatures of three weeks. The file writes -999 where a sensor gave nothing."""
    rng = _rng("sensors")
    start = datetime(2025, 3, 1)
    return [
        {
            "time": start + timedelta(hours=hour),
            "sensor": sensor,
            "temperature": None if rng.random() < 0.06 else round(12 + 6 * (hour % 24 > 11) + rng.gauss(0, 2), 1),
        }
        for hour in range(24 * 21)
        for sensor in ("roof", "cellar")
    ]


def traffic() -> Rows:
    """Visitors of a website, day by day for two years, with a week that repeats and slow growth."""
    rng = _rng("traffic")
    start = date(2023, 1, 1)
    made = []
    for n in range(730):
        day = start + timedelta(days=n)
        weekend = 0.6 if day.weekday() >= 5 else 1.0
        made.append(
            {"day": day, "visitors": round((800 + 0.7 * n) * weekend + rng.gauss(0, 40)), "signups": rng.randint(3, 60)}
        )
    return made


def customers() -> Rows:
    """Customers; a few have never bought."""
    rng = _rng("customers")
    return [
        {
            "customer_id": 500 + n,
            "country": rng.choice(["Spain", "Japan", "Chile", "Kenya"]),
            "tier": rng.choice(["gold", "basic"]),
        }
        for n in range(90)
    ]


def purchases() -> Rows:
    """Purchases; some belong to customers who are not in the other file."""
    rng = _rng("purchases")
    return [
        {"purchase": n + 1, "customer_id": rng.randint(500, 598), "amount": round(rng.uniform(5, 300), 2)}
        for n in range(500)
    ]


def students() -> Rows:
    """Students of three programmes."""
    rng = _rng("students")
    return [
        {"student": f"S{n:03d}", "programme": rng.choice(["Law", "Physics", "Music"]), "year": rng.randint(1, 4)}
        for n in range(80)
    ]


def courses() -> Rows:
    """Courses and their credits."""
    return [
        {"course": "ALG", "title": "Algebra", "credits": 6},
        {"course": "LOG", "title": "Logic", "credits": 4},
        {"course": "ETH", "title": "Ethics", "credits": 3},
        {"course": "ACO", "title": "Acoustics", "credits": 5},
        {"course": "LAT", "title": "Latin", "credits": 2},
    ]


def exams() -> Rows:
    """Exams of these students in these courses; nobody took Latin."""
    rng = _rng("exams")
    return [
        {
            "student": f"S{rng.randrange(80):03d}",
            "course": rng.choice(["ALG", "LOG", "ETH", "ACO"]),
            "points": rng.randint(20, 100),
        }
        for _ in range(320)
    ]


def ab_test() -> Rows:
    """Two variants of a page."""
    rng = _rng("ab_test")
    made = []
    for n in range(1200):
        variant = "B" if n % 2 else "A"
        converted = int(rng.random() < (0.15 if variant == "B" else 0.11))
        made.append(
            {"visitor": n + 1, "variant": variant, "converted": converted, "seconds": round(rng.expovariate(1 / 95), 1)}
        )
    return made


def measurements() -> Rows:
    """A length, measured in three ways, and the temperature."""
    rng = _rng("measurements")
    made = []
    for n in range(150):
        temperature = round(rng.uniform(10, 35), 1)
        method = ("laser", "tape", "photo")[n % 3]
        noise = {"laser": 0.1, "tape": 0.5, "photo": 1.2}[method]
        made.append(
            {
                "sample": n + 1,
                "method": method,
                "temperature": temperature,
                "length_mm": round(100 + 0.12 * temperature + rng.gauss(0, noise), 3),
            }
        )
    return made


def houses() -> Rows:
    """Houses with area, age and price."""
    rng = _rng("houses")
    made = []
    for n in range(200):
        area, age = rng.randint(45, 240), rng.randint(0, 80)
        made.append(
            {
                "house": n + 1,
                "area_m2": area,
                "age_years": age,
                "rooms": max(1, area // 28),
                "price": round(40_000 + 2_300 * area - 700 * age + rng.gauss(0, 25_000), -2),
            }
        )
    return made


def sales_zh() -> Rows:
    """Sales with Chinese names."""
    rng = _rng("sales_zh")
    return [
        {
            "日期": _day(rng, "2025-01-01", 365),
            "地区": rng.choice(["华东", "华南", "华北", "西南"]),
            "产品": rng.choice(["手机", "电脑", "耳机"]),
            "数量": (count := rng.randint(1, 20)),
            "金额": round(count * rng.uniform(90, 900), 2),
        }
        for _ in range(360)
    ]


def staff_zh() -> Rows:
    """Staff with Chinese names."""
    rng = _rng("staff_zh")
    return [
        {
            "工号": f"G{n:03d}",
            "部门": rng.choice(["销售部", "研发部", "财务部"]),
            "工龄": rng.randint(0, 25),
            "月薪": 100 * rng.randint(60, 320),
        }
        for n in range(120)
    ]


def tickets() -> Rows:
    """Support tickets; some are still open."""
    rng = _rng("tickets")
    made = []
    for n in range(340):
        opened = datetime(2025, 5, 1) + timedelta(minutes=rng.randrange(60 * 24 * 90))
        closed = None if rng.random() < 0.12 else opened + timedelta(minutes=rng.randint(5, 6000))
        made.append(
            {
                "ticket": n + 1,
                "opened": opened,
                "closed": closed,
                "priority": rng.choice(["low", "normal", "high"]),
                "team": rng.choice(["Web", "App", "Billing"]),
            }
        )
    return made


def flights() -> Rows:
    """Flights with their delays; cancelled ones have none."""
    rng = _rng("flights")
    return [
        {
            "flight": f"TB{n:04d}",
            "airline": rng.choice(["Aero", "Blue", "Condor"]),
            "distance_km": rng.randint(180, 8900),
            "delay_minutes": None if rng.random() < 0.05 else round(rng.gauss(12, 25)),
        }
        for n in range(500)
    ]


def subscriptions() -> Rows:
    """Subscriptions with their first and last month."""
    rng = _rng("subscriptions")
    made = []
    for n in range(280):
        started = date(2024, rng.randint(1, 12), 1)
        months = rng.randint(1, 18)
        ended = (
            None
            if rng.random() < 0.45
            else date(started.year + (started.month + months - 1) // 12, (started.month + months - 1) % 12 + 1, 1)
        )
        made.append(
            {
                "account": 9000 + n,
                "plan": rng.choice(["basic", "plus", "pro"]),
                "started": started,
                "ended": ended,
                "monthly_fee": rng.choice([9.0, 19.0, 49.0]),
            }
        )
    return made


def weather() -> Rows:
    """Rain and temperature of stations. The file has semicolons, decimal commas and the encoding of old Windows."""
    rng = _rng("weather")
    return [
        {
            "Station": rng.choice(["München", "Köln", "Görlitz"]),
            "Monat": rng.randint(1, 12),
            "Temperatur": round(rng.gauss(9, 8), 1),
            "Regen_mm": round(rng.gammavariate(2, 30), 1),
        }
        for _ in range(216)
    ]


def events() -> Rows:
    """Events of an app, one JSON object a line."""
    rng = _rng("events")
    return [
        {
            "at": datetime(2025, 8, 1) + timedelta(seconds=rng.randrange(86400 * 30)),
            "user": rng.randint(1, 60),
            "event": rng.choices(["open", "search", "buy"], (6, 3, 1))[0],
            "value": round(rng.uniform(1, 80), 2),
        }
        for _ in range(700)
    ]


# --- how they are written


def _text(value: object) -> object:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else value


def _csv(path: Path, rows: Sequence[Mapping[str, object]], *, delimiter: str = ",", encoding: str = "utf-8") -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)


def _xlsx(path: Path, sheets: Mapping[str, Rows], above: Sequence[str] = ()) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    book.properties.created = book.properties.modified = datetime(2026, 1, 1)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for line in above:
            sheet.append([line])
        sheet.append(list(rows[0]))
        for row in rows:
            sheet.append(list(row.values()))
    book.save(path)


def _dirty_sales(path: Path) -> None:
    rng = _rng("dirty_sales, the file")
    rows = dirty_sales()
    spoiled = []
    for row in rows:
        region = rng.choice([row["region"], row["region"].upper(), row["region"].lower(), f" {row['region']} "])
        spoiled.append({"Invoice": row["invoice"], "Region": region, "Amount": f"${row['amount']:,.2f}"})
    spoiled += [dict(spoiled[place]) for place in rng.sample(range(len(rows)), 15)]
    rng.shuffle(spoiled)
    spoiled.append({"Invoice": "Total", "Region": "", "Amount": f"${sum(row['amount'] for row in rows):,.2f}"})
    _csv(path, spoiled)


def _survey(path: Path) -> None:
    rng = _rng("survey, the file")
    yes, no = ("yes", "Yes", "Y", "y", "YES"), ("no", "No", "N", "n", "NO")
    _csv(
        path,
        [
            row
            | {
                "age": rng.choice(["n/a", "", "unknown"]) if row["age"] is None else row["age"],
                "recommends": rng.choice(yes if row["recommends"] else no),
            }
            for row in survey()
        ],
    )


def _german(value: date | None) -> str:
    return value.strftime("%d.%m.%Y") if value else ""


def _shipments(path: Path) -> None:
    _csv(
        path, [row | {name: _german(row[name]) for name in ("ordered", "shipped", "delivered")} for row in shipments()]
    )


def _sensors(path: Path) -> None:
    _csv(path, [row | {"temperature": -999 if row["temperature"] is None else row["temperature"]} for row in sensors()])


def _weather(path: Path) -> None:
    rows = [row | {name: str(row[name]).replace(".", ",") for name in ("Temperatur", "Regen_mm")} for row in weather()]
    _csv(path, rows, delimiter=";", encoding="cp1252")


def _events(path: Path) -> None:
    lines = [json.dumps({name: _text(value) for name, value in row.items()}) for row in events()]
    path.write_text("\n".join(lines) + "\n")


_CLEAN: dict[str, Callable[[], Rows]] = {
    "orders.csv": orders,
    "staff.csv": staff,
    "visits.csv": visits,
    "traffic.csv": traffic,
    "customers.csv": customers,
    "purchases.csv": purchases,
    "students.csv": students,
    "courses.csv": courses,
    "exams.csv": exams,
    "ab_test.csv": ab_test,
    "measurements.csv": measurements,
    "houses.csv": houses,
    "sales_zh.csv": sales_zh,
    "tickets.csv": tickets,
    "flights.csv": flights,
    "subscriptions.csv": subscriptions,
}
WRITERS: dict[str, Callable[[Path], None]] = {
    **{name: (lambda path, made=made: _csv(path, made())) for name, made in _CLEAN.items()},
    "dirty_sales.csv": _dirty_sales,
    "survey.csv": _survey,
    "shipments.csv": _shipments,
    "sensors.csv": _sensors,
    "weather.csv": _weather,
    "events.jsonl": _events,
    "inventory.xlsx": lambda path: _xlsx(path, inventory()),
    "budget.xlsx": lambda path: _xlsx(path, budget(), ("Cost report of the holding", "All amounts in thousand EUR")),
    "staff_zh.xlsx": lambda path: _xlsx(path, {"员工": staff_zh()}),
}
"""What writes each generated file."""
