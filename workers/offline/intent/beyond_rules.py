"""Finds words that ask for something that no analysis here computes. The figures would answer another question."""

from __future__ import annotations

import re

from workers.offline.intent.hearing import Heard
from workers.offline.lexicon import find, first_said, lexicon, stem, words
from workers.offline.values import Intent, Join

_YEAR = re.compile(r"(?<![\w.,/-])(?:1[5-9]\d\d|20\d\d)(?![\w/-]|[.,]\d)")
_HOW_MANY = re.compile(r"\bhow many\s+(\w+)", re.IGNORECASE)
_TIMELY = {"trend", "change", "forecast"}


def beyond_rules(heard: Heard, intent: Intent, frame: Join) -> list[str]:
    """The words that no analysis of this intent answers; none when it answers what was asked."""
    kinds = {each.kind for each in intent.analyses}
    if not kinds:
        return []
    found = first_said("beyond_rules", heard.text)
    if len(find(lexicon()["one_side"], heard.text)) == 1 and "compare" not in kinds:
        found += first_said("one_side", heard.text)
    if "profile" not in kinds:
        held = " ".join(value for item in intent.filters for value in item.values).casefold()
        found += [word for word in first_said("absent", heard.plain) if word.casefold() not in held]
    if not kinds & {"change", "compare", "trend", "predict"}:
        found += first_said("differences", heard.text)
    if intent.aggregate == "count":
        found += [*first_said("distinct", heard.text), *_counted_measure(heard, frame)]
        found += first_said("spends", heard.text) if intent.measure is None else []
    bounds = any(value.startswith(("<", ">")) for item in intent.filters for value in item.values)
    if heard.shares and bounds and not intent.target:
        found += first_said("shares", heard.text)
    if not kinds & _TIMELY and not intent.period:
        used = " ".join(value for item in (*intent.filters, *intent.widened) for value in item.values)
        found += [year for year in _YEAR.findall(heard.text) if year not in used]
    return found


def _counted_measure(heard: Heard, frame: Join) -> list[str]:
    """ "How many visitors", where a column holds their numbers: its sum is asked for, not the number of rows."""
    said = _HOW_MANY.search(heard.text)
    if said is None:
        return []
    numbers = {word.stem for column in frame.columns if column.kind == "number" for word in words(column.name)}
    return [said[1]] if stem(said[1].lower()) in numbers else []
