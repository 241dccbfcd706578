"""What the report says when a part cannot be answered as asked: which part, why, and what there is instead."""

from __future__ import annotations

from workers.offline import dates
from workers.offline.looking import emptied_by, missing_names
from workers.offline.subject import period, pretty, spacing
from workers.offline.thread import Thread, names_looked_up
from workers.offline.values import Intent, Join
from workers.offline.wording import say

MAX_COLUMNS = 4
MAX_VALUES = 8


def unanswered(thread: Thread, join: Join, intent: Intent) -> list[str]:
    """Why a part of the question has no answer, or another than asked for; nothing when it has."""
    language = thread.language
    found: list[str] = []
    if missing := missing_names(thread, intent):
        values = {"names": [word.text for word in missing], "columns": _values_there_are(thread, join, intent)}
        found.append(say("frame", "missing", language, values))
    elif step := emptied_by(thread, intent):
        values = {
            "s": step,
            "column": pretty(str(step.get("column")), language),
            "low": step.get("low"),
            "high": step.get("high"),
        }
        found.append(say("frame", "emptied", language, values))
    elif finer := finer_than_the_dates(thread, intent):
        wanted, known = (period(language, each) for each in finer)
        found.append(say("frame", "finer", language, {"wanted": wanted, "known": known, "date": intent.date}))
    elif intent.lacks:
        found.append(say("frame", f"lacks_{intent.lacks}", language, {"alone": bool(intent.analyses)}))
    elif intent.beyond:
        found.append(say("frame", "beyond", language, {"alone": bool(intent.analyses)}))
    return found


def finer_than_the_dates(thread: Thread, intent: Intent) -> tuple[str, str] | None:
    """The step of time that is asked for and the one that the dates have, when that is longer."""
    asked = dates.frequency_of(intent.period) if intent.period else intent.frequency
    known = spacing(thread, intent.date)
    timely = any(analysis.kind in ("trend", "change", "forecast") for analysis in intent.analyses)
    return (asked, known) if asked and timely and dates.coarser(asked, known) != asked else None


def _values_there_are(thread: Thread, join: Join, intent: Intent) -> list[dict[str, object]]:
    """The values of the categories that cells have listed, those of the question's own columns first."""
    own = {by for each in intent.analyses for by in each.by}
    told = {str(fact.get("column")): fact for fact in thread.facts.get("values", ())}
    listed = [
        (name, fact) for name, fact in told.items() if (column := join.column(name)) and column.kind == "category"
    ]
    listed.sort(key=lambda item: (item[0] not in own, len(item[1]["values"]) > MAX_VALUES))
    return [
        {
            "name": pretty(name, thread.language),
            "values": fact["values"][:MAX_VALUES],
            "more": len(fact["values"]) > MAX_VALUES,
        }
        for name, fact in listed[:MAX_COLUMNS]
    ]


def not_understood(thread: Thread, join: Join, *, computed: bool) -> list[str]:
    """The words of the question that were not used; `computed` says that the rest of it has an answer."""
    looked_up = names_looked_up(thread.facts)
    words = [
        word.text
        for intent in thread.intents
        for word in intent.unplaced
        if not intent.beyond and not word.demanded and not looked_up.get(word.text)
    ]
    if not words:
        return []
    numbers = [pretty(column.name, thread.language) for column in join.columns if column.kind == "number"][:MAX_VALUES]
    told = {"words": list(dict.fromkeys(words)), "numbers": [] if computed else numbers, "computed": computed}
    return [say("frame", "not_understood", thread.language, told)]
