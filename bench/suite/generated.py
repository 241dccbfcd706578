"""Questions about the generated tables, each with a gold from the rows as they were drawn."""

# ruff: noqa: E501  a question is a line of prose; it stays whole, so that it can be found as it is asked

from __future__ import annotations

import statistics
from collections.abc import Iterator
from datetime import date, timedelta

from bench.suite import tables
from bench.suite.values import (
    Item,
    anova_f,
    chi_square,
    col,
    groups,
    items,
    mean,
    quantile,
    ranks,
    top,
    total,
    unknown,
    welch_t,
    where,
)


def questions() -> Iterator[Item]:
    """All of them."""
    for part in (
        _orders,
        _staff,
        _visits,
        _dirty,
        _sheets,
        _dates,
        _series,
        _joins,
        _statistics,
        _chinese,
        _odd,
        _traps,
    ):
        yield from part()


def _orders() -> Iterator[Item]:
    rows = tables.orders()
    ask = items("orders.csv", "clean")
    of_2024, of_2025 = (where(rows, lambda r, y=year: r["day"].year == y) for year in (2024, 2025))
    by_region = {name: total(part, "revenue") for name, part in groups(rows, "region").items()}
    by_product = {name: total(part, "revenue") for name, part in groups(rows, "product").items()}
    by_month = {name: total(part, "revenue") for name, part in groups(of_2025, lambda r: r["day"].month).items()}
    yield ask("orders-total", "What is the total revenue?", "sum", total=(total(rows, "revenue"), 2))
    yield ask("orders-count", "How many orders are there?", "count", orders=(len(rows), 0))
    yield ask("orders-top-region", "Which region has the highest total revenue, and how much is it?", "group",
              region=(top(by_region), None), revenue=(max(by_region.values()), 2))  # fmt: skip
    yield ask("orders-mean", "What is the average revenue per order?", "mean", mean=(mean(rows, "revenue"), 2))
    yield ask("orders-lamp-units", "How many units (quantity) of the Lamp were sold in all?", "filter",
              units=(total(where(rows, lambda r: r["product"] == "Lamp"), "quantity"), 0))  # fmt: skip
    yield ask("orders-growth", "By what percentage did total revenue change from 2024 to 2025?", "dates", "change",
              percent=((total(of_2025, "revenue") / total(of_2024, "revenue") - 1) * 100, 2))  # fmt: skip
    yield ask("orders-best-month", "Which month of 2025 had the highest revenue? Give its number, 1 to 12.", "dates",
              month=(top(by_month), 0))  # fmt: skip
    yield ask("orders-share-top-product", "Which product has the largest share of total revenue, in percent?", "group",
              product=(top(by_product), None),
              percent=(max(by_product.values()) / total(rows, "revenue") * 100, 2))  # fmt: skip
    north = where(rows, lambda r: r["region"] == "North" and r["quantity"] >= 5)
    yield ask("orders-north-large", "How many orders of the region North have a quantity of 5 or more?", "filter",
              orders=(len(north), 0))  # fmt: skip


def _staff() -> Iterator[Item]:
    rows = tables.staff()
    ask = items("staff.csv", "clean")
    by = groups(rows, "department")
    yield ask("staff-median-salary", "What is the median salary?", "median",
              median=(statistics.median(col(rows, "salary")), 2))  # fmt: skip
    yield ask("staff-research-mean", "What is the average salary in the department Research?", "filter", "mean",
              mean=(mean(by["Research"], "salary"), 2))  # fmt: skip
    gap = {name: max(col(part, "salary")) - min(col(part, "salary")) for name, part in by.items()}
    yield ask("staff-widest-range", "Which department has the widest range between its highest and lowest salary?",
              "group", department=(top(gap), None), range=(max(gap.values()), 0))  # fmt: skip
    first = min(rows, key=lambda r: r["hired"])
    yield ask("staff-longest", "Which employee was hired first? Give the id.", "dates",
              employee=(first["employee"], None))  # fmt: skip
    after = where(rows, lambda r: r["hired"] >= date(2020, 1, 1))
    yield ask("staff-since-2020", "How many employees were hired on or after 2020-01-01?", "dates",
              employees=(len(after), 0))  # fmt: skip
    oslo = where(rows, lambda r: r["city"] == "Oslo" and r["department"] == "Sales")
    yield ask("staff-oslo-sales", "How many employees of the department Sales work in Oslo?", "filter",
              employees=(len(oslo), 0))  # fmt: skip
    yield ask("staff-std", "What is the sample standard deviation (ddof = 1) of the salary?", "statistics",
              std=(statistics.stdev(col(rows, "salary")), 2))  # fmt: skip


