"""Two variants against each other: the difference with its interval, the test, and what the test could have seen."""

from __future__ import annotations

import numpy as np
import pandas as pd


def ab_test_rates(
    hits_a: int, people_a: int, hits_b: int, people_b: int, level: float = 0.95, power: float = 0.8
) -> pd.Series:
    """Two shares, such as conversions: `rate a`, `rate b`, `difference` (b - a) with its interval, `lift %` and `p`.

    The interval is Newcombe's, p that of the z-test with the pooled share, two-sided. `detectable` is the difference
    from rate a that groups of this size would have shown with this `power`: a test without a finding says nothing about
    smaller ones. `caveat` says when counts are too small for the z-test (fewer than 5 hits or misses in a group).
    """
    from scipy import stats

    for hits, people in ((hits_a, people_a), (hits_b, people_b)):
        if not 0 <= hits <= people or people < 1:
            raise ValueError(f"{hits} of {people} is no share")
    a, b = hits_a / people_a, hits_b / people_b
    pooled = (hits_a + hits_b) / (people_a + people_b)
    error = np.sqrt(pooled * (1 - pooled) * (1 / people_a + 1 / people_b))
    p = 2 * stats.norm.sf(abs(b - a) / error) if error > 0 else 1.0
    z = stats.norm.ppf(0.5 + level / 2)
    (low_a, high_a), (low_b, high_b) = _wilson(hits_a, people_a, z), _wilson(hits_b, people_b, z)
    low = (b - a) - np.sqrt((b - low_b) ** 2 + (high_a - a) ** 2)
    high = (b - a) + np.sqrt((high_b - b) ** 2 + (a - low_a) ** 2)
    small = min(hits_a, people_a - hits_a, hits_b, people_b - hits_b) < 5
    return pd.Series(
        {
            "rate a": a,
            "rate b": b,
            "difference": b - a,
            "difference low": low,
            "difference high": high,
            "lift %": 100 * (b - a) / a if a else np.nan,
            "p": p,
            "detectable": _detectable(a, people_a, people_b, z, stats.norm.ppf(power)),
            "caveat": "fewer than 5 hits or misses in a group: use Fisher's exact test" if small else "",
        },
        dtype=object,
    )


def ab_test_means(a: pd.Series, b: pd.Series, level: float = 0.95, power: float = 0.8) -> pd.Series:
    """Two means, such as baskets: `mean a`, `mean b`, `difference` (b - a) with its interval, `p` (Welch's t-test).

    `effect size` is Cohen's d over the pooled spread, `detectable` the difference that groups of this size and spread
    would have shown with this `power`. `caveat` says when groups are small, or so skewed that
    few values carry the mean.
    """
    from scipy import stats

    first, second = (np.asarray(pd.Series(each).dropna(), dtype=float) for each in (a, b))
    if min(len(first), len(second)) < 2:
        raise ValueError("each group needs at least 2 values")
    parts = [each.var(ddof=1) / len(each) for each in (first, second)]
    error = float(np.sqrt(sum(parts)))
    if not error > 0:
        raise ValueError("both groups have a single value each, so there is no spread to test against")
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(each) - 1) for part, each in zip(parts, (first, second), strict=True)
    )
    difference = second.mean() - first.mean()
    half = stats.t.ppf(0.5 + level / 2, freedom) * error
    spread = np.sqrt(
        ((len(first) - 1) * first.var(ddof=1) + (len(second) - 1) * second.var(ddof=1)) / (len(first) + len(second) - 2)
    )
    caveats = []
    if min(len(first), len(second)) < 20:
        caveats.append("small groups")
    if max(abs(stats.skew(each)) for each in (first, second)) > 2:
        caveats.append("very skewed values: few of them carry the mean, look at medians too")
    return pd.Series(
        {
            "mean a": first.mean(),
            "mean b": second.mean(),
            "difference": difference,
            "difference low": difference - half,
            "difference high": difference + half,
            "p": 2 * stats.t.sf(abs(difference) / error, freedom),
            "effect size": difference / spread,
            "detectable": (stats.norm.ppf(0.5 + level / 2) + stats.norm.ppf(power)) * error,
            "caveat": "; ".join(caveats),
        },
        dtype=object,
    )


def sample_size_rates(rate: float, other: float, level: float = 0.95, power: float = 0.8) -> int:
    """People that each group needs to tell these two shares apart (two-sided, Cohen's h).

    `level` is the confidence of the test, `power` how often it should see a difference that is there.
    """
    from scipy import stats

    if not (0 < rate < 1 and 0 < other < 1) or rate == other:
        raise ValueError("two different shares between 0 and 1 are needed")
    h = 2 * (np.arcsin(np.sqrt(other)) - np.arcsin(np.sqrt(rate)))
    needed = 2 * ((stats.norm.ppf(0.5 + level / 2) + stats.norm.ppf(power)) / h) ** 2
    return int(np.ceil(needed))


def _wilson(hits: int, people: int, z: float) -> tuple[float, float]:
    share = hits / people
    middle = (share + z**2 / (2 * people)) / (1 + z**2 / people)
    half = z / (1 + z**2 / people) * np.sqrt(share * (1 - share) / people + z**2 / (4 * people**2))
    return middle - half, middle + half


def _detectable(rate: float, people_a: int, people_b: int, z: float, z_power: float) -> float:
    """The difference from a rate that such groups show with the wanted power, by the spread at that rate."""
    spread = np.sqrt(max(rate * (1 - rate), 1e-12) * (1 / people_a + 1 / people_b))
    return float((z + z_power) * spread)
