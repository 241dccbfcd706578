"""How two columns go together, with what a correlation hides."""

from __future__ import annotations

import numpy as np
import pandas as pd


def correlation(x: pd.Series, y: pd.Series, level: float = 0.95) -> pd.Series:
    """Pearson's r with its interval (Fisher's z) and p, Spearman's rho, `n` pairs, and a `caveat`.

    Two Series are paired by their labels; a row that only one of them has is left out.
    The caveat says in words: few pairs; r and rho differ, so the relation is bent or hangs on outliers; r changes sign
    or by more than 0.2 when the one pair that weighs most is left out; both columns trend with their order, and their
    changes go together far less. It never says that one is the cause of the other: no correlation can.
    """
    from scipy import stats

    x, y = _aligned(x, y)
    pairs = pd.DataFrame({"x": np.asarray(x, dtype=float), "y": np.asarray(y, dtype=float)}).dropna()
    n = len(pairs)
    if n < 4:
        raise ValueError(f"{n} pairs are too few for a correlation: at least 4")
    if pairs["x"].nunique() < 2 or pairs["y"].nunique() < 2:
        raise ValueError("one of the columns has a single value, so nothing can go together with it")
    r, p = stats.pearsonr(pairs["x"], pairs["y"])
    rho = float(stats.spearmanr(pairs["x"], pairs["y"]).statistic)
    half = stats.norm.ppf(0.5 + level / 2) / np.sqrt(n - 3)
    bounded = np.clip(r, -1 + 1e-12, 1 - 1e-12)
    low, high = np.tanh(np.arctanh(bounded) - half), np.tanh(np.arctanh(bounded) + half)
    caveats = _caveats(pairs, float(r), rho)
    found = {"r": r, "r low": low, "r high": high, "p": p, "rho": rho, "n": n, "caveat": "; ".join(caveats)}
    return pd.Series(found, dtype=object)


def _aligned(x: pd.Series, y: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Both with the rows that both have, by their labels as everywhere in pandas; arrays go by their order."""
    if not (isinstance(x, pd.Series) and isinstance(y, pd.Series)) or x.index.equals(y.index):
        return x, y
    if not (x.index.is_unique and y.index.is_unique):
        raise ValueError("the columns have different labels, some of them twice: take both from one table")
    first, second = x.align(y, join="inner")
    return first, second


def _caveats(pairs: pd.DataFrame, r: float, rho: float) -> list[str]:
    caveats = []
    if len(pairs) < 20:
        caveats.append("few pairs")
    if abs(r - rho) > 0.15:
        caveats.append("r and rho differ: the relation is bent, or hangs on outliers")
    centred = pairs - pairs.mean()
    heaviest = (centred["x"] * centred["y"]).abs().to_numpy().argmax()
    without = pairs.drop(index=pairs.index[heaviest])
    if without["x"].nunique() > 1 and without["y"].nunique() > 1:
        other = without["x"].corr(without["y"])
        if abs(other - r) > 0.2 or other * r < 0:
            caveats.append(f"it hangs on one pair: without it r is {other:.2f}")
    order = pd.Series(np.arange(len(pairs), dtype=float), index=pairs.index)
    trends = min(abs(pairs["x"].corr(order)), abs(pairs["y"].corr(order)))
    steps = pairs.diff().dropna()
    if trends > 0.7 and steps["x"].nunique() > 1 and steps["y"].nunique() > 1:
        changes = steps["x"].corr(steps["y"])
        if abs(changes) < abs(r) / 2:
            caveats.append(f"both follow their order (time?): their changes go together with r {changes:.2f} only")
    return caveats
