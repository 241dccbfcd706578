"""Finds words that ask for something that no analysis here computes. The figures would answer another question."""

from __future__ import annotations

import re

from workers.offline.intent.hearing import Heard
from workers.offline.intent.quantities import moves
from workers.offline.lexicon import concepts_of, find, first_said, has, keys_said, lexicon, stem, words
from workers.offline.values import Intent, Join

_YEAR = re.compile(r"(?<![\w.,/-])(?:1[5-9]\d\d|20\d\d)(?![\w/-]|[.,]\d)")
_HOW_MANY = re.compile(r"\bhow many\s+(\w+)", re.IGNORECASE)
_PER_ROW = re.compile(r"\bper\s+(\w+)", re.IGNORECASE)
_TIMELY = {"trend", "change", "forecast"}


def beyond_rules(heard: Heard, intent: Intent, frame: Join) -> list[str]:
    """The words that no analysis of this intent answers; none when it answers what was asked."""
    text, kinds, aggregate = heard.text, intent.kinds, intent.aggregate
    named, found = keys_said("aggregates", text), list[str]()
    if heard.aggregate and not kinds & {"predict", "correlate", "distribution", "profile"}:
        found += [phrase for key, phrase in named.items() if key not in (aggregate, "sum")]
    if aggregate == "count" and heard.counted:
        found.append(heard.counted)
    if find(["each"], text) and not kinds & _TIMELY and not intent.groups:
        found.append("each")
    found += [column.name for column in heard.unread]
    if heard.aggregate not in (None, "count") and intent.measure is None and kinds <= {"breakdown", "trend", "total"}:
        found += [phrase for key, phrase in named.items() if key == heard.aggregate]
    if has("superlatives", text) and moves(text) and aggregate in ("max", "min"):
        found.append("increase" if has("rises", text) else "decrease")
    if kinds == {"total"} and aggregate not in ("max", "min"):
        found += first_said("superlatives", heard.plain)
    if kinds == {"total"} and moves(text):
        found += first_said("rises" if has("rises", text) else "falls", heard.plain)
    if heard.shares and kinds and kinds <= {"total", "trend"} and not intent.target and aggregate != "mean":
        found += first_said("shares", text)
    if aggregate == "sum" and intent.measure and (per := _PER_ROW.search(text)):
        grouped = [word.stem for group in heard.groups for word in words(group)]
        by_group = stem(per[1]) in grouped or concepts_of([stem(per[1])]) & concepts_of(grouped)
        found += [per[0]] if find(lexicon()["row_names"], per[1]) and not by_group else []
    removed = heard.refunds is not None or any(not item.keep for item in heard.filters) or has("reset", text)
    if not removed and not moves(text) and not any(word.demanded for word in heard.unplaced):
        found += first_said("without", text)
    return [*found, *_of_other_rows(heard, intent, frame)] if kinds else found


def _of_other_rows(heard: Heard, intent: Intent, frame: Join) -> list[str]:
    """The words that narrow the rows or count them in a way that no rule knows."""
    text, kinds = heard.text, intent.kinds
    found = first_said("beyond_rules", text)
    if len(find(lexicon()["one_side"], text)) == 1 and "compare" not in kinds:
        found += first_said("one_side", text)
    if "profile" not in kinds:
        held = " ".join(value for item in intent.filters for value in item.values).casefold()
        found += [word for word in first_said("absent", heard.plain) if word.casefold() not in held]
    if not kinds & {"change", "compare", "trend", "predict"}:
        found += first_said("differences", text)
    if intent.aggregate == "count":
        found += [*first_said("distinct", text), *_counted_measure(heard, frame)]
        found += first_said("spends", text) if intent.measure is None else []
    bounds = any(value.startswith(("<", ">")) for item in intent.filters for value in item.values)
    if heard.shares and bounds and not intent.target:
        found += first_said("shares", text)
    if not kinds & _TIMELY and not intent.period:
        used = " ".join(value for item in (*intent.filters, *intent.widened) for value in item.values)
        found += [year for year in _YEAR.findall(text) if year not in used]
    return found


def _counted_measure(heard: Heard, frame: Join) -> list[str]:
    """ "How many visitors", where a column holds their numbers: its sum is asked for, not the number of rows."""
    said = _HOW_MANY.search(heard.text)
    if said is None:
        return []
    numbers = {word.stem for name in frame.names("number") for word in words(name)}
    return [said[1]] if stem(said[1].lower()) in numbers else []
