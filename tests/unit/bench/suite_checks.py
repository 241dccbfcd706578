"""The golds of our suite once more, by pandas, scipy and statsmodels over the files as they were written."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats

Values = tuple[Any, ...]


class Files:
    """The files of the suite, read as an analyst would who looked at them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.read = cache(self._read)

    def _read(self, name: str, **how: Any) -> pd.DataFrame:
        return pd.read_csv(self.folder / name, **how)

    def __getattr__(self, name: str) -> pd.DataFrame:
        return self.read(f"{name}.csv")

    @property
    def orders(self) -> pd.DataFrame:
        return self.read("orders.csv").assign(day=lambda d: pd.to_datetime(d.day))

    @property
    def staff(self) -> pd.DataFrame:
        return self.read("staff.csv").assign(hired=lambda d: pd.to_datetime(d.hired))

    @property
    def dirty(self) -> pd.DataFrame:
        frame = self.read("dirty_sales.csv").query("Invoice != 'Total'").drop_duplicates("Invoice")
        return frame.assign(
            amount=frame.Amount.str.replace("[$,]", "", regex=True).astype(float),
            region=frame.Region.str.strip().str.title(),
        )

    @property
    def survey(self) -> pd.DataFrame:
        frame = self.read("survey.csv")
        return frame.assign(
            age=pd.to_numeric(frame.age, errors="coerce"), fan=frame.recommends.str.lower().str[0].eq("y")
        )

    def sheet(self, book: str, name: str, skip: int = 0) -> pd.DataFrame:
        return pd.read_excel(self.folder / book, sheet_name=name, skiprows=skip)

    @property
    def stock(self) -> pd.DataFrame:
        return pd.concat([self.sheet("inventory.xlsx", m).assign(month=m) for m in ("Jan", "Feb", "Mar")])

    @property
    def plan(self) -> pd.DataFrame:
        both = (self.sheet("budget.xlsx", name, 2).set_index("department").amount_keur for name in ("Plan", "Actual"))
        return pd.concat(both, axis=1, keys=["plan", "actual"])

    @property
    def shipments(self) -> pd.DataFrame:
        frame = self.read("shipments.csv")
        days = {c: pd.to_datetime(frame[c], format="%d.%m.%Y") for c in ("ordered", "shipped", "delivered")}
        return frame.assign(**days)

    @property
    def tickets(self) -> pd.DataFrame:
        frame = self.read("tickets.csv")
        return frame.assign(opened=pd.to_datetime(frame.opened), closed=pd.to_datetime(frame.closed))

    @property
    def subscriptions(self) -> pd.DataFrame:
        frame = self.read("subscriptions.csv")
        return frame.assign(started=pd.to_datetime(frame.started), ended=pd.to_datetime(frame.ended))

    @property
    def traffic(self) -> pd.Series:
        frame = self.read("traffic.csv")
        return frame.set_index(pd.to_datetime(frame.day)).visitors

    @property
    def sensors(self) -> pd.DataFrame:
        frame = self.read("sensors.csv", na_values="-999")
        return frame.assign(time=pd.to_datetime(frame.time)).pivot(index="time", columns="sensor", values="temperature")

    @property
    def bought(self) -> pd.DataFrame:
        return self.purchases.merge(self.customers, on="customer_id", how="left")

    @property
    def taken(self) -> pd.DataFrame:
        return self.exams.merge(self.students, on="student").merge(self.courses, on="course")

    @property
    def sales_zh(self) -> pd.DataFrame:
        return self.read("sales_zh.csv").assign(月=lambda d: pd.to_datetime(d["日期"]).dt.month)

    @property
    def staff_zh(self) -> pd.DataFrame:
        return self.sheet("staff_zh.xlsx", "员工")

    @property
    def weather(self) -> pd.DataFrame:
        return self.read("weather.csv", sep=";", decimal=",", encoding="cp1252")

    @property
    def events(self) -> pd.DataFrame:
        return pd.read_json(self.folder / "events.jsonl", lines=True).assign(at=lambda d: pd.to_datetime(d["at"]))


def best(series: pd.Series) -> Values:
    """The label of the largest value, and that value."""
    return series.idxmax(), series.max()


def percent(mask: Any) -> Values:
    return (100 * np.mean(mask),)


def ols(y: pd.Series, x: pd.Series) -> Any:
    return sm.OLS(y.to_numpy(), sm.add_constant(x.to_numpy())).fit()


def worth_change(series: pd.Series, first: Any, last: Any) -> Values:
    return (series[last] / series[first] * 100 - 100,)


def _outliers(price: pd.Series) -> Values:
    low, high = price.quantile([0.25, 0.75])
    return ((~price.between(low - 1.5 * (high - low), high + 1.5 * (high - low))).sum(),)


