"""Questions about real tables, each with a gold by plain arithmetic over the rows."""

# ruff: noqa: E501

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench.suite.real import rows as real_rows
from bench.suite.values import Item, col, groups, items, mean, quantile, top, total, where


def questions() -> Iterator[Item]:
    """All of them."""
    for part in (_sklearn, _statsmodels):
        yield from part()


def _sklearn() -> Iterator[Item]:
    rows = real_rows("iris.csv")
    ask = items("iris.csv", "real")
    by = groups(rows, "species")
    yield ask("iris-petal-virginica", "What is the average petal length of the species virginica?", "filter",
              mean=(mean(by["virginica"], "petal length (cm)"), 3))  # fmt: skip
    yield ask("iris-correlation", "What is the Pearson correlation of petal length and petal width?", "statistics",
              r=(statistics.correlation(col(rows, "petal length (cm)"), col(rows, "petal width (cm)")), 4))  # fmt: skip
    widths = {name: mean(part, "sepal width (cm)") for name, part in by.items()}
    yield ask("iris-widest", "Which species has the largest average sepal width?", "group",
              species=(top(widths), None), mean=(max(widths.values()), 3))  # fmt: skip
    rows = real_rows("wine.csv")
    ask = items("wine.csv", "real")
    strong = where(rows, lambda r: r["alcohol"] > 13)
    yield ask("wine-strong", "How many wines have more than 13 percent alcohol?", "filter", wines=(len(strong), 0))
    proline = {name: statistics.median(col(part, "proline")) for name, part in groups(rows, "cultivar").items()}
    yield ask("wine-proline", "Which cultivar has the highest median of proline?", "group", cultivar=(top(proline), None),
              median=(max(proline.values()), 1))  # fmt: skip
    rows = real_rows("breast_cancer.csv")
    ask = items("breast_cancer.csv", "real")
    by = groups(rows, "diagnosis")
    yield ask("cancer-malignant", "What percentage of the rows are malignant?", "filter",
              percent=(len(by["malignant"]) / len(rows) * 100, 2))  # fmt: skip
    yield ask("cancer-radius-gap", "By how much is the average of mean radius larger for malignant than for benign rows?",
              "group", gap=(mean(by["malignant"], "mean radius") - mean(by["benign"], "mean radius"), 3))  # fmt: skip
    yield ask("cancer-area-p95", "What is the 95th percentile of mean area, by linear interpolation?", "statistics",
              p95=(quantile(col(rows, "mean area"), 0.95), 2))  # fmt: skip
    rows = real_rows("linnerud.csv")
    ask = items("linnerud.csv", "real")
    yield ask("linnerud-waist", "What is the Pearson correlation of Waist and Chins?", "statistics",
              r=(statistics.correlation(col(rows, "Waist"), col(rows, "Chins")), 4))  # fmt: skip
    yield ask("linnerud-situps", "What is the median of Situps?", "median",
              median=(statistics.median(col(rows, "Situps")), 1))  # fmt: skip


def _statsmodels() -> Iterator[Item]:
    rows = real_rows("longley.csv")
    ask = items("longley.csv", "real")
    line = statistics.linear_regression(col(rows, "GNP"), col(rows, "TOTEMP"))
    yield ask("longley-slope", "Fit a straight line (least squares) of TOTEMP on GNP. What is its slope?", "regression",
              slope=(line.slope, 6))  # fmt: skip
    yield ask("longley-year", "In which year was UNEMP highest?", "rows",
              year=(max(rows, key=lambda r: r["UNEMP"])["YEAR"], 0))  # fmt: skip
    rows = real_rows("macrodata.csv")
    ask = items("macrodata.csv", "real", "time series")
    by = {year: mean(part, "unemp") for year, part in groups(rows, "year").items()}
    yield ask("macro-worst-year", "Which year has the highest average of unemp over its quarters, and what is it?", "group",
              year=(top(by), 0), mean=(max(by.values()), 3))  # fmt: skip
    gdp = {(r["year"], r["quarter"]): r["realgdp"] for r in rows}
    yield ask("macro-gdp-growth", "By what percentage did realgdp grow from the first quarter of 1990 to the first quarter of "
              "2000?", "change", percent=((gdp[(2000, 1)] / gdp[(1990, 1)] - 1) * 100, 2))  # fmt: skip
    yield ask("macro-deflation", "How many quarters have an infl below zero?", "filter",
              quarters=(sum(r["infl"] < 0 for r in rows), 0))  # fmt: skip
    rows = real_rows("stackloss.csv")
    ask = items("stackloss.csv", "real")
    yield ask("stackloss-mean", "What is the average STACKLOSS where AIRFLOW is 62 or less?", "filter",
              mean=(mean(where(rows, lambda r: r["AIRFLOW"] <= 62), "STACKLOSS"), 3))  # fmt: skip
    rows = real_rows("grunfeld.csv")
    ask = items("grunfeld.csv", "real")
    invested = {name: total(part, "invest") for name, part in groups(rows, "firm").items()}
    yield ask("grunfeld-top", "Which firm invested the most over all years (sum of invest)?", "group",
              firm=(top(invested), None), invest=(max(invested.values()), 2))  # fmt: skip
    yield ask("grunfeld-1950", "What is the average capital of all firms in 1950?", "filter",
              mean=(mean(where(rows, lambda r: r["year"] == 1950), "capital"), 2))  # fmt: skip
    rows = real_rows("sunspots.csv")
    ask = items("sunspots.csv", "real", "time series")
    yield ask("sunspots-peak", "In which year was SUNACTIVITY highest, and what was it?", "rows",
              year=(max(rows, key=lambda r: r["SUNACTIVITY"])["YEAR"], 0),
              activity=(max(col(rows, "SUNACTIVITY")), 1))  # fmt: skip
    yield ask("sunspots-1800s", "What is the average SUNACTIVITY of the years 1801 to 1900?", "filter",
              mean=(mean(where(rows, lambda r: 1801 <= r["YEAR"] <= 1900), "SUNACTIVITY"), 2))  # fmt: skip
    rows = real_rows("nile.csv")
    ask = items("nile.csv", "real", "time series")
    before, after = (where(rows, lambda r, late=late: (r["year"] >= 1899) == late) for late in (False, True))
    yield ask("nile-break", "By how much is the average volume from 1899 on below that of the years before?", "change",
              drop=(mean(before, "volume") - mean(after, "volume"), 2))  # fmt: skip
    yield ask("nile-std", "What is the sample standard deviation (ddof = 1) of volume?", "statistics",
              std=(statistics.stdev(col(rows, "volume")), 2))  # fmt: skip
    rows = real_rows("fair.csv")
    ask = items("fair.csv", "real")
    some = [r["affairs"] > 0 for r in rows]
    yield ask("fair-some", "What percentage of the rows have affairs above zero?", "filter",
              percent=(sum(some) / len(some) * 100, 2))  # fmt: skip
    married = {rate: mean(part, "yrs_married") for rate, part in groups(rows, "rate_marriage").items()}
    yield ask("fair-years", "What is the average of yrs_married among those with a rate_marriage of 1?", "filter",
              mean=(married[1], 3))  # fmt: skip