def _visits() -> Iterator[Item]:
    rows = tables.visits()
    ask = items("visits.csv", "clean")
    by = groups(rows, "ward")
    waits = {name: mean(part, "wait_minutes") for name, part in by.items()}
    yield ask("visits-wait-p90", "What is the 90th percentile of the waiting time, by linear interpolation?",
              "statistics", p90=(quantile(col(rows, "wait_minutes"), 0.9), 2))  # fmt: skip
    yield ask("visits-slowest-ward", "Which ward has the longest average waiting time, and how many minutes is it?",
              "group", ward=(top(waits), None), minutes=(max(waits.values()), 2))  # fmt: skip
    old = where(rows, lambda r: r["age"] >= 65)
    yield ask("visits-old-share", "What percentage of visits are by people aged 65 or older?", "filter",
              percent=(len(old) / len(rows) * 100, 2))  # fmt: skip
    yield ask("visits-fee-surgery", "What is the total fee of the ward Surgery?", "filter", "sum",
              fee=(total(by["Surgery"], "fee"), 2))  # fmt: skip
    yield ask("visits-max-fee", "What is the highest fee, and at which visit was it?", "rows",
              fee=(max(col(rows, "fee")), 2), visit=(max(rows, key=lambda r: r["fee"])["visit"], 0))  # fmt: skip
    pearson = statistics.correlation(col(rows, "age"), col(rows, "fee"))
    yield ask("visits-correlation", "What is the Pearson correlation of age and fee?", "statistics",
              r=(pearson, 3))  # fmt: skip


def _dirty() -> Iterator[Item]:
    rows = tables.dirty_sales()
    ask = items("dirty_sales.csv", "dirty")
    by = {name: total(part, "amount") for name, part in groups(rows, "region").items()}
    note = "Invoices that are there twice count once, and the totals row does not count."
    yield ask("dirty-total", f"What is the total amount? {note}", "sum", total=(total(rows, "amount"), 2))
    yield ask("dirty-invoices", f"How many invoices are there? {note}", "count", invoices=(len(rows), 0))
    yield ask("dirty-top-region", f"Which region has the largest total amount, whatever the case it is written in? {note}",
              "group", region=(top(by), None), amount=(max(by.values()), 2))  # fmt: skip
    yield ask("dirty-mean", f"What is the average amount per invoice? {note}", "mean", mean=(mean(rows, "amount"), 2))
    above = where(rows, lambda r: r["amount"] > 1000)
    yield ask("dirty-above-1000", f"How many invoices are above 1,000 dollars? {note}", "filter",
              invoices=(len(above), 0))  # fmt: skip
    rows = tables.survey()
    ask = items("survey.csv", "dirty")
    known = col(rows, "age")
    yield ask("survey-recommend", "What percentage of all respondents recommend us (yes, in any spelling)?", "filter",
              percent=(sum(r["recommends"] for r in rows) / len(rows) * 100, 2))  # fmt: skip
    yield ask("survey-age", "What is the average age of the respondents who gave their age?", "missing",
              mean=(statistics.fmean(known), 2))  # fmt: skip
    yield ask("survey-age-missing", "How many respondents gave no age?", "missing",
              respondents=(len(rows) - len(known), 0))  # fmt: skip
    promoters = sum(r["score"] >= 9 for r in rows)
    detractors = sum(r["score"] <= 6 for r in rows)
    yield ask("survey-nps", "What is the Net Promoter Score of the column score (share of 9 and 10 minus share of 1 to 6, "
              "in percentage points)?", "formula", nps=((promoters - detractors) / len(rows) * 100, 2))  # fmt: skip
    fans = mean(where(rows, lambda r: r["recommends"]), "score")
    yield ask("survey-score-of-fans", "What is the average score of those who recommend us?", "filter",
              mean=(fans, 2))  # fmt: skip


