"""A value over time: its trend with how sure it is, its season, and what falls out of both."""

from __future__ import annotations

import numpy as np
import pandas as pd


def trend(values: pd.Series, level: float = 0.95) -> pd.Series:
    """The straight line through values in their order (ordinary least squares, one step per value).

    `slope` per step with `slope low` and `slope high` (confidence `level`, Student's t), `p` that there is no trend,
    `r2`, `start` and `end` of the line, `steps`, `durbin watson` of what is left. Far from 2 (below 1.2, above 2.8) the
    values hang on their neighbours, and p and the interval promise too much: `caveat` says so. Missing values are left
    out at their place.
    """
    from scipy import stats

    y = pd.Series(values).astype(float)
    x = np.arange(len(y), dtype=float)[y.notna().to_numpy()]
    y = y.dropna().to_numpy()
    if len(y) < 3:
        raise ValueError("a trend needs at least 3 values")
    fit = stats.linregress(x, y)
    rest = y - (fit.intercept + fit.slope * x)
    half = stats.t.ppf(0.5 + level / 2, len(y) - 2) * fit.stderr
    squares = float((rest**2).sum())
    watson = float((np.diff(rest) ** 2).sum() / squares) if squares > 0 else np.nan
    caveats = []
    if len(y) < 8:
        caveats.append("few values")
    if watson < 1.2 or watson > 2.8:
        caveats.append("neighbouring values hang together, so p and the interval promise too much")
    return pd.Series(
        {
            "slope": fit.slope,
            "slope low": fit.slope - half,
            "slope high": fit.slope + half,
            "p": fit.pvalue,
            "r2": fit.rvalue**2,
            "start": fit.intercept + fit.slope * x[0],
            "end": fit.intercept + fit.slope * x[-1],
            "steps": len(y),
            "durbin watson": watson,
            "caveat": "; ".join(caveats),
        },
        dtype=object,
    )


def season(values: pd.Series, period: int) -> pd.DataFrame:
    """The classical additive decomposition: `value` = `trend` + `season` + `rest`.

    The trend is a centred moving average over one period (its ends are missing), the season the mean deviation of each
    place in the period, centred to zero. Needs two whole periods without missing values. `attrs["strength"]` is the
    strength of the season, 0 to 1: 1 - var(rest) / var(season + rest).
    """
    y = pd.Series(values).astype(float)
    if y.isna().any():
        raise ValueError("values are missing: fill them first, and say how")
    if period < 2 or len(y) < 2 * period:
        raise ValueError(f"a season of {period} steps needs at least {max(2 * period, 4)} values; there are {len(y)}")
    weights = np.ones(period) / period if period % 2 else np.r_[0.5, np.ones(period - 1), 0.5] / period
    half = len(weights) // 2
    smooth = np.full(len(y), np.nan)
    smooth[half : len(y) - half] = np.convolve(y, weights, mode="valid")
    left = y.to_numpy() - smooth
    means = np.array([np.nanmean(left[place::period]) for place in range(period)])
    means -= means.mean()
    seasonal = np.resize(means, len(y))
    table = pd.DataFrame(
        {"value": y, "trend": smooth, "season": seasonal, "rest": y - smooth - seasonal}, index=y.index
    )
    both = table["season"] + table["rest"]
    table.attrs["strength"] = float(max(0.0, 1 - table["rest"].var() / both.var())) if both.var() > 0 else 0.0
    return table


def anomalies(values: pd.Series, period: int | None = None, threshold: float = 3.5) -> pd.DataFrame:
    """The values that fall out of the rest, by a robust z-score (median and MAD; Iglewicz and Hoaglin's 3.5).

    With a `period` the typical value of each place in the season, and a running median over one period, are taken away
    first. Columns: `value`, `expected`, `z`; only values with |z| above `threshold`. An anomaly is a question to the
    data, no verdict: holidays and real events look the same.
    """
    y = pd.Series(values).astype(float)
    if y.notna().sum() < 8:
        raise ValueError("too few values to call one of them unusual: at least 8")
    if period is None:
        expected = pd.Series(y.median(), index=y.index)
    else:
        if len(y) < 2 * period:
            raise ValueError(f"a season of {period} steps needs at least {2 * period} values")
        level = y.rolling(period, center=True, min_periods=max(period // 2, 1)).median()
        place = np.arange(len(y)) % period
        expected = level + (y - level).groupby(place).transform("median")
    rest = y - expected
    middle = rest.median()
    spread = 1.4826 * (rest - middle).abs().median()
    if not spread > 0:
        raise ValueError("more than half of the values are exactly as expected, so there is no spread to measure by")
    table = pd.DataFrame({"value": y, "expected": expected, "z": (rest - middle) / spread})
    return table[table["z"].abs() > threshold]