def _rolling(visitors: pd.Series) -> Values:
    day, value = best(visitors.rolling(7).mean())
    return day.strftime("%Y-%m-%d"), value


CHECKS: dict[str, Callable[[Files], Values]] = {
    "orders-total": lambda f: (f.orders.revenue.sum(),),
    "orders-count": lambda f: (f.orders.order_id.nunique(),),
    "orders-top-region": lambda f: best(f.orders.groupby("region").revenue.sum()),
    "orders-mean": lambda f: (f.orders.revenue.mean(),),
    "orders-lamp-units": lambda f: (f.orders.query("product == 'Lamp'").quantity.sum(),),
    "orders-growth": lambda f: worth_change(f.orders.groupby(f.orders.day.dt.year).revenue.sum(), 2024, 2025),
    "orders-best-month": lambda f: best(
        f.orders[f.orders.day.dt.year == 2025].pipe(lambda d: d.groupby(d.day.dt.month).revenue.sum())
    )[:1],
    "orders-share-top-product": lambda f: best(
        f.orders.groupby("product").revenue.sum() / f.orders.revenue.sum() * 100
    ),
    "orders-north-large": lambda f: (len(f.orders.query("region == 'North' and quantity >= 5")),),
    "staff-median-salary": lambda f: (f.staff.salary.median(),),
    "staff-research-mean": lambda f: (f.staff.groupby("department").salary.mean()["Research"],),
    "staff-widest-range": lambda f: best(f.staff.groupby("department").salary.agg(lambda s: s.max() - s.min())),
    "staff-longest": lambda f: (f.staff.sort_values("hired").employee.iloc[0],),
    "staff-since-2020": lambda f: ((f.staff.hired >= "2020-01-01").sum(),),
    "staff-oslo-sales": lambda f: (len(f.staff.query("city == 'Oslo' and department == 'Sales'")),),
    "staff-std": lambda f: (f.staff.salary.std(),),
    "visits-wait-p90": lambda f: (f.visits.wait_minutes.quantile(0.9),),
    "visits-slowest-ward": lambda f: best(f.visits.groupby("ward").wait_minutes.mean()),
    "visits-old-share": lambda f: percent(f.visits.age >= 65),
    "visits-fee-surgery": lambda f: (f.visits.query("ward == 'Surgery'").fee.sum(),),
    "visits-max-fee": lambda f: best(f.visits.set_index("visit").fee)[::-1],
    "visits-correlation": lambda f: (f.visits.age.corr(f.visits.fee),),
    "dirty-total": lambda f: (f.dirty.amount.sum(),),
    "dirty-invoices": lambda f: (len(f.dirty),),
    "dirty-top-region": lambda f: best(f.dirty.groupby("region").amount.sum()),
    "dirty-mean": lambda f: (f.dirty.amount.mean(),),
    "dirty-above-1000": lambda f: ((f.dirty.amount > 1000).sum(),),
    "survey-recommend": lambda f: percent(f.survey.fan),
    "survey-age": lambda f: (f.survey.age.mean(),),
    "survey-age-missing": lambda f: (f.survey.age.isna().sum(),),
    "survey-nps": lambda f: (100 * ((f.survey.score >= 9).mean() - (f.survey.score <= 6).mean()),),
    "survey-score-of-fans": lambda f: (f.survey[f.survey.fan].score.mean(),),
    "inventory-march-units": lambda f: (f.sheet("inventory.xlsx", "Mar").units.sum(),),
    "inventory-worth-month": lambda f: best((f.stock.units * f.stock.unit_cost).groupby(f.stock.month).sum()),
    "inventory-largest-gain": lambda f: best(
        f.stock.pivot(index="item", columns="month", values="units").eval("Mar - Jan")
    ),
    "inventory-mean-units": lambda f: (f.stock.units.mean(),),
    "inventory-low": lambda f: ((f.stock.groupby("item").units.min() < 50).sum(),),
    "budget-actual-total": lambda f: (f.plan.actual.sum(),),
    "budget-actual-euro": lambda f: (f.plan.actual.sum() * 1000,),
    "budget-worst-overrun": lambda f: best(f.plan.actual - f.plan.plan),
    "budget-over-percent": lambda f: worth_change(f.plan.sum(), "plan", "actual"),
    "shipments-mean-days": lambda f: ((f.shipments.delivered - f.shipments.ordered).dt.days.mean(),),
    "shipments-open": lambda f: (f.shipments.delivered.isna().sum(),),
    "shipments-march": lambda f: ((f.shipments.ordered.dt.strftime("%Y-%m") == "2025-03").sum(),),
    "shipments-slowest-carrier": lambda f: best(
        (f.shipments.delivered - f.shipments.shipped).dt.days.groupby(f.shipments.carrier).mean()
    ),
    "shipments-late": lambda f: percent((f.shipments.delivered - f.shipments.ordered).dropna() > pd.Timedelta(14, "D")),
    "shipments-weekday": lambda f: (f.shipments.ordered.dt.day_name().value_counts().index[0],),
    "tickets-median-hours": lambda f: (
        (f.tickets.closed - f.tickets.opened).dropna().dt.total_seconds().median() / 3600,
    ),
    "tickets-open": lambda f: (f.tickets.closed.isna().sum(),),
    "tickets-june-high": lambda f: (((f.tickets.opened.dt.month == 6) & (f.tickets.priority == "high")).sum(),),
    "tickets-night": lambda f: percent(f.tickets.opened.dt.hour < 6),
    "subscriptions-active": lambda f: (
        f.subscriptions.query("started <= '2025-01-01' and not (ended <= '2025-01-01')").shape[0],
    ),
    "subscriptions-revenue": lambda f: (f.subscriptions[f.subscriptions.ended.isna()].monthly_fee.sum(),),
    "subscriptions-churn-plan": lambda f: best(
        f.subscriptions.ended.notna().groupby(f.subscriptions.plan).mean() * 100
    ),
    "traffic-2024": lambda f: (f.traffic["2024"].sum(),),
    "traffic-weekend": lambda f: (f.traffic[f.traffic.index.day_of_week > 4].mean(),),
    "traffic-rolling": lambda f: _rolling(f.traffic),
    "traffic-slope": lambda f: (np.polyfit(np.arange(len(f.traffic)), f.traffic, 1)[0],),
    "traffic-yoy": lambda f: worth_change(f.traffic.groupby(f.traffic.index.year).mean(), 2023, 2024),
    "traffic-lag7": lambda f: (f.traffic.autocorr(7),),
    "sensors-roof-mean": lambda f: (f.sensors.roof.mean(),),
    "sensors-missing": lambda f: (f.sensors.isna().sum().sum(),),
    "sensors-warmest-day": lambda f: (f.sensors.roof.resample("D").mean().idxmax().strftime("%Y-%m-%d"),),
    "sensors-correlation": lambda f: (f.sensors.corr().loc["roof", "cellar"],),
    "sensors-first-week": lambda f: (f.sensors.cellar[:"2025-03-07"].max(),),
    "purchases-top-country": lambda f: best(f.bought.groupby("country").amount.sum()),
    "purchases-orphans": lambda f: (f.bought.country.isna().sum(),),
    "purchases-never": lambda f: ((~f.customers.customer_id.isin(f.purchases.customer_id)).sum(),),
    "purchases-gold-mean": lambda f: (f.bought.query("tier == 'gold'").amount.mean(),),
    "purchases-best-customer": lambda f: best(f.bought.dropna().groupby("customer_id").amount.sum()),
    "exams-best-programme": lambda f: best(f.taken.groupby("programme").points.mean()),
    "exams-pass-rate": lambda f: percent(f.taken.points >= 50),
    "exams-credits-law": lambda f: (f.taken.query("points >= 50 and programme == 'Law'").credits.sum(),),
    "exams-weighted": lambda f: (np.average(f.taken.points, weights=f.taken.credits),),
    "exams-unused-course": lambda f: (f.courses[~f.courses.course.isin(f.exams.course)].title.item(),),
    "ab-rate-b": lambda f: percent(f.ab_test.query("variant == 'B'").converted),
    "ab-lift": lambda f: (f.ab_test.groupby("variant").converted.mean().diff().iloc[-1] * 100,),
    "ab-chi2": lambda f: (
        stats.chi2_contingency(pd.crosstab(f.ab_test.variant, f.ab_test.converted), correction=False).statistic,
    ),
    "ab-welch": lambda f: (
        stats.ttest_ind(*(f.ab_test.query("variant == @v").seconds for v in "AB"), equal_var=False).statistic,
    ),
    "ab-median-seconds": lambda f: (f.ab_test.groupby("variant").seconds.median()["A"],),
    "lengths-spread": lambda f: best(f.measurements.groupby("method").length_mm.std()),
    "lengths-anova": lambda f: (stats.f_oneway(*(p.length_mm for _, p in f.measurements.groupby("method"))).statistic,),
    "lengths-slope": lambda f: tuple(
        f.measurements.query("method == 'laser'").pipe(lambda d: ols(d.length_mm, d.temperature)).params[::-1]
    ),
    "lengths-spearman": lambda f: (stats.spearmanr(f.measurements.temperature, f.measurements.length_mm).statistic,),
    "houses-r2": lambda f: (ols(f.houses.price, f.houses.area_m2).rsquared,),
    "houses-per-m2": lambda f: ((f.houses.price / f.houses.area_m2).median(),),
    "houses-outliers": lambda f: _outliers(f.houses.price),
    "zh-total": lambda f: (f.sales_zh["金额"].sum(),),
    "zh-top-region": lambda f: best(f.sales_zh.groupby("地区")["金额"].sum()),
    "zh-best-product": lambda f: best(f.sales_zh.groupby("产品")["数量"].sum()),
    "zh-mean": lambda f: (f.sales_zh["金额"].mean(),),
    "zh-june": lambda f: (f.sales_zh[f.sales_zh["月"] == 6]["金额"].sum(),),
    "zh-south-phones": lambda f: (len(f.sales_zh.query("地区 == '华南' and 产品 == '手机'")),),
    "zh-median-pay": lambda f: (f.staff_zh["月薪"].median(),),
    "zh-best-department": lambda f: best(f.staff_zh.groupby("部门")["月薪"].mean()),
    "zh-senior": lambda f: ((f.staff_zh["工龄"] >= 10).sum(),),
    "weather-cologne": lambda f: (f.weather.query("Station == 'Köln'").Temperatur.mean(),),
    "weather-rain": lambda f: best(f.weather.groupby("Station").Regen_mm.sum()),
    "weather-frost": lambda f: ((f.weather.Temperatur < 0).sum(),),
    "events-buyers": lambda f: (f.events.query("event == 'buy'").user.nunique(),),
    "events-buy-value": lambda f: (f.events.query("event == 'buy'").value.sum(),),
    "events-busiest-day": lambda f: (f.events["at"].dt.strftime("%Y-%m-%d").value_counts().index[0],),
    "flights-mean-delay": lambda f: (f.flights.delay_minutes.mean(),),
    "flights-late-airline": lambda f: best(
        f.flights.dropna().pipe(lambda d: (d.delay_minutes > 30).groupby(d.airline).mean() * 100)
    ),
    "flights-far": lambda f: ((f.flights.distance_km > 5000).sum(),),
    "flights-weighted": lambda f: (
        f.flights.dropna().pipe(lambda d: np.average(d.delay_minutes, weights=d.distance_km)),
    ),
    "iris-petal-virginica": lambda f: (f.iris.groupby("species")["petal length (cm)"].mean()["virginica"],),
    "iris-correlation": lambda f: (f.iris["petal length (cm)"].corr(f.iris["petal width (cm)"]),),
    "iris-widest": lambda f: best(f.iris.groupby("species")["sepal width (cm)"].mean()),
    "wine-strong": lambda f: ((f.wine.alcohol > 13).sum(),),
    "wine-proline": lambda f: best(f.wine.groupby("cultivar").proline.median()),
    "cancer-malignant": lambda f: percent(f.breast_cancer.diagnosis == "malignant"),
    "cancer-radius-gap": lambda f: (f.breast_cancer.groupby("diagnosis")["mean radius"].mean().diff().iloc[-1],),
    "cancer-area-p95": lambda f: (f.breast_cancer["mean area"].quantile(0.95),),
    "linnerud-waist": lambda f: (f.linnerud.Waist.corr(f.linnerud.Chins),),
    "linnerud-situps": lambda f: (f.linnerud.Situps.median(),),
    "longley-slope": lambda f: (ols(f.longley.TOTEMP, f.longley.GNP).params[1],),
    "longley-year": lambda f: (f.longley.set_index("YEAR").UNEMP.idxmax(),),
    "macro-worst-year": lambda f: best(f.macrodata.groupby("year").unemp.mean()),
    "macro-gdp-growth": lambda f: worth_change(f.macrodata.query("quarter == 1").set_index("year").realgdp, 1990, 2000),
    "macro-deflation": lambda f: ((f.macrodata.infl < 0).sum(),),
    "stackloss-mean": lambda f: (f.stackloss.query("AIRFLOW <= 62").STACKLOSS.mean(),),
    "grunfeld-top": lambda f: best(f.grunfeld.groupby("firm").invest.sum()),
    "grunfeld-1950": lambda f: (f.grunfeld.query("year == 1950").capital.mean(),),
    "sunspots-peak": lambda f: best(f.sunspots.set_index("YEAR").SUNACTIVITY),
    "sunspots-1800s": lambda f: (f.sunspots.query("1801 <= YEAR <= 1900").SUNACTIVITY.mean(),),
    "nile-break": lambda f: (f.nile.volume.groupby(f.nile.year < 1899).mean().diff().iloc[-1],),
    "nile-std": lambda f: (f.nile.volume.std(),),
    "fair-some": lambda f: percent(f.fair.affairs > 0),
    "fair-years": lambda f: (f.fair.groupby("rate_marriage").yrs_married.mean()[1],),
}
"""The values of each question in the order of its golds; traps have none."""