def _sheets() -> Iterator[Item]:
    sheets = tables.inventory()
    ask = items("inventory.xlsx", "multi-sheet")
    worth = {name: sum(r["units"] * r["unit_cost"] for r in rows) for name, rows in sheets.items()}
    yield ask("inventory-march-units", "How many units are there in all in the sheet Mar?", "sum",
              units=(total(sheets["Mar"], "units"), 0))  # fmt: skip
    yield ask("inventory-worth-month", "In which month is the stock worth most (units times unit_cost), and how much?",
              "group", month=(top(worth), None), worth=(max(worth.values()), 2))  # fmt: skip
    first = {r["item"]: r["units"] for r in sheets["Jan"]}
    change = {r["item"]: r["units"] - first[r["item"]] for r in sheets["Mar"]}
    yield ask("inventory-largest-gain", "Which item gained the most units from Jan to Mar, and how many?", "join",
              item=(top(change), None), units=(max(change.values()), 0))  # fmt: skip
    everything = [r for rows in sheets.values() for r in rows]
    yield ask("inventory-mean-units", "What is the average of units over all items and all three months?", "mean",
              mean=(mean(everything, "units"), 2))  # fmt: skip
    empty = {item for item in first if any(r["item"] == item and r["units"] < 50 for r in everything)}
    yield ask("inventory-low", "How many items had fewer than 50 units in at least one month?", "filter",
              items=(len(empty), 0))  # fmt: skip
    plan, actual = (tables.budget()[name] for name in ("Plan", "Actual"))
    ask = items("budget.xlsx", "multi-sheet", "units")
    over = {a["department"]: a["amount_keur"] - p["amount_keur"] for p, a in zip(plan, actual, strict=True)}
    yield ask("budget-actual-total", "What is the total of the actual costs, in thousand EUR?", "sum",
              keur=(total(actual, "amount_keur"), 0))  # fmt: skip
    yield ask("budget-actual-euro", "What is the total of the actual costs, in EUR (not in thousands)?", "scale",
              eur=(total(actual, "amount_keur") * 1000, 0))  # fmt: skip
    yield ask("budget-worst-overrun", "Which department went furthest above its plan, and by how many thousand EUR?",
              "join", department=(top(over), None), keur=(max(over.values()), 0))  # fmt: skip
    yield ask("budget-over-percent", "By what percentage are the actual costs of all departments together above the plan? "
              "A minus means below.", "change",
              percent=((total(actual, "amount_keur") / total(plan, "amount_keur") - 1) * 100, 2))  # fmt: skip


