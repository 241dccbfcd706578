"""How sure a share of right answers is, and whether two runs really differ. Pure arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

Z_95 = 1.959963984540054


def wilson(right: float, asked: int, z: float = Z_95) -> tuple[float, float]:
    """The Wilson score interval of a share, `right` of `asked`; (0, 1) when nothing was asked.

    `right` may have a fraction: the mean over repeats of each question, added up over questions.
    """
    if asked <= 0:
        return 0.0, 1.0
    share = right / asked
    spread = 1 + z * z / asked
    centre = (share + z * z / (2 * asked)) / spread
    half = z * math.sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked)) / spread
    return max(0.0, centre - half), min(1.0, centre + half)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided p value of McNemar's exact test, from the numbers of questions that only one run answered right."""
    changed = only_first + only_second
    if not changed:
        return 1.0
    tail = sum(math.comb(changed, k) for k in range(min(only_first, only_second) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 1 << changed)))


@dataclass(frozen=True, slots=True)
class Paired:
    """Two runs, question by question: pairs in all, names of what only one of them answered right, the p value."""

    pairs: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    p: float


def paired(first: dict[str, bool], second: dict[str, bool]) -> Paired:
    """Compare two runs by the names that both have."""
    both = sorted(first.keys() & second.keys())
    lost = tuple(name for name in both if first[name] and not second[name])
    won = tuple(name for name in both if second[name] and not first[name])
    return Paired(len(both), lost, won, mcnemar_exact(len(lost), len(won)))
