"""The attribution tools against statsmodels, scipy and arithmetic by hand."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
    proportion_effectsize,
    proportions_ztest,
)
from statsmodels.stats.stattools import durbin_watson
from statsmodels.tsa.seasonal import seasonal_decompose

import threadbook_tools as tools

RNG = np.random.default_rng(7)
SALES = pd.DataFrame(
    {
        "region": ["North", "South", "East"] * 2 + ["West"],
        "year": [2023] * 3 + [2024] * 4,
        "amount": [100.0, 50.0, 30.0, 150.0, 40.0, 30.0, 10.0],
        "orders": [10, 5, 3, 12, 8, 3, 1],
    }
)


def test_every_tool_is_documented_and_offered() -> None:
    for name in tools.__all__:
        assert len(inspect.getdoc(getattr(tools, name)) or "") > 100, name
        assert name in (tools.__doc__ or "")


# --- change


def test_the_changes_of_the_groups_add_up_to_the_whole() -> None:
    table = tools.decompose_change(SALES, "amount", "region", "year", 2023, 2024)
    assert table.loc["(total)", ["before", "after", "change"]].tolist() == [180.0, 230.0, 50.0]
    assert table.loc["North", ["change", "growth %", "part of change %"]].tolist() == [50.0, 50.0, 100.0]
    assert table.loc["West", "before"] == 0.0
    assert np.isnan(table.loc["West", "growth %"])
    assert table["part of change %"].drop("(total)").sum() == pytest.approx(100)
    assert next(iter(table.index)) == "North"


def test_the_effects_of_rates_and_mix_add_up_to_the_change_of_the_overall_rate() -> None:
    table = tools.decompose_rate(SALES, "amount", "orders", "region", "year", 2023, 2024)
    change = 230 / 24 - 180 / 18
    assert table.loc["(total)", "together"] == pytest.approx(change)
    assert table.drop("(total)")[["by rate", "by mix"]].sum().sum() == pytest.approx(change)


def test_simpsons_paradox_is_all_mix() -> None:
    rows = [("a", 1, 90, 100), ("b", 1, 10, 100), ("a", 2, 850, 1000), ("b", 2, 0.5, 10)]
    frame = pd.DataFrame(rows, columns=["group", "period", "hits", "people"])
    table = tools.decompose_rate(frame, "hits", "people", "group", "period", 1, 2)
    assert (table.drop("(total)")["rate after"] < table.drop("(total)")["rate before"]).all()
    assert table.loc["(total)", "by rate"] < 0 < table.loc["(total)", "by mix"]
    assert table.loc["(total)", "together"] == pytest.approx(850.5 / 1010 - 0.5)


def test_a_period_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"year has no 2025; it has 2023, 2024"):
        tools.decompose_change(SALES, "amount", "region", "year", 2023, 2025)


def test_contributions_add_up_to_a_hundred_and_keep_the_rest() -> None:
    table = tools.contribution(SALES, "amount", "region", top=2)
    assert table.index.tolist() == ["North", "South", "(rest)"]
    assert table["amount"].tolist() == [250.0, 90.0, 70.0]
    assert table["cumulative %"].iloc[-1] == pytest.approx(100)
    with pytest.raises(ValueError, match="above and below zero"):
        tools.contribution(SALES.assign(amount=[-1, 2, 3, -4, 5, 6, 7]), "amount", "region")


# --- series


def test_a_trend_is_that_of_ordinary_least_squares() -> None:
    values = pd.Series(3 + 0.5 * np.arange(40) + RNG.normal(size=40))
    found = tools.trend(values)
    fit = sm.OLS(values.to_numpy(), sm.add_constant(np.arange(40.0))).fit()
    low, high = fit.conf_int()[1]
    wanted = [fit.params[1], low, high, fit.pvalues[1], fit.rsquared, durbin_watson(fit.resid)]
    names = ["slope", "slope low", "slope high", "p", "r2", "durbin watson"]
    assert [found[name] for name in names] == pytest.approx(wanted)
    assert found["caveat"] == ""


def test_a_trend_of_values_that_hang_together_says_so() -> None:
    assert "hang together" in tools.trend(pd.Series(np.cumsum(RNG.normal(size=60))))["caveat"]
    assert tools.trend(pd.Series([1.0, np.nan, 3.0, 4.0]))["slope"] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="at least 3"):
        tools.trend(pd.Series([1, 2]))


@pytest.mark.parametrize("period", [4, 7, 12])
def test_a_season_is_that_of_the_classical_decomposition(period: int) -> None:
    steps = np.arange(period * 6)
    values = pd.Series(100 + steps * 0.3 + 10 * np.sin(2 * np.pi * steps / period) + RNG.normal(size=len(steps)))
    table = tools.season(values, period)
    wanted = seasonal_decompose(values, model="additive", period=period)
    assert table["trend"].to_numpy() == pytest.approx(wanted.trend.to_numpy(), nan_ok=True)
    assert table["season"].to_numpy() == pytest.approx(wanted.seasonal.to_numpy())
    assert table["rest"].to_numpy() == pytest.approx(wanted.resid.to_numpy(), nan_ok=True)
    assert 0.9 < table.attrs["strength"] <= 1


def test_an_anomaly_is_found_in_its_season_and_not_for_it() -> None:
    steps = np.arange(84)
    values = pd.Series(100 + 30 * (steps % 7 == 6) + RNG.normal(scale=0.5, size=84))
    values.iloc[40] += 15
    found = tools.anomalies(values, period=7)
    assert found["z"].abs().idxmax() == 40
    assert len(found) <= 2
    assert set(tools.anomalies(values).index) >= {6, 13, 83}  # without the season, its peaks are what is unusual
    with pytest.raises(ValueError, match="no spread"):
        tools.anomalies(pd.Series([1.0] * 20))


# --- relation


def test_a_correlation_is_that_of_scipy_with_fishers_interval() -> None:
    x = RNG.normal(size=80)
    y = 0.6 * x + RNG.normal(size=80)
    found = tools.correlation(x, y)
    wanted = stats.pearsonr(x, y)
    interval = wanted.confidence_interval(0.95)
    assert [found[name] for name in ("r", "p", "r low", "r high", "rho")] == pytest.approx(
        [wanted.statistic, wanted.pvalue, interval.low, interval.high, stats.spearmanr(x, y).statistic]
    )
    assert found["caveat"] == ""


def test_what_a_correlation_hides_is_said() -> None:
    x, y = RNG.normal(size=40), RNG.normal(size=40)
    x[0] = y[0] = 30.0
    assert "hangs on one pair" in tools.correlation(x, y)["caveat"]
    order = np.arange(60.0)
    both = tools.correlation(order + RNG.normal(size=60), order * 2 + RNG.normal(size=60))
    assert "both follow their order" in both["caveat"]
    assert "few pairs" in tools.correlation([1, 2, 3, 4, 6], [2, 1, 4, 3, 7])["caveat"]
    with pytest.raises(ValueError, match="single value"):
        tools.correlation([1, 1, 1, 1], [1, 2, 3, 4])


# --- people


def test_cohorts_count_who_came_again_and_leave_the_future_open() -> None:
    rows = [("a", "2024-01-05"), ("b", "2024-01-20"), ("a", "2024-02-01"), ("c", "2024-02-03"), ("a", "2024-03-01")]
    table = tools.cohorts(pd.DataFrame(rows, columns=["who", "when"]), "who", "when")
    assert [str(each) for each in table.index] == ["2024-01", "2024-02"]
    assert table["size"].tolist() == [2, 1]
    assert table.loc[table.index[0], [0, 1, 2]].tolist() == [1.0, 0.5, 0.5]
    assert table.loc[table.index[1], [0, 1]].tolist() == [1.0, 0.0]
    assert np.isnan(table.loc[table.index[1], 2])
    assert table.attrs["counts"].loc[table.index[0], 1] == 1


def test_a_funnel_counts_those_who_took_every_step_in_order() -> None:
    rows = [("a", "see", 1), ("a", "buy", 2), ("b", "see", 5), ("b", "buy", 3), ("c", "buy", 1), ("d", "see", 1)]
    frame = pd.DataFrame(rows, columns=["who", "step", "at"])
    table = tools.funnel(frame, "who", "step", ["see", "buy"])
    assert table["people"].tolist() == [3, 2]
    assert tools.funnel(frame, "who", "step", ["see", "buy"], when="at")["people"].tolist() == [3, 1]
    low, high = proportion_confint(2, 3, method="wilson")
    assert table.loc["buy", ["of previous %", "low %", "high %"]].tolist() == pytest.approx(
        [200 / 3, 100 * low, 100 * high]
    )
    with pytest.raises(ValueError, match="no row has the step 'pay'"):
        tools.funnel(frame, "who", "step", ["see", "pay"])


# --- experiment


def test_two_shares_are_tested_as_statsmodels_does() -> None:
    found = tools.ab_test_rates(120, 1000, 152, 1010)
    _, p = proportions_ztest([152, 120], [1010, 1000])
    low, high = confint_proportions_2indep(152, 1010, 120, 1000, method="newcomb", compare="diff")
    wanted = [0.12, 152 / 1010, p, low, high]
    assert [found[name] for name in ("rate a", "rate b", "p", "difference low", "difference high")] == pytest.approx(
        wanted
    )
    assert found["caveat"] == ""
    assert "Fisher" in tools.ab_test_rates(2, 30, 9, 30)["caveat"]
    with pytest.raises(ValueError, match="5 of 3 is no share"):
        tools.ab_test_rates(5, 3, 1, 3)


def test_the_detectable_difference_is_found_with_the_wanted_power() -> None:
    found = tools.ab_test_rates(1000, 10_000, 1000, 10_000)
    rng = np.random.default_rng(1)
    a = rng.binomial(10_000, 0.1, size=2_000)
    b = rng.binomial(10_000, 0.1 + found["detectable"], size=2_000)
    seen = [
        tools.ab_test_rates(int(x), 10_000, int(y), 10_000)["p"] < 0.05 for x, y in zip(a[:400], b[:400], strict=True)
    ]
    assert 0.72 < np.mean(seen) < 0.88


def test_two_means_are_tested_as_scipy_does() -> None:
    a, b = RNG.normal(10, 2, size=60), RNG.normal(11, 4, size=80)
    found = tools.ab_test_means(pd.Series(a), pd.Series(b))
    wanted = stats.ttest_ind(b, a, equal_var=False)
    interval = wanted.confidence_interval(0.95)
    assert [found[name] for name in ("p", "difference low", "difference high")] == pytest.approx(
        [wanted.pvalue, interval.low, interval.high]
    )
    assert "very skewed" in tools.ab_test_means(pd.Series(RNG.lognormal(0, 2, 90)), pd.Series(b))["caveat"]
    with pytest.raises(ValueError, match="single value"):
        tools.ab_test_means(pd.Series([1, 1]), pd.Series([2, 2]))


def test_the_size_of_a_test_is_that_of_statsmodels() -> None:
    size = NormalIndPower().solve_power(proportion_effectsize(0.12, 0.10), alpha=0.05, power=0.8)
    assert tools.sample_size_rates(0.10, 0.12) == int(np.ceil(size))


def test_two_series_are_paired_by_their_labels() -> None:
    x = pd.Series(range(10), dtype=float)
    assert tools.correlation(x, x.sort_values(ascending=False))["r"] == pytest.approx(1)
    assert tools.correlation(x, x.iloc[2:])["n"] == 8
    assert tools.correlation(x.to_numpy(), x.to_numpy()[::-1])["r"] == pytest.approx(-1)
    with pytest.raises(ValueError, match="different labels"):
        tools.correlation(pd.concat([x, x]), pd.concat([x, x.iloc[::-1]]))


def test_of_costs_the_largest_comes_first() -> None:
    costs = pd.DataFrame({"kind": list("abc"), "amount": [-5, -100, -20]})
    table = tools.contribution(costs, "amount", "kind", top=1)
    assert table["amount"].to_dict() == {"b": -100, "(rest)": -25}
    assert table["share %"].to_dict() == {"b": 80, "(rest)": 20}


def test_a_loss_that_shrinks_has_no_growth_in_percent() -> None:
    frame = pd.DataFrame({"shop": list("aabb"), "year": [1, 2, 1, 2], "profit": [-100, -50, 40, 50]})
    table = tools.decompose_change(frame, "profit", "shop", "year", 1, 2)
    assert table["change"].to_dict() == {"a": 50, "b": 10, "(total)": 60}
    assert table["growth %"].isna().to_dict() == {"a": True, "b": False, "(total)": True}


def test_periods_are_found_as_they_compare_and_two_are_needed() -> None:
    months = pd.PeriodIndex(["2024-01", "2024-02"] * 2, freq="M")
    frame = pd.DataFrame({"shop": list("aabb"), "month": months, "sales": [1, 2, 3, 5]})
    table = tools.decompose_change(frame, "sales", "shop", "month", "2024-01", "2024-02")
    assert table["change"].to_dict() == {"b": 2, "a": 1, "(total)": 3}
    with pytest.raises(ValueError, match="two periods are needed"):
        tools.decompose_change(frame, "sales", "shop", "month", "2024-01", pd.Period("2024-01"))


def test_a_group_without_a_rate_is_no_part_of_one() -> None:
    frame = pd.DataFrame({"shop": list("aabb"), "year": [1, 2, 1, 2], "hits": [1, 2, 3, 3], "visits": [10, 10, 0, 10]})
    with pytest.raises(ValueError, match="leave it out first"):
        tools.decompose_rate(frame, "hits", "visits", "shop", "year", 1, 2)