def _dates() -> Iterator[Item]:
    rows = tables.shipments()
    ask = items("shipments.csv", "dates")
    arrived = where(rows, lambda r: r["delivered"] is not None)
    days = [(r["delivered"] - r["ordered"]).days for r in arrived]
    yield ask("shipments-mean-days", "How many days pass on average from ordered to delivered? Days are written dd.mm.yyyy; "
              "shipments that were not delivered do not count.", "mean", days=(statistics.fmean(days), 2))  # fmt: skip
    yield ask("shipments-open", "How many shipments have no day of delivery?", "missing",
              shipments=(len(rows) - len(arrived), 0))  # fmt: skip
    march = where(rows, lambda r: (r["ordered"].year, r["ordered"].month) == (2025, 3))
    yield ask("shipments-march", "How many shipments were ordered in March 2025? Days are written dd.mm.yyyy.", "filter",
              shipments=(len(march), 0))  # fmt: skip
    slow = {name: statistics.fmean((r["delivered"] - r["shipped"]).days for r in part)
            for name, part in groups(arrived, "carrier").items()}  # fmt: skip
    yield ask("shipments-slowest-carrier", "Which carrier takes the most days on average from shipped to delivered? Days "
              "are written dd.mm.yyyy.", "group", carrier=(top(slow), None), days=(max(slow.values()), 2))  # fmt: skip
    late = sum((r["delivered"] - r["ordered"]).days > 14 for r in arrived)
    yield ask("shipments-late", "What percentage of the delivered shipments took more than 14 days from ordered to "
              "delivered? Days are written dd.mm.yyyy.", "filter", percent=(late / len(arrived) * 100, 2))  # fmt: skip
    weekday = groups(rows, lambda r: r["ordered"].strftime("%A"))
    yield ask("shipments-weekday", "On which weekday were the most shipments ordered? Give its English name. Days are "
              "written dd.mm.yyyy.", "group", weekday=(top({k: len(v) for k, v in weekday.items()}), None))  # fmt: skip
    rows = tables.tickets()
    ask = items("tickets.csv", "dates")
    closed = where(rows, lambda r: r["closed"] is not None)
    hours = [(r["closed"] - r["opened"]).total_seconds() / 3600 for r in closed]
    yield ask("tickets-median-hours", "What is the median time from opened to closed, in hours, of the closed tickets?",
              "median", hours=(statistics.median(hours), 2))  # fmt: skip
    yield ask("tickets-open", "How many tickets are still open?", "missing", tickets=(len(rows) - len(closed), 0))
    june = where(rows, lambda r: r["opened"].month == 6)
    yield ask("tickets-june-high", "How many tickets with priority high were opened in June 2025?", "filter",
              tickets=(len(where(june, lambda r: r["priority"] == "high")), 0))  # fmt: skip
    night = sum(r["opened"].hour < 6 for r in rows)
    yield ask("tickets-night", "What percentage of tickets were opened before 06:00?", "filter",
              percent=(night / len(rows) * 100, 2))  # fmt: skip
    rows = tables.subscriptions()
    ask = items("subscriptions.csv", "dates")
    active = where(
        rows, lambda r: r["started"] <= date(2025, 1, 1) and (r["ended"] is None or r["ended"] > date(2025, 1, 1))
    )
    yield ask("subscriptions-active", "How many subscriptions were active on 2025-01-01? One is active from the day it "
              "started until before the day it ended; an empty end means that it still runs.", "filter",
              subscriptions=(len(active), 0))  # fmt: skip
    yield ask("subscriptions-revenue", "What is the sum of the monthly fees of the subscriptions that still run (without an "
              "end)?", "sum", fees=(total(where(rows, lambda r: r["ended"] is None), "monthly_fee"), 2))  # fmt: skip
    gone = {
        name: sum(r["ended"] is not None for r in part) / len(part) * 100 for name, part in groups(rows, "plan").items()
    }
    yield ask("subscriptions-churn-plan", "Which plan has the highest share of subscriptions that ended, and what is it in "
              "percent?", "group", plan=(top(gone), None), percent=(max(gone.values()), 2))  # fmt: skip


