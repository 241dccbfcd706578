"""Notes beside the answer: what was done to the data, what is missing, what the figures leave out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from workers.offline import columns as cols
from workers.offline import dates
from workers.offline.loading import error_of
from workers.offline.reading import facts_of, last_told
from workers.offline.subject import pretty, spacing
from workers.offline.tasks import emptied_by, missing_names
from workers.offline.thread import Thread, done, names_looked_up
from workers.offline.values import Intent, Join

_MANY_UNREAD = 0.02
"""If more than this share of a column's cells cannot be read, the report says so before the answer."""
_MANY_BLANK = 0.5
"""If more than this share of the rows has no group, the report says so before the answer: merged cells look like
this."""
_MANY_COPIES = 0.03
"""If more than this share of the rows was removed as copies, the answer says so."""


def preparation(thread: Thread) -> list[str]:
    """What was done to the data before the analysis, told in the turn that did it."""
    facts = facts_of(thread.since)
    lines = []
    for key in ("joined", "stacked", "copies", "respelled", "derived", "filled"):
        told = last_told(facts, key)
        if told and told.get("removed", True) and told.get("columns", True):
            lines.append(_prepared(thread, key, t=told))
    errors = [error_of(cell) for cell in thread.since if cell.status != "ok"]
    if errors:
        # pandas adds advice after a full stop; what went wrong stands before it
        shown = dict.fromkeys(error.split(". ")[0][:120].replace("`", "'") for error in errors)
        lines.append(_prepared(thread, "repaired", errors=[f"`{error}`" for error in shown]))
    return lines


def unread(thread: Thread, join: Join) -> list[str]:
    """The warnings before an answer: columns that it uses have unreadable cells, or most rows have no group."""
    clean = last_told(thread.facts, "clean")
    rows = clean.get("rows") or 1
    used = {name for intent in thread.intents for name in columns_of(intent)}
    told = [t for t in _last_by(thread.facts.get("converted", ()), "column") if t.get("column") in used]
    many = [t for t in told if t.get("unreadable", 0) > _MANY_UNREAD * rows]
    missing = clean.get("missing") or {}
    grouped = {by for intent in thread.intents for by in intent.groups}
    blank = [(name, count) for name, count in missing.items() if name in grouped and count >= _MANY_BLANK * rows]
    return [
        *(_prepared(thread, "unread", c=one, rows=rows) for one in many),
        *(_prepared(thread, "no_group", name=name, count=count, rows=rows) for name, count in blank),
    ]


def columns_of(intent: Intent) -> set[str]:
    """The columns that an intent computes with."""
    return {name.lstrip("~") for name in (intent.measure, intent.date, intent.target, *intent.groups) if name}


def left_out(thread: Thread) -> list[str]:
    """What the answer says of rows that were removed, in the turn that removed them: totals, and many copies."""
    facts = facts_of(thread.since)
    totals, copies, clean = (last_told(facts, name) for name in ("totals", "copies", "clean"))
    lines = [_prepared(thread, "totals", t=totals)] if totals else []
    share = copies.get("removed", 0) / (clean.get("rows_read") or math.inf)
    if share > _MANY_COPIES:
        lines.append(_prepared(thread, "many_copies", c=copies, rows=clean["rows_read"], share=share))
    return lines


def _prepared(thread: Thread, key: str, **variables: object) -> str:
    return thread.say("preparation", key, thread.currency, **variables)


def caveats(thread: Thread, join: Join, intent: Intent) -> list[str]:
    """What the figures of one part of the question leave out or count in."""
    lines = []
    facts = facts_of(thread.since)
    files = len({table.path for table in join.tables})
    # these figures were told when the data was cleaned: a filter of the question does not change them
    where = thread.say("preparation", "where", files=files) if intent.filters else ""
    refunds = last_told(thread.facts, "refunds")
    column = join.column(intent.measure)
    netted = refunds and not refunds.get("on_orders")
    if netted and column and column == cols.default_measure(join.columns):
        sign = thread.sign_of(column)
        lines.append(thread.say("preparation", "refunds", sign, r=refunds, left_out=intent.no_refunds, where=where))
    for converted in _last_by(facts.get("converted", ()), "column"):
        if converted.get("unreadable"):
            lines.append(_prepared(thread, "converted", c=converted, where=where))
    lines += [_prepared(thread, "guessed_dates", d=d) for d in _last_by(facts.get("guessed_dates", ()), "column")]
    if (ids := last_told(facts, "ids")).get("repeated"):
        lines.append(_prepared(thread, "ids", i=ids, where=where))
    used = columns_of(intent)
    told = last_told(thread.facts, "clean").get("missing") or {}
    missing = [(name, count) for name, count in told.items() if name in used]
    if missing:
        lines.append(_prepared(thread, "missing", missing=missing, where=where))
    if join.unused and done("load", thread.since):
        lines.append(_prepared(thread, "unused", names=[table.name for table in join.unused]))
    if intent.target or intent.kinds & {"predict", "correlate", "compare"}:
        lines.append(thread.say("frame", "no_cause"))
    return lines


def _last_by(told: Iterable[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return list({str(item.get(key)): item for item in told}.values())


MAX_COLUMNS = 4
MAX_VALUES = 8


def unanswered(thread: Thread, join: Join, intent: Intent) -> str:
    """Why a part of the question has no answer, or another answer than asked for. Empty when it has its answer."""
    if missing := missing_names(thread, intent):
        there = _values_there_are(thread, join, intent)
        return thread.say("frame", "missing", names=[word.text for word in missing], columns=there)
    if step := emptied_by(thread, intent):
        column = pretty(str(step.get("column")), thread.language)
        return thread.say("frame", "emptied", s=step, column=column, low=step.get("low"), high=step.get("high"))
    if finer := finer_than_the_dates(thread, intent):
        wanted, known = (thread.say("periods", each) for each in finer)
        return thread.say("frame", "finer", wanted=wanted, known=known, date=intent.date)
    if intent.lacks or intent.beyond:
        key = f"lacks_{intent.lacks}" if intent.lacks else "beyond"
        return thread.say("frame", key, alone=bool(intent.analyses))
    return ""


def finer_than_the_dates(thread: Thread, intent: Intent) -> tuple[str, str] | None:
    """The step of time that is asked for and the one that the dates have, when that is longer."""
    asked = dates.frequency_of(intent.period) if intent.period else intent.frequency
    known = spacing(thread, intent.date)
    timely = intent.kinds & {"trend", "change", "forecast"}
    return (asked, known) if asked and timely and dates.coarser(asked, known) != asked else None


def _values_there_are(thread: Thread, join: Join, intent: Intent) -> list[dict[str, object]]:
    """The values of the categories that cells have listed, those of the question's own columns first."""
    told = {str(fact.get("column")): fact for fact in thread.facts.get("values", ())}
    listed = [(name, fact) for name, fact in told.items() if join.kind(name) == "category"]
    listed.sort(key=lambda item: (item[0] not in intent.groups, len(item[1]["values"]) > MAX_VALUES))
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
    numbers = [pretty(name, thread.language) for name in join.names("number")[:MAX_VALUES]]
    shown = [] if computed else numbers
    told = list(dict.fromkeys(words))
    return [thread.say("frame", "not_understood", words=told, numbers=shown, computed=computed)]
