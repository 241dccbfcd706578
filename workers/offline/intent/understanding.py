"""A message as the list of what it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workers.offline.intent.clauses import clauses
from workers.offline.intent.following import followed, is_whole_question
from workers.offline.intent.fresh import asked_anew
from workers.offline.intent.hearing import Heard, Known, hear
from workers.offline.lexicon import find, has, lexicon
from workers.offline.values import Intent, Join, Unclear, Unplaced

MAX_ANALYSES = 8
"""Analyses of one answer."""


def understand(text: str, frame: Join, previous: Sequence[Intent], known: Known) -> tuple[Intent, ...] | Unclear:
    """What a message asks for, part by part, given what was asked before; parts on one subject are one intent.

    Unclear when a word can mean several columns.
    """
    parts: list[Intent] = []
    for clause in clauses(text):
        if has("exports", clause) and (parts or previous):
            parts = [replace(each, saved=True, text=clause, unplaced=()) for each in parts or previous]
            continue
        heard = hear(clause, frame, known)
        before = parts or list(previous)
        heard = _insisting(heard) if before else heard
        if heard.unclear and not (before and not heard.kinds):
            return heard.unclear
        own = bool(parts) and is_whole_question(clause)  # in one message, a second question is no follow-up
        changed = [] if own else [intent for intent in (followed(each, heard, frame) for each in before) if intent]
        fresh = [replace(intent, text=clause, unplaced=heard.unplaced) for intent in changed] or [
            _widened(asked_anew(heard, frame, before[-1] if before else None), before)
        ]
        parts += [_with_the_rest(heard, intent) for intent in fresh]
    return _within_bounds(_together(parts))


def _widened(intent: Intent, before: Sequence[Intent]) -> Intent:
    """A question of its own, and the filters of the one before that it does not keep."""
    kept = {item.column for item in intent.filters}
    return replace(
        intent, widened=tuple(item for item in before[-1].filters if item.column not in kept) if before else ()
    )


def _with_the_rest(heard: Heard, intent: Intent) -> Intent:
    """The intent, with what the text names and its analyses do not use; without analyses when that changes the
    question itself."""
    if intent.beyond or intent.lacks:
        return intent
    used = {intent.measure, intent.target, *(each.other for each in intent.analyses)}
    used |= {by.lstrip("~@") for each in intent.analyses for by in each.by} | {item.column for item in intent.filters}
    kinds = {each.kind for each in intent.analyses}
    grouped = any(each.by for each in intent.analyses) or bool(kinds & {"trend", "forecast", "change"})
    amiss = [phrase for key, phrase in _phrases("aggregates", heard.text) if key not in (intent.aggregate, "sum")]
    amiss = amiss if heard.aggregate and not kinds & {"predict", "correlate", "distribution", "profile"} else []
    amiss += [heard.counted] if intent.aggregate == "count" and heard.counted else []
    amiss += ["each"] if find(["each"], heard.text) and not grouped else []
    german = has("german", heard.text)
    unknown = [word.text for word in intent.unplaced if german or not word.named]
    if amiss or (unknown and (intent.assumed or german)):
        rest = tuple(Unplaced(name) for name in amiss)
        return replace(intent, analyses=(), unplaced=tuple(dict.fromkeys([*intent.unplaced, *rest])))
    names = []
    if not kinds & {"predict", "correlate"}:
        names += [column.name for column in heard.measures if column.name not in used]
        names += [group.lstrip("~@") for group in heard.groups if group.lstrip("~@") not in used]
    if heard.top and not kinds & {"breakdown", "rows"} and not (grouped and "trend" in kinds and len(used) > 2):
        names.append(f"{heard.top}")
    if heard.frequency and not kinds & {"trend", "forecast", "change"}:
        names += [phrase for _, phrase in _phrases("frequencies", heard.text)]
    drawn = {"line": {"trend", "forecast"}, "pie": {"breakdown"}, "bar": {"trend", "breakdown", "compare", "change"}}
    if heard.chart and not kinds & drawn[heard.chart]:
        names += [phrase for _, phrase in _phrases("charts", heard.text)]
        if not (heard.groups or heard.measures or heard.filters or heard.frequency):  # nothing else is asked for
            intent = replace(intent, analyses=())
    return replace(intent, unplaced=tuple(dict.fromkeys([*intent.unplaced, *map(Unplaced, names)])))


def _phrases(group: str, text: str) -> list[tuple[str, str]]:
    """The keys of a group of the lexicon that a text names, each with the longest of its words there."""
    found = []
    for key, phrases in lexicon()[group].items():
        spans = [text[span.start : span.end] for span in find(phrases, text)]
        found += [(str(key), max(spans, key=len))] if spans else []
    return found


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


def _merged(one: Intent, other: Intent) -> Intent:
    return replace(
        one,
        analyses=tuple(dict.fromkeys([*one.analyses, *other.analyses])),
        text=one.text if one.text == other.text else f"{one.text} {other.text}",
        unplaced=tuple(dict.fromkeys([*one.unplaced, *other.unplaced])),
        anomalies=one.anomalies or other.anomalies,
        by_drivers=one.by_drivers or other.by_drivers,
        frequency=one.frequency or other.frequency,
        date=one.date or other.date,
        tested=one.tested or other.tested,
        peak=one.peak or other.peak,
    )


def _within_bounds(parts: Sequence[Intent]) -> tuple[Intent, ...]:
    left, found = MAX_ANALYSES, []
    for part in parts:
        found.append(replace(part, analyses=part.analyses[:left]))
        left -= len(found[-1].analyses)
    return tuple(found)