def _series() -> Iterator[Item]:
    rows = tables.traffic()
    ask = items("traffic.csv", "time series")
    visitors = col(rows, "visitors")
    of_2023, of_2024 = (where(rows, lambda r, y=year: r["day"].year == y) for year in (2023, 2024))
    yield ask("traffic-2024", "How many visitors were there in 2024 in all?", "sum",
              visitors=(total(of_2024, "visitors"), 0))  # fmt: skip
    yield ask("traffic-weekend", "What is the average number of visitors on Saturdays and Sundays?", "filter",
              mean=(mean(where(rows, lambda r: r["day"].weekday() >= 5), "visitors"), 2))  # fmt: skip
    rolling = {rows[n]["day"]: statistics.fmean(visitors[n - 6 : n + 1]) for n in range(6, len(rows))}
    best = top(rolling)
    yield ask("traffic-rolling", "When does the 7-day moving average of visitors (a day and the six before it) peak, and at "
              "what value? Give the day as YYYY-MM-DD.", "window", day=(best.isoformat(), None),
              average=(rolling[best], 2))  # fmt: skip
    slope = statistics.linear_regression(range(len(rows)), visitors).slope
    yield ask("traffic-slope", "By how many visitors a day does a straight line (least squares over the days) rise?",
              "statistics", slope=(slope, 4))  # fmt: skip
    change = (total(of_2024, "visitors") / len(of_2024)) / (total(of_2023, "visitors") / len(of_2023)) - 1
    yield ask("traffic-yoy", "By what percentage did the average number of visitors per day change from 2023 to 2024?",
              "change", percent=(change * 100, 2))  # fmt: skip
    lag = statistics.correlation(visitors[7:], visitors[:-7])
    yield ask("traffic-lag7", "What is the Pearson correlation of each day's visitors with those of seven days before?",
              "statistics", r=(lag, 3))  # fmt: skip
    rows = tables.sensors()
    ask = items("sensors.csv", "time series", "dirty")
    roof = where(rows, lambda r: r["sensor"] == "roof")
    note = "A temperature of -999 means that there is none."
    yield ask("sensors-roof-mean", f"What is the average temperature of the sensor roof? {note}", "missing",
              mean=(mean(roof, "temperature"), 2))  # fmt: skip
    yield ask("sensors-missing", f"How many readings of both sensors are missing? {note}", "missing",
              readings=(sum(r["temperature"] is None for r in rows), 0))  # fmt: skip
    daily = {day: mean(part, "temperature") for day, part in groups(roof, lambda r: r["time"].date()).items()}
    yield ask("sensors-warmest-day", f"Which day was the warmest by the average of the sensor roof (YYYY-MM-DD)? {note}",
              "group", day=(top(daily).isoformat(), None))  # fmt: skip
    pairs = [(a["temperature"], b["temperature"]) for a, b in zip(roof, where(rows, lambda r: r["sensor"] == "cellar"), strict=True)
             if a["temperature"] is not None and b["temperature"] is not None]  # fmt: skip
    yield ask("sensors-correlation", f"What is the Pearson correlation of both sensors' temperatures, over the hours at which "
              f"both gave one? {note}", "statistics", r=(statistics.correlation(*zip(*pairs, strict=True)), 3))  # fmt: skip
    spring = date(2025, 3, 1) + timedelta(days=7)
    yield ask("sensors-first-week", f"What is the highest temperature of the sensor cellar before {spring.isoformat()}? {note}",
              "filter", highest=(max(col(where(rows, lambda r: r["sensor"] == "cellar" and r["time"].date() < spring),
                                         "temperature")), 1))  # fmt: skip


