"""The sum and the mean of a span of dates that a sentence names: "January to July"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from workers.agent.provenance.derivations.columns import significant
from workers.agent.provenance.derivations.workbench import Workbench
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import TOTAL, says
from workers.agent.provenance.outputs.facts import Fact

_TO = re.compile(r"[\s\u2060]*(?:to|through|until|bis|à|a|al|–|-|—|至|到)[\s\u2060]*", re.IGNORECASE)
_MEAN = re.compile(
    r"\b(?:mean|averag\w*|durchschnitt\w*|(?:im|das) mittel\w*|mittelwert\w*|schnitt|moyenne\w*|promedio|media)\b|平均",
    re.IGNORECASE,
)
_FEWEST_DIGITS, _SURE_DIGITS = 2, 3


def of_spans(bench: Workbench) -> Iterator[tuple[str, tuple[Fact, ...], float]]:
    """The sums and means that the claim may be: the step, its facts, its value. A mean needs a word for it."""
    digits = significant(bench.claim)
    if bench.claim.in_table or digits < _FEWEST_DIGITS:
        return
    mean = says(_MEAN, bench.sentence)
    total = not mean and (digits >= _SURE_DIGITS or says(TOTAL, bench.sentence))
    for first, last in _spans(bench) if mean or total else ():
        for _, _, column in bench.columns():
            part = _within(column, first, last)
            if len(part) < 2 or any(fact.percent for fact in part):
                continue
            whole = sum(fact.scaled for fact in part)
            yield ("mean", part, whole / len(part)) if mean else ("sum", part, whole)


def _spans(bench: Workbench) -> Iterator[tuple[Day, Day]]:
    days = [one for one in bench.scene.within(*bench.claim.span) if isinstance(one.label, Day)]
    for one, other in pairwise(days):
        first, last = one.label, other.label
        if isinstance(first, Day) and isinstance(last, Day) and _TO.fullmatch(bench.text, one.end, other.start):
            yield (first if first.year else first._replace(year=last.year)), last


def _within(column: Sequence[Fact], first: Day, last: Day) -> tuple[Fact, ...]:
    """The facts of a column from the first date to the last one. None if the dates may be of several years."""
    dated = [(day, fact) for fact in column if (day := _day(fact)) is not None]
    starts = [at for at, (day, _) in enumerate(dated) if first.fits(day)]
    ends = [at for at, (day, _) in enumerate(dated) if last.fits(day)]
    if not starts or not ends or len(dated) < len(column):
        return ()
    for fitting, told in ((starts, first), (ends, last)):
        if told.year is None and len({dated[at][0].year for at in fitting}) > 1:
            return ()
    return tuple(fact for _, fact in dated[min(starts) : max(ends) + 1])


def _day(fact: Fact) -> Day | None:
    return next((label for family, label in fact.keys if not family.columns and isinstance(label, Day)), None)
