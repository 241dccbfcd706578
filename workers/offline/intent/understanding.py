"""A message as the list of what it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from workers.offline.intent.beyond_rules import beyond_rules
from workers.offline.intent.clauses import clauses
from workers.offline.intent.following import followed, is_whole_question
from workers.offline.intent.fresh import asked_anew
from workers.offline.intent.hearing import Heard, Known, hear
from workers.offline.intent.unplaced import UNDERSTOOD
from workers.offline.lexicon import find, has, keys_said
from workers.offline.values import Intent, Join, Unclear, Unplaced

MAX_ANALYSES = 8
"""Analyses of one answer."""
_NESTED = re.compile(r"\b(?:per|in each|for each|of each|within each)\b", re.IGNORECASE)


def understand(text: str, frame: Join, previous: Sequence[Intent], known: Known) -> tuple[Intent, ...] | Unclear:
    """What a message asks for, part by part, given what was asked before; parts on one subject are one intent.

    Unclear when a word can mean several columns.
    """
    parts: list[Intent] = []
    for clause in clauses(text):
        exported = has("exports", clause)
        other = (Unplaced("csv"),) if exported and find(["csv"], clause) else ()  # a workbook is what we save
        heard = hear(clause, frame, known)
        asks = heard.kinds or heard.measures or heard.groups or heard.filters or heard.target or heard.unplaced
        if exported and (parts or previous) and not asks:
            parts = [replace(each, saved=True, text=clause, unplaced=other) for each in parts or previous]
            continue
        before = parts or list(previous)
        heard = _insisting(heard) if before else heard
        if heard.unclear and not (before and not heard.kinds):
            return heard.unclear
        own = bool(parts) and is_whole_question(clause)  # in one message, a second question is no follow-up
        changed = [] if own else [intent for intent in (followed(each, heard, frame) for each in before) if intent]
        intents = [replace(intent, text=clause, unplaced=heard.unplaced) for intent in changed]
        if not intents:
            last = before[-1] if before else None
            fresh = asked_anew(heard, frame, last)
            kept = {item.column for item in fresh.filters}
            widened = tuple(item for item in (last.filters if last else ()) if item.column not in kept)
            intents = [replace(fresh, widened=widened)]
        whole = [_with_the_rest(heard, intent, frame) for intent in intents]
        parts += [replace(each, saved=exported, unplaced=(*each.unplaced, *other)) for each in whole]
    return _within_bounds(_together(parts))


def _with_the_rest(heard: Heard, intent: Intent, frame: Join) -> Intent:
    """The intent, with what the text names and its analyses do not use; without analyses when that changes the
    question itself."""
    if intent.beyond or intent.lacks:
        return intent
    used = {intent.measure, intent.target, *(each.other for each in intent.analyses)}
    used |= {by.lstrip("~@") for by in intent.groups} | {item.column for item in intent.filters}
    kinds = intent.kinds
    amiss = beyond_rules(heard, intent, frame)
    foreign = heard.language not in UNDERSTOOD
    unknown = [word.text for word in intent.unplaced if foreign or not word.named]
    if amiss or (unknown and (intent.assumed or foreign)):
        rest = tuple(Unplaced(name) for name in amiss)
        return replace(intent, analyses=(), unplaced=tuple(dict.fromkeys([*intent.unplaced, *rest])))
    names = []
    if not kinds & {"predict", "correlate"}:
        names += [column.name for column in heard.measures if column.name not in used]
        names += [group.lstrip("~@") for group in heard.groups if group.lstrip("~@") not in used]
    if heard.top and len(intent.analyses) > 1 and kinds == {"breakdown"} and _NESTED.search(heard.text):
        names += [by.lstrip("~@") for by in intent.groups[1:]]
        intent = replace(intent, analyses=intent.analyses[:1])
    if heard.top and not kinds & {"breakdown", "rows"} and not ("trend" in kinds and len(used) > 2):
        names.append(f"{heard.top}")
    if heard.frequency and not kinds & {"trend", "forecast", "change"}:
        names += keys_said("frequencies", heard.text).values()
    whole = intent.aggregate in ("sum", "count") and not intent.target
    drawn = {
        "line": {"trend", "forecast"},
        "pie": {"breakdown"} if whole else set(),
        "bar": {"trend", "breakdown", "compare", "change"},
    }
    if heard.chart and not kinds & drawn[heard.chart]:
        names += keys_said("charts", heard.text).values()
        if not (heard.groups or heard.measures or heard.filters or heard.frequency):  # nothing else is asked for
            intent = replace(intent, analyses=())
    return replace(intent, unplaced=tuple(dict.fromkeys([*intent.unplaced, *map(Unplaced, names)])))


def _insisting(heard: Heard) -> Heard:
    """What is heard; a message that holds nothing but a name ("what about Delta?") asks for the rows of that name."""
    said = heard.kinds or heard.measures or heard.groups or heard.target or heard.filters or heard.frequency
    named = [word for word in heard.unplaced if word.named]
    if said or heard.chart or heard.aggregate or heard.dates or len(named) != 1 or len(heard.unplaced) != 1:
        return heard
    return replace(heard, unplaced=(replace(named[0], demanded=True),))


def _together(parts: Sequence[Intent]) -> list[Intent]:
    """Intents that differ in nothing but their analyses become one; what cannot be answered stays apart."""
    found: list[Intent] = []
    answerable = [part for part in parts if not (part.beyond or part.lacks)]
    for part in parts:
        if answerable and (part.beyond or part.lacks):
            found.append(replace(part, analyses=()))
            continue
        place = next((n for n, other in enumerate(found) if _subject(other) == _subject(part)), None)
        if place is None:
            found.append(part)
        else:
            found[place] = _merged(found[place], part)
    return found


def _subject(intent: Intent) -> Intent:
    """The intent without what may differ between parts that are answered together."""
    return replace(
        intent, analyses=(), text="", unplaced=(), anomalies=False, by_drivers=False, frequency=None, date=None,
        tested=False, peak=False, assumed=False, widened=(),
    )  # fmt: skip


_OF_EITHER = ("anomalies", "by_drivers", "frequency", "date", "tested", "peak")


def _merged(one: Intent, other: Intent) -> Intent:
    return replace(
        one,
        analyses=tuple(dict.fromkeys([*one.analyses, *other.analyses])),
        text=one.text if one.text == other.text else f"{one.text} {other.text}",
        unplaced=tuple(dict.fromkeys([*one.unplaced, *other.unplaced])),
        **{name: getattr(one, name) or getattr(other, name) for name in _OF_EITHER},
    )


def _within_bounds(parts: Sequence[Intent]) -> tuple[Intent, ...]:
    left, found = MAX_ANALYSES, []
    for part in parts:
        found.append(replace(part, analyses=part.analyses[:left]))
        left -= len(found[-1].analyses)
    return tuple(found)