def _joins() -> Iterator[Item]:
    people, bought = {r["customer_id"]: r for r in tables.customers()}, tables.purchases()
    ask = items(("customers.csv", "purchases.csv"), "joins")
    known = [r | people[r["customer_id"]] for r in bought if r["customer_id"] in people]
    by = {name: total(part, "amount") for name, part in groups(known, "country").items()}
    yield ask("purchases-top-country", "Which country's customers spent the most, and how much?", "group",
              country=(top(by), None), amount=(max(by.values()), 2))  # fmt: skip
    yield ask("purchases-orphans", "How many purchases belong to a customer_id that is not in customers.csv?", "quality",
              purchases=(len(bought) - len(known), 0))  # fmt: skip
    yield ask("purchases-never", "How many customers have no purchase?", "quality",
              customers=(len(people.keys() - {r["customer_id"] for r in bought}), 0))  # fmt: skip
    gold = where(known, lambda r: r["tier"] == "gold")
    yield ask("purchases-gold-mean", "What is the average amount of a purchase by customers of the tier gold?", "mean",
              mean=(mean(gold, "amount"), 2))  # fmt: skip
    per_head = {c: total(part, "amount") for c, part in groups(known, "customer_id").items()}
    yield ask("purchases-best-customer", "Which customer of customers.csv spent the most in all? Give customer_id.", "group",
              customer=(top(per_head), 0), amount=(max(per_head.values()), 2))  # fmt: skip
    students, credits = ({r["student"]: r for r in tables.students()}, {r["course"]: r for r in tables.courses()})
    ask = items(("students.csv", "exams.csv", "courses.csv"), "joins")
    taken = [r | students[r["student"]] | credits[r["course"]] for r in tables.exams()]
    points = {name: mean(part, "points") for name, part in groups(taken, "programme").items()}
    yield ask("exams-best-programme", "Which programme has the highest average of points over all its exams?", "group",
              programme=(top(points), None), points=(max(points.values()), 2))  # fmt: skip
    passed = where(taken, lambda r: r["points"] >= 50)
    yield ask("exams-pass-rate", "What percentage of the exams were passed (50 points or more)?", "filter",
              percent=(len(passed) / len(taken) * 100, 2))  # fmt: skip
    yield ask("exams-credits-law", "How many credits did the students of Law earn in all? Each exam with 50 points or more "
              "earns the credits of its course; repeated exams count each time.", "sum",
              credits=(total(where(passed, lambda r: r["programme"] == "Law"), "credits"), 0))  # fmt: skip
    weighted = sum(r["points"] * r["credits"] for r in taken) / total(taken, "credits")
    yield ask("exams-weighted", "What is the average of points over all exams, weighted by the credits of the course?",
              "formula", mean=(weighted, 2))  # fmt: skip
    unused = [r["title"] for r in tables.courses() if r["course"] not in {e["course"] for e in taken}]
    yield ask("exams-unused-course", "In which course did nobody take an exam? Give its title.", "quality",
              course=(unused[0], None))  # fmt: skip


