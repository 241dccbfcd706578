"""What people do over time: cohorts that stay or leave, and the steps of a funnel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def cohorts(frame: pd.DataFrame, who: str, when: str, freq: str = "M") -> pd.DataFrame:
    """How many of those who came first in a period are active again in later ones, as shares 0 to 1.

    One row per period of the first activity (`freq` of pandas' periods: "W", "M", "Q", "Y"), `size` is the number of
    people, the columns 0, 1, 2, … are periods since then. A period that has not come yet for a cohort is missing,
    not 0.
    `attrs["counts"]` has the numbers of people. The last period may be incomplete: look at the last date.
    """
    rows = frame[[who, when]].dropna()
    if rows.empty:
        raise ValueError("no row has both a person and a date")
    at = pd.to_datetime(rows[when]).dt.to_period(freq)
    number = at.map(lambda each: each.ordinal)
    first = number.groupby(rows[who]).transform("min")
    names = {each.ordinal: each for each in at.unique()}
    counts = pd.crosstab(first, number - first, values=rows[who], aggfunc="nunique")
    counts = counts.reindex(columns=range(int(number.max() - number.min()) + 1))
    last = int(number.max())
    for start in counts.index:
        passed = [age for age in counts.columns if start + age <= last]
        counts.loc[start, passed] = counts.loc[start, passed].fillna(0)
    size = counts[0].astype(int)
    table = counts.div(size, axis=0)
    table.insert(0, "size", size)
    for each in (table, counts):
        each.index = pd.PeriodIndex([names[start] for start in counts.index], name="cohort")
        each.columns.name = None
    table.attrs["counts"] = counts
    return table


def funnel(
    frame: pd.DataFrame, who: str, step: str, steps: Sequence[object], when: str | None = None, level: float = 0.95
) -> pd.DataFrame:
    """How many people reach each of these steps, in this order.

    A person counts for a step who has it and all steps before it; with `when` each also not before the one before.
    Columns: `people`, `of first %`, `of previous %` with `low %` and `high %` (Wilson's interval), `lost`.
    """
    unknown = [each for each in steps if not (frame[step] == each).any()]
    if unknown:
        raise ValueError(f"no row has the step {unknown[0]!r}")
    rows = frame[frame[step].isin(list(steps))]
    reached = None
    counts = []
    for each in steps:
        own = rows[rows[step] == each]
        if when is None:
            people = set(own[who].dropna())
            reached = people if reached is None else reached & people
            counts.append(len(reached))
            continue
        times = own[[who, when]].dropna().sort_values(when)
        if reached is not None:
            times = times[times[who].isin(reached.index)]
            times = times[times[when] >= times[who].map(reached)]
        reached = times.groupby(who)[when].min()
        counts.append(len(reached))
    table = pd.DataFrame({"people": counts}, index=pd.Index(list(steps), name=step))
    before = table["people"].shift(1)
    table["of first %"] = 100 * table["people"] / table["people"].iloc[0] if counts[0] else np.nan
    table["of previous %"] = 100 * table["people"] / before.where(before > 0)
    bounds = [_wilson(now, then, level) for now, then in zip(table["people"], before, strict=True)]
    table["low %"], table["high %"] = zip(*bounds, strict=True)
    table["lost"] = before - table["people"]
    return table


def _wilson(hits: float, of: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a share, in percent; missing for no people."""
    from scipy import stats

    if not of > 0:
        return np.nan, np.nan
    z = stats.norm.ppf(0.5 + level / 2)
    share = hits / of
    middle = (share + z**2 / (2 * of)) / (1 + z**2 / of)
    half = z / (1 + z**2 / of) * np.sqrt(share * (1 - share) / of + z**2 / (4 * of**2))
    return 100 * (middle - half), 100 * (middle + half)
