"""What a change is made of: which groups it comes from, and whether by their rates or by their mix."""

from __future__ import annotations

import numpy as np
import pandas as pd


def contribution(frame: pd.DataFrame, value: str, by: str, top: int | None = None) -> pd.DataFrame:
    """What each group of `by` gives to the sum of `value`, the one that gives most first.

    Columns: the sum, `share %` of the total, `cumulative %`. With `top` the groups behind it become one row, "(rest)".
    Shares say little where amounts have both signs; then ValueError is raised.
    """
    sums = frame.groupby(by, dropna=False, observed=True)[value].sum().sort_values(ascending=False, key=np.abs)
    if (sums < 0).any() and (sums > 0).any():
        raise ValueError(
            f"{value} has groups above and below zero, so shares of its total mean nothing: compare the sums"
        )
    if top is not None and len(sums) > top:
        rest = pd.Series({"(rest)": sums.iloc[top:].sum()})
        sums = pd.concat([sums.iloc[:top], rest])
        sums.index.name = by
    total = sums.sum()
    if not total:
        raise ValueError(f"{value} sums to zero, so there are no shares")
    share = 100 * sums / total
    return pd.DataFrame({value: sums, "share %": share, "cumulative %": share.cumsum()})


def decompose_change(
    frame: pd.DataFrame, value: str, by: str, period: str, before: object, after: object
) -> pd.DataFrame:
    """Which groups of `by` the change of the sum of `value` comes from, between two values of the column `period`.

    Columns: `before`, `after`, `change`, `growth %` of the group, `part of change %` of the whole change. The changes
    of the groups add up to that of the last row, "(total)". Sorted by the size of the change. A group that is missing
    in one period counts as 0 there. From 0 or below there is no growth in percent: it is missing.
    """
    table = _two_periods(frame, [value], by, period, before, after)[value]
    table["change"] = table["after"] - table["before"]
    table = table.sort_values("change", key=np.abs, ascending=False)
    table.loc["(total)"] = table.sum()
    total = table.loc["(total)", "change"]
    table["growth %"] = 100 * table["change"] / table["before"].where(table["before"] > 0)
    table["part of change %"] = 100 * table["change"] / total if total else np.nan
    return table


def decompose_rate(
    frame: pd.DataFrame, numerator: str, denominator: str, by: str, period: str, before: object, after: object
) -> pd.DataFrame:
    """Why a rate (sum of `numerator` / sum of `denominator`) changed: by the rates of the groups, or by their mix.

    Columns: `rate before`, `rate after`, `weight before`, `weight after` (the share of the denominator),
    `by rate` = mean weight x change of the rate, `by mix` = change of the weight x (mean rate - mean overall rate), and
    `together`. Both effects of all groups add up exactly to the change of the overall rate, in the row "(total)" (the
    symmetric decomposition: no residual is left over). A rate that falls in every group while the overall rate rises is
    Simpson's paradox: then `by mix` outweighs `by rate`.
    """
    sums = _two_periods(frame, [numerator, denominator], by, period, before, after)
    if (sums[denominator].sum() <= 0).any():
        raise ValueError(f"{denominator} sums to zero in one of the periods, so there is no rate")
    if ((sums[denominator] == 0) & (sums[numerator] != 0)).to_numpy().any():
        raise ValueError(f"a group has {numerator} where its {denominator} is 0, so it has no rate: leave it out first")
    rate = sums[numerator] / sums[denominator].where(sums[denominator] != 0)
    # A group that is new or gone has no rate in the other period: it is all mix.
    rate["before"], rate["after"] = rate["before"].fillna(rate["after"]), rate["after"].fillna(rate["before"])
    rate = rate.fillna(0.0)
    weight = sums[denominator] / sums[denominator].sum()
    overall = sums[numerator].sum() / sums[denominator].sum()
    by_rate = weight.mean(axis=1) * (rate["after"] - rate["before"])
    by_mix = (weight["after"] - weight["before"]) * (rate.mean(axis=1) - overall.mean())
    table = pd.DataFrame(
        {
            "rate before": rate["before"],
            "rate after": rate["after"],
            "weight before": weight["before"],
            "weight after": weight["after"],
            "by rate": by_rate,
            "by mix": by_mix,
            "together": by_rate + by_mix,
        }
    ).sort_values("together", key=np.abs, ascending=False)
    effects = [table[name].sum() for name in ("by rate", "by mix", "together")]
    table.loc["(total)"] = [overall["before"], overall["after"], 1.0, 1.0, *effects]
    return table


def _two_periods(
    frame: pd.DataFrame, values: list[str], by: str, period: str, before: object, after: object
) -> pd.DataFrame:
    """The sums of the values by group, in the columns (value, "before" or "after")."""
    for each in (before, after):
        if not (frame[period] == each).any():
            some = ", ".join(repr(one) for one in frame[period].drop_duplicates().head(8))
            raise ValueError(f"{period} has no {each!r}; it has {some}")
    is_before, is_after = frame[period] == before, frame[period] == after
    if (is_before & is_after).any():
        raise ValueError(f"{before!r} and {after!r} are the same in {period}: two periods are needed")
    parts = {
        (value, name): frame[rows].groupby(by, dropna=False, observed=True)[value].sum()
        for value in values
        for name, rows in (("before", is_before), ("after", is_after))
    }
    return pd.DataFrame(parts).fillna(0).astype(float)