def _statistics() -> Iterator[Item]:
    rows = tables.ab_test()
    ask = items("ab_test.csv", "statistics")
    by = groups(rows, "variant")
    rate = {name: mean(part, "converted") * 100 for name, part in by.items()}
    yield ask("ab-rate-b", "What is the conversion rate of variant B in percent?", "mean", percent=(rate["B"], 2))
    yield ask("ab-lift", "By how many percentage points is the conversion rate of B above that of A?", "change",
              points=(rate["B"] - rate["A"], 2))  # fmt: skip
    counts = [[sum(r["converted"] == hit for r in by[name]) for hit in (0, 1)] for name in ("A", "B")]
    yield ask("ab-chi2", "What is Pearson's chi-square statistic of variant against converted, without a continuity "
              "correction?", "test", chi2=(chi_square(counts), 3))  # fmt: skip
    seconds = {name: col(part, "seconds") for name, part in by.items()}
    yield ask("ab-welch", "What is Welch's t statistic for the seconds of A against B (A minus B)?", "test",
              t=(welch_t(seconds["A"], seconds["B"]), 3))  # fmt: skip
    yield ask("ab-median-seconds", "What is the median of seconds of variant A?", "median",
              median=(statistics.median(seconds["A"]), 2))  # fmt: skip
    rows = tables.measurements()
    ask = items("measurements.csv", "statistics")
    lengths = {name: col(part, "length_mm") for name, part in groups(rows, "method").items()}
    spread = {name: statistics.stdev(values) for name, values in lengths.items()}
    yield ask("lengths-spread", "Which method has the largest sample standard deviation (ddof = 1) of length_mm?", "group",
              method=(top(spread), None), std=(max(spread.values()), 3))  # fmt: skip
    yield ask("lengths-anova", "What is the F statistic of a one-way analysis of variance of length_mm by method?", "test",
              f=(anova_f(list(lengths.values())), 3))  # fmt: skip
    laser = where(rows, lambda r: r["method"] == "laser")
    line = statistics.linear_regression(col(laser, "temperature"), col(laser, "length_mm"))
    yield ask("lengths-slope", "Fit a straight line (least squares) of length_mm on temperature for the method laser. What is "
              "its slope, and what its intercept?", "regression", slope=(line.slope, 4),
              intercept=(line.intercept, 3))  # fmt: skip
    spearman = statistics.correlation(ranks(col(rows, "temperature")), ranks(col(rows, "length_mm")))
    yield ask("lengths-spearman", "What is Spearman's rank correlation of temperature and length_mm over all rows?", "test",
              rho=(spearman, 3))  # fmt: skip
    rows = tables.houses()
    ask = items("houses.csv", "statistics")
    yield ask("houses-r2", "What is R² of a straight line (least squares) of price on area_m2?", "regression",
              r2=(statistics.correlation(col(rows, "area_m2"), col(rows, "price")) ** 2, 4))  # fmt: skip
    each = [r["price"] / r["area_m2"] for r in rows]
    yield ask("houses-per-m2", "What is the median of the price per square metre over the houses?", "formula",
              median=(statistics.median(each), 2))  # fmt: skip
    low, high = (quantile(col(rows, "price"), share) for share in (0.25, 0.75))
    outside = [p for p in col(rows, "price") if p < low - 1.5 * (high - low) or p > high + 1.5 * (high - low)]
    yield ask("houses-outliers", "How many prices lie outside of 1.5 interquartile ranges beyond the quartiles (linear "
              "interpolation)?", "outliers", houses=(len(outside), 0))  # fmt: skip


def _chinese() -> Iterator[Item]:
    rows = tables.sales_zh()
    ask = items("sales_zh.csv", "chinese")
    by = {name: total(part, "金额") for name, part in groups(rows, "地区").items()}
    product = {name: total(part, "数量") for name, part in groups(rows, "产品").items()}
    yield ask("zh-total", "总金额是多少？", "sum", total=(total(rows, "金额"), 2))
    yield ask("zh-top-region", "哪个地区的金额最高？金额是多少？", "group", region=(top(by), None),
              amount=(max(by.values()), 2))  # fmt: skip
    yield ask("zh-best-product", "哪个产品的销售数量最多？数量是多少？", "group", product=(top(product), None),
              units=(max(product.values()), 0))  # fmt: skip
    yield ask("zh-mean", "平均每笔金额是多少？", "mean", mean=(mean(rows, "金额"), 2))
    june = where(rows, lambda r: r["日期"].month == 6)
    yield ask("zh-june", "2025年6月的总金额是多少？", "dates", total=(total(june, "金额"), 2))
    south = where(rows, lambda r: r["地区"] == "华南" and r["产品"] == "手机")
    yield ask("zh-south-phones", "华南地区的手机一共有多少笔销售记录？", "filter", rows=(len(south), 0))
    rows = tables.staff_zh()
    ask = items("staff_zh.xlsx", "chinese")
    yield ask("zh-median-pay", "月薪的中位数是多少？", "median", median=(statistics.median(col(rows, "月薪")), 2))
    pay = {name: mean(part, "月薪") for name, part in groups(rows, "部门").items()}
    yield ask("zh-best-department", "哪个部门的平均月薪最高？是多少？", "group", department=(top(pay), None),
              mean=(max(pay.values()), 2))  # fmt: skip
    yield ask("zh-senior", "工龄不少于10年的员工有多少人？", "filter",
              people=(sum(r["工龄"] >= 10 for r in rows), 0))  # fmt: skip


