"""What an answer owes when it cannot be given as asked: which part, for which reason, and what there is instead."""

from __future__ import annotations

from workers.models.offline.looking import emptied_by, missing_names
from workers.models.offline.subject import pretty
from workers.models.offline.thread import Thread, names_looked_up
from workers.models.offline.values import Intent, Join
from workers.models.offline.wording import say

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
    elif intent.lacks:
        found.append(say("frame", f"lacks_{intent.lacks}", language, {"alone": bool(intent.analyses)}))
    elif intent.beyond:
        found.append(say("frame", "beyond", language, {"alone": bool(intent.analyses)}))
    return found


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


def not_understood(thread: Thread, join: Join) -> list[str]:
    """The words of the question that name nothing in the data and were therefore not used."""
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
    return [say("frame", "not_understood", thread.language, {"words": list(dict.fromkeys(words)), "numbers": numbers})]