def _odd() -> Iterator[Item]:
    rows = tables.weather()
    ask = items("weather.csv", "dirty", "encoding")
    yield ask("weather-cologne", "What is the average of Temperatur at the Station Köln?", "filter",
              mean=(mean(where(rows, lambda r: r["Station"] == "Köln"), "Temperatur"), 2))  # fmt: skip
    rain = {name: total(part, "Regen_mm") for name, part in groups(rows, "Station").items()}
    yield ask("weather-rain", "Which Station has the most rain in all (Regen_mm)?", "group", station=(top(rain), None),
              mm=(max(rain.values()), 1))  # fmt: skip
    frost = sum(r["Temperatur"] < 0 for r in rows)
    yield ask("weather-frost", "How many rows have a Temperatur below zero?", "filter", rows=(frost, 0))
    rows = tables.events()
    ask = items("events.jsonl", "clean", "json")
    buys = where(rows, lambda r: r["event"] == "buy")
    yield ask("events-buyers", "How many different users have at least one event buy?", "count",
              users=(len({r["user"] for r in buys}), 0))  # fmt: skip
    yield ask("events-buy-value", "What is the total value of the events buy?", "sum", value=(total(buys, "value"), 2))
    yield ask("events-busiest-day", "On which day were there the most events (YYYY-MM-DD)?", "dates",
              day=(top({d: len(p) for d, p in groups(rows, lambda r: r["at"].date()).items()}).isoformat(), None))  # fmt: skip
    rows = tables.flights()
    ask = items("flights.csv", "missing")
    flown = where(rows, lambda r: r["delay_minutes"] is not None)
    yield ask("flights-mean-delay", "What is the average delay of the flights that have one given?", "mean",
              minutes=(mean(flown, "delay_minutes"), 2))  # fmt: skip
    late = {n: sum(r["delay_minutes"] > 30 for r in p) / len(p) * 100 for n, p in groups(flown, "airline").items()}
    yield ask("flights-late-airline", "Which airline has the highest share of flights that are more than 30 minutes late, of "
              "its flights with a given delay, in percent?", "group", airline=(top(late), None),
              percent=(max(late.values()), 2))  # fmt: skip
    far = where(rows, lambda r: r["distance_km"] > 5000)
    yield ask("flights-far", "How many flights are longer than 5,000 km?", "filter", flights=(len(far), 0))
    yield ask("flights-weighted", "What is the average delay weighted by the distance, over flights with a given delay?",
              "formula", minutes=(sum(r["delay_minutes"] * r["distance_km"] for r in flown) / total(flown, "distance_km"),
                                  2))  # fmt: skip


_TRAPS = (
    ("orders.csv", "profit", "What was the total profit in 2025?"),
    ("orders.csv", "2026", "What was the revenue in March 2026?"),
    ("orders.csv", "central", "What is the total revenue of the region Central?"),
    ("orders.csv", "age", "What is the average age of the customers who ordered?"),
    ("staff.csv", "women", "What percentage of the employees are women?"),
    ("staff.csv", "bonus", "What is the average bonus in the department Finance?"),
    ("visits.csv", "diagnosis", "Which diagnosis is the most frequent?"),
    ("shipments.csv", "cost", "What did the shipments of the carrier Falcon cost in all?"),
    ("traffic.csv", "country", "From which country do the most visitors come?"),
    ("ab_test.csv", "variant-c", "What is the conversion rate of variant C?"),
    ("houses.csv", "city", "In which city are the houses the most expensive?"),
    ("tickets.csv", "satisfaction", "How satisfied were the customers after their tickets were closed, on average?"),
    ("flights.csv", "passengers", "How many passengers were on the flights of the airline Blue in all?"),
    ("sales_zh.csv", "zh-profit", "2025年的总利润是多少？"),
    ("events.jsonl", "os", "What share of the users has an iPhone?"),
    ("subscriptions.csv", "reason", "What is the most frequent reason for ending a subscription?"),
)


def _traps() -> Iterator[Item]:
    for file, name, text in _TRAPS:
        yield items(file, "trap")(f"trap-{name}", text, answer=unknown())
